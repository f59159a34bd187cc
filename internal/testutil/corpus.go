package testutil

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
)

// CorpusEnv names the env var with the folder of the real-world manifests,
// which are not part of the repository. "none" means to do without them.
const CorpusEnv = "REWRITE_PROBES_CORPUS"

// Corpus returns the files of the real-world manifests: those of the folder
// that CorpusEnv names, or of ../shared/corpus beside the repository. Where the
// folder is missing, that is an error if the env var CI is set, as it is
// wherever a test must not pass by doing less.
func Corpus(root string) ([]string, error) {
	dir := cmp.Or(os.Getenv(CorpusEnv), filepath.Join(root, "..", "shared", "corpus"))
	if dir == "none" {
		return nil, nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err == nil && len(files) == 0 && os.Getenv("CI") != "" {
		err = fmt.Errorf("there are no real-world manifests in %s; %s names another folder, or is \"none\"", dir, CorpusEnv)
	}
	return files, err
}
