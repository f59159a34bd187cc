package sidecar

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// TestAHandshakeTakesOfItsKeysBudget: the key's turn while it lasts, and its bytes until the call is over.
func TestAHandshakeTakesOfItsKeysBudget(t *testing.T) {
	const key, other = "/app-health/a/livez", "/app-health/b/livez"
	var s *Server
	of := func(key string) (bytes, turns int) {
		s.budget.mu.Lock()
		defer s.budget.mu.Unlock()
		return s.entries[key].share.tlsBytes, len(s.entries[key].share.turns)
	}
	took, turns := -1, -1
	app := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { took, _ = of(key) }))
	app.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		_, turns = of(key)
		return nil, nil
	}}
	app.StartTLS()
	defer app.Close()
	port := field.Number(app.Listener.Addr().(*net.TCPAddr).Port)
	probe := &prober.Original{HTTPGet: &prober.HTTPGet{Path: "/", Port: port, Scheme: "HTTPS"}, TimeoutSeconds: 20}
	s = New(slog.New(slog.DiscardHandler), "127.0.0.1", 0, map[string]*prober.Original{key: probe, other: probe}, nil)
	for round := range 3 {
		took, turns = -1, -1
		caller, ours := net.Pipe()
		go newConn(s, &view{common: true, port: s.port}, ours).serve()
		_ = caller.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = io.WriteString(caller, "GET "+key+" HTTP/1.1\r\n\r\n")
		if answer, err := io.ReadAll(caller); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200 ") {
			t.Fatalf("round %d: %q, %v", round, answer, err)
		}
		if took <= 0 || took > maxKeyTLSBytes || turns != 1 {
			t.Errorf("round %d: the key has %d bytes and %d turns, want some bytes and one turn", round, took, turns)
		}
		err := testutil.Eventually(20*time.Second, func() error {
			s.budget.mu.Lock()
			all := s.budget.tlsBytes
			s.budget.mu.Unlock()
			if bytes, turns := of(key); bytes+all+turns > 0 {
				return fmt.Errorf("%d bytes of the key and %d of all, and %d turns are not returned", bytes, all, turns)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if bytes, turns := of(other); bytes+turns != 0 {
			t.Errorf("another key has %d bytes and %d turns", bytes, turns)
		}
	}
}

// TestTheHeadOfAnAppTakesOfItsKeysBudget until its answer is sent.
func TestTheHeadOfAnAppTakesOfItsKeysBudget(t *testing.T) {
	const key = "/app-health/a/livez"
	app := listenLocal(t)
	s := New(slog.New(slog.DiscardHandler), "127.0.0.1", 0, map[string]*prober.Original{key: probeOf(app, 60)}, nil)
	taken := func() (ofKey, ofAll int) {
		s.budget.mu.Lock()
		defer s.budget.mu.Unlock()
		return s.entries[key].share.bytes, s.budget.appBytes
	}
	const size = 100 << 10
	go testutil.ServeConns(app, func(c net.Conn) {
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = c.Read(make([]byte, 4<<10)) // if unread, it would make the end a reset
		_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: %s\r\n\r\no", strings.Repeat("x", size))
		err := testutil.Eventually(15*time.Second, func() error {
			if ofKey, ofAll := taken(); ofKey < size || ofKey != ofAll {
				return fmt.Errorf("%d bytes of the key and %d of all are taken for a head of %d", ofKey, ofAll, size)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(c, "k")
	})
	for range 3 {
		caller, ours := net.Pipe()
		_ = caller.SetDeadline(time.Now().Add(20 * time.Second))
		ended := make(chan struct{})
		go func() {
			newConnWith(s, &view{common: true, port: s.port}, ours, []byte("GET "+key+" HTTP/1.0\r\n\r\n"), time.Now()).serve()
			close(ended)
		}()
		if answer, err := io.ReadAll(caller); err != nil || !strings.HasSuffix(string(answer), "\r\n\r\nok") {
			t.Errorf("%q, %v", answer, err)
		}
		testutil.Received(t, ended)
		if ofKey, ofAll := taken(); ofKey+ofAll > 0 {
			t.Errorf("%d bytes of the key and %d of all are not returned", ofKey, ofAll)
		}
	}
}

// TestAHandshakeWaitsForRoom until others return some, or its call is over. What the key never has is not waited for.
func TestAHandshakeWaitsForRoom(t *testing.T) {
	for name, test := range map[string]struct {
		taken, want       int
		released, patient time.Duration
		got               bool
		least, most       time.Duration
	}{
		"there is room":             {0, maxKeyTLSBytes, time.Hour, time.Hour, true, 0, 0},
		"some is returned":          {maxKeyTLSBytes, 1, time.Second, time.Hour, true, time.Second, time.Second + roomEvery},
		"none is returned":          {maxKeyTLSBytes, 1, time.Hour, time.Second, false, time.Second, time.Second},
		"too little is free":        {1, maxKeyTLSBytes, time.Hour, time.Second, false, time.Second, time.Second},
		"more than there ever is":   {0, maxKeyTLSBytes + 1, time.Hour, time.Hour, false, 0, 0},
		"it is over when it begins": {maxKeyTLSBytes, 1, time.Hour, 0, false, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := new(share)
			newBudget().divide(maxProbes, []*share{s})
			if s.tryTLS(test.taken) != 0 {
				t.Fatalf("%s: the key cannot have %d bytes", name, test.taken)
			}
			timer := time.AfterFunc(test.released, func() { s.releaseTLS(test.taken) })
			defer timer.Stop()
			ctx, cancel := context.WithTimeout(t.Context(), test.patient)
			defer cancel()
			began := time.Now()
			got := s.takeTLS(ctx, test.want)
			if took := time.Since(began); got != test.got || took < test.least || took > test.most {
				t.Errorf("%s: %t after %s, want %t after %s to %s", name, got, took, test.got, test.least, test.most)
			}
		})
	}
}

// TestACallCountsFromItsConnection: what waited in a line longer than its probe may take is a timeout, although the
// app would answer at once.
func TestACallCountsFromItsConnection(t *testing.T) {
	const key = "/app-health/a/livez"
	app := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer app.Close()
	port := field.Number(app.Listener.Addr().(*net.TCPAddr).Port)
	probe := &prober.Original{HTTPGet: &prober.HTTPGet{Path: "/", Port: port, Scheme: "HTTP"}, TimeoutSeconds: 60}
	s := New(slog.New(slog.DiscardHandler), "127.0.0.1", 0, map[string]*prober.Original{key: probe}, nil)
	for waited, want := range map[time.Duration]string{0: "HTTP/1.1 200 OK", time.Hour: "HTTP/1.1 504 Gateway Timeout"} {
		caller, ours := net.Pipe()
		_ = caller.SetDeadline(time.Now().Add(20 * time.Second))
		c := newConnWith(s, &view{common: true, port: s.port}, ours, []byte("GET "+key+" HTTP/1.1\r\n\r\n"), time.Now().Add(-waited))
		go c.serve()
		answer, _ := io.ReadAll(caller)
		if line, _, _ := strings.Cut(string(answer), "\r\n"); line != want {
			t.Errorf("after %s in a line: %q, want %q", waited, line, want)
		}
	}
}

// halfClosed notes when nothing more was to follow.
type halfClosed struct {
	net.Conn
	closed bool
}

func (c *halfClosed) CloseWrite() error {
	c.closed = true
	return nil
}

// TestARefusedCallerIsLeftAtOnceIfNothingCanFollow: else it is told that this was all, and has half a second to
// send the rest.
func TestARefusedCallerIsLeftAtOnceIfNothingCanFollow(t *testing.T) {
	for text, patient := range map[string]bool{
		"GET /x HTTP/1.1\r\n\r\n":                      false,
		"GET /x HTTP/1.0\r\n\r\n":                      false,
		"GET /x HTTP/1.1\r\nContent-Length: 3\r\n\r\n": true,
		"POST /healthz HTTP/1.1\r\n\r\n":               true,
		"GET /x HTTP/1.1\r\n\r\nx":                     true,
		"GET /x HTTP/3.1\r\n\r\n":                      true,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := New(slog.New(slog.DiscardHandler), "", 0, nil, nil)
			caller, ours := net.Pipe()
			half := &halfClosed{Conn: ours}
			began := time.Now()
			go newConnWith(s, &view{common: true, port: s.port}, half, []byte(text), began).serve()
			answer, _ := io.ReadAll(caller)
			want := time.Duration(0)
			if patient {
				want = 500 * time.Millisecond
			}
			if took := time.Since(began); took != want || half.closed != patient || len(answer) == 0 {
				t.Errorf("%q: the connection ends after %s, want %s; half of it before: %t; answer %q", text, took, want, half.closed, answer)
			}
		})
	}
}
