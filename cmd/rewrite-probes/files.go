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
	path   string
	real   string // see realPath
	walked bool   // found below a folder, not named on the command line
}

// findFiles lists the files that the paths name, each once: a file whatever its
// name, and of a folder all files that end in .yaml, .yml or .json, in the order
// of their names. Hidden folders, node_modules and what a pattern of ignore
// matches are left out.
func findFiles(paths, ignore []string) (files []file, err error) {
	for _, p := range ignore {
		if _, err := path.Match(p, ""); err != nil {
			return nil, fmt.Errorf("--ignore %q must be a pattern in which * and ? match as in a shell", p)
		}
	}
	at := make(map[string]int) // by the real path
	add := func(path string, walked bool) {
		real := realPath(path)
		if i, known := at[real]; known {
			files[i].walked = files[i].walked && walked // one that the command line names was not walked to
			return
		}
		at[real] = len(files)
		files = append(files, file{path, real, walked})
	}
	var problems []error
	for _, root := range paths {
		info, err := os.Stat(root)
		switch {
		case root == "":
			problems = append(problems, errors.New("a PATH is empty, perhaps a variable that is not set"))
		case err != nil:
			problems = append(problems, fmt.Errorf("%s: %w", root, reasonOf(err)))
		case !info.IsDir():
			add(root, false)
		default:
			found := walk(root, ignore)
			if len(found) == 0 {
				problems = append(problems, fmt.Errorf("%s: the folder must hold files that end in .yaml, .yml or .json, and holds none", root))
			}
			for _, path := range found {
				add(path, true)
			}
		}
	}
	return files, errors.Join(problems...)
}

// walk returns the files below a folder. A folder that cannot be read is one of them, so that
// the run says why when it tries to read that.
func walk(root string, ignore []string) (found []string) {
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err == nil && path != root && isIgnored(root, path, d, ignore):
			if d.IsDir() {
				return filepath.SkipDir
			}
		case err != nil || d.Type().IsRegular() && isManifestName(d.Name()):
			found = append(found, path)
		}
		return nil
	})
	return found
}

// isIgnored reports whether a walk leaves a file or folder out. A pattern
// matches the name, or the path below the root.
func isIgnored(root, name string, d fs.DirEntry, ignore []string) bool {
	if d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
		return true
	}
	rel, _ := filepath.Rel(root, name) // which is below it
	return slices.ContainsFunc(ignore, func(p string) bool {
		byName, _ := path.Match(p, d.Name())
		byPath, _ := path.Match(strings.TrimSuffix(p, "/"), filepath.ToSlash(rel))
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
