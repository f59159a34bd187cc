//go:build !386

package socket

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"syscall"
	"testing"
	"time"
)

// full gives the address of a listener that completes no more handshakes, and
// what makes it go on.
func full(t *testing.T) (netip.AddrPort, func()) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	err = errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0))
	local, nameErr := syscall.Getsockname(fd)
	if err := errors.Join(err, nameErr); err != nil {
		t.Fatal(err)
	}
	addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(portOf(local)))
	c, err := Dial(addr, context.Background)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	io.WriteString(c, "x") // sends what was held back, so that the place is taken
	return addr, func() {
		if conn, _, err := syscall.Accept(fd); err == nil {
			syscall.Close(conn)
		}
	}
}

func TestAConnectionThatIsThereAtOnceNeedsNoPoller(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		l := listen(t, host)
		c, err := Dial(addrOf(l), context.Background)
		if err != nil {
			t.Fatal(err)
		}
		if c.file != nil {
			t.Errorf("%s: the poller was told", host)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAConnectionThatIsLongInComingIsWaitedFor(t *testing.T) {
	addr, open := full(t)
	time.AfterFunc(100*time.Millisecond, open)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := Dial(addr, func() context.Context { return ctx }) // the kernel sends the next SYN after 1 s
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.file == nil {
		t.Error("it was there at once; nothing is tested")
	}
	if _, err := io.WriteString(c, "hello"); err != nil {
		t.Error(err)
	}
}

func TestAConnectionThatNeverComesEndsWithItsContext(t *testing.T) {
	addr, _ := full(t)
	deadline, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	caller, gone := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, gone)
	for name, ctx := range map[string]context.Context{"deadline": deadline, "caller": caller} {
		began := time.Now()
		c, err := Dial(addr, func() context.Context { return ctx })
		if err == nil {
			c.Close()
			t.Errorf("%s: connected", name)
		}
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("%s: took %s", name, took)
		}
	}
}

func TestASocketConnectedToItselfIsFound(t *testing.T) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	local, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Connect(fd, local); err != nil {
		t.Fatal(err)
	}
	c := &Conn{fd: fd, addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(portOf(local)))}
	if !c.toItself() {
		t.Error("it was taken for a connection to an app")
	}
}

func TestAnAcceptedSocketSendsAtOnce(t *testing.T) {
	l, err := Listen(0, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	caller, err := Dial(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), addrOf(l).Port()), context.Background)
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	io.WriteString(caller, "x")
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if on, err := syscall.GetsockoptInt(c.(*Conn).fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY); on == 0 {
		t.Errorf("TCP_NODELAY %d, %v", on, err)
	}
}
