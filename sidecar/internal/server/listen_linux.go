package server

import "syscall"

// deferAccept asks the kernel to hand a connection over when its request is there.
func deferAccept(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		// Where it is not supported, all works as well, only slower.
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_DEFER_ACCEPT, int(headTime.Seconds()))
	})
}
