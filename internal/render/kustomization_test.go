package render

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// A build has the files of its folder and what links in it lead to, but nothing from outside of the folder, as kustomize takes it.
func TestNothingFromOutsideOfTheFolderIsCopied(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	top := t.TempDir()
	from, to := filepath.Join(top, "base"), filepath.Join(top, "to")
	for name, text := range map[string]string{"secret.txt": "s", "base/a.yaml": "a", "base/sub/b.yaml": "b", "base-of-another/c.yaml": "c", "base/.git/config": "g", "base/kustomization.yaml": "k"} {
		name = filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"in.yaml": "sub/b.yaml", "sub/up.yaml": "../a.yaml", "out.txt": "../secret.txt", "whole.txt": filepath.Join(top, "secret.txt"),
		"beside.yaml": "../base-of-another/c.yaml", "broken": "nowhere", "folder": "sub",
	} {
		if err := os.Symlink(target, filepath.Join(from, name)); err != nil {
			t.Fatal(err)
		}
	}
	d := &folder{path: from}
	if err := d.copyFiles(to); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := filepath.WalkDir(to, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(to, path)
		got = append(got, filepath.ToSlash(rel)+" "+string(text))
		return err
	})
	if want := []string{"a.yaml a", "in.yaml b", "sub/b.yaml b", "sub/up.yaml a"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}
