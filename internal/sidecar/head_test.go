package sidecar

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/textproto"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/kubelet"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

const kubeletHead = "GET /app-health/app/livez HTTP/1.1\r\nHost: 10.0.0.1:15020\r\nUser-Agent: kube-probe/1.37\r\nAccept: */*\r\nConnection: close"

func TestAHeadIsReadWhole(t *testing.T) {
	want := &request{http11: true, method: "GET", target: "/app-health/app/livez", host: "10.0.0.1:15020",
		header: textproto.MIMEHeader{"User-Agent": {"kube-probe/1.37"}, "Accept": {"*/*"}, "Connection": {"close"}, "X-A": {"1", "2"}},
		fields: kubeletHead[strings.Index(kubeletHead, "Host"):] + "\r\nx-a:\t1 \r\nX-A: 2"}
	req, err := parseHead([]byte(kubeletHead + "\r\nx-a:\t1 \r\nX-A: 2"))
	if err != nil || !reflect.DeepEqual(req, want) {
		t.Errorf("%+v, %v; want %+v", req, err, want)
	}
}

// TestAPlainTargetIsThatOfAPlainRequest draws heads: what is answered without parsing its headers
// is a GET that has no body, or has headers for which it would be refused.
func TestAPlainTargetIsThatOfAPlainRequest(t *testing.T) {
	first := []string{"GET /x HTTP/1.1", "GET /a%20b?c HTTP/1.1", "GET  HTTP/1.1", "GET /x HTTP/1.0", "GET /x HTTP/2.0", "POST /x HTTP/1.1", "get /x HTTP/1.1", "GET /x", "GET /x y HTTP/1.1", ""}
	lines := []string{"Host: x", "Connection: close", "Content-Length: 5", "content-LENGTH:0", "Transfer-Encoding: chunked", "transfer-encoding : x", "X:\nContent-Length: 1", " Content-Length: 1", "A: content-length", "no colon"}
	plain, parsed := 0, 0
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 2))
		head := first[r.IntN(len(first))]
		for range r.IntN(4) {
			head += "\r\n" + lines[r.IntN(len(lines))]
		}
		whole := head + "\r\n\r\n"
		target, ok := plainTarget([]byte(whole))
		if _, ok := plainTarget([]byte(whole + "x")); ok {
			t.Fatalf("%q: what follows is not seen", whole)
		}
		req, err := parseHead([]byte(head))
		switch {
		case !ok && err == nil && !req.hasBody() && req.http11:
			t.Errorf("%q is plain", whole)
		case ok && err == nil && (req.hasBody() || req.method != "GET" || req.target != string(target)):
			t.Errorf("%q: target %q, and the request is %+v", whole, target, req)
		case ok && err == nil:
			parsed++
		}
		if ok {
			plain++
		}
	}
	if plain < 500 || parsed < 300 {
		t.Errorf("%d of the heads are plain, %d of these are requests", plain, parsed)
	}
}

// TestAHeadIsReadInPieces: a head may come in pieces of any size, and be larger
// than the buffer that every connection has.
func TestAHeadIsReadInPieces(t *testing.T) {
	large := kubeletHead + "\r\nX-Large: " + strings.Repeat("l", 50<<10)
	for _, head := range []string{kubeletHead, large} {
		for _, size := range []int{1, 2, 3, 7, 4095, 4096, 4097, 1 << 20} {
			if size < 7 && len(head) > 4096 {
				continue
			}
			s := New(slog.New(slog.DiscardHandler), "", 0, nil, nil)
			caller, ours := net.Pipe()
			c := &conn{Conn: ours, server: s, view: &view{}, buf: new([smallHead]byte), evicted: make(chan struct{})}
			s.budget.enter(c, &s.budget.heads)
			go func() {
				defer caller.Close() // nobody waits for more than this
				for text := head + "\r\n\r\n"; text != ""; {
					n := min(size, len(text))
					io.WriteString(caller, text[:n])
					text = text[n:]
				}
			}()
			got, err := c.readRequest()
			if want, _ := parseHead([]byte(head)); !reflect.DeepEqual(got, want) || err != nil {
				t.Fatalf("pieces of %d, %d bytes: %+v, want %+v: %v", size, len(head), got, want, err)
			}
			if in := s.budget.large.Len(); in != 0 && len(head) < smallHead || in != 1 && len(head) > smallHead {
				t.Errorf("%d large heads", in)
			}
		}
	}
}

// TestTheOldestOfAQueueIsEvictedForANewOne: large heads are no others.
func TestTheOldestOfAQueueIsEvictedForANewOne(t *testing.T) {
	b := newBudget()
	for _, q := range []*queue{&b.large, &b.heads} {
		var conns []*conn
		for range 300 {
			_, ours := net.Pipe()
			c := &conn{Conn: ours, evicted: make(chan struct{})}
			b.enter(c, &b.heads)
			b.enter(c, q)
			conns = append(conns, c)
		}
		for i, c := range conns {
			if want := i >= len(conns)-q.max; b.leave(c) != want {
				t.Errorf("connection %d of %d: stays %t, want %t", i, q.max, !want, want)
			}
		}
		if n := b.heads.Len() + b.large.Len(); n > 0 {
			t.Errorf("%d connections are left", n)
		}
	}
}

// A faulty connection panics where an answer is sent.
type faulty struct{ net.Conn }

func (faulty) Write([]byte) (int, error) { panic("a fault") }

// TestACallThatPanicsEndsAlone: the next one is answered.
func TestACallThatPanicsEndsAlone(t *testing.T) {
	var log strings.Builder
	s := New(slog.New(slog.NewTextHandler(&log, nil)), "", 0, nil, nil)
	for _, test := range []struct {
		wrap func(net.Conn) net.Conn
		want string
	}{
		{func(c net.Conn) net.Conn { return faulty{c} }, ""},
		{func(c net.Conn) net.Conn { return c }, "HTTP/1.1 200 OK"},
	} {
		caller, ours := net.Pipe()
		c := newConn(s, &view{common: true, port: s.port}, test.wrap(ours))
		go c.serve()
		io.WriteString(caller, "GET /healthz HTTP/1.1\r\n\r\n")
		b, _ := io.ReadAll(caller)
		if line, _, _ := strings.Cut(string(b), "\r\n"); line != test.want {
			t.Errorf("%q, want %q", line, test.want)
		}
	}
	if _, line, _ := strings.Cut(log.String(), "level="); line != "ERROR msg=\"call panicked\" panic=\"a fault\"\n" {
		t.Error(log.String())
	}
}

// TestSlowReadersOfMetricsMakeRoomForOthers: nobody reads these pipes.
func TestSlowReadersOfMetricsMakeRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		probers := make(map[string]*prober.Original)
		for i := range 39 {
			probers[prober.Key(fmt.Sprintf("c%d", i), prober.Liveness)] = &prober.Original{TCPSocket: &prober.TCPSocket{Port: field.Number(1)}, TimeoutSeconds: 1}
		}
		s := New(slog.New(slog.DiscardHandler), "127.0.0.1", 0, probers, nil)
		began := time.Now()
		var ended atomic.Int32
		for range 150 {
			caller, ours := net.Pipe()
			c := newConn(s, &view{common: true, port: s.port}, ours)
			go func() {
				c.serve()
				ended.Add(1)
			}()
			io.WriteString(caller, "GET /metrics HTTP/1.1\r\n\r\n")
			synctest.Wait()
		}
		if n := ended.Load(); n != 150-maxPages || time.Since(began) > 0 {
			t.Errorf("%d slow readers have ended after %s", n, time.Since(began))
		}
		time.Sleep(sendTime)
		synctest.Wait()
		if n := ended.Load(); n != 150 {
			t.Errorf("%d slow readers have ended after their time", n)
		}
	})
}

// TestLargeAnswersOfAnAppTakeItsOwnShare: of bytes, and of time.
func TestLargeAnswersOfAnAppTakeItsOwnShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		evil, good := &share{}, &share{}
		newBudget().divide(maxProbes, []*share{evil, good})
		began, taken := time.Now(), 0
		for evil.take(16 << 10) {
			taken += 16 << 10
		}
		if took := time.Since(began); taken != maxAppBytes/2 || took != time.Duration(taken/(16<<10))*appPause {
			t.Errorf("%d bytes in %s", taken, took)
		}
		began = time.Now()
		if !good.take(16<<10) || time.Since(began) != appPause {
			t.Errorf("the other share waits for %s", time.Since(began))
		}
		evil.release(taken)
		if began = time.Now(); !evil.take(16<<10) || time.Since(began) != appPause {
			t.Errorf("what was released is not there after %s", time.Since(began))
		}
	})
}

// TestHalfAHeadIsClosedAfterItsTime runs on a clock of its own.
func TestHalfAHeadIsClosedAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(slog.New(slog.DiscardHandler), "", 0, nil, nil)
		caller, ours := net.Pipe()
		began := time.Now()
		time.Sleep(time.Second) // in a line, since it was accepted
		c := newConnWith(s, &view{common: true, port: s.port}, ours, nil, began)
		go c.serve()
		io.WriteString(caller, "GET /")
		time.Sleep(headTime - 2*time.Second)
		io.WriteString(caller, "healthz")
		if _, err := io.ReadAll(caller); err != nil || time.Since(began) != headTime {
			t.Errorf("closed after %s: %v", time.Since(began), err)
		}
	})
}

// TestACallerThatReadsNoAnswer: nothing is buffered in this pipe.
func TestACallerThatReadsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(slog.New(slog.DiscardHandler), "", 0, nil, nil)
		_, ours := net.Pipe()
		c := newConn(s, &view{common: true, port: s.port}, ours)
		began := time.Now()
		c.sendAnswer(&kubelet.Answer{Status: 200})
		if took := time.Since(began); took != sendTime {
			t.Errorf("the answer is given up after %s, want %s", took, sendTime)
		}
	})
}

// TestAnEarlyHeadComesOnceAndBeforeABody: the names say when it is asked for.
func TestAnEarlyHeadComesOnceAndBeforeABody(t *testing.T) {
	for name, test := range map[string]struct {
		call func(c *conn)
		want string // first lines of what is written
	}{
		"twice":                   {func(c *conn) { c.early(200); c.early(200) }, "HTTP/1.1 200 OK"},
		"of a status without one": {func(c *conn) { c.early(101); c.early(204) }, ""},
		"after the answer":        {func(c *conn) { c.sendAnswer(&kubelet.Answer{Status: 200}); c.early(200) }, "HTTP/1.1 200 OK"},
		"no early head, and a body that breaks off without a status that has one": {
			func(c *conn) { c.sendAnswer(&kubelet.Answer{Status: 101, Cut: true}) }, "HTTP/1.1 200 OK"},
	} {
		s := New(slog.New(slog.DiscardHandler), "", 0, nil, nil)
		_, ours := net.Pipe()
		w := &written{Conn: ours}
		c := newConn(s, &view{common: true, port: s.port}, w)
		test.call(c)
		if got := w.firstLines(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestTheRestOfARefusedRequestIsRead: nothing is buffered in these pipes.
func TestTheRestOfARefusedRequestIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(slog.New(slog.DiscardHandler), "", 0, nil, nil)
		caller, ours := net.Pipe()
		c := newConn(s, &view{common: true, port: s.port}, halfCloses{ours})
		go c.serve()
		answer := make(chan string)
		go func() {
			b, _ := io.ReadAll(caller)
			answer <- string(b)
		}()
		// A whole buffer has come with the head.
		if n, err := io.WriteString(caller, "POST /healthz HTTP/1.1\r\n\r\n"+strings.Repeat("x", 2<<20)); err == nil || n != 4096+maxRest {
			t.Errorf("%d bytes are read: %v", n, err)
		}
		if line, _, _ := strings.Cut(<-answer, "\r\n"); line != "HTTP/1.1 405 Method Not Allowed" {
			t.Errorf("%q", line)
		}
	})
}

type halfCloses struct{ net.Conn }

func (halfCloses) CloseWrite() error { return nil }

var heads = []string{
	kubeletHead,
	"GET / HTTP/1.0",
	"GET / HTTP/1.1\r\nHost: a\r\nHost: b",
	"GET / HTTP/1.1\r\nX-A:  b c \r\nX-A:\r\nx-a: d",
	"GET / HTTP/1.1\r\nX: a\r\n b",
	"GET / HTTP/1.1\r\n X: a",
	"GET / HTTP/1.1\r\nX : a",
	"GET / HTTP/1.1\r\n: a",
	"GET / HTTP/1.1\nX: a\n\nY: b",
	"GET / HTTP/1.1\r\nX: a\x01\t\xff",
	"GET / HTTP/1.1\r\nno colon",
	"GET / HTTP/1.1\r\ncolon",
	"GET",
	"GET / HTTP/2.0",
	"GET  HTTP/1.1",
	"GET /\xff HTTP/1.1",
	"PRI * HTTP/2.0",
	"",
}

// FuzzAHeadIsReadAsNetHTTPReadsIt: what is accepted means the same to net/http,
// the server that callers expect.
func FuzzAHeadIsReadAsNetHTTPReadsIt(f *testing.F) {
	for _, head := range heads {
		f.Add(head)
	}
	f.Fuzz(headAsNetHTTP)
}

// TestMutatedHeadsAreReadAsNetHTTPReadsThem reads what chance would find in a minute.
func TestMutatedHeadsAreReadAsNetHTTPReadsThem(t *testing.T) {
	pieces := []string{"\r\n", "\n", "\r", " ", "\t", ":", ",", "?", "%41", "%zz", "*", "//", "1", "9", "a: b\r\n", "Host: c\r\n", "Connection: close\r\n", "\x00", "\x7f", "\xe9", "HTTP/1.0", "GET"}
	for _, head := range heads {
		for seed := range uint64(300) {
			headAsNetHTTP(t, string(testutil.Mutated([]byte(head), pieces, seed)))
		}
	}
}

func headAsNetHTTP(t *testing.T, head string) {
	req, err := parseHead([]byte(head))
	if err != nil || strings.Contains(head, "\r\n\r\n") {
		return
	}
	want, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head + "\r\n\r\n")))
	if err != nil {
		// net/http also refuses targets and bodies that it cannot handle;
		// ours are compared with the keys, and bodies are not read.
		return
	}
	want.Header.Del("Transfer-Encoding")
	for _, name := range []string{"Content-Length", "Trailer", "Transfer-Encoding", "Pragma", "Cache-Control"} {
		delete(req.header, name)
		want.Header.Del(name)
	}
	if got := fmt.Sprint(req.method, req.target, map[string][]string(req.header)); got != fmt.Sprint(want.Method, want.RequestURI, map[string][]string(want.Header)) {
		t.Fatalf("%q: %s, net/http has %s %s %v", head, got, want.Method, want.RequestURI, want.Header)
	}
}

// A caller that is refused reads why in the body.
func TestARefusedHeadIsToldWhy(t *testing.T) {
	const line = "GET / HTTP/1.1\r\n"
	for head, want := range map[string]badRequest{
		"":                          {400, "request line is malformed"},
		"GET /":                     {400, "request line is malformed"},
		"GET  HTTP/1.1":             {400, "request line is malformed"},
		"G\x00T / HTTP/1.1":         {400, "request line is malformed"},
		"GET /\x7f HTTP/1.1":        {400, "request line is malformed"},
		"GET / HTTP/one":            {400, "request line is malformed"},
		"GET / HTTP/2.0":            {505, "only HTTP/1 is spoken here"},
		line + "Accept":             {400, "header is malformed"},
		line + "a b: c":             {400, "header is malformed"},
		line + "a: \x00":            {400, "header is malformed"},
		line + "Host: a\r\nhost: a": {400, "request has several Host headers"},
		line + strings.Repeat("a: b\r\n", maxLines): {431, fmt.Sprintf("request's head is too large: at most %d bytes and %d lines", maxHead, maxLines)},
	} {
		_, err := parseHead([]byte(head))
		var got *badRequest
		if !errors.As(err, &got) || *got != want {
			t.Errorf("%.40q: %v, want %v", head, err, want)
		}
	}
}

func TestTheServersOwnStatusesHaveTheirNames(t *testing.T) {
	for code, text := range statusTexts {
		if want := http.StatusText(code); text != want {
			t.Errorf("%d is %q, want %q", code, text, want)
		}
	}
	if got := string(appendHead(nil, 299)); !strings.HasPrefix(got, "HTTP/1.1 299 Status\r\n") {
		t.Errorf("299 is %q", got)
	}
}

func TestSharesOfCalls(t *testing.T) {
	for _, test := range []struct{ total, keys, want int }{
		{64, 1, 32}, {64, 2, 32}, {64, 3, 21}, {64, 16, 4}, {64, 100, 2}, {24, 1, 24}, {24, 5, 4},
	} {
		if got := portion(test.total, test.keys, minOfKey, maxOfKey); got != test.want {
			t.Errorf("%d calls for %d keys: %d each, want %d", test.total, test.keys, got, test.want)
		}
	}
}
