package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/render"
)

// readNamed returns the text of what the command line names: a file, a pipe or a device.
func readNamed(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, reasonOf(err)
	}
	defer f.Close()
	text, err := manifest.ReadInput(f)
	return text, reasonOf(err)
}

// namesIn returns the names of the files in a folder that the command line names, none of which is
// opened.
func namesIn(dir string) (names []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A fence holds the files that a run opens although the command line does not name them:
// regular files below the roots, and in the folders above what is named those that a run
// looks for there. Anyone who can send a change to a repository can put a link into it, or a
// path into a kustomization.
type fence struct {
	roots  []string // real paths
	above  []string // the same
	inRepo bool     // all roots are roots of repositories
}

// newFence returns the fence of a run over what the arguments name. Stdin, -, is in the current
// folder. A root is that of the repository. Outside of any it is the current folder or, if
// this is the root of the file system or not above, the given folder.
func newFence(args []string) *fence {
	f := &fence{inRepo: true}
	for _, arg := range args {
		if arg == "-" {
			arg = "."
		}
		dir := realPath(arg)
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			dir = filepath.Dir(dir)
		}
		root := ""
		for folder := range above(dir) {
			folder = realPath(folder)
			f.above = append(f.above, folder)
			if inFolder(folder, ".git") != "" {
				root = folder
			}
		}
		if root == "" {
			f.inRepo = false
			root = realPath(".")
			if !isBelow(dir, root) || filepath.Dir(root) == root {
				root = dir
			}
		}
		f.roots = append(f.roots, root)
	}
	return f
}

// isBelow reports whether a real path is a folder or below it.
func isBelow(real, folder string) bool {
	rel, err := filepath.Rel(folder, real)
	return err == nil && filepath.IsLocal(rel)
}

// has reports whether a file may be opened, by its real path.
func (f *fence) has(real string) bool {
	if slices.Contains(f.above, filepath.Dir(real)) &&
		isFoundAbove(filepath.Base(real)) {
		return true
	}
	return slices.ContainsFunc(f.roots, func(root string) bool { return isBelow(real, root) })
}

func isFoundAbove(name string) bool {
	return name == configName || name == otherConfigName || slices.Contains(render.Names, name)
}

// errNotRegular is why a device, a pipe or a socket is not opened that nobody has named.
var errNotRegular = errors.New("this is not a regular file")

// leadsOut returns why a file outside of the fence is not opened.
func (f *fence) leadsOut() error {
	if f.inRepo {
		return errors.New("this leads out of the repository")
	}
	return errors.New("this leads out of the given folder")
}

// may returns why something must not be opened, by its real path; nil if it may be.
func (f *fence) may(real string) error {
	if f.has(real) {
		return nil
	}
	return f.leadsOut()
}

// read returns the text of a file that the command line does not name.
func (f *fence) read(path string) ([]byte, error) {
	real := realPath(path)
	switch info, err := os.Stat(real); {
	case err != nil:
		return nil, reasonOf(err)
	case !f.has(real):
		return nil, f.leadsOut()
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	}
	return readNamed(real)
}
