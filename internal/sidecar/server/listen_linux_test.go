package server

import (
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
