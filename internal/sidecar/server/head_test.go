package server

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/textproto"
	"reflect"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/kubelet"
)

const kubeletHead = "GET /app-health/app/livez HTTP/1.1\r\nHost: 10.0.0.1:15020\r\nUser-Agent: kube-probe/1.37\r\nAccept: */*\r\nConnection: close"

func TestAHeadIsReadWhole(t *testing.T) {
	want := &request{http11: true, method: "GET", target: "/app-health/app/livez", host: "10.0.0.1:15020",
		header: textproto.MIMEHeader{"User-Agent": {"kube-probe/1.37"}, "Accept": {"*/*"}, "Connection": {"close"}, "X-A": {"1", "2"}}}
	req, err := parseHead([]byte(kubeletHead + "\r\nx-a:\t1 \r\nX-A: 2"))
	if err != nil || !reflect.DeepEqual(req, want) {
		t.Errorf("%+v, %v; want %+v", req, err, want)
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
			s := New(slog.New(slog.DiscardHandler), kubelet.App{}, Istio, 0, nil, nil)
			caller, ours := net.Pipe()
			c := &conn{Conn: ours, server: s, buf: new([smallHead]byte), evicted: make(chan struct{})}
			s.mayEvict(c, headPatience)
			go func() {
				for text := head + "\r\n\r\n"; text != ""; {
					n := min(size, len(text))
					io.WriteString(caller, text[:n])
					text = text[n:]
				}
			}()
			got, tls, err := c.readHead(false)
			if string(got) != head || tls != nil || err != nil {
				t.Fatalf("pieces of %d: %d bytes, want %d: %v", size, len(got), len(head), err)
			}
			s.freeHead(c)
			if s.headBytes != 0 {
				t.Errorf("%d bytes are still taken", s.headBytes)
			}
		}
	}
}

// TestLargeHeadsShareTheirMemory: each new large head evicts the oldest when
// there is no memory left for it.
func TestLargeHeadsShareTheirMemory(t *testing.T) {
	s := New(slog.New(slog.DiscardHandler), kubelet.App{}, Istio, 0, nil, nil)
	var conns []*conn
	for range 40 {
		_, ours := net.Pipe()
		c := &conn{Conn: ours, server: s, evicted: make(chan struct{})}
		s.mayEvict(c, headPatience)
		conns = append(conns, c)
		for size := 2 * smallHead; size <= maxHead; size *= 2 {
			if !s.growHead(c, size) {
				t.Fatalf("a head may not have %d bytes", size)
			}
		}
		if s.headBytes > maxHeadBytes {
			t.Fatalf("all heads take %d bytes", s.headBytes)
		}
	}
	for i, c := range conns {
		evicted := c.evictable == nil
		if want := i < 40-maxHeadBytes/maxHead; evicted != want {
			t.Errorf("head %d: evicted %t, want %t", i, evicted, want)
		}
	}
}

// FuzzAHeadIsReadAsNetHTTPReadsIt: what is accepted means the same to net/http,
// the server that callers expect.
func FuzzAHeadIsReadAsNetHTTPReadsIt(f *testing.F) {
	for _, head := range []string{
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
		"GET /\xff HTTP/1.1",
		"PRI * HTTP/2.0",
		"",
	} {
		f.Add(head)
	}
	f.Fuzz(func(t *testing.T, head string) {
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
	})
}

func TestTheServersOwnStatusesHaveTheirNames(t *testing.T) {
	for code, text := range statusTexts {
		if want := http.StatusText(code); text != want {
			t.Errorf("%d is %q, want %q", code, text, want)
		}
	}
	if got := statusText(299); got != "Status" {
		t.Errorf("299 is %q", got)
	}
}

func TestSharesOfCalls(t *testing.T) {
	for _, test := range []struct{ total, keys, want int }{
		{64, 1, 32}, {64, 2, 32}, {64, 3, 21}, {64, 16, 4}, {64, 100, 4}, {24, 1, 24}, {24, 5, 4},
	} {
		if got := portion(test.total, test.keys); got != test.want {
			t.Errorf("%d calls for %d keys: %d each, want %d", test.total, test.keys, got, test.want)
		}
	}
}
