package testutil

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// An InMemory is a listener whose connections are in memory: in a bubble of testing/synctest,
// goroutines that wait for them let the clock go on. As over TCP, writes do not wait for
// the peer, and each direction ends by itself.
type InMemory struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

// NewInMemory returns a listener.
func NewInMemory() *InMemory {
	m := &InMemory{conns: make(chan net.Conn), closed: make(chan struct{})}
	m.close = sync.OnceFunc(func() { close(m.closed) })
	return m
}

// Dial connects with the listener.
func (m *InMemory) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	a, b := newHalf(), newHalf()
	select {
	case m.conns <- &memoryConn{in: a, out: b}:
		return &memoryConn{in: b, out: a}, nil
	case <-m.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept returns the next connection.
func (m *InMemory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and Dial.
func (m *InMemory) Close() error {
	m.close()
	return nil
}

// Addr returns an address that says nothing.
func (m *InMemory) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// A half is one direction of a connection.
type half struct {
	mu       sync.Mutex
	changed  sync.Cond
	bytes    []byte
	ended    bool // nothing follows
	closed   bool // nobody reads
	deadline time.Time
	timer    *time.Timer
}

func newHalf() *half {
	h := &half{}
	h.changed.L = &h.mu
	return h
}

func (h *half) read(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.closed:
			return 0, net.ErrClosed
		case !h.deadline.IsZero() && !time.Now().Before(h.deadline):
			return 0, os.ErrDeadlineExceeded
		case len(h.bytes) > 0:
			n := copy(b, h.bytes)
			h.bytes = h.bytes[n:]
			return n, nil
		case h.ended:
			return 0, io.EOF
		}
		h.changed.Wait()
	}
}

var errReset = errors.New("connection is reset by its peer")

func (h *half) write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ended:
		return 0, net.ErrClosed
	case h.closed:
		return 0, errReset
	}
	h.bytes = append(h.bytes, b...)
	h.changed.Broadcast()
	return len(b), nil
}

func (h *half) set(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
	h.changed.Broadcast()
}

func (h *half) setDeadline(d time.Time) {
	h.set(func() {
		if h.timer != nil {
			h.timer.Stop()
		}
		h.deadline, h.timer = d, nil
		if !d.IsZero() {
			h.timer = time.AfterFunc(time.Until(d), func() { h.set(func() {}) })
		}
	})
}

type memoryConn struct{ in, out *half }

func (c *memoryConn) Read(b []byte) (int, error)  { return c.in.read(b) }
func (c *memoryConn) Write(b []byte) (int, error) { return c.out.write(b) }

// CloseWrite tells the peer that nothing follows.
func (c *memoryConn) CloseWrite() error {
	c.out.set(func() { c.out.ended = true })
	return nil
}

func (c *memoryConn) Close() error {
	c.in.setDeadline(time.Time{})
	c.in.set(func() { c.in.closed = true })
	return c.CloseWrite()
}

func (c *memoryConn) LocalAddr() net.Addr  { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
func (c *memoryConn) RemoteAddr() net.Addr { return c.LocalAddr() }

func (c *memoryConn) SetDeadline(d time.Time) error {
	c.in.setDeadline(d)
	return nil
}

func (c *memoryConn) SetReadDeadline(d time.Time) error  { return c.SetDeadline(d) }
func (c *memoryConn) SetWriteDeadline(_ time.Time) error { return nil } // a write does not wait
