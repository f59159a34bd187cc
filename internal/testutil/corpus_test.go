package testutil

import (
	"path/filepath"
	"testing"
)

func TestAMissingCorpusFailsInCI(t *testing.T) {
	root := filepath.Join(t.TempDir(), "repository")
	t.Setenv(CorpusEnv, "")
	t.Setenv("CI", "")
	if files, err := Corpus(root); err != nil || len(files) > 0 {
		t.Errorf("outside CI: %q, %v", files, err)
	}
	t.Setenv("CI", "true")
	if files, err := Corpus(root); err == nil {
		t.Errorf("in CI there is no error, and the files are %q", files)
	}
	t.Setenv(CorpusEnv, "none")
	if files, err := Corpus(root); err != nil || len(files) > 0 {
		t.Errorf("with none: %q, %v", files, err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), "a: 1\n")
	t.Setenv(CorpusEnv, dir)
	if files, err := Corpus(root); err != nil || len(files) != 1 {
		t.Errorf("with a folder: %q, %v", files, err)
	}
	if text := CorpusFile(t, root, "a.yaml"); string(text) != "a: 1\n" {
		t.Errorf("the file is %q", text)
	}
	if files := Manifests(t, "../.."); len(files) < 5 || files[0] != filepath.Join(dir, "a.yaml") {
		t.Errorf("all manifests: %q", files)
	}
}
