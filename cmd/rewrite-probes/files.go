package main

import (
	"errors"
	"fmt"
	"io/fs"
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
func findFiles(paths, ignore []string) ([]file, error) {
	for _, p := range ignore {
		if _, err := path.Match(p, ""); err != nil {
			return nil, fmt.Errorf("--ignore %q must be a pattern in which * and ? match as in a shell", p)
		}
	}
	found := fileSet{at: make(map[string]int)}
	var problems []error
	for _, root := range paths {
		info, err := os.Stat(root)
		switch {
		case root == "":
			problems = append(problems, errors.New("a PATH is empty, perhaps a variable that is not set"))
			continue
		case err != nil:
			problems = append(problems, fmt.Errorf("%s: %w", root, reasonOf(err)))
			continue
		case !info.IsDir():
			found.add(root, false)
			continue
		}
		if !found.walk(root, ignore) {
			problems = append(problems, fmt.Errorf("%s: the folder must hold files that end in .yaml, .yml or .json, and holds none", root))
		}
	}
	return found.files, errors.Join(problems...)
}

// A fileSet lists each file once.
type fileSet struct {
	files []file
	at    map[string]int // by the real path
}

func (s *fileSet) add(path string, walked bool) {
	real := realPath(path)
	if i, known := s.at[real]; known {
		s.files[i].walked = s.files[i].walked && walked
		return
	}
	s.at[real] = len(s.files)
	s.files = append(s.files, file{path, real, walked})
}

// walk adds the files below a folder, and reports whether there are any. A folder that
// cannot be read is added too, so that the run says why when it tries to read that.
func (s *fileSet) walk(root string, ignore []string) (found bool) {
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			s.add(path, true)
			found = true
		case path != root && isIgnored(root, path, d, ignore):
			if d.IsDir() {
				return filepath.SkipDir
			}
		case d.Type().IsRegular() && isManifestName(d.Name()):
			s.add(path, true)
			found = true
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
	rel, err := filepath.Rel(root, name)
	if err != nil {
		return false
	}
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
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}
