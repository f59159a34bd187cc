package server_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// dial opens a connection and sends text.
func dial(t *testing.T, addr, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	io.WriteString(conn, text)
	return conn
}

func TestSlowCallersMakeRoomForOthers(t *testing.T) {
	for name, text := range map[string]string{
		"the beginning of a head":              "GET /",
		"large heads without an end":           "GET / HTTP/1.1\r\nX: " + strings.Repeat("y", 60<<10),
		"large heads of tiny headers, no end":  "GET / HTTP/1.1\r\n" + strings.Repeat("a:b\r\n", 10_000),
		"requests that are refused, with more": "POST / HTTP/1.1\r\n\r\n" + strings.Repeat("x", 1<<10),
	} {
		t.Run(name, func(t *testing.T) {
			addr, _, _ := start(t, ok)
			for range 300 {
				dial(t, addr, text)
			}
			if status, _ := get(t, addr+live); status != 200 {
				t.Errorf("status %d", status)
			}
		})
	}
}

// TestHangingHooksLeaveTheProbesAlone: an app that hangs, and callers that call
// its hooks as often as they can.
func TestHangingHooksLeaveTheProbesAlone(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	came := make(chan bool, 100)
	addr, _, _ := start(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Hook") != "" {
			came <- true
			<-release
		}
	})
	call := func(hook string) string { return "GET " + hook + " HTTP/1.1\r\nHost: x\r\nX-Hook: 1\r\n\r\n" }
	for range 8 { // each hook's share of the calls
		for _, hook := range hooks {
			dial(t, addr, call(hook))
			select {
			case <-came:
			case <-time.After(patience):
				t.Fatal("a hook is not called")
			}
		}
	}
	for _, hook := range hooks {
		for range 32 {
			if line := send(t, addr, call(hook)); line != "" {
				t.Fatalf("one hook too many is answered %q, want the connection closed", line)
			}
		}
	}
	for range 50 {
		if status, _ := get(t, addr+live); status != 200 {
			t.Fatalf("probe: %d", status)
		}
	}
}

// TestHangingProbesLeaveOtherProbesAlone: one container hangs, and callers call
// its probe as often as they can.
func TestHangingProbesLeaveOtherProbesAlone(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	addr, _, _ := start(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Hangs") != "" {
			<-release
		}
	})
	for range 200 {
		dial(t, addr, "GET "+live+" HTTP/1.1\r\nHost: x\r\nX-Hangs: 1\r\n\r\n")
	}
	if status, _ := get(t, addr+"/healthz"); status != 200 {
		t.Errorf("healthz: %d", status)
	}
	if line := send(t, addr, "GET "+stop+" HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.HasPrefix(line, "HTTP/1.1 200 ") {
		t.Errorf("hook: %q", line)
	}
}

// TestAFloodOf200CallersLosesNoCall: more callers at the same time than there
// are connections, or calls of one probe.
func TestAFloodOf200CallersLosesNoCall(t *testing.T) {
	addr, _, _ := start(t, ok)
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for range 200 {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			defer conn.Close()
			<-begin
			conn.SetDeadline(time.Now().Add(patience))
			io.WriteString(conn, "GET "+live+" HTTP/1.1\r\nHost: x\r\n\r\n")
			if b, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 200 ") {
				t.Errorf("a call is lost: %q, %v", b, err)
			}
		})
	}
	close(begin)
	wg.Wait()
}
