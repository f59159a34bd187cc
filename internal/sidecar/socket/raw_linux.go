//go:build !386

// The frozen package syscall has no socket calls of its own for 386.

package socket

import (
	"net"
	"net/netip"
	"syscall"
	"unsafe"
)

// sysConnect begins to connect a non-blocking socket.
func sysConnect(fd int, addr netip.AddrPort) syscall.Errno {
	bigEndian := [2]byte{byte(addr.Port() >> 8), byte(addr.Port())}
	port := *(*uint16)(unsafe.Pointer(&bigEndian))
	if ip := addr.Addr().Unmap(); ip.Is4() {
		to := syscall.RawSockaddrInet4{Family: syscall.AF_INET, Port: port, Addr: ip.As4()}
		_, _, errno := syscall.RawSyscall(syscall.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&to)), unsafe.Sizeof(to))
		return errno
	}
	to := syscall.RawSockaddrInet6{Family: syscall.AF_INET6, Port: port, Addr: addr.Addr().As16()}
	if zone := addr.Addr().Zone(); zone != "" {
		if link, err := net.InterfaceByName(zone); err == nil {
			to.Scope_id = uint32(link.Index)
		}
	}
	_, _, errno := syscall.RawSyscall(syscall.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&to)), unsafe.Sizeof(to))
	return errno
}

// sysAccept takes a connection from a non-blocking listener, and makes it
// non-blocking too.
func sysAccept(fd uintptr, watched bool) (int, syscall.Errno) {
	const flags = syscall.SOCK_NONBLOCK | syscall.SOCK_CLOEXEC
	for {
		var conn uintptr
		var errno syscall.Errno
		if watched {
			conn, _, errno = syscall.Syscall6(syscall.SYS_ACCEPT4, fd, 0, 0, flags, 0, 0)
		} else {
			conn, _, errno = syscall.RawSyscall6(syscall.SYS_ACCEPT4, fd, 0, 0, flags, 0, 0)
		}
		if errno != syscall.EINTR && errno != syscall.ECONNABORTED {
			return int(conn), errno
		}
	}
}

// sysTransfer is read(2) or write(2) of a non-blocking socket. b must not be
// empty.
func sysTransfer(trap, fd uintptr, b []byte, watched bool) (int, syscall.Errno) {
	for {
		var n uintptr
		var errno syscall.Errno
		if watched {
			n, _, errno = syscall.Syscall(trap, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		} else {
			n, _, errno = syscall.RawSyscall(trap, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		}
		if errno != syscall.EINTR {
			return int(n), errno
		}
	}
}

// sysSet sets an option of TCP. All of those that are set here only make
// things faster, so a kernel that has one not is no error.
func sysSet(fd, option int, value int32) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_SETSOCKOPT, uintptr(fd), syscall.IPPROTO_TCP, uintptr(option),
		uintptr(unsafe.Pointer(&value)), unsafe.Sizeof(value), 0)
}

// sysClose closes a socket; without SO_LINGER that does not block.
func sysClose(fd int) error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOSE, uintptr(fd), 0, 0); errno != 0 {
		return errno
	}
	return nil
}
