package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
)

// besidePattern is the name of a temporary file, with a number for the star, and besideName what it matches.
const besidePattern = ".rewrite-probes-*"

var besideName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\.rewrite-probes-[0-9]+$`)
})

// createBeside creates a temporary file in a folder. The file has its lock until it is closed, so that
// other runs do not take it for a stale one.
func createBeside(dir string) (*os.File, error) {
	for {
		f, err := os.CreateTemp(dir, besidePattern)
		if err != nil {
			return nil, fmt.Errorf("cannot create a file in %s: %w", dir, reasonOf(err))
		}
		lock(f, true)
		if isAt(f, f.Name()) {
			return f, nil
		}
		f.Close() // another run took it for a stale one before it had its lock
	}
}

// deleteStale deletes the temporary files that killed runs have left in a folder: no living process
// holds their locks.
func deleteStale(dir string) {
	entries, _ := os.ReadDir(dir) // what cannot be read has none to delete
	for _, e := range entries {
		if !e.Type().IsRegular() || !besideName().MatchString(e.Name()) {
			continue
		}
		name := filepath.Join(dir, e.Name())
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		if lock(f, false) && isAt(f, name) {
			os.Remove(name)
		}
		f.Close()
	}
}

// isAt reports whether an open file still has a name.
func isAt(f *os.File, name string) bool {
	open, err := f.Stat()
	named, statErr := os.Lstat(name)
	return err == nil && statErr == nil && os.SameFile(open, named)
}

// oldTextOf returns the name of the copy of a file's old text, which is there while the file is
// overwritten.
func oldTextOf(path string) string {
	return filepath.Join(filepath.Dir(path), ".rewrite-probes-old-"+filepath.Base(path))
}

// keepOld writes a file's old text beside it, until done is called. The copy gets its name once it is
// whole.
func keepOld(path string, old []byte) (done func(), err error) {
	name := oldTextOf(path)
	if _, err := os.Lstat(name); err == nil {
		return nil, errHalfWritten(name)
	}
	f, err := createBeside(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	_, err = f.Write(old)
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
		f.Close()
		return nil, fmt.Errorf("a copy of it cannot be kept: %w", reasonOf(err))
	}
	return func() {
		os.Remove(name)
		f.Close()
	}, nil
}

// checkWhole returns an error if a run was killed while it overwrote a file.
func checkWhole(path string) error {
	name := oldTextOf(path)
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil // there is none
	}
	f, err := os.Open(name)
	if err != nil {
		return errHalfWritten(name)
	}
	defer f.Close()
	if !lock(f, false) {
		return nil // a living run overwrites the file
	}
	return errHalfWritten(name)
}

func errHalfWritten(name string) error {
	return fmt.Errorf("a run was killed while it wrote the file. Its text before is in %s. Move that back, or delete it", name)
}
