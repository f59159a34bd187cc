//go:build !386

package socket

import (
	"errors"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

type listener struct {
	file  *os.File
	raw   syscall.RawConn
	addr  *net.TCPAddr
	calls int // that found a connection, since one did not
}

// Listen listens on a port of all addresses, IPv4 and IPv6, for callers that
// speak first.
//
// The kernel hands a connection over when there is something to read
// (TCP_DEFER_ACCEPT), or after the time given: that saves waking up twice, and
// who connects and says nothing takes no place. Accepted sockets
// inherit TCP_NODELAY.
func Listen(port int, silent time.Duration) (net.Listener, error) {
	opened, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return nil, err
	}
	defer opened.Close() // the file is another descriptor of the same socket
	file, err := opened.(*net.TCPListener).File()
	if err != nil {
		return nil, err
	}
	raw, err := file.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			sysSet(int(fd), syscall.TCP_DEFER_ACCEPT, int32(silent.Seconds()))
			sysSet(int(fd), syscall.TCP_NODELAY, 1)
		})
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &listener{file: file, raw: raw, addr: opened.Addr().(*net.TCPAddr)}, nil
}

// Accept is for one goroutine.
func (l *listener) Accept() (net.Conn, error) {
	var fd int
	var errno syscall.Errno
	err := l.raw.Read(func(listening uintptr) bool {
		fd, errno = sysAccept(listening, l.calls > unwatched)
		l.calls++
		if errno == syscall.EAGAIN {
			l.calls = 0
		}
		return errno != syscall.EAGAIN
	})
	switch {
	case err != nil: // nothing else makes it give up waiting
		return nil, net.ErrClosed
	case errno != 0:
		return nil, os.NewSyscallError("accept4", errno)
	}
	return &Conn{fd: fd, addr: l.addr.AddrPort()}, nil
}

func (l *listener) Close() error   { return l.file.Close() }
func (l *listener) Addr() net.Addr { return l.addr }

var _ net.Conn = (*Conn)(nil)
