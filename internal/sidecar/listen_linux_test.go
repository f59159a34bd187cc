package sidecar

import (
	"log/slog"
	"net"
	"syscall"
	"testing"
)

func TestTheKernelBoundsWhatCallersMayTake(t *testing.T) {
	l, err := Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	caller, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	if _, err := caller.Write([]byte("GET")); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	option := func(c any, option int) (value int) {
		raw, err := c.(syscall.Conn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		_ = raw.Control(func(fd uintptr) { value, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, option) })
		if err != nil {
			t.Error(err)
		}
		return value
	}
	if s := option(l, syscall.TCP_DEFER_ACCEPT); s != 1 {
		t.Errorf("a connection without a request is kept for %d s", s)
	}
	if ms := option(conn, tcpUserTimeout); ms != 5000 {
		t.Errorf("an answer that nobody takes is kept for %d ms", ms)
	}
}

func TestARequestThatCameWithItsConnectionCannotBeEvicted(t *testing.T) {
	s := New(slog.New(slog.DiscardHandler), "", 0, nil, nil)
	l, err := Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for text, evictable := range map[string]int{"GET / HTTP/1.1\r\n\r\n": 0, "GET / HTTP/1.1\r\n": 1} {
		caller, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer caller.Close()
		if _, err := caller.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		nc, err := l.Accept() // when the request is there
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		c := newConn(s, &view{common: true, port: s.port}, nc)
		if string(c.buf[:c.first]) != text || s.budget.heads.Len() != evictable {
			t.Errorf("%q is read, of %q; %d may be evicted", c.buf[:c.first], text, s.budget.heads.Len())
		}
		s.budget.leave(c)
	}
}

func TestWhatHasComeIsReadWithoutWaiting(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	caller, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var b [16]byte
	if n := readNow(conn.(syscall.Conn), b[:]); n != 0 {
		t.Errorf("%d bytes are read where none have come", n)
	}
	for _, half := range []string{"GET ", "/x"} {
		if _, err := caller.Write([]byte(half)); err != nil {
			t.Fatal(err)
		}
		// On the loopback interface a write is over when the bytes have arrived.
		if n := readNow(conn.(syscall.Conn), b[:]); string(b[:n]) != half {
			t.Errorf("%q is read, want %q", b[:n], half)
		}
	}
	conn.Close()
	if n := readNow(conn.(syscall.Conn), b[:]); n != 0 {
		t.Errorf("%d bytes are read from a closed connection", n)
	}
}
