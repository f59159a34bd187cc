package main

import (
	"maps"
	"strings"
	"syscall"
)

// sameAttributes reports whether two files have the same extended attributes, among
// which are access control lists and SELinux's context.
func sameAttributes(a, b string) bool { return maps.Equal(attributes(a), attributes(b)) }

// attributes returns the extended attributes of a file; none if the file system has none.
func attributes(path string) map[string]string {
	names := make([]byte, 64<<10) // the kernel's limit
	n, err := syscall.Listxattr(path, names)
	if err != nil || n == 0 {
		return nil
	}
	found := make(map[string]string)
	value := make([]byte, 64<<10)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names[:n]), "\x00"), "\x00") {
		n, err := syscall.Getxattr(path, name, value)
		found[name] = string(value[:max(n, 0)])
		if err != nil {
			found[name] = err.Error()
		}
	}
	return found
}
