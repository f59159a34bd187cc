package main

import (
	"path/filepath"
	"testing"
)

// Outside of a repository, what an argument may lead to is the current folder, or the given one: the root of the file system, in which a
// container may run, is no fence.
func TestTheRootOfTheFileSystemIsNoFence(t *testing.T) {
	given := realPath(t.TempDir())
	for folder := range above(given) {
		if inFolder(folder, ".git") != "" {
			t.Skip("the temporary folder is in a repository")
		}
	}
	top := filepath.VolumeName(given) + string(filepath.Separator)
	for from, want := range map[string]string{given: given, filepath.Dir(given): realPath(filepath.Dir(given)), top: given, t.TempDir(): given} {
		t.Chdir(from)
		if f := newFence([]string{given}); len(f.roots) != 1 || f.roots[0] != want || f.inRepo {
			t.Errorf("in %s: %q, want %q", from, f.roots, want)
		}
	}
}
