package sidecar

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
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

// TestCallsThatCameTogetherAreServedByEntry: before the server accepts, many callers call the
// probe of an app that hangs, many ask for what needs no app, and then one calls another probe.
func TestCallsThatCameTogetherAreServedByEntry(t *testing.T) {
	hanging, app := listenLocal(t), listenLocal(t)
	go testutil.ServeConns(hanging, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	go testutil.ServeConns(app, func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") })
	s := New(slog.New(slog.DiscardHandler), "127.0.0.1", 0, map[string]*prober.Original{
		"/app-health/hangs/livez": probeOf(hanging, 3600), "/app-health/app/livez": probeOf(app, 60),
	}, nil)
	l, err := Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	call := func(path string) net.Conn { return dialLocal(t, l, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n") }
	var calls []net.Conn
	for range 3 * maxInLines {
		calls = append(calls, call("/app-health/hangs/livez"))
	}
	want := map[net.Conn]string{call("/x"): "HTTP/1.1 404 ", call("/readyz"): "HTTP/1.1 200 ", call("/metrics"): "HTTP/1.1 200 ", call("/app-health/app/livez"): "HTTP/1.1 200 "}
	want[dialLocal(t, l, "POST /x HTTP/1.1\r\n\r\n")] = "HTTP/1.1 404 "
	go s.Serve(l)
	for conn, want := range want {
		if got, _ := io.ReadAll(conn); !strings.HasPrefix(string(got), want) {
			t.Errorf("answer %q, want %q", got, want)
		}
	}
	dropped := 0
	for _, conn := range calls {
		_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond)) // a reset has come by now
		if _, err := conn.Read(make([]byte, 1)); errors.Is(err, syscall.ECONNRESET) {
			dropped++
		}
	}
	if dropped < maxInLines {
		t.Errorf("%d of %d calls are dropped, want %d or more", dropped, len(calls), maxInLines)
	}
}

// dialLocal connects with a listener and sends a text.
func dialLocal(t *testing.T, l net.Listener, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(l.Addr().(*net.TCPAddr).Port)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestWhatWaitsIsAccepted with what came on it: a caller that has gone is passed over, one that is silent is not.
func TestWhatWaitsIsAccepted(t *testing.T) {
	for _, atMost := range []int{1, 2, 3, 4, 5, 10} {
		l := listenLocal(t)
		for _, text := range []string{"first", "", "gone", "last"} {
			conn := dialLocal(t, l, text)
			if text == "gone" {
				conn.Close()
				conn = dialLocal(t, l, "")
				conn.Close()
			}
		}
		var got []string
		more := acceptWaiting(l, atMost, make([]byte, 100), func(socket int, first []byte) {
			got = append(got, string(first))
			conn := connOf(socket)
			if conn == nil {
				t.Fatal("the socket is no connection")
			}
			conn.Close()
		})
		want := []string{"first", "", "gone", "last"}[:min(atMost, 3)]
		if atMost > 4 { // the fourth has nothing, and no caller
			want = append(want, "last")
		}
		if !slices.Equal(got, want) || more != (atMost <= 5) {
			t.Errorf("of at most %d: %q, and more: %t; want %q", atMost, got, more, want)
		}
	}
}

// TestAConnectionOfASocketIsItsOnlyHolder: when it is closed, the caller sees the end.
func TestAConnectionOfASocketIsItsOnlyHolder(t *testing.T) {
	l := listenLocal(t)
	caller := dialLocal(t, l, "x")
	acceptWaiting(l, 1, make([]byte, 1), func(socket int, _ []byte) {
		conn := connOf(socket)
		if _, err := io.WriteString(conn, "y"); err != nil {
			t.Error(err)
		}
		conn.Close()
	})
	if got, err := io.ReadAll(caller); string(got) != "y" || err != nil {
		t.Errorf("the caller gets %q, %v", got, err)
	}
	file, err := syscall.Open(os.DevNull, syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if conn := connOf(file); conn != nil {
		t.Error("there is a connection of no socket")
	}
}

// TestTheTimeInALineCounts: a call whose time was over in it is not made.
func TestTheTimeInALineCounts(t *testing.T) {
	const key = "/app-health/a/livez"
	app := listenLocal(t)
	go testutil.ServeConns(app, func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") })
	s := New(slog.New(slog.DiscardHandler), "127.0.0.1", 0, map[string]*prober.Original{key: probeOf(app, 60)}, nil)
	l := listenLocal(t)
	v, w, waiting := &view{common: true, port: s.port}, &workers{next: make(chan *conn)}, newLines(maxInLines, drop)
	want := make(map[net.Conn]string)
	for since, answer := range map[time.Duration]string{0: "HTTP/1.1 200 OK", time.Hour: "HTTP/1.1 504 Gateway Timeout"} {
		want[dialLocal(t, l, "GET "+key+" HTTP/1.1\r\n\r\n")] = answer
		acceptWaiting(l, 1, make([]byte, 100), func(socket int, first []byte) {
			waiting.add(s.entries[key], inLine{socket, bytes.Clone(first), time.Now().Add(-since)})
		})
	}
	for s.takeWaiting(l, v, w, waiting) {
		runtime.Gosched()
	}
	for caller, want := range want {
		answer, _ := io.ReadAll(caller)
		if got, _, _ := strings.Cut(string(answer), "\r\n"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
