//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

// hangup is the signal of a terminal that is closed.
var hangup = []os.Signal{syscall.SIGHUP}

// canReplace reports whether a new file can take the place of another, which has no other names
// (hard links) and whose owner and group it gets.
func canReplace(f *os.File, of fs.FileInfo) bool {
	st, ok := of.Sys().(*syscall.Stat_t)
	return ok &&
		st.Nlink == 1 &&
		f.Chown(int(st.Uid), int(st.Gid)) == nil
}
