package sidecar

import "syscall"

const tcpUserTimeout = 18 // TCP_USER_TIMEOUT of linux/tcp.h

// setOptions sets TCP_DEFER_ACCEPT, for a second: its queue is bounded. And
// TCP_USER_TIMEOUT, for answers that nobody takes, also after close. Errors are
// ignored: without the options the server works too.
func setOptions(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_DEFER_ACCEPT, 1)
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(sendTime.Milliseconds()))
	})
}

// readNow reads what has come already, without waiting.
func readNow(c syscall.Conn, b []byte) (n int) {
	raw, _ := c.SyscallConn() // fails only for no connection at all
	_ = raw.Read(func(fd uintptr) bool {
		n, _ = syscall.Read(int(fd), b)
		return true
	})
	return max(n, 0)
}
