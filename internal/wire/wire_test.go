package wire_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
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

func read(status int, r io.Reader) (outcome, error) {
	b, err := io.ReadAll(io.LimitReader(r, 10<<10))
	if err != nil {
		return outcome{status, "", true}, err
	}
	return outcome{status, string(b), false}, nil
}

func ours(data []byte) outcome {
	o, part, err := answerTo(data)
	if err != nil {
		said.Say(part, err.Error())
	}
	return o
}

// answerTo returns what is read of a response, and what is wrong with which part of it.
func answerTo(data []byte) (o outcome, part string, err error) {
	res, err := wire.RoundTrip1(peer{bytes.NewReader(data), io.Discard}, request)
	if err != nil {
		return outcome{}, "response", err
	}
	o, err = read(res.Status, res.Body)
	return o, "body", err
}

func netHTTP(data []byte) outcome {
	br := bufio.NewReader(bytes.NewReader(data))
	for {
		res, err := http.ReadResponse(br, &http.Request{Method: "GET"})
		if err != nil {
			return outcome{}
		}
		if res.StatusCode == 101 && res.Header.Get("Upgrade") != "" && strings.Contains(strings.ToLower(strings.Join(res.Header["Connection"], ",")), "upgrade") {
			o, _ := read(101, br) // as net/http's transport does
			return o
		}
		if res.StatusCode/100 != 1 || res.StatusCode == 101 {
			o, _ := read(res.StatusCode, res.Body)
			return o
		}
	}
}

var responses = []string{
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nA: b\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTrailer: A, b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nA: b\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTrailer: Content-Length\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTrailer: content-length\r\nContent-Length: 2\r\n\r\nok",
	"HTTP/1.1 204 No\r\nTrailer: a\r\nTrailer: b, transfer-encoding\r\nTransfer-Encoding: chunked\r\n\r\n",
	"HTTP/1.0 404 Not Found\r\n\r\nbody",
	"HTTP/0.9 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
	"HTTP/0.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
	"HTTP/1.9 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "HTTP/2.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
	"HTTP/1.1 000 None\r\n\r\nbody",
	"HTTP/1.1 -10 Less\r\n\r\nbody",
	"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
	"HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nraw", "HTTP/1.1 101 S\r\nConnection: upgrade\r\nContent-Length: 2\r\n\r\nraw", "HTTP/1.1 101 S\r\nUpgrade: x\r\nContent-Length: 2\r\n\r\nraw",
	"HTTP/1.1 200 OK\nA: b\n c\n\nx",
	"HTTP/1.1 304\r\nContent-Length: 5\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxYY0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1;"+strings.Repeat("e", 100)+"\r\nx\r\n", 100) + "0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1;"+strings.Repeat("e", 100)+"\r\nx\r\n", 300) + "0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("8;"+strings.Repeat("e", 100)+"\r\n12345678\r\n", 240) + "0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0000000000000002\r\nok\r\n0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\neeeeeeeeeeeeeee1\r\n" + strings.Repeat("x", 11_000),
	"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n" + strings.Repeat("\n", 10_000),
	"HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nx", "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\nx", "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\nx",
	"HTTP/1.1 200 OK\r\n A: b\r\n\r\n",
	"HTTP/1.1 200 OK\r\nA\r\n : b\r\n\r\n",
	"HTTP/1.1 200 OK\r\nA B: c\r\nContent-Length: 1\r\n \r\n\r\nxy",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chun\r\n ked\r\n\r\n0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n \r\n\r\n0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nX: a\x01\r\n\r\n",
	"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 5000) + "\r\nContent-Length: 1\r\n\r\nxy",
	"HTTP/1.1 200 " + strings.Repeat("OK", 3000) + "\r\nContent-Length: 1\r\n\r\nxy",
}

// FuzzAResponseIsReadAsNetHTTPReadsIt compares the HTTP/1 client with the one
// that the kubelet uses.
func FuzzAResponseIsReadAsNetHTTPReadsIt(f *testing.F) {
	for _, s := range responses {
		f.Add([]byte(s))
	}
	f.Fuzz(readAsNetHTTP)
}

// TestMutatedResponsesAreReadAsNetHTTPReadsThem reads what chance would find in a minute.
func TestMutatedResponsesAreReadAsNetHTTPReadsThem(t *testing.T) {
	pieces := []string{"\r\n", "\n", "\r", " ", "\t", ":", ",", ";", "0", "1", "2", "9", "-", "+", "chunked", "Transfer-Encoding: chunked\r\n", "Content-Length: 1\r\n", "Content-Length: 2\r\n",
		"Trailer: A\r\n", "Trailer: Content-Length\r\n", "Trailer: a, transfer-encoding,\r\n", "trailer",
		"Connection: a, Upgrade\r\n", "Upgrade: b\r\n", "a: b\r\n", "\x00", "\x7f", "\xe9", "1\r\nx\r\n", "0\r\n\r\n", "HTTP/1.1 103 Hints\r\n\r\n"}
	for _, s := range responses {
		for seed := range uint64(200) {
			readAsNetHTTP(t, testutil.Mutated([]byte(s), pieces, seed))
		}
	}
}

// TestEveryLineOfAChunksSizeIsReadAsNetHTTPReadsIt: of all lines of some pieces.
func TestEveryLineOfAChunksSizeIsReadAsNetHTTPReadsIt(t *testing.T) {
	pieces := []string{"", "2", "0", "g", " ", "\t", ";", ";a=b", "\r"}
	for _, a := range pieces {
		for _, b := range pieces {
			for _, c := range pieces {
				for _, end := range []string{"\r\n", "\n", " \r\n"} {
					readAsNetHTTP(t, []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+a+b+c+end+"ok\r\n0\r\n\r\n"))
				}
			}
		}
	}
}

// TestEveryByteOfAResponsesHeadCounts: each byte is put before each byte of a head, in its place, and left out.
func TestEveryByteOfAResponsesHeadCounts(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: b\r\n\r\n"
	compare := func(data []byte) {
		got, _, _ := answerTo(data)
		if want := netHTTP(data); got != want {
			t.Errorf("%q:\nours     %+v\nnet/http %+v", data, got, want)
		}
	}
	for i := range len(head) {
		compare([]byte(head[:i] + head[i+1:] + "ok"))
		for c := range 256 {
			compare(slices.Concat([]byte(head[:i]), []byte{byte(c)}, []byte(head[i:]+"ok")))
			compare(slices.Concat([]byte(head[:i]), []byte{byte(c)}, []byte(head[i+1:]+"ok")))
		}
	}
}

func readAsNetHTTP(t *testing.T, data []byte) {
	if got, want := ours(data), netHTTP(data); got != want {
		t.Errorf("%q:\nours     %+v\nnet/http %+v", data, got, want)
	}
}

// FuzzHTTP2FramesNeverPanic feeds any bytes to the HTTP/2 client.
func FuzzHTTP2FramesNeverPanic(f *testing.F) {
	settings := "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	f.Add([]byte(settings + "\x00\x00\x01\x01\x05\x00\x00\x00\x01\x88"))
	f.Add([]byte(settings + "\x00\x00\x01\x01\x04\x00\x00\x00\x01\x88\x00\x00\x02\x00\x01\x00\x00\x00\x01ok"))
	f.Add([]byte(settings + "\x00\x00\x03\x01\x0c\x00\x00\x00\x01\x01\x88\x00\x00\x00\x02\x00\x09\x00\x00\x00\x01\x01\x00"))
	f.Add([]byte(settings + "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		res, err := wire.RoundTrip2(peer{bytes.NewReader(data), io.Discard}, request, nil)
		if err == nil {
			_, _ = read(res.Status, res.Body)
		}
	})
}

func TestOnlyHeadersOfTheMessageItselfAreWritten(t *testing.T) {
	var sent bytes.Buffer
	req := &wire.Request{URL: &url.URL{Scheme: "http", Host: "10.0.0.1:80", Path: "/a b", RawQuery: "c=d"}, Host: "web", Header: map[string][]string{"X": {"1", "2"}, "Content-Length": {"3"}, "Transfer-Encoding": {"chunked"}, "Trailer": {"X"}, "Host": {"no"}, "Accept": {"*/*"}}}
	_, err := wire.RoundTrip1(peer{strings.NewReader("HTTP/1.1 200 OK\r\n\r\n"), &sent}, req)
	if err != nil {
		t.Fatal(err)
	}
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
// What ends within its first line is no answer that is not HTTP.
func TestAnAnswerThatEndsEarlyIsToldFromOneThatIsNotHTTP(t *testing.T) {
	for text, want := range map[string]string{"": "unexpected EOF", "HTTP/1.1 20": `malformed HTTP response "HTTP/1.1 20"`, "SSH-2.0\r\n": `malformed HTTP response "SSH-2.0"`} {
		if _, err := wire.RoundTrip1(peer{strings.NewReader(text), io.Discard}, request); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

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

// TestAHeadIsMeteredBeforeItIsKept: what no probe needs takes no memory, and what
// it needs no more than is granted.
func TestAHeadIsMeteredBeforeItIsKept(t *testing.T) {
	const head = "HTTP/1.1 302 Found\r\nLocation: /a\r\n"
	for name, test := range map[string]struct {
		text    string
		granted int // at most; -1 where the head must be refused
	}{
		"a small head":                    {head + "Content-Length: 0\r\n\r\n", 0},
		"7 KiB":                           {head + "X: " + strings.Repeat("x", 7<<10) + "\r\n\r\n", 0},
		"100 KiB in one line":             {head + "X: " + strings.Repeat("x", 100<<10) + "\r\n\r\n", 200 << 10},
		"300 KiB in one line":             {head + "X: " + strings.Repeat("x", 300<<10) + "\r\n\r\n", -1},
		"tiny lines":                      {head + strings.Repeat("a:\r\n", 50_000) + "\r\n", -1},
		"lines that continue one":         {head + "X: a\r\n" + strings.Repeat(" b\r\n", 50_000) + "\r\n", -1},
		"informational heads without end": {strings.Repeat("HTTP/1.1 103 Hints\r\n\r\n", 20_000), -1},
		"tiny lines, informational heads": {strings.Repeat("HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 103 Hints\r\n"+strings.Repeat("a:\r\n", 1000)+"\r\n", 6), -1},
		"a body of lines":                 {head + "Content-Length: 10000\r\n\r\n" + strings.Repeat("\n", 10_000), 0},
		"a reason without end":            {"HTTP/1.1 200 " + strings.Repeat("x", 1<<20), -1},
	} {
		granted := 0
		req := *request
		req.Meter = &wire.Meter{More: func(n int) bool { granted += n; return true }}
		res, err := wire.RoundTrip1(peer{strings.NewReader(test.text), io.Discard}, &req)
		switch {
		case test.granted < 0:
			if err == nil || !strings.Contains(err.Error(), "too large") {
				t.Errorf("%s: %v, want that it is too large", name, err)
			}
		case err != nil || granted > test.granted || granted != req.Meter.Granted:
			t.Errorf("%s: %d bytes, %v", name, granted, err)
		case len(res.Header["X"]) > 0 || res.Header.Get("Location") != "/a":
			t.Errorf("%s: %v is kept", name, res.Header)
		}
	}
	req := *request
	req.Meter = &wire.Meter{More: func(int) bool { return false }}
	_, err := wire.RoundTrip1(peer{strings.NewReader(head + "X: " + strings.Repeat("x", 20<<10) + "\r\n\r\n"), io.Discard}, &req)
	if err == nil || err.Error() != "too many large response heads at a time" {
		t.Errorf("a head that is not granted: %v", err)
	}
}

// TestFramesAreMetered: what an app may send over HTTP/2 beside its answer.
func TestFramesAreMetered(t *testing.T) {
	const settings, ping = "\x00\x00\x00\x04\x00\x00\x00\x00\x00", "\x00\x00\x08\x06\x01\x00\x00\x00\x0012345678"
	const answer = "\x00\x00\x01\x01\x05\x00\x00\x00\x01\x88"
	// One HPACK entry, x without a value, and how often it comes again.
	bomb := func(n int) string {
		head := "\x88\x40\x01x\x00" + strings.Repeat("\xbe", n)
		return string([]byte{0, byte(len(head) >> 8), byte(len(head))}) + "\x01\x05\x00\x00\x00\x01" + head
	}
	const foreign, padding, empty, byteOf = "\x00\x00\x01\x00\x00\x00\x00\x00\x02x", "\x00\x00\x02\x00\x08\x00\x00\x00\x01\x01\x00", "\x00\x00\x00\x00\x00\x00\x00\x00\x01", "\x00\x00\x01\x00\x00\x00\x00\x00\x01x"
	const head, end = "\x00\x00\x01\x01\x04\x00\x00\x00\x01\x88", "\x00\x00\x00\x00\x01\x00\x00\x00\x01"
	for name, test := range map[string]struct {
		frames string
		ok     bool
	}{
		"some data of another stream":  {strings.Repeat(foreign, 100) + answer, true},
		"much data of another stream":  {strings.Repeat(foreign, 3000) + answer, false},
		"large data of another stream": {strings.Repeat("\x00\x20\x00\x00\x00\x00\x00\x00\x02"+strings.Repeat("x", 8<<10), 100) + answer, false},
		"frames of much padding":       {head + strings.Repeat("\x00\x01\x00\x00\x08\x00\x00\x00\x01\xff"+strings.Repeat("\x00", 255), 1500) + end, false},
		"the same in the body":         {head + strings.Repeat(foreign, 3000) + end, false},
		"some frames of padding":       {head + strings.Repeat(padding, 100) + end, true},
		"many frames of padding":       {head + strings.Repeat(padding, 3000) + end, false},
		"many frames without data":     {head + strings.Repeat(empty, 3000) + end, false},
		"a body of many frames":        {head + strings.Repeat(byteOf, 10_000) + end, true},

		"some pings":       {strings.Repeat(ping, 100) + answer, true},
		"many pings":       {strings.Repeat(ping, 3000) + answer, false},
		"many settings":    {strings.Repeat(settings, 3000) + answer, false},
		"one entry often":  {bomb(1000), true},
		"one entry, flood": {bomb(16_000), false},
	} {
		res, err := wire.RoundTrip2(peer{strings.NewReader(settings + test.frames), io.Discard}, request, nil)
		if err == nil {
			_, err = io.ReadAll(res.Body)
		}
		if (err == nil) != test.ok || err == nil && (res.Status != 200 || len(res.Header) > 0) || err != nil && !strings.Contains(err.Error(), "too large") {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
}

func TestAHeadersNameIsAToken(t *testing.T) {
	const alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!#$%&'*+-.^_`|~"
	for c := range 256 {
		want := strings.IndexByte(alphabet, byte(c)) >= 0
		if got := wire.ValidName(string([]byte{'a', byte(c)})); got != want {
			t.Errorf("%q may be in a name: %t, want %t", byte(c), got, want)
		}
	}
	if wire.ValidName("") {
		t.Error("a name must have a character")
	}
}

func TestAHeadersValueHasNoControlCharacters(t *testing.T) {
	for c := range 256 {
		want := c == '\t' || c >= ' ' && c != 0x7f
		if got := wire.ValidValue("a" + string([]byte{byte(c)}) + "b"); got != want {
			t.Errorf("%q may be in a value: %t, want %t", byte(c), got, want)
		}
	}
}
