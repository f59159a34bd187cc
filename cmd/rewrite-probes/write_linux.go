package main

import (
	"fmt"
	"maps"
	"strings"
	"syscall"
)

// sameAttributes reports whether two files have the same extended attributes, among
// which are access control lists and SELinux's context.
func sameAttributes(a, b string) bool {
	return maps.Equal(attributes(a), attributes(b))
}

// attributes returns the extended attributes of a file; none if the file system has none.
func attributes(path string) map[string]string {
	found := make(map[string]string)
	const most = 64 << 10 // the kernel's limit of both
	names := make([]byte, most)
	value := make([]byte, most)
	n, _ := syscall.Listxattr(path, names)
	isEnd := func(c rune) bool { return c == 0 }
	for _, name := range strings.FieldsFunc(string(names[:max(n, 0)]), isEnd) {
		n, err := syscall.Getxattr(path, name, value)
		found[name] = fmt.Sprint(string(value[:max(n, 0)]), err)
	}
	return found
}
