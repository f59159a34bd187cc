package testutil

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// CorpusEnv names the env var with the folder of the real-world manifests,
// which are not part of the repository. "none" means to do without them.
const CorpusEnv = "REWRITE_PROBES_CORPUS"

// CorpusFolder returns the folder that CorpusEnv names, "none" included, or else
// ../shared/corpus beside the repository.
func CorpusFolder(root string) string {
	return cmp.Or(os.Getenv(CorpusEnv), filepath.Join(root, "..", "shared", "corpus"))
}

// Corpus returns the files of the real-world manifests in CorpusFolder. A folder
// without manifests is an error if the env var CI is set, as it is wherever a
// test must not pass by doing less.
func Corpus(root string) ([]string, error) {
	dir := CorpusFolder(root)
	if dir == "none" {
		return nil, nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err == nil && len(files) == 0 && os.Getenv("CI") != "" {
		err = fmt.Errorf("there are no real-world manifests in %s; %s names another folder (make corpus fetches one), or is \"none\"", dir, CorpusEnv)
	}
	return files, err
}

// CorpusFile returns the text of one of the real-world manifests. The test is
// skipped if there are none.
func CorpusFile(t testing.TB, root, name string) []byte {
	t.Helper()
	files, err := Corpus(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("SKIPPED: the real-world manifests are not here")
	}
	i := slices.IndexFunc(files, func(f string) bool { return filepath.Base(f) == name })
	if i < 0 {
		t.Fatalf("%s is not among the real-world manifests: %q", name, files)
	}
	text, err := os.ReadFile(files[i])
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Manifests returns the files of the real-world manifests, and those of the
// repository's own that are YAML.
func Manifests(t testing.TB, root string) []string {
	t.Helper()
	files, err := Corpus(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Log("MISSING: the real-world manifests; only those of the repository are tested")
	}
	own, err := filepath.Glob(filepath.Join(root, "testdata", "manifests", "*.yaml"))
	if err != nil || len(own) == 0 {
		t.Fatalf("there are no manifests in testdata: %v", err)
	}
	return append(files, own...)
}
