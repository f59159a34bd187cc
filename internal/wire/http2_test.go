package wire_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/rewrite-probes/rewrite-probes/internal/wire"
)

const (
	settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	ok       = "\x00\x00\x01\x01\x05\x00\x00\x00\x01\x88" // :status 200, END_STREAM
)

func TestHTTP2_headersOfTheConnection(t *testing.T) {
	for _, test := range []struct {
		header textproto.MIMEHeader
		want   string
	}{
		{textproto.MIMEHeader{}, ""},
		{textproto.MIMEHeader{"Connection": {""}}, ""},
		{textproto.MIMEHeader{"Connection": {"close"}}, ""},
		{textproto.MIMEHeader{"Connection": {"Keep-Alive"}}, ""},
		{textproto.MIMEHeader{"Connection": {"keep-alive", "close"}}, ""},
		{textproto.MIMEHeader{"Connection": {"x"}}, `invalid Connection request header ["x"] for HTTP/2`},
		{textproto.MIMEHeader{"Connection": {"x", "close"}}, `invalid Connection request header ["x"] for HTTP/2`},
		{textproto.MIMEHeader{"Connection": {"keep-alive", "keep-alive"}}, `invalid Connection request header ["keep-alive" "keep-alive"] for HTTP/2`},
		{textproto.MIMEHeader{"Upgrade": {"websocket"}}, `invalid Upgrade request header "websocket" for HTTP/2`},
	} {
		req := &wire.Request{URL: &url.URL{Scheme: "http", Host: "x", Path: "/"}, Host: "x", Header: test.header}
		_, err := wire.RoundTrip2(peer{bytes.NewReader([]byte(settings + ok)), io.Discard}, req, nil)
		if got := fmt.Sprint(err); got != cmp.Or(test.want, "<nil>") {
			t.Errorf("%v: %s, want %q", test.header, got, test.want)
		}
	}
	req := &wire.Request{URL: &url.URL{Scheme: "http", Host: "x", Path: "/"}}
	if _, err := wire.RoundTrip2(peer{bytes.NewReader([]byte(settings + ok)), io.Discard}, req, nil); err == nil {
		t.Error("a request without Host must fail")
	}
}

// framesFor returns what is sent for a request with these headers, to be read.
func framesFor(t *testing.T, header textproto.MIMEHeader) *http2.Framer {
	t.Helper()
	var sent bytes.Buffer
	req := &wire.Request{URL: &url.URL{Scheme: "http", Host: "x", Path: "/"}, Host: "x", Header: header}
	_, err := wire.RoundTrip2(peer{bytes.NewReader([]byte(settings + ok)), &sent}, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	sent.Next(len(http2.ClientPreface))
	return http2.NewFramer(nil, &sent)
}

// Such headers are about a connection of HTTP/1.1, and net/http leaves them out.
func TestHeadersOfTheConnectionAreNotSent(t *testing.T) {
	frames := framesFor(t, textproto.MIMEHeader{"Connection": {"close"}, "Proxy-Connection": {"close"}, "Keep-Alive": {"5"}, "Upgrade": {""}, "X-A": {"b"}})
	frames.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		f, err := frames.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if f, ok := f.(*http2.MetaHeadersFrame); ok {
			if got, want := fmt.Sprint(f.RegularFields()), `[header field "x-a" = "b"]`; got != want {
				t.Errorf("sent %s, want %s", got, want)
			}
			return
		}
	}
}

func TestALargeHeadIsSentInSeveralFrames(t *testing.T) {
	var frames []string
	for framer := framesFor(t, textproto.MIMEHeader{"X-A": {strings.Repeat("~", 40<<10)}}); ; { // HPACK does not shorten ~
		f, err := framer.ReadFrame()
		if err != nil {
			break
		}
		if h := f.Header(); h.StreamID == 1 {
			frames = append(frames, fmt.Sprintf("%s %#x", h.Type, uint8(h.Flags)))
		}
	}
	if got, want := strings.Join(frames, ", "), "HEADERS 0x1, CONTINUATION 0x0, CONTINUATION 0x4"; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
}

func TestAPeerThatDidNotProcessARequestIsToldFromOthers(t *testing.T) {
	const (
		refused     = "\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x07"
		protocolErr = "\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x01"
		cancelled   = "\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x08"
		goesAway    = "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
		goesAwayErr = "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02"
	)
	for name, test := range map[string]struct {
		sent            string
		grpc            bool
		again, notHTTP2 bool
	}{
		"refused":                       {sent: settings + refused, again: true},
		"refused, gRPC":                 {sent: settings + refused, grpc: true, again: true},
		"protocol error":                {sent: settings + protocolErr, again: true},
		"protocol error, gRPC":          {sent: settings + protocolErr, grpc: true},
		"cancelled":                     {sent: settings + cancelled},
		"goes away":                     {sent: settings + goesAway, again: true},
		"goes away with an error":       {sent: settings + goesAwayErr},
		"goes away with an error, gRPC": {sent: settings + goesAwayErr, grpc: true, again: true},
		"closes":                        {sent: settings},
		"closes before its settings":    {notHTTP2: true},
		"HTTP/1":                        {sent: "HTTP/1.1 400 Bad Request\r\n\r\n", notHTTP2: true},
	} {
		var body []byte
		if test.grpc {
			body = []byte{0, 0, 0, 0, 0}
		}
		_, err := wire.RoundTrip2(peer{bytes.NewReader([]byte(test.sent)), io.Discard}, request, body)
		if err == nil || errors.Is(err, wire.ErrNotProcessed) != test.again || errors.Is(err, wire.ErrNotHTTP2) != test.notHTTP2 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The table of HPACK is the connection's: here the status comes from it.
func TestHeadersOfOtherStreamsFillTheTable(t *testing.T) {
	const (
		other = "\x00\x00\x05\x01\x04\x00\x00\x00\x03\x48\x03204" // :status 204, which enters the table
		ours  = "\x00\x00\x01\x01\x05\x00\x00\x00\x01\xbe"        // the newest entry of the table
	)
	res, err := wire.RoundTrip2(peer{strings.NewReader(settings + other + ours), io.Discard}, request, nil)
	if err != nil || res.Status != 204 {
		t.Errorf("%+v, %v", res, err)
	}
}

// frame returns a frame of up to 255 bytes.
func frame(kind, flags, stream byte, payload string) string {
	return string([]byte{0, 0, byte(len(payload)), kind, flags, 0, 0, 0, stream}) + payload
}

// What padding and priority leave of a frame, and how long the body is said to be.
func TestPaddingAndPriorityAreCutOff(t *testing.T) {
	const (
		data, headers, continuation      = 0, 1, 9
		last, endHeaders, padded, weight = 1, 4, 8, 0x20
		priority                         = "\x00\x00\x00\x00\x10"
		length2                          = "\x0f\x0d\x012" // content-length: 2
	)
	begin := frame(headers, endHeaders, 1, "\x88")
	for name, test := range map[string]struct {
		frames, want string
		length       int64
	}{
		"a head without a body":              {frame(headers, last|endHeaders, 1, "\x88"), "200 ", 0},
		"a head without a length":            {begin + frame(data, last, 1, "ok"), "200 ok", -1},
		"a length":                           {frame(headers, endHeaders, 1, "\x88"+length2) + frame(data, last, 1, "ok"), "200 ok", 2},
		"two lengths":                        {frame(headers, endHeaders, 1, "\x88"+length2+length2) + frame(data, last, 1, "ok"), "200 ok", -1},
		"a length of a head without a body":  {frame(headers, last|endHeaders, 1, "\x88"+length2), "200 unexpected EOF", 2},
		"a malformed length":                 {frame(headers, endHeaders, 1, "\x88\x0f\x0d\x01x") + frame(data, last, 1, "ok"), "200 ok", -1},
		"less than the length":               {frame(headers, endHeaders, 1, "\x88"+length2) + frame(data, last, 1, "o"), "200 unexpected EOF", 2},
		"more than the length":               {frame(headers, endHeaders, 1, "\x88"+length2) + frame(data, last, 1, "oko"), "200 body is longer than declared", 2},
		"a padded head":                      {frame(headers, last|endHeaders|padded, 1, "\x02\x88ab"), "200 ", 0},
		"a head of priority":                 {frame(headers, last|endHeaders|weight, 1, priority+"\x88"), "200 ", 0},
		"both":                               {frame(headers, last|endHeaders|padded|weight, 1, "\x01"+priority+"\x88a"), "200 ", 0},
		"a head of nothing but padding":      {frame(headers, last|padded, 1, "\x00") + frame(continuation, endHeaders, 1, "\x88"), "200 ", 0},
		"a head of nothing but a priority":   {frame(headers, last|weight, 1, priority) + frame(continuation, endHeaders, 1, "\x88"), "200 ", 0},
		"less than a priority":               {frame(headers, last|endHeaders|weight, 1, priority[:4]), "unexpected EOF", 0},
		"less than padding":                  {frame(headers, last|endHeaders|padded, 1, ""), "unexpected EOF", 0},
		"data of nothing but padding":        {begin + frame(data, last|padded, 1, "\x00"), "200 ", -1},
		"data of one byte of padding":        {begin + frame(data, last|padded, 1, "\x01a"), "200 ", -1},
		"padded data":                        {begin + frame(data, last|padded, 1, "\x02okab"), "200 ok", -1},
		"data whose flag is not priority":    {begin + frame(data, last|weight, 1, "okokok"), "200 okokok", -1},
		"data with more padding than that":   {begin + frame(data, last|padded, 1, "\x02a"), "200 frame has more padding than payload", -1},
		"data that is less than padding":     {begin + frame(data, last|padded, 1, ""), "200 unexpected EOF", -1},
		"a head with more padding than that": {frame(headers, last|endHeaders|padded, 1, "\x02a"), "frame has more padding than payload", 0},
	} {
		for _, frames := range []string{test.frames, reserved(test.frames)} {
			got, length := "", int64(0)
			res, err := wire.RoundTrip2(peer{strings.NewReader(settings + frames), io.Discard}, request, nil)
			if err != nil {
				got = err.Error()
			} else {
				body, err := io.ReadAll(res.Body)
				if got, length = fmt.Sprintf("%d %s", res.Status, body), res.ContentLength; err != nil {
					got = fmt.Sprintf("%d %v", res.Status, err)
				}
			}
			if got != test.want || length != test.length {
				t.Errorf("%s: %q of %d bytes, want %q of %d", name, got, length, test.want, test.length)
			}
		}
	}
}

// reserved returns frames with the bit before each stream's number set, which means nothing.
func reserved(frames string) string {
	b := []byte(frames)
	for at := 0; at+9 <= len(b); at += 9 + int(b[at])<<16 + int(b[at+1])<<8 + int(b[at+2]) {
		b[at+5] |= 0x80
	}
	return string(b)
}

// A peer that goes on about what never was, or beyond what it may, breaks the protocol.
func TestWhatNeverWasIsRefused(t *testing.T) {
	const acknowledged = "\x00\x00\x00\x04\x01\x00\x00\x00\x00"
	open := "\x00\x00\x01\x01\x04\x00\x00\x00\x01\x88" // :status 200, and a body follows
	for frames, want := range map[string]string{
		settings + acknowledged + ok:                          "",
		settings + acknowledged + acknowledged + ok:           "peer acknowledges settings that were never sent",
		settings + open + frame(0, 0, 7, "a"):                 "DATA frame for stream 7, which was never opened",
		settings + open + frame(0, 1, 1, "a"):                 "",
		settings + frame(0, 0, 1, "a") + open:                 "response does not begin with HEADERS",
		settings + frame(4, 1, 0, "\x00\x00\x00\x00\x00\x00"): "SETTINGS frame has a wrong size",
		settings + frame(8, 0, 0, "\x7f\xff\xff\xff"):         "WINDOW_UPDATE frame adds too much",
		settings + "\x00\x40\x01\x00\x01\x00\x00\x00\x01":     "frame of 16385 bytes is larger than allowed",
		settings + frame(9, 4, 1, "\x88"):                     "CONTINUATION frame without HEADERS",
	} {
		res, err := wire.RoundTrip2(peer{strings.NewReader(frames), io.Discard}, request, nil)
		if err == nil {
			_, err = io.ReadAll(res.Body)
		}
		if got := fmt.Sprint(err); got != cmp.Or(want, "<nil>") {
			t.Errorf("%q: %s, want %q", frames, got, want)
		}
	}
}

func TestAFrameWhereItMayNotBeIsNamed(t *testing.T) {
	for kind, test := range []struct {
		name         string
		stream, size byte
	}{{"DATA", 0, 1}, {"HEADERS", 0, 1}, {"PRIORITY", 0, 5}, {"RST_STREAM", 0, 4}, {"SETTINGS", 1, 0}, {"PUSH_PROMISE", 0, 4}, {"PING", 1, 8}, {"GOAWAY", 1, 8}, {"", 0, 0}, {"CONTINUATION", 0, 1}} {
		if test.name == "" {
			continue // WINDOW_UPDATE may be anywhere
		}
		_, err := wire.RoundTrip2(peer{strings.NewReader(settings + frame(byte(kind), 0, test.stream, strings.Repeat("\x00", int(test.size)))), io.Discard}, request, nil)
		if want := fmt.Sprintf("%s frame is on stream %d", test.name, test.stream); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, size := range []int{3, 5} {
		_, err := wire.RoundTrip2(peer{strings.NewReader(settings + frame(8, 0, 1, "\x00\x00\x00\x01\x01"[:size])), io.Discard}, request, nil)
		if want := fmt.Sprintf("WINDOW_UPDATE frame has %d bytes", size); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// The client of gRPC refuses streams that it cannot have opened, and more of them than before.
func TestGOAWAYOfACall(t *testing.T) {
	away := func(last, code byte) string { return frame(7, 0, 0, string([]byte{0, 0, 0, last, 0, 0, 0, code})) }
	for name, test := range map[string]struct{ frames, want string }{
		"after ours":                {away(1, 0) + ok, ""},
		"after a later one":         {away(3, 2) + ok, ""},
		"the same again":            {away(3, 0) + away(3, 0) + ok, ""},
		"fewer":                     {away(3, 0) + away(1, 0) + ok, ""},
		"more":                      {away(1, 0) + away(3, 0) + ok, "GOAWAY frame names stream 3"},
		"a stream of the peer's":    {away(2, 0) + ok, "GOAWAY frame names stream 2"},
		"before ours":               {away(0, 2) + ok, "peer did not process the request: peer went away with code 2"},
		"before ours, with no code": {away(0, 0) + ok, "peer did not process the request: peer went away with code 0"},
		"before ours at last":       {away(1, 3) + away(0, 2) + ok, "peer did not process the request: peer went away with code 3"},
	} {
		_, err := wire.RoundTrip2(peer{strings.NewReader(settings + test.frames), io.Discard}, request, []byte{0, 0, 0, 0, 0})
		if text := fmt.Sprint(err); text != test.want && (err != nil || test.want != "") {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// Every kind of frame, with flags, streams and payloads that it may not have, first and behind others.
func TestWhyFramesAreRefusedIsSaid(t *testing.T) {
	const openHead = "\x00\x00\x01\x01\x00\x00\x00\x00\x01\x88" // :status 200, and more to come
	request := &wire.Request{URL: &url.URL{Scheme: "http", Host: "x", Path: "/"}, Host: "x"}
	payloads := []string{"", "\x00", "\xff", "\x88", "\x88\x88", "\x00\x00\x00\x00", "\x00\x00\x00\x01", "\x80\x00\x00\x00",
		"\x00\x02\x00\x00\x00\x01", "\x00\x04\xff\xff\xff\xff", "\x00\x05\x00\x00\x00\x00", "\x00\x00\x00\x00\x00\x00\x00\x00", "\x40\x01A\x01b", "\x40\x01a\x01\n",
		"\x5f\x1d\x01x", "\x0f\x0d\x01x", "\x0f\x0d\x015"}
	sent := 0
	for _, before := range []string{"", settings, settings + openHead, settings + openHead + openHead, settings + "\x00\x00\x01\x01\x04\x00\x00\x00\x01\x88"} {
		for kind := range byte(11) {
			for _, flags := range []byte{0, 1, 4, 5, 8, 0x20, 0x2c} {
				for _, id := range []byte{0, 1, 2} {
					for _, payload := range payloads {
						frames := before + string([]byte{0, 0, byte(len(payload)), kind, flags, 0, 0, 0, id}) + payload
						r, err := wire.RoundTrip2(peer{strings.NewReader(frames), io.Discard}, request, nil)
						if err == nil {
							_, err = io.ReadAll(r.Body)
						}
						if err != nil {
							said.Say("frames", err.Error())
							sent++
						}
					}
				}
			}
		}
	}
	if sent < 10_000 {
		t.Errorf("only %d were refused", sent)
	}
}
