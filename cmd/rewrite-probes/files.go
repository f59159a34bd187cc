package main

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

type file struct {
	path   string // of what a link leads to, for one that a walk has found
	real   string // see realPath
	walked bool   // found below a folder, not named on the command line
	link   string // by which alone a walk has found it, outside of all given folders
}

// given is what the paths of a command line lead to.
type given struct {
	files   []file
	folders []string       // links to folders, which are not followed
	roots   []string       // the given folders, each by its real path
	at      map[string]int // the index of each file, by its real path
}

// findFiles lists the files that the paths name, each once: a file whatever its
// name, and of a folder all files that end in .yaml, .yml or .json, in the order
// of their names. Hidden folders, node_modules and what a pattern of ignore
// matches are left out. As kubectl does, it follows links to files and not links to folders.
func findFiles(paths, ignore []string) (*given, error) {
	for _, p := range ignore {
		if _, err := path.Match(p, ""); err != nil {
			return nil, &usageError{fmt.Errorf("--ignore %q must be a pattern in which * and ? match as in a shell", p)}
		}
	}
	g := &given{at: make(map[string]int)}
	var problems []error
	for _, root := range paths {
		info, err := os.Stat(root)
		switch {
		case root == "":
			problems = append(problems, errors.New("a PATH is empty, perhaps a variable that is not set"))
		case err != nil:
			problems = append(problems, missing(root, err))
		case !info.IsDir():
			g.add(file{path: root})
		case isLink(root):
			problems = append(problems, fmt.Errorf("%s: this is a link to a folder. To read the folder, write %s%c", root, root, filepath.Separator))
		case !g.walk(root, ignore):
			problems = append(problems, fmt.Errorf("%s: the folder must hold files that end in .yaml, .yml or .json, and holds none", root))
		}
	}
	for i := range g.files {
		if f := &g.files[i]; g.isInside(f.real) {
			f.link = ""
		}
	}
	g.folders = slices.DeleteFunc(g.folders, g.isRead)
	return g, errors.Join(problems...)
}

// add adds a file, unless it is there by another name.
func (g *given) add(f file) {
	f.real = realPath(f.path)
	if i, known := g.at[f.real]; known {
		g.files[i].walked = g.files[i].walked && f.walked // one that the command line names was not walked to
		return
	}
	if target, err := filepath.EvalSymlinks(f.link); f.link != "" && err == nil {
		f.path = target
	}
	g.at[f.real] = len(g.files)
	g.files = append(g.files, f)
}

// walk adds the files below a folder, and reports whether there is any, or a link to a folder. A
// folder that cannot be read is one of the files, so that the run says why when it tries to read that.
func (g *given) walk(root string, ignore []string) (found bool) {
	g.roots = append(g.roots, realPath(root))
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		f := file{path: path, walked: true}
		isFolder := err == nil && d.IsDir()
		if err == nil && d.Type()&fs.ModeSymlink != 0 {
			target, broken := os.Stat(path)
			isFolder = broken == nil && target.IsDir()
			f.link = path
		}
		switch {
		case err == nil &&
			path != root &&
			isIgnored(root, path, isFolder, ignore):
			if d.IsDir() {
				return filepath.SkipDir
			}
		case isFolder && f.link != "":
			g.folders = append(g.folders, path)
			found = true
		case err != nil || !isFolder && isManifestName(d.Name()):
			g.add(f)
			found = true
		}
		return nil
	})
	return found
}

// isInside reports whether a real path is in one of the given folders.
func (g *given) isInside(real string) bool {
	return slices.ContainsFunc(g.roots, func(root string) bool { return isBelow(real, root) })
}

// isRead reports whether files of the folder that a link leads to are read by another path.
func (g *given) isRead(link string) bool {
	folder := realPath(link) + string(filepath.Separator)
	return slices.ContainsFunc(g.files, func(f file) bool { return strings.HasPrefix(f.real, folder) })
}

// isLink reports whether a path is itself a link: one that ends in a slash is what it leads to.
func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// isIgnored reports whether a walk leaves a file or folder out. A pattern
// matches the name, or the path below the root; with a slash at its end, folders alone.
func isIgnored(root, name string, isFolder bool, ignore []string) bool {
	if isFolder &&
		(strings.HasPrefix(filepath.Base(name), ".") || filepath.Base(name) == "node_modules") {
		return true
	}
	rel, _ := filepath.Rel(root, name) // which is below it
	return slices.ContainsFunc(ignore, func(p string) bool {
		p, forFolders := strings.CutSuffix(p, "/")
		if forFolders && !isFolder {
			return false
		}
		byName, _ := path.Match(p, filepath.Base(name))
		byPath, _ := path.Match(p, filepath.ToSlash(rel))
		return byName || byPath
	})
}

// realPath returns the absolute path with symbolic links resolved, as far as
// the file exists.
func realPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path
}

func isManifestName(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(name)))
}

// inFolder returns the first of the names that a folder has, with the folder; "" if it has
// none of them.
func inFolder(dir string, names ...string) string {
	for _, base := range names {
		name := filepath.Join(dir, base)
		if _, err := os.Stat(name); err == nil {
			return name
		}
	}
	return ""
}

// above yields a folder and those above it, up to the root of the repository. Above a symbolic
// link are the folders of what it leads to.
func above(dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		dir, _ := filepath.EvalSymlinks(dir)
		for yield(dir) && inFolder(dir, ".git") == "" {
			up := filepath.Join(dir, "..")
			here, err := os.Stat(dir)
			if there, upErr := os.Stat(up); err != nil || upErr != nil || os.SameFile(here, there) {
				return
			}
			dir = up
		}
	}
}
