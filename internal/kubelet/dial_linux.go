package kubelet

import "syscall"

// delayAck switches TCP_QUICKACK off, so that the last acknowledgement of the
// handshake goes with the next segment. Its error is ignored: without the
// option the probe works too.
func delayAck(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 0)
	})
}
