package kubelet

import (
	"net/netip"
	"syscall"
	"unsafe"
)

// What the kernel keeps for an app is charged to our container, and bounded: an answer of 10 KiB
// with its head comes at once, more as it is read. The kernel doubles these numbers.
const (
	appReceives = 16 << 10
	appSends    = 16 << 10
)

// setBuffers bounds the buffers of a connection that is to be made. Errors are ignored: it works
// without too.
func setBuffers(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, appReceives)
		_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, appSends)
	})
}

// Unsent returns how many bytes the kernel keeps for a peer that has not acknowledged them.
func Unsent(conn any) (n int) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { n = UnsentOf(int(fd)) })
	return n
}

// UnsentOf returns the same of a socket.
func UnsentOf(socket int) int {
	var n int32
	_, _, err := syscall.Syscall(syscall.SYS_IOCTL, uintptr(socket), syscall.TIOCOUTQ, uintptr(unsafe.Pointer(&n)))
	if err != 0 {
		return 0
	}
	return int(n)
}

// A socket is a connection that was established at once and carries no data. The runtime's poller
// does not know it: to register it, and to ask the kernel for both of its addresses, takes longer
// than to connect.
type socket int

// connectNow opens a connection to an address of this machine. It reports false where the kernel
// does not establish it at once, for whatever reason: a dialer then waits, or says why not.
func connectNow(to netip.AddrPort) (socket, bool) {
	family, address := sockaddr(to)
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	err = syscall.Connect(fd, address)
	if err == syscall.EINPROGRESS {
		// The handshake with a listener of this machine ends within the first call, which does
		// not say so yet.
		err = syscall.Connect(fd, address)
	}
	if err != nil || localPort(fd) == to.Port() {
		_ = syscall.Close(fd)
		return 0, false
	}
	return socket(fd), true
}

func sockaddr(to netip.AddrPort) (family int, address syscall.Sockaddr) {
	if ip := to.Addr().Unmap(); ip.Is4() {
		return syscall.AF_INET, &syscall.SockaddrInet4{Port: int(to.Port()), Addr: ip.As4()}
	}
	return syscall.AF_INET6, &syscall.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}
}

// localPort returns the port of a socket's own end, 0 if it has none. Where that is the port it
// was to reach, the kernel may have connected the socket with itself, although nothing listens.
func localPort(fd int) uint16 {
	local, err := syscall.Getsockname(fd)
	if err != nil {
		return 0
	}
	switch local := local.(type) {
	case *syscall.SockaddrInet4:
		return uint16(local.Port)
	case *syscall.SockaddrInet6:
		return uint16(local.Port)
	}
	return 0
}

func (s socket) Close() error { return syscall.Close(int(s)) }

func (s socket) SetLinger(seconds int) error {
	return syscall.SetsockoptLinger(
		int(s),
		syscall.SOL_SOCKET,
		syscall.SO_LINGER,
		&syscall.Linger{Onoff: 1, Linger: int32(seconds)},
	)
}
