package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// writeFile writes a new text to a file that had the old one when it was read. Owner and
// mode stay, and so do symbolic and hard links and extended attributes, such as access
// control lists; after an error the file is what it was.
func writeFile(name string, text, old []byte) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	path, _ := filepath.EvalSymlinks(name) // which Stat has followed
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	// Root could write to it all the same, and anyone who may write to its folder
	// could replace it: only the mode tells.
	if info.Mode().Perm()&0o222 == 0 {
		return fmt.Errorf("it is read-only (mode %#o)", info.Mode().Perm())
	}
	// A run reads everything before it writes. What somebody saved meanwhile stays.
	switch now, err := os.ReadFile(path); {
	case err != nil:
		return reasonOf(err)
	case bytes.Equal(now, text): // by another of its names
		return nil
	case !bytes.Equal(now, old):
		return errors.New("it was changed by somebody else since it was read; run the command again")
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return reasonOf(err)
	}
	defer f.Close()
	if done, err := replace(path, info, text); done || err != nil {
		return err
	}
	done, err := keepOld(path, old)
	if err != nil {
		return err
	}
	return overwrite(f, text, old, done)
}

// createFile writes a file that is not there; after an error there is none.
func createFile(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return reasonOf(err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		err = errors.Join(err, os.Remove(name))
	}
	return reasonOf(err)
}

// replace replaces the file in one step, so that a reader sees the old text or
// the new one. If the old file has other names, or an owner or extended attributes that the new
// one does not get, or is a mount point, done is false and nothing has changed.
func replace(path string, info fs.FileInfo, text []byte) (done bool, err error) {
	dir := filepath.Dir(path)
	tmp, err := createBeside(dir)
	if err != nil {
		return false, err
	}
	defer tmp.Close()
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(text)
	fits := canReplace(tmp, info) // before the mode, some bits of which a new owner takes away
	if err := errors.Join(err, tmp.Chmod(info.Mode().Perm())); err != nil {
		return false, reasonOf(err)
	}
	if runtime.GOOS == "windows" { // where an open file cannot be renamed
		if err := tmp.Close(); err != nil {
			return false, reasonOf(err)
		}
	}
	if !fits || !sameAttributes(tmp.Name(), path) {
		return false, nil
	}
	err = os.Rename(tmp.Name(), path)
	if errors.Is(err, syscall.EBUSY) { // a file that is mounted, as in docker run -v FILE:FILE
		return false, nil
	}
	return err == nil, reasonOf(err)
}

// overwrite writes a new text into a file, and after an error the old one. It calls done if the file has
// one of them.
func overwrite(f *os.File, text, old []byte, done func()) error {
	put := func(b []byte) error {
		if _, err := f.WriteAt(b, 0); err != nil {
			return err
		}
		return f.Truncate(int64(len(b)))
	}
	err := put(text)
	if err == nil {
		done()
		return f.Close()
	}
	if undo := put(old); undo != nil {
		kept := oldTextOf(f.Name())
		return fmt.Errorf("%w, and neither could the old text be written: %w. It is in %s", reasonOf(err), reasonOf(undo), kept)
	}
	done()
	return reasonOf(err)
}

// reasonOf returns why a call failed, without the name of the file, which may be
// a temporary one of ours.
func reasonOf(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

// oneLine puts a message on one line.
func oneLine(s string) string {
	return field.Printable(strings.Join(strings.Fields(s), " "))
}
