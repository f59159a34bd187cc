package server

import "syscall"

// deferAccept sets TCP_DEFER_ACCEPT. Its error is ignored: without the option
// the server works too.
func deferAccept(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_DEFER_ACCEPT, int(headTime.Seconds()))
	})
}
