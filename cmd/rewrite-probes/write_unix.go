//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

// hasOtherLinks reports whether the file has other names (hard links).
func hasOtherLinks(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink > 1
}

// takeOwner sets the owner and group of a new file to those of another, and
// reports whether it could.
func takeOwner(f *os.File, of fs.FileInfo) bool {
	want, ok := of.Sys().(*syscall.Stat_t)
	info, err := f.Stat()
	if !ok || err != nil {
		return false
	}
	have, ok := info.Sys().(*syscall.Stat_t)
	if ok && have.Uid == want.Uid && have.Gid == want.Gid {
		return true
	}
	return f.Chown(int(want.Uid), int(want.Gid)) == nil
}
