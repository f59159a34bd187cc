package kubelet

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"
)

// connect opens a TCP connection to an IP address.
//
// It does by hand what net.Dialer does, because a connection within the pod is
// there as soon as connect(2) returns: net.Dialer still takes a goroutine
// that watches the context, a round through the poller and four system calls
// more, together a third of what a TCP probe costs.
// What is not there at once goes through the poller all the same.
func connect(ctx context.Context, ip string, port string) (*socket, error) {
	target, err := netip.ParseAddr(ip)
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, err
	}
	addr := netip.AddrPortFrom(target, uint16(n))
	for range 3 {
		s, err := open(ctx, addr)
		if err != nil {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(addr), Err: err}
		}
		if !s.toItself() {
			return s, nil
		}
		_ = s.Close()
	}
	return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(addr), Err: syscall.ECONNREFUSED}
}

// A socket is a connected TCP socket. It can only be closed, until conn has
// told the poller of it.
type socket struct {
	fd   int
	file *os.File // nil before conn; then it owns fd
	addr net.Addr
}

func open(ctx context.Context, addr netip.AddrPort) (*socket, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	family, to := sockaddr(addr)
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	s := &socket{fd: fd, addr: net.TCPAddrFromAddrPort(addr)}
	switch err := syscall.Connect(fd, to); err {
	case nil, syscall.EINPROGRESS, syscall.EALREADY, syscall.EINTR, syscall.EISCONN:
	default:
		_ = s.Close()
		return nil, os.NewSyscallError("connect", err)
	}
	done, err := connected(fd)
	if err == nil && !done {
		err = s.wait(ctx)
	}
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

func sockaddr(addr netip.AddrPort) (family int, to syscall.Sockaddr) {
	if ip := addr.Addr().Unmap(); ip.Is4() {
		return syscall.AF_INET, &syscall.SockaddrInet4{Port: int(addr.Port()), Addr: ip.As4()}
	}
	to6 := &syscall.SockaddrInet6{Port: int(addr.Port()), Addr: addr.Addr().As16()}
	if zone := addr.Addr().Zone(); zone != "" {
		if link, err := net.InterfaceByName(zone); err == nil {
			to6.ZoneId = uint32(link.Index)
		}
	}
	return syscall.AF_INET6, to6
}

// connected tells whether a connection is there, and why it never will be.
func connected(fd int) (bool, error) {
	if _, err := syscall.Getpeername(fd); err == nil {
		return true, nil
	}
	errno, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_ERROR)
	if err == nil && errno != 0 {
		err = syscall.Errno(errno)
	}
	if err != nil {
		return false, os.NewSyscallError("connect", err)
	}
	return false, nil
}

// wait waits for the connection until ctx is done.
func (s *socket) wait(ctx context.Context) error {
	raw, err := s.poll().SyscallConn()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = s.file.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	var failed error
	err = raw.Write(func(fd uintptr) (done bool) {
		done, failed = connected(int(fd))
		return done || failed != nil
	})
	return errors.Join(failed, err)
}

// toItself tells the rare connection to a port where nobody listens that the
// kernel made with itself, because it chose that very port for our end.
func (s *socket) toItself() bool {
	local, err := syscall.Getsockname(s.fd)
	if err != nil {
		return false
	}
	peer, err := syscall.Getpeername(s.fd)
	if err != nil {
		return false
	}
	switch l := local.(type) {
	case *syscall.SockaddrInet4:
		p, ok := peer.(*syscall.SockaddrInet4)
		return ok && l.Port == p.Port && l.Addr == p.Addr
	case *syscall.SockaddrInet6:
		p, ok := peer.(*syscall.SockaddrInet6)
		return ok && l.Port == p.Port && l.Addr == p.Addr
	}
	return false
}

// conn makes the socket fit for reading and writing.
func (s *socket) conn() net.Conn {
	// Handshakes write twice in a row; Nagle's algorithm would wait between.
	_ = syscall.SetsockoptInt(s.fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
	s.poll()
	return s
}

func (s *socket) poll() *os.File {
	if s.file == nil {
		s.file = os.NewFile(uintptr(s.fd), "tcp")
	}
	return s.file
}

func (s *socket) Read(p []byte) (int, error)         { n, err := s.file.Read(p); return n, plain(err) }
func (s *socket) Write(p []byte) (int, error)        { n, err := s.file.Write(p); return n, plain(err) }
func (s *socket) SetDeadline(t time.Time) error      { return s.file.SetDeadline(t) }
func (s *socket) SetReadDeadline(t time.Time) error  { return s.file.SetReadDeadline(t) }
func (s *socket) SetWriteDeadline(t time.Time) error { return s.file.SetWriteDeadline(t) }
func (s *socket) LocalAddr() net.Addr                { return s.addr }
func (s *socket) RemoteAddr() net.Addr               { return s.addr }

func (s *socket) Close() error {
	if s.file != nil {
		return s.file.Close()
	}
	return syscall.Close(s.fd)
}

// plain takes the file's name off an error.
func plain(err error) error {
	var p *os.PathError
	if err != nil && err != io.EOF && errors.As(err, &p) {
		return p.Err
	}
	return err
}
