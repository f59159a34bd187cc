//go:build !linux

package server

import "syscall"

func deferAccept(_, _ string, _ syscall.RawConn) error { return nil }
