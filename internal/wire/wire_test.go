package wire_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/wire"
)

// A peer answers with what it was given, whatever it is asked.
type peer struct {
	io.Reader
	io.Writer
}

var request = &wire.Request{URL: &url.URL{Scheme: "http", Host: "x", Path: "/"}, Host: "x"}

// outcome is what the kubelet sees of a response.
type outcome struct {
	status int // 0: there was none
	body   string
	cut    bool
}

func read(status int, r io.Reader) outcome {
	b, err := io.ReadAll(io.LimitReader(r, 10<<10))
	if err != nil {
		return outcome{status, "", true}
	}
	return outcome{status, string(b), false}
}

func ours(data []byte) outcome {
	res, exchange, err := wire.RoundTrip1(peer{bytes.NewReader(data), io.Discard}, request)
	defer exchange.Close()
	if err != nil {
		return outcome{}
	}
	return read(res.Status, res.Body)
}

func netHTTP(data []byte) outcome {
	br := bufio.NewReader(bytes.NewReader(data))
	for {
		res, err := http.ReadResponse(br, &http.Request{Method: "GET"})
		if err != nil {
			return outcome{}
		}
		if res.StatusCode == 101 && res.Header.Get("Upgrade") != "" && strings.Contains(strings.ToLower(strings.Join(res.Header["Connection"], ",")), "upgrade") {
			return read(101, br) // as net/http's transport does
		}
		if res.StatusCode/100 != 1 || res.StatusCode == 101 {
			return read(res.StatusCode, res.Body)
		}
	}
}

// FuzzAResponseIsReadAsNetHTTPReadsIt compares the HTTP/1 client with the one
// that the kubelet uses.
func FuzzAResponseIsReadAsNetHTTPReadsIt(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nA: b\r\n\r\n",
		"HTTP/1.0 404 Not Found\r\n\r\nbody",
		"HTTP/1.1 000 None\r\n\r\nbody",
		"HTTP/1.1 -10 Less\r\n\r\nbody",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
		"HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nraw",
		"HTTP/1.1 200 OK\nA: b\n c\n\nx",
		"HTTP/1.1 304\r\nContent-Length: 5\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, want := ours(data), netHTTP(data); got != want {
			t.Errorf("%q:\nours     %+v\nnet/http %+v", data, got, want)
		}
	})
}

// FuzzHTTP2FramesNeverPanic feeds any bytes to the HTTP/2 client.
func FuzzHTTP2FramesNeverPanic(f *testing.F) {
	settings := "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	f.Add([]byte(settings + "\x00\x00\x01\x01\x05\x00\x00\x00\x01\x88"))
	f.Add([]byte(settings + "\x00\x00\x01\x01\x04\x00\x00\x00\x01\x88\x00\x00\x02\x00\x01\x00\x00\x00\x01ok"))
	f.Add([]byte(settings + "\x00\x00\x03\x01\x0c\x00\x00\x00\x01\x01\x88\x00\x00\x00\x02\x00\x09\x00\x00\x00\x01\x01\x00"))
	f.Add([]byte(settings + "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		res, exchange, err := wire.RoundTrip2(peer{bytes.NewReader(data), io.Discard}, request, nil)
		defer exchange.Close()
		if err == nil {
			read(res.Status, res.Body)
		}
	})
}

func TestOnlyHeadersOfTheMessageItselfAreWritten(t *testing.T) {
	var sent bytes.Buffer
	req := &wire.Request{URL: &url.URL{Scheme: "http", Host: "10.0.0.1:80", Path: "/a b", RawQuery: "c=d"}, Host: "web", Header: map[string][]string{"X": {"1", "2"}, "Content-Length": {"3"}, "Host": {"no"}, "Accept": {"*/*"}}}
	_, exchange, err := wire.RoundTrip1(peer{strings.NewReader("HTTP/1.1 200 OK\r\n\r\n"), &sent}, req)
	if err != nil {
		t.Fatal(err)
	}
	exchange.Close()
	if want := "GET /a%20b?c=d HTTP/1.1\r\nHost: web\r\nAccept: */*\r\nX: 1\r\nX: 2\r\n\r\n"; sent.String() != want {
		t.Errorf("sent %q, want %q", sent.String(), want)
	}
}

func TestAVersionIsTwoDigits(t *testing.T) {
	for s, want := range map[string][2]int{"HTTP/0.0": {0, 0}, "HTTP/0.9": {0, 9}, "HTTP/1.0": {1, 0}, "HTTP/1.1": {1, 1}, "HTTP/9.9": {9, 9}} {
		if major, minor, ok := wire.ParseVersion(s); !ok || [2]int{major, minor} != want {
			t.Errorf("%s is read as %d.%d, %v", s, major, minor, ok)
		}
	}
	for _, s := range []string{"", "HTTP/1", "HTTP/1.", "HTTP/11.1", "HTTP/1.10", "http/1.1", "HTTP/a.1", "HTTP/1.a", "HTTP/1,1", "HTTP/1-1", "HTTP/:.1", "HTTP/1.:", "HTTP//.1", "HTTP/1./"} {
		if _, _, ok := wire.ParseVersion(s); ok {
			t.Errorf("%q was taken for a version", s)
		}
	}
}

// What the body's end depends on has to be understood, or a body would be cut
// or taken for the next answer.
func TestATransferEncodingThatIsNotChunkedIsRefused(t *testing.T) {
	const head, body = "HTTP/1.1 200 OK\r\n", "\r\n2\r\nok\r\n0\r\n\r\n"
	for headers, want := range map[string]outcome{
		"Transfer-Encoding: chunked\r\n":                                {200, "ok", false},
		"Transfer-Encoding: CHUNKED\r\n":                                {200, "ok", false},
		"Transfer-Encoding: gzip\r\n":                                   {},
		"Transfer-Encoding: gzip, chunked\r\n":                          {},
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n":  {},
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n": {},
	} {
		data := []byte(head + headers + body)
		if got := ours(data); got != want {
			t.Errorf("%s: got %+v, want %+v", strings.TrimSpace(headers), got, want)
		}
		if got := netHTTP(data); got != want {
			t.Errorf("%s: net/http gets %+v, want %+v", strings.TrimSpace(headers), got, want)
		}
	}
}
