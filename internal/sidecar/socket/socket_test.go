package socket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"
)

// listen gives a listener of the net package, as an app has one.
func listen(t *testing.T, host string) *net.TCPListener {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Skipf("cannot listen on %s: %v", host, err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*net.TCPListener)
}

func addrOf(l net.Listener) netip.AddrPort { return l.Addr().(*net.TCPAddr).AddrPort() }

// pair gives both ends of a connection that we dialled.
func pair(t *testing.T) (*Conn, net.Conn) {
	t.Helper()
	l := listen(t, "127.0.0.1")
	ours, err := Dial(addrOf(l), context.Background)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close() })
	app, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { app.Close() })
	return ours, app
}

func TestAConnectionCarriesBytesAndItsEndBothWays(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		t.Run(host, func(t *testing.T) {
			l := listen(t, host)
			c, err := Dial(addrOf(l), context.Background)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.NoDelay()
			go func() {
				app, err := l.Accept()
				if err != nil {
					return
				}
				defer app.Close()
				b, _ := io.ReadAll(app)
				app.Write(bytes.ToUpper(b))
			}()
			if _, err := io.WriteString(c, "hello"); err != nil {
				t.Fatal(err)
			}
			if err := c.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(c); string(b) != "HELLO" || err != nil {
				t.Errorf("read %q, %v", b, err)
			}
		})
	}
}

// TestMoreThanTheKernelBuffers makes both ends wait for each other, and more
// calls than go past the runtime's monitor.
func TestMoreThanTheKernelBuffers(t *testing.T) {
	ours, app := pair(t)
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	failed := make(chan error, 1)
	go func() {
		_, err := ours.Write(sent)
		failed <- errors.Join(err, ours.CloseWrite())
	}()
	time.Sleep(20 * time.Millisecond)
	got, err := io.ReadAll(app)
	if err := errors.Join(err, <-failed); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("app got %d bytes of %d: %v", len(got), len(sent), err)
	}
	go func() {
		for b := sent; len(b) > 0; b = b[4<<10:] {
			app.Write(b[:4<<10])
		}
		app.Close()
	}()
	if got, err := io.ReadAll(ours); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("we got %d bytes of %d: %v", len(got), len(sent), err)
	}
}

func TestAnAppSeesAConnectionThoughNothingIsSent(t *testing.T) {
	l := listen(t, "127.0.0.1")
	c, err := Dial(addrOf(l), context.Background)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	l.SetDeadline(time.Now().Add(2 * time.Second))
	app, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	io.WriteString(app, "220 ready")
	b := make([]byte, 16)
	if n, err := c.Read(b); string(b[:n]) != "220 ready" {
		t.Errorf("read %q, %v", b[:n], err)
	}
}

func TestAnAppSeesAConnectionThatWasClosedAtOnce(t *testing.T) {
	l := listen(t, "127.0.0.1")
	c, err := Dial(addrOf(l), context.Background)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	l.SetDeadline(time.Now().Add(100 * time.Millisecond))
	app, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	if n, err := app.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("app read %d, %v; want the end, not a reset", n, err)
	}
}

// TestAnAnswerInPiecesIsNotHeldUp: an app that leaves Nagle's algorithm on
// sends the second piece when we have acknowledged the first.
func TestAnAnswerInPiecesIsNotHeldUp(t *testing.T) {
	fastest := time.Hour
	for range 5 {
		ours, app := pair(t)
		app.(*net.TCPConn).SetNoDelay(false)
		began := time.Now()
		io.WriteString(ours, "GET")
		go func() {
			app.Read(make([]byte, 16))
			for range 4 {
				io.WriteString(app, "piece")
			}
			app.Close()
		}()
		if b, err := io.ReadAll(ours); len(b) != 20 || err != nil {
			t.Fatalf("read %q, %v", b, err)
		}
		fastest = min(fastest, time.Since(began))
	}
	if fastest > 20*time.Millisecond {
		t.Errorf("the answer took %s", fastest)
	}
}

func TestNobodyListeningIsARefusal(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		l := listen(t, host)
		addr := addrOf(l)
		l.Close()
		if _, err := Dial(addr, context.Background); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: %v, want %v", addr, err, syscall.ECONNREFUSED)
		}
	}
}

func TestADeadlineEndsReading(t *testing.T) {
	for name, set := range map[string]func(*Conn){
		"passed":          func(c *Conn) { c.SetDeadline(past) },
		"passes":          func(c *Conn) { c.SetReadDeadline(time.Now().Add(30 * time.Millisecond)) },
		"set later":       func(c *Conn) { time.AfterFunc(30*time.Millisecond, func() { c.SetReadDeadline(past) }) },
		"set later still": func(c *Conn) { time.AfterFunc(30*time.Millisecond, func() { c.SetDeadline(past) }) },
	} {
		c, _ := pair(t)
		set(c)
		began := time.Now()
		for range 2 {
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: %v, want %v", name, err, os.ErrDeadlineExceeded)
			}
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("%s: took %s", name, took)
		}
	}
}

func TestAPassedDeadlineCountsThoughThereIsSomethingToRead(t *testing.T) {
	c, app := pair(t)
	io.WriteString(app, "x")
	time.Sleep(10 * time.Millisecond)
	c.SetDeadline(past)
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d, %v; want %v", n, err, os.ErrDeadlineExceeded)
	}
	if n, err := c.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("wrote %d, %v; want %v", n, err, os.ErrDeadlineExceeded)
	}
	c.SetDeadline(time.Time{})
	if n, err := c.Read(make([]byte, 1)); n != 1 {
		t.Errorf("read %d, %v without the deadline", n, err)
	}
}

func TestADeadlineEndsWriting(t *testing.T) {
	c, _ := pair(t) // the app never reads
	c.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := c.Write(make([]byte, 64<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v, want %v", err, os.ErrDeadlineExceeded)
	}
}

func TestClosingEndsReading(t *testing.T) {
	c, _ := pair(t)
	time.AfterFunc(30*time.Millisecond, func() { c.Close() })
	if n, err := c.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Errorf("read %d, %v", n, err)
	}
	if _, err := c.Write([]byte("x")); err == nil {
		t.Error("wrote after Close")
	}
	if err := c.Close(); err == nil {
		t.Error("closed twice")
	}
	if err := c.SetDeadline(past); err == nil {
		t.Error("set a deadline after Close")
	}
}

func TestAResetIsAnError(t *testing.T) {
	c, app := pair(t)
	app.(*net.TCPConn).SetLinger(0)
	app.Close()
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read %d, %v; want %v", n, err, syscall.ECONNRESET)
	}
}

func TestAListenerAnswersIPv4AndIPv6UntilItIsClosed(t *testing.T) {
	l, err := Listen(0, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				over <- err
				return
			}
			go func() {
				defer c.Close()
				b := make([]byte, 5)
				io.ReadFull(c, b)
				c.Write(bytes.ToUpper(b))
			}()
		}
	}()
	for range 100 { // in a row without waiting, and more
		for _, host := range []string{"127.0.0.1", "::1"} {
			c, err := net.Dial("tcp", net.JoinHostPort(host, portText(l)))
			if err != nil {
				t.Skipf("cannot dial %s: %v", host, err)
			}
			io.WriteString(c, "hel")
			io.WriteString(c, "lo")
			if b, err := io.ReadAll(c); string(b) != "HELLO" {
				t.Errorf("%s: %q, %v", host, b, err)
			}
			c.Close()
		}
	}
	if _, err := Listen(int(addrOf(l).Port()), time.Second); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("second listener: %v, want %v", err, syscall.EADDRINUSE)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-over; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close: %v, want %v", err, net.ErrClosed)
	}
	if c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", portText(l))); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
}

func portText(l net.Listener) string {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
