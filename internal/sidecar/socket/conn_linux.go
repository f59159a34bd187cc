//go:build !386

package socket

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A Conn is a TCP connection. It does what [net.Conn] asks for.
type Conn struct {
	fd   int
	addr netip.AddrPort // the other end where it was dialled, else ours

	calls atomic.Int64 // reads and writes so far

	mu             sync.Mutex
	file           *os.File        // what the poller knows the socket by, and the owner of fd; nil until something had to wait; guarded by mu
	raw            syscall.RawConn // of file; guarded by mu
	readBy, sendBy time.Time       // deadlines; guarded by mu
	ackHeld        bool            // the handshake's last segment; guarded by mu
	closed         bool            // guarded by mu
}

// Dial connects to an address. Where that takes time, it takes no longer than
// the context allows that patience gives, which is not called otherwise.
//
// The kernel is asked to hold back the last segment of the handshake until
// there is something to send with it (the request, or of a TCP probe the
// connection's end). The app is woken once then and not twice, and not while
// our answer, which does not depend on it, is still to be written: where
// processors are few, the app's thread takes ours. Nobody can tell: the
// connection is established for us as soon as the app's kernel has said so,
// and what is held back is sent after 200 ms in any case.
func Dial(addr netip.AddrPort, patience func() context.Context) (*Conn, error) {
	for range 3 {
		c, err := open(addr, patience)
		if err != nil {
			return nil, err
		}
		if !c.toItself() {
			return c, nil
		}
		_ = c.Close()
	}
	return nil, os.NewSyscallError("connect", syscall.ECONNREFUSED)
}

func open(addr netip.AddrPort, patience func() context.Context) (*Conn, error) {
	family := syscall.AF_INET6
	if addr.Addr().Unmap().Is4() {
		family = syscall.AF_INET
	}
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	c := &Conn{fd: fd, addr: addr, ackHeld: true}
	sysSet(fd, syscall.TCP_QUICKACK, 0)
	if err := c.connect(patience); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Conn) connect(patience func() context.Context) error {
	switch errno := sysConnect(c.fd, c.addr); errno {
	case 0, syscall.EINPROGRESS, syscall.EALREADY, syscall.EINTR, syscall.EISCONN:
	default:
		return os.NewSyscallError("connect", errno)
	}
	done, err := connected(c.fd)
	if err != nil || done {
		return err
	}
	return c.wait(patience())
}

// wait waits for the connection until ctx is done.
func (c *Conn) wait(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(past) })
	defer stop()
	raw, err := c.poll()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Write(func(fd uintptr) (done bool) {
		done, failed = connected(int(fd))
		return done || failed != nil
	})
	return errors.Join(failed, err)
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
	return false, os.NewSyscallError("connect", err)
}

// toItself tells the rare connection to a port where nobody listens that the
// kernel made with itself, because it chose that very port for our end.
func (c *Conn) toItself() bool {
	local, err := syscall.Getsockname(c.fd)
	if err != nil || portOf(local) != int(c.addr.Port()) {
		return false
	}
	peer, err := syscall.Getpeername(c.fd)
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

func portOf(a syscall.Sockaddr) int {
	switch a := a.(type) {
	case *syscall.SockaddrInet4:
		return a.Port
	case *syscall.SockaddrInet6:
		return a.Port
	}
	return 0
}

// poll tells the poller of the socket, once.
func (c *Conn) poll() (syscall.RawConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pollLocked()
}

func (c *Conn) pollLocked() (syscall.RawConn, error) {
	if c.raw != nil {
		return c.raw, nil
	}
	c.file = os.NewFile(uintptr(c.fd), "tcp")
	raw, err := c.file.SyscallConn()
	if err == nil && !c.readBy.IsZero() {
		err = c.file.SetReadDeadline(c.readBy)
	}
	if err == nil && !c.sendBy.IsZero() {
		err = c.file.SetWriteDeadline(c.sendBy)
	}
	if err == nil {
		c.raw = raw
	}
	return raw, err
}

// Read reads what there is, and waits where there is nothing.
func (c *Conn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	n, err := c.transfer(syscall.SYS_READ, b)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Write writes all of b.
func (c *Conn) Write(b []byte) (n int, err error) {
	defer c.sendAcks()
	for n < len(b) && err == nil {
		var m int
		m, err = c.transfer(syscall.SYS_WRITE, b[n:])
		n += m
	}
	return n, err
}

// transfer makes one read or write, after waiting for it where it must.
func (c *Conn) transfer(trap uintptr, b []byte) (n int, err error) {
	var errno syscall.Errno
	watched := c.calls.Add(1) > unwatched
	once := func(fd uintptr) (done bool) {
		n, errno = sysTransfer(trap, fd, b, watched)
		return errno != syscall.EAGAIN
	}
	wait, err := c.try(trap, once)
	switch {
	case err != nil:
	case wait != nil && trap == syscall.SYS_READ:
		err = wait.Read(once)
	case wait != nil:
		err = wait.Write(once)
	}
	switch {
	case err != nil:
		return 0, err
	case errno != 0:
		return 0, errno
	}
	return n, nil
}

// try makes a call without the poller. Where it has to wait, or others have
// before, it gives the way to do that. It holds mu meanwhile, so that nobody
// can close the socket and have its number given to another.
func (c *Conn) try(trap uintptr, once func(fd uintptr) (done bool)) (wait syscall.RawConn, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	by := c.readBy
	if trap == syscall.SYS_WRITE {
		by = c.sendBy
	}
	switch {
	case c.closed:
		return nil, net.ErrClosed
	case c.raw != nil:
		return c.raw, nil
	case !by.IsZero() && !time.Now().Before(by):
		return nil, os.ErrDeadlineExceeded
	case once(uintptr(c.fd)):
		return nil, nil
	}
	return c.pollLocked()
}

// sendAcks ends the holding back of acknowledgements after the first write,
// which carried the one that was held. Else an app that writes its answer in
// pieces would wait 40 ms for us before the second (Nagle's algorithm).
func (c *Conn) sendAcks() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ackHeld && !c.closed {
		c.ackHeld = false
		sysSet(c.fd, syscall.TCP_QUICKACK, 1)
	}
}

// SetDeadline sets the time after which Read and Write fail.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline sets the time after which Read fails.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readBy = t
	switch {
	case c.closed:
		return net.ErrClosed
	case c.raw != nil:
		return c.file.SetReadDeadline(t)
	}
	return nil
}

// SetWriteDeadline sets the time after which Write fails.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sendBy = t
	switch {
	case c.closed:
		return net.ErrClosed
	case c.raw != nil:
		return c.file.SetWriteDeadline(t)
	}
	return nil
}

// NoDelay makes each Write send at once what it has. Handshakes write twice
// in a row; Nagle's algorithm would wait between.
func (c *Conn) NoDelay() { sysSet(c.fd, syscall.TCP_NODELAY, 1) }

// CloseWrite tells the other end that nothing more comes.
func (c *Conn) CloseWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	return os.NewSyscallError("shutdown", syscall.Shutdown(c.fd, syscall.SHUT_WR))
}

// Close closes the connection; who waits on it gets an error.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return net.ErrClosed
	case c.file != nil:
		c.closed = true
		return c.file.Close()
	}
	c.closed = true
	return os.NewSyscallError("close", sysClose(c.fd))
}

// LocalAddr gives the one address that is known of the connection: that which
// was dialled, or of the listener.
func (c *Conn) LocalAddr() net.Addr { return net.TCPAddrFromAddrPort(c.addr) }

// RemoteAddr gives the same.
func (c *Conn) RemoteAddr() net.Addr { return c.LocalAddr() }
