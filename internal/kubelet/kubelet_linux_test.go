package kubelet

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"net/textproto"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// silent returns the port of a listener that completes no more handshakes, as of
// an app that hangs.
func silent(t *testing.T) field.IntOrString {
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
	port := local.(*syscall.SockaddrInet4).Port
	c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return field.Number(port)
}

// probers returns a prober of each kind for a port.
func probers(port field.IntOrString) map[string]*prober.Original {
	return map[string]*prober.Original{
		"httpGet":   {HTTPGet: &prober.HTTPGet{Scheme: "HTTP", Path: "/", Port: port}, TimeoutSeconds: 1},
		"https":     {HTTPGet: &prober.HTTPGet{Scheme: "HTTPS", Path: "/", Port: port}, TimeoutSeconds: 1},
		"tcpSocket": {TCPSocket: &prober.TCPSocket{Port: port}, TimeoutSeconds: 1},
		"grpc":      {GRPC: &prober.GRPC{Port: port, Service: new(string)}, TimeoutSeconds: 1},
	}
}

func begin(ctx context.Context, t *testing.T, p *prober.Original, call *Call) *Answer {
	t.Helper()
	target, err := NewTarget("127.0.0.1", live, p)
	if err != nil {
		t.Fatal(err)
	}
	defer call.Close()
	return probed(ctx, t, target, call)
}

func TestAHandshakeThatHangsIsATimeout(t *testing.T) {
	for name, p := range probers(silent(t)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := &Call{Header: textproto.MIMEHeader{}, Start: time.Now()}
			if a := begin(t.Context(), t, p, call); a.Status != 504 {
				t.Errorf("%+v, want 504", a)
			}
		})
	}
}

// TestAHandshakeThatHangsEndsWhenTheCallerGoes: the probes' own time would be
// over in an hour.
func TestAHandshakeThatHangsEndsWhenTheCallerGoes(t *testing.T) {
	for name, p := range probers(silent(t)) {
		p.TimeoutSeconds = 3600
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		call := &Call{Header: textproto.MIMEHeader{}, Start: time.Now()}
		if a := begin(ctx, t, p, call); a.Verdict(false) != Failure {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestACallThatComesTooLateIsATimeout(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, p := range probers(field.Number(l.Addr().(*net.TCPAddr).Port)) {
		call := &Call{Header: textproto.MIMEHeader{}, Start: time.Now().Add(-2 * time.Second)}
		if a := begin(t.Context(), t, p, call); a.Status != 504 {
			t.Errorf("%s: %+v, want 504", name, a)
		}
	}
}

// TestManyProbesLeaveFewSocketsBehind: an app sees the usual end of some connections, and a reset
// of the others, which leaves no socket in TIME-WAIT.
func TestManyProbesLeaveFewSocketsBehind(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	target, err := NewTarget("127.0.0.1", live, probers(field.Number(l.Addr().(*net.TCPAddr).Port))["tcpSocket"])
	if err != nil {
		t.Fatal(err)
	}
	const probes = 400
	began := time.Now()
	ended := 0
	for range probes {
		call := &Call{Start: time.Now()}
		if a := probed(t.Context(), t, target, call); a.Status != 200 {
			t.Fatalf("%+v, want 200", a)
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		call.Close()
		if _, err := c.Read(make([]byte, 1)); err == io.EOF {
			ended++
		} else if !errors.Is(err, syscall.ECONNRESET) {
			t.Fatal(err)
		}
		c.Close()
	}
	seconds := int(time.Since(began)/time.Second) + 2
	if ended < min(usualCloses, probes) || ended > seconds*usualCloses {
		t.Errorf("%d of %d connections ended in the usual way, in %d seconds", ended, probes, seconds)
	}
}

func TestATCPProbeEndsItsConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	call := &Call{Start: time.Now()}
	if a := begin(t.Context(), t, probers(field.Number(l.Addr().(*net.TCPAddr).Port))["tcpSocket"], call); a.Status != 200 {
		t.Errorf("%+v, want 200", a)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("app read %d, %v; want the connection's end", n, err)
	}
}

// TestNoConnectionToItself: from time to time the kernel gives a connection the port that it is to
// reach, and so connects it with itself. As many tries as there are such ports meet that. They are
// even (__inet_hash_connect), and those of listeners are not.
func TestNoConnectionToItself(t *testing.T) {
	address := netip.MustParseAddrPort("127.0.0.1:40000")
	for {
		l, err := net.Listen("tcp", address.String())
		if err == nil {
			l.Close()
			break
		}
		address = netip.AddrPortFrom(address.Addr(), address.Port()+2)
	}
	for range 100_000 {
		if conn, ok := connectNow(address); ok {
			conn.Close()
			t.Fatalf("connected to %s, where nothing listens", address)
		}
	}
}

func TestConnectsAtOnce(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]"} {
		l, err := net.Listen("tcp", host+":0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		address := netip.MustParseAddrPort(host + ":" + strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
		conn, ok := connectNow(address)
		if !ok {
			t.Errorf("%s: not connected at once", address)
			continue
		}
		conn.Close()
	}
}

// The port by which a connection with itself is known, in both families.
func TestTheLocalPortIsThatOfTheSocket(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "[::1]"} {
		l, err := net.Listen("tcp", host+":0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		raw, err := l.(syscall.Conn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		got := uint16(0)
		_ = raw.Control(func(fd uintptr) { got = localPort(int(fd)) })
		if want := uint16(l.Addr().(*net.TCPAddr).Port); got != want {
			t.Errorf("%s: port %d, want %d", host, got, want)
		}
	}
	if got := localPort(-1); got != 0 {
		t.Errorf("no socket has the port %d", got)
	}
}
