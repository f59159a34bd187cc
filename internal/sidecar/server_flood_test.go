package sidecar_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
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
// are calls of one probe. The others wait, which takes as long as the machine does:
// nobody has a deadline here, but for a minute after which a call is lost.
func TestAFloodOf200CallersLosesNoCall(t *testing.T) {
	came, release := make(chan struct{}, 200), make(chan struct{})
	addr, _, _ := startWith(t, 24*60*60, func(http.ResponseWriter, *http.Request) {
		came <- struct{}{}
		<-release
	})
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(time.Minute))
			io.WriteString(conn, "GET "+live+" HTTP/1.1\r\nHost: x\r\n\r\n")
			if b, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 200 ") {
				t.Errorf("a call is lost: %q, %v", b, err)
			}
		})
	}
	for range 32 { // the probe's places
		testutil.Received(t, came)
	}
	close(release)
	wg.Wait()
}

// TestLargeHeadsOneAfterTheOtherAreAllAnswered: their memory is released.
func TestLargeHeadsOneAfterTheOtherAreAllAnswered(t *testing.T) {
	addr, _, _ := start(t, ok)
	head := "GET " + live + " HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", 40<<10) + "\r\n\r\n"
	for i := range 40 {
		if line := send(t, addr, head); !strings.HasPrefix(line, "HTTP/1.1 200 ") {
			t.Fatalf("head %d of 40 KiB: %q", i, line)
		}
	}
}

// TestARefusalIsReadThoughItsCallerSendsABody: closing a connection with unread
// bytes would reset it.
func TestARefusalIsReadThoughItsCallerSendsABody(t *testing.T) {
	addr, _, _ := start(t, ok)
	conn := dial(t, addr, "POST "+live+" HTTP/1.1\r\nHost: x\r\nContent-Length: 49152\r\n\r\n")
	for range 48 {
		if _, err := conn.Write(make([]byte, 1<<10)); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 405 ") {
		t.Errorf("%q, %v", b, err)
	}
}

// TestCallersThatLeaveEarlyConcludeNothing, but one that waited for a probe to its end, or
// nearly so, concludes that it fails. Hooks have no such end.
func TestCallersThatLeaveEarlyConcludeNothing(t *testing.T) {
	for _, test := range []struct {
		path    string
		timeout int
		stays   time.Duration
		counted string
	}{
		{live, int(patience.Seconds()), 0, "0"},
		{live, 3, 1600 * time.Millisecond, "1"},
		{stop, 3, 1600 * time.Millisecond, "0"},
	} {
		came, gone := make(chan struct{}, 1), make(chan struct{}, 1)
		addr, log, _ := startWith(t, test.timeout, func(_ http.ResponseWriter, r *http.Request) {
			came <- struct{}{}
			<-r.Context().Done()
			gone <- struct{}{}
		})
		conn := dial(t, addr, "GET "+test.path+" HTTP/1.1\r\nHost: x\r\n\r\n")
		testutil.Received(t, came)
		time.Sleep(test.stays)
		conn.Close()
		testutil.Received(t, gone)
		metrics := ""
		for end := time.Now().Add(patience); !strings.Contains(metrics, "probe_proxy_open_calls 0\n") && time.Now().Before(end); {
			_, metrics = get(t, addr+"/metrics")
		}
		if !strings.Contains(metrics, `probe_proxy_probes_total{probe="`+test.path+`",verdict="failure"} `+test.counted+"\n") ||
			!strings.Contains(metrics, `probe_proxy_probe_duration_seconds_count{probe="`+test.path+`"} `+test.counted+"\n") {
			t.Errorf("%+v:\n%s", test, metrics)
		}
		if said := strings.Contains(log.String(), "caller left after "); said != (test.counted == "1") {
			t.Errorf("%+v:\n%s", test, log)
		}
	}
}

// TestAByteAfterTheRequestDoesNotHideThatTheCallerIsGone: a hook has no timeout
// of its own.
func TestAByteAfterTheRequestDoesNotHideThatTheCallerIsGone(t *testing.T) {
	for _, more := range []string{"x", strings.Repeat("x", 100<<10)} {
		came, gone := make(chan struct{}), make(chan struct{})
		addr, _, _ := start(t, func(_ http.ResponseWriter, r *http.Request) {
			close(came)
			<-r.Context().Done()
			close(gone)
		})
		conn := dial(t, addr, "GET "+stop+" HTTP/1.1\r\nHost: x\r\n\r\n")
		testutil.Received(t, came)
		time.Sleep(50 * time.Millisecond) // until the connection is watched
		io.WriteString(conn, more)
		conn.Close()
		select {
		case <-gone:
		case <-time.After(patience):
			t.Errorf("the app's request is still open after %d bytes", len(more))
		}
	}
}

// TestTheHeadOfAHookWhoseBodyHangsIsPassedOn: the kubelet leaves a body of more
// than 10 KiB unread, and drains any other.
func TestTheHeadOfAHookWhoseBodyHangsIsPassedOn(t *testing.T) {
	for length, ends := range map[string]bool{"10240": false, "10241": true, "": false} {
		release := make(chan struct{})
		addr, _, _ := start(t, func(w http.ResponseWriter, _ *http.Request) {
			if length != "" {
				w.Header().Set("Content-Length", length)
			}
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
			<-release
		})
		conn := dial(t, addr, "GET "+stop+" HTTP/1.1\r\nHost: x\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || res.StatusCode != 200 {
			t.Fatalf("length %q: %+v, %v", length, res, err)
		}
		conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		if ends {
			conn.SetReadDeadline(time.Now().Add(patience))
		}
		if _, err := io.ReadAll(res.Body); (err == nil) != ends {
			t.Errorf("length %q: body ends with %v, want an end: %t", length, err, ends)
		}
		close(release)
	}
}

// TestACallerOfHTTP10GetsNoChunks, however slow the body is.
func TestACallerOfHTTP10GetsNoChunks(t *testing.T) {
	addr, _, _ := startWith(t, int(patience.Seconds()), func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		time.Sleep(200 * time.Millisecond)
		io.WriteString(w, "ok")
	})
	b, err := io.ReadAll(dial(t, addr, "GET "+live+" HTTP/1.0\r\nHost: x\r\n\r\n"))
	if got := string(b); err != nil || strings.Contains(got, "chunked") || !strings.HasSuffix(got, "\r\n\r\nok") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestLargeHeadsOfAnAppOneAfterTheOtherAreAllTaken: so is their memory.
func TestLargeHeadsOfAnAppOneAfterTheOtherAreAllTaken(t *testing.T) {
	addr, _, _ := startWith(t, int(patience.Seconds()), func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 100<<10)) })
	for i := range 20 {
		if status, body := get(t, addr+live); status != 200 {
			t.Fatalf("answer %d of 100 KiB: %d %s", i, status, body)
		}
	}
}
