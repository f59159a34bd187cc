package wire_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/rewrite-probes/rewrite-probes/internal/wire"
)

// serve starts net/http's server for HTTP/2 and returns a connection to it, which waits 20 seconds at most.
func serve(t *testing.T, handler http.HandlerFunc) net.Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: handler, Protocols: new(http.Protocols)}
	s.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn
}

// answer writes an answer of gRPC.
func answer(w http.ResponseWriter, status, message string, body []byte) {
	w.Header().Set("Content-Type", "application/grpc")
	if body != nil {
		_, _ = w.Write(body)
	}
	w.Header().Set(http.TrailerPrefix+"Grpc-Status", status)
	w.Header().Set(http.TrailerPrefix+"Grpc-Message", message)
}

// message returns a message of gRPC with its length before it.
func message(text string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(text))), text...)
}

func TestACallReturnsTheMessageOrTheStatus(t *testing.T) {
	one := message("pong")
	for name, test := range map[string]struct {
		handler func(w http.ResponseWriter)
		want    string
		code    int
		failed  bool
	}{
		"message":         {func(w http.ResponseWriter) { answer(w, "0", "", one) }, "pong", 0, false},
		"empty message":   {func(w http.ResponseWriter) { answer(w, "0", "", message("")) }, "", 0, false},
		"largest message": {func(w http.ResponseWriter) { answer(w, "0", "", message(strings.Repeat("x", 32<<10-6))) }, strings.Repeat("x", 32<<10-6), 0, false},
		"larger message":  {func(w http.ResponseWriter) { answer(w, "0", "", message(strings.Repeat("x", 32<<10-5))) }, "gRPC answer has 32768 bytes or more", -1, true},
		"breaks off": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/grpc")
			_, _ = w.Write(one[:3])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, "stream was reset with code 2", 0, true},
		"status":            {func(w http.ResponseWriter) { answer(w, "16", "caf%C3%A9 100%25 1+1", nil) }, "café 100% 1+1 (gRPC status 16)", 16, true},
		"an invalid escape": {func(w http.ResponseWriter) { answer(w, "16", "caf%C3%A9 %zz %", nil) }, "caf%C3%A9 %zz % (gRPC status 16)", 16, true},
		"status after data": {func(w http.ResponseWriter) { answer(w, "7", "no", one) }, "no (gRPC status 7)", 7, true},
		"message not UTF-8": {func(w http.ResponseWriter) { answer(w, "2", "%ff", nil) }, "%ff (gRPC status 2)", 2, true},
		"trailers only": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "5")
			w.Header().Set("Grpc-Message", "gone")
		}, "gone (gRPC status 5)", 5, true},
		"no trailers": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "0")
			_, _ = w.Write(one)
		}, "gRPC answer has no trailers", -1, true},
		"no gRPC":             {func(w http.ResponseWriter) { w.WriteHeader(404) }, "answer to the gRPC call has HTTP status 404", -1, true},
		"a page":              {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "hello") }, `answer is not gRPC: Content-Type ["text/plain; charset=utf-8"]`, -1, true},
		"status is no code":   {func(w http.ResponseWriter) { answer(w, "x", "", one) }, "gRPC answer has no valid grpc-status", -1, true},
		"escapes at the end":  {func(w http.ResponseWriter) { answer(w, "7", "%6e%6F%21", nil) }, "no! (gRPC status 7)", 7, true},
		"half an escape":      {func(w http.ResponseWriter) { answer(w, "7", "%2 no%2", nil) }, "%2 no%2 (gRPC status 7)", 7, true},
		"the largest status":  {func(w http.ResponseWriter) { answer(w, "2147483647", "", nil) }, " (gRPC status 2147483647)", 2147483647, true},
		"a larger status":     {func(w http.ResponseWriter) { answer(w, "2147483648", "", one) }, "gRPC answer has no valid grpc-status", -1, true},
		"negative status":     {func(w http.ResponseWriter) { answer(w, "-1", "", one) }, "gRPC answer has no valid grpc-status", -1, true},
		"no message":          {func(w http.ResponseWriter) { answer(w, "0", "", []byte{}) }, "gRPC answer is not one message", -1, true},
		"two messages":        {func(w http.ResponseWriter) { answer(w, "0", "", append(one, one...)) }, "gRPC answer is not one message", -1, true},
		"five bytes after it": {func(w http.ResponseWriter) { answer(w, "0", "", append(one[:len(one):len(one)], 0, 0, 0, 0, 0)) }, "gRPC answer is not one message", -1, true},
		"unknown form":        {func(w http.ResponseWriter) { answer(w, "0", "", append([]byte{2}, one[1:]...)) }, "gRPC answer is not one message", -1, true},
		"compressed message":  {func(w http.ResponseWriter) { answer(w, "0", "", append([]byte{1}, one[1:]...)) }, "gRPC answer is compressed, with grpc-encoding []", -1, true},
	} {
		conn := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if string(body) != "\x00\x00\x00\x00\x04ping" || r.URL.Path != "/a.B/C" || r.Host != "peer:1" || r.Header.Get("Te") != "trailers" || r.Header.Get("Authorization") != "Bearer x" {
				t.Errorf("got %q of %s %s, %v", body, r.Host, r.URL, r.Header)
			}
			test.handler(w)
		})
		call := wire.NewCall("http", "peer:1", "/a.B/C")
		call.Header["Authorization"] = []string{"Bearer x"}
		got, err := wire.Call(conn, call, []byte("ping"))
		var status *wire.CallError
		switch {
		case test.failed && (err == nil || err.Error() != test.want):
			t.Errorf("%s: got %q, %v, want the error %s", name, got, err, test.want)
		case !test.failed && (err != nil || string(got) != test.want):
			t.Errorf("%s: got %.20q, %v", name, got, err)
		case errors.As(err, &status) && status.Code != test.code:
			t.Errorf("%s: the code is %d", name, status.Code)
		}
	}
}

func open(t *testing.T, conn net.Conn) *wire.Stream {
	t.Helper()
	s, err := wire.OpenStream(conn, wire.NewCall("http", "peer:1", "/a.B/C"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// end reads to the end of the call.
func end(s *wire.Stream) error {
	for {
		if _, err := s.Next(); err != nil {
			return err
		}
	}
}

func TestAStreamCarriesMessagesUntilItEnds(t *testing.T) {
	got := make(chan string, 2)
	conn := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		for head := make([]byte, 5); ; {
			if _, err := io.ReadFull(r.Body, head); err != nil {
				got <- err.Error()
				break
			}
			m := make([]byte, binary.BigEndian.Uint32(head[1:]))
			_, _ = io.ReadFull(r.Body, m)
			got <- string(m)
			_, _ = w.Write(make([]byte, 40<<10)) // more than a window, twice
		}
		answer(w, "0", "", nil)
	})
	s := open(t, conn)
	done := make(chan error, 1)
	go func() {
		err := end(s)
		_ = conn.Close() // a server that waits for a window ends too
		done <- err
	}()
	for _, m := range []string{"one", "two"} {
		if err := s.Send([]byte(m)); err != nil || <-got != m {
			t.Fatal(err)
		}
	}
	if err := s.Ping(); err != nil {
		t.Error(err)
	}
	if err := s.CloseSend(); err != nil || <-got != "EOF" {
		t.Error(err)
	}
	if err := <-done; err != io.EOF {
		t.Error(err)
	}
	if err := s.Send(nil); err != io.EOF {
		t.Errorf("a message after the end: %v", err)
	}
}

func TestTheEndOfAStreamIsTold(t *testing.T) {
	for want, handler := range map[string]http.HandlerFunc{
		"go home (gRPC status 14)":                                       func(w http.ResponseWriter, _ *http.Request) { answer(w, "14", "go home", nil) },
		"answer to the gRPC call has HTTP status 503":                    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) },
		`answer is not gRPC: Content-Type ["text/plain; charset=utf-8"]`: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a") },
		"peer ended the call without a status": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			_, _ = io.WriteString(w, "a")
		},
		"stream was reset with code 2": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		if err := end(open(t, serve(t, handler))); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	conn := serve(t, func(http.ResponseWriter, *http.Request) {})
	s := open(t, conn)
	_ = conn.Close()
	if err := end(s); err == nil || err == io.EOF {
		t.Errorf("a broken connection: %v", err)
	}
}

// raw returns a call to a peer that sends these frames after its settings.
func raw(t *testing.T, frames string) *wire.Stream {
	t.Helper()
	s, err := wire.OpenStream(peer{strings.NewReader(settings + frames), io.Discard}, wire.NewCall("http", "peer:1", "/a.B/C"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFramesThatEndAStreamAreTold(t *testing.T) {
	head := func(flags byte, fields ...string) string {
		var block bytes.Buffer
		encoder := hpack.NewEncoder(&block)
		for i := 0; i < len(fields); i += 2 {
			_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
		}
		return string([]byte{0, 0, byte(block.Len()), 1, 4 | flags, 0, 0, 0, 1}) + block.String()
	}
	const last = 1
	begin := head(0, ":status", "200", "content-type", "application/grpc")
	for name, test := range map[string]struct{ frames, want string }{
		"status 0":                   {begin + head(last, "grpc-status", "0"), "EOF"},
		"status 0 without a message": {head(last, ":status", "200", "content-type", "application/grpc", "grpc-status", "0"), "EOF"},
		"a kind of message":          {head(0, ":status", "200", "content-type", "application/grpc+proto") + head(last, "grpc-status", "0"), "EOF"},
		"a parameter":                {head(0, ":status", "200", "content-type", "application/grpc;x=y") + head(last, "grpc-status", "0"), "EOF"},
		"another HTTP status":        {head(0, ":status", "404", "content-type", "application/grpc") + head(last, "grpc-status", "0"), "EOF"},
		"two statuses":               {begin + head(last, "grpc-status", "7", "grpc-status", "0"), "EOF"},
		"two statuses, first a bad":  {begin + head(last, "grpc-status", "x", "grpc-status", "0"), "gRPC answer has no valid grpc-status"},
		"two statuses, a bad one":    {begin + head(last, "grpc-status", "0", "grpc-status", "x"), "gRPC answer has no valid grpc-status"},
		"a longer type":              {head(0, ":status", "200", "content-type", "application/grpcs"), `answer is not gRPC: Content-Type ["application/grpcs"]`},
		"a page of another status":   {head(0, ":status", "201", "content-type", "text/html"), "answer to the gRPC call has HTTP status 201"},
		"headers of another stream":  {begin + frame(1, 5, 3, "\x8d") + head(last, "grpc-status", "0"), "EOF"},
		"data of the peer's stream":  {begin + frame(0, 1, 2, "x") + head(last, "grpc-status", "0"), "EOF"},
		"thousands of pings":         {begin + strings.Repeat(frame(6, 0, 0, "12345678"), 3000) + head(last, "grpc-status", "0"), "EOF"},
		"after a hint":               {head(0, ":status", "103") + begin + head(last, "grpc-status", "0"), "EOF"},
		"another status":             {begin + head(last, "grpc-status", "7", "grpc-message", "no"), "no (gRPC status 7)"},
		"no status":                  {begin + head(last, "x", "y"), "gRPC answer has no valid grpc-status"},
		"trailers that go on":        {begin + head(0, "grpc-status", "0"), "trailers do not end the stream"},
		"a malformed trailer":        {begin + head(last, "grpc-status", "0", "X", "y"), `invalid header name "X"`},
		"no HTTP status":             {head(0, "x", "y"), `malformed :status ""`},
		"an early end":               {head(last, ":status", "103"), "1xx response ends the stream"},
		"a page":                     {head(0, ":status", "200", "content-type", "text/html"), `answer is not gRPC: Content-Type ["text/html"]`},
		"nothing more":               {begin, "unexpected EOF"},
	} {
		if err := end(raw(t, test.frames)); err.Error() != test.want {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

// TestAPeerThatGoesAwayIsTold from its GOAWAY on, whatever its code and the streams it has served.
func TestAPeerThatGoesAwayIsTold(t *testing.T) {
	const ping = "\x00\x00\x08\x06\x01\x00\x00\x00\x0001234567"
	for _, last := range []string{"\x00\x00\x00\x01", "\x00\x00\x00\x03", "\x7f\xff\xff\xff", "\xff\xff\xff\xff"} {
		for _, code := range []string{"\x00\x00\x00\x00", "\x00\x00\x00\x0b"} {
			s := raw(t, ping+frame(7, 0, 0, last+code)+ping)
			for i, want := range []bool{false, false, true, true} { // the first are the settings
				if going, err := s.Next(); going != want || err != nil {
					t.Errorf("last stream %x, code %x: after frame %d it is going away: %t, %v; want %t", last, code, i, going, err, want)
				}
			}
			if going, err := s.Next(); !going || err == nil {
				t.Errorf("last stream %x, code %x: at the end %t, %v", last, code, going, err)
			}
		}
	}
}

func TestWhatAStreamSends(t *testing.T) {
	var sent bytes.Buffer
	const begin = "\x88\x5f\x10application/grpc" // :status 200, content-type
	s, err := wire.OpenStream(peer{strings.NewReader(settings + frame(6, 0, 0, "01234567") + frame(6, 1, 0, "01234567") + frame(1, 4, 1, begin) +
		frame(0, 0, 1, "abc") + frame(0, 0, 1, "") + frame(0, 1, 1, "")), &sent}, wire.NewCall("https", "peer:1", "/a.B/C"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send([]byte("hello")); err != nil {
		t.Error(err)
	}
	if err := s.Ping(); err != nil {
		t.Error(err)
	}
	if err := end(s); err == nil || err.Error() != "peer ended the call without a status" {
		t.Error(err)
	}
	if err := s.Send(nil); err == nil || err.Error() != "peer ended the call without a status" {
		t.Error(err)
	}
	if err := s.CloseSend(); err != nil {
		t.Error(err)
	}
	want := []string{
		`SETTINGS flags=0 stream=0 "\x00\x02\x00\x00\x00\x00"`,
		`HEADERS flags=4 stream=1 :authority=peer:1 :method=POST :path=/a.B/C :scheme=https content-type=application/grpc te=trailers`,
		`DATA flags=0 stream=1 "\x00\x00\x00\x00\x05hello"`,
		`PING flags=0 stream=0 "\x00\x00\x00\x00\x00\x00\x00\x00"`,
		`SETTINGS flags=1 stream=0 ""`,
		`PING flags=1 stream=0 "01234567"`,
		`WINDOW_UPDATE flags=0 stream=0 "\x00\x00\x00\x03"`,
		`WINDOW_UPDATE flags=0 stream=1 "\x00\x00\x00\x03"`,
		`DATA flags=1 stream=1 ""`,
	}
	if got := framesOf(t, sent.Bytes()); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestWhatRoundTripsSend(t *testing.T) {
	for name, test := range map[string]struct {
		body   []byte
		frames string
		want   []string
	}{
		"a GET": {nil, settings + ok, []string{
			`SETTINGS flags=0 stream=0 "\x00\x02\x00\x00\x00\x00"`,
			`HEADERS flags=5 stream=1 :authority=x :method=GET :path=/a?b :scheme=http accept=*/*`,
			`SETTINGS flags=1 stream=0 ""`,
		}},
		"a call": {[]byte("body"), settings + ok, []string{
			`SETTINGS flags=0 stream=0 "\x00\x02\x00\x00\x00\x00"`,
			`SETTINGS flags=1 stream=0 ""`,
			`HEADERS flags=4 stream=1 :authority=x :method=POST :path=/a?b :scheme=http accept=*/*`,
			`DATA flags=1 stream=1 "body"`,
		}},
		"a call of more than a frame": {bytes.Repeat([]byte("x"), 16<<10+1), settings + ok, []string{
			`SETTINGS flags=0 stream=0 "\x00\x02\x00\x00\x00\x00"`,
			`SETTINGS flags=1 stream=0 ""`,
			`HEADERS flags=4 stream=1 :authority=x :method=POST :path=/a?b :scheme=http accept=*/*`,
			`DATA flags=0 stream=1 "` + strings.Repeat("x", 16<<10) + `"`,
			`DATA flags=1 stream=1 "x"`,
		}},
		"a call of one frame": {bytes.Repeat([]byte("x"), 16<<10), settings + ok, []string{
			`SETTINGS flags=0 stream=0 "\x00\x02\x00\x00\x00\x00"`,
			`SETTINGS flags=1 stream=0 ""`,
			`HEADERS flags=4 stream=1 :authority=x :method=POST :path=/a?b :scheme=http accept=*/*`,
			`DATA flags=1 stream=1 "` + strings.Repeat("x", 16<<10) + `"`,
		}},
		"a call that the peer allows late": {[]byte("body"), frame(4, 0, 0, "\x00\x03\x00\x00\x00\x00") + frame(4, 0, 0, "\x00\x03\x00\x00\x00\x01") + ok, []string{
			`SETTINGS flags=0 stream=0 "\x00\x02\x00\x00\x00\x00"`,
			`SETTINGS flags=1 stream=0 ""`,
			`SETTINGS flags=1 stream=0 ""`,
			`HEADERS flags=4 stream=1 :authority=x :method=POST :path=/a?b :scheme=http accept=*/*`,
			`DATA flags=1 stream=1 "body"`,
		}},
	} {
		var sent bytes.Buffer
		req := &wire.Request{URL: &url.URL{Scheme: "http", Host: "y", Path: "/a", RawQuery: "b"}, Host: "x", Header: map[string][]string{"Accept": {"*/*"}}}
		if _, err := wire.RoundTrip2(peer{strings.NewReader(test.frames), &sent}, req, test.body); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := framesOf(t, sent.Bytes()); !slices.Equal(got, test.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
}

// framesOf words what a client sends, as golang.org/x/net reads it.
func framesOf(t *testing.T, sent []byte) []string {
	t.Helper()
	rest, found := bytes.CutPrefix(sent, []byte(http2.ClientPreface))
	if !found {
		t.Fatalf("%q is sent first", sent)
	}
	framer := http2.NewFramer(nil, bytes.NewReader(rest))
	decoder := hpack.NewDecoder(4<<10, nil)
	var all []string
	for {
		f, err := framer.ReadFrame()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err, all)
		}
		h := f.Header()
		line := fmt.Sprintf("%s flags=%d stream=%d", h.Type, h.Flags, h.StreamID)
		at := bytes.Index(rest, []byte{byte(h.Length >> 16), byte(h.Length >> 8), byte(h.Length), byte(h.Type), byte(h.Flags)})
		payload := rest[at+9:][:h.Length]
		rest = rest[at+9+int(h.Length):]
		if headers, ok := f.(*http2.HeadersFrame); ok {
			fields, err := decoder.DecodeFull(headers.HeaderBlockFragment())
			if err != nil {
				t.Fatal(err)
			}
			for _, field := range fields {
				line += " " + field.Name + "=" + field.Value
			}
		} else {
			line += fmt.Sprintf(" %q", payload)
		}
		all = append(all, line)
	}
}

func TestAConnectionThatTakesNothingIsAnError(t *testing.T) {
	broken := errors.New("broken pipe")
	conn := peer{strings.NewReader(settings), failing{broken}}
	if _, err := wire.OpenStream(conn, wire.NewCall("http", "peer:1", "/a.B/C")); err != broken {
		t.Errorf("a stream: %v", err)
	}
	if _, err := wire.OpenStream(conn, wire.NewCall("http", "", "/a.B/C")); err == nil || err.Error() != "HTTP/2 needs a Host" {
		t.Errorf("a stream to nobody: %v", err)
	}
	request := &wire.Request{URL: &url.URL{Scheme: "http", Host: "x", Path: "/"}, Host: "x"}
	if _, err := wire.RoundTrip1(conn, request); err != broken {
		t.Errorf("HTTP/1: %v", err)
	}
	for _, body := range [][]byte{nil, {0, 0, 0, 0, 0}} {
		if _, err := wire.RoundTrip2(conn, request, body); !errors.Is(err, broken) {
			t.Errorf("HTTP/2: %v", err)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// The peer's settings allow no streams yet.
func TestAnAnswerToACallThatWasNotMadeIsAnError(t *testing.T) {
	const none = "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00"
	request := &wire.Request{URL: &url.URL{Scheme: "http", Host: "x", Path: "/"}, Host: "x"}
	_, err := wire.RoundTrip2(peer{strings.NewReader(none + ok), io.Discard}, request, []byte{0, 0, 0, 0, 0})
	if err == nil || err.Error() != "peer answers a call before it is made" {
		t.Error(err)
	}
}

func TestAMessageThatFitsNoFrameIsNotSent(t *testing.T) {
	s := open(t, serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	if err := s.Send(make([]byte, 16<<10)); err == nil || !strings.Contains(err.Error(), "16384 bytes is too large") {
		t.Error(err)
	}
	if err := s.Send(make([]byte, 16<<10-5)); err != nil {
		t.Error(err)
	}
}

// The peer's windows count apart: that of the connection and that of the stream.
func TestAMessageWaitsForBothWindows(t *testing.T) {
	for _, last := range []uint32{0, 1} { // the stream of the window that is raised at last; 0 is the connection
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer theirs.Close()
			defer ours.Close()
			peer := http2.NewFramer(theirs, theirs)
			received := make(chan int, 8)
			go func() {
				_, _ = io.ReadFull(theirs, make([]byte, len(http2.ClientPreface)))
				for {
					f, err := peer.ReadFrame()
					if err != nil {
						return
					}
					if data, ok := f.(*http2.DataFrame); ok {
						received <- len(data.Data())
					}
				}
			}()
			s := open(t, ours)
			go func() { _ = end(s) }()
			if err := peer.WriteSettings(); err != nil {
				t.Fatal(err)
			}
			sent := make(chan error, 1)
			go func() {
				for range 4 { // a byte more than a window has from the start
					if err := s.Send(make([]byte, 16<<10-5)); err != nil {
						sent <- err
						return
					}
				}
				sent <- nil
			}()
			for range 3 {
				<-received
			}
			if err := peer.WriteWindowUpdate(1-last, 1); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if len(received) > 0 {
				t.Errorf("a message is larger than the window of stream %d, and is sent", last)
			}
			if err := peer.WriteWindowUpdate(last, 1); err != nil {
				t.Fatal(err)
			}
			if err := <-sent; err != nil || <-received != 16<<10 {
				t.Error(err)
			}
		})
	}
}

// TestAStreamSendsAsMuchAsItsWindowsHave: the peer raises the two, and changes the size that a stream's has at its start,
// in any order. That changes the stream's by the difference, and what was added before stays.
func TestAStreamSendsAsMuchAsItsWindowsHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for range 200 {
			const atStart = 64<<10 - 1
			windows, initial := [2]int{atStart, atStart}, atStart
			frames, n := "", r.IntN(8)
			for range n {
				by := 1 + r.IntN(30<<10)
				number := string(binary.BigEndian.AppendUint32(nil, uint32(by)))
				switch stream := r.IntN(3); stream {
				case 2:
					frames += frame(4, 0, 0, "\x00\x04"+number)
					windows[1] += by - initial
					initial = by
				default:
					frames += frame(8, 0, byte(stream), number)
					windows[stream] += by
				}
			}
			s := raw(t, frames)
			for range 1 + n {
				if _, err := s.Next(); err != nil {
					t.Fatal(err)
				}
			}
			const size = 100 // of a message with its length
			sent := 0
			go func() {
				for s.Send(make([]byte, size-5)) == nil {
					sent += size
				}
			}()
			synctest.Wait() // until it waits for the peer
			room := max(min(windows[0], windows[1]), 0)
			if sent != room/size*size {
				t.Fatalf("%d bytes are sent, and the windows are %d after %q", sent, windows, frames)
			}
			_ = end(s)
		}
	})
}

// TestTheLastEncodingOfAnAnswerCounts, as in grpc-go, and only if the message says that it is compressed.
func TestTheLastEncodingOfAnAnswerCounts(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, "pong")
	_ = z.Close()
	compressed := message(zipped.String())
	compressed[0] = 1
	for _, encodings := range [][]string{nil, {"gzip"}, {"identity"}, {"identity", "gzip"}, {"gzip", "identity"}, {"gzip", "gzip"}, {"gzip", "snappy", "gzip"}} {
		for _, body := range [][]byte{message("pong"), compressed} {
			conn := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Grpc-Encoding"] = encodings
				answer(w, "0", "", body)
			})
			got, err := wire.Call(conn, wire.NewCall("http", "peer:1", "/a.B/C"), nil)
			want := body[0] == 0 || len(encodings) > 0 && encodings[len(encodings)-1] == "gzip"
			if ok := err == nil && string(got) == "pong"; ok != want {
				t.Errorf("%q, compressed %d: %q, %v", encodings, body[0], got, err)
			}
		}
	}
}

// Too few bytes for the length of another message are ignored by grpc-go.
func TestCall_strayBytes(t *testing.T) {
	for n := range 6 {
		conn := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			answer(w, "0", "", append(message("pong"), make([]byte, n)...))
		})
		got, err := wire.Call(conn, wire.NewCall("http", "peer:1", "/a.B/C"), nil)
		if ok := err == nil && string(got) == "pong"; ok != (n < 5) {
			t.Errorf("%d stray bytes: %q, %v", n, got, err)
		}
	}
}
