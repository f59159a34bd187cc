package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"
)

// HTTP/2 frame types and flags (RFC 9113 sections 6 and 7).
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	frameRSTStream    = 0x3
	frameSettings     = 0x4
	framePushPromise  = 0x5
	framePing         = 0x6
	frameGoAway       = 0x7
	frameContinuation = 0x9

	flagEndStream  = 0x1
	flagAck        = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20

	preface      = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	maxFrame     = 16 << 10 // the protocol's default, which we do not raise
	frameHeadLen = 9
	ourStream    = 1
	// maxData is the flow control window that every connection has; who
	// reads less never has to widen it.
	maxData = 64<<10 - 1
)

// ErrNotHTTP2 is the error of a peer that does not open with HTTP/2's
// settings: whatever it is, no request reached it.
var ErrNotHTTP2 = errors.New("peer does not speak HTTP/2")

// RoundTrip2 sends the request on conn, fresh and known to speak HTTP/2, and
// reads the head of the response. A body makes it a POST. At most 64 KiB of
// the response's body can be read.
func RoundTrip2(conn io.ReadWriter, req *Request, body []byte) (*Response, *Exchange, error) {
	head, err := headerBlock(req, body != nil)
	if err != nil {
		return nil, &Exchange{}, err
	}
	out := make([]byte, 0, 512)
	out = append(out, preface...)
	out = appendFrame(out, frameSettings, 0, 0, []byte{0, 2, 0, 0, 0, 0}) // ENABLE_PUSH 0
	out = appendHeaders(out, head, body == nil)
	if body != nil {
		out = appendFrame(out, frameData, flagEndStream, ourStream, body)
	}
	if _, err := conn.Write(out); err != nil {
		return nil, &Exchange{}, err
	}
	br := readers.Get().(*bufio.Reader)
	br.Reset(conn)
	s := &stream{w: conn, br: br}
	res, err := s.response()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil && !s.settled {
		err = fmt.Errorf("%w: %w", ErrNotHTTP2, err)
	}
	return res, &Exchange{br: br}, err
}

func appendFrame(b []byte, kind, flags byte, id uint32, payload []byte) []byte {
	n := len(payload)
	b = append(b, byte(n>>16), byte(n>>8), byte(n), kind, flags)
	b = binary.BigEndian.AppendUint32(b, id)
	return append(b, payload...)
}

func appendHeaders(b, head []byte, end bool) []byte {
	flags := byte(0)
	if end {
		flags = flagEndStream
	}
	kind := byte(frameHeaders)
	for len(head) > maxFrame {
		b = appendFrame(b, kind, flags, ourStream, head[:maxFrame])
		head, kind, flags = head[maxFrame:], frameContinuation, 0
	}
	return appendFrame(b, kind, flags|flagEndHeaders, ourStream, head)
}

// headerBlock encodes the request's head as literals that nobody indexes
// (RFC 7541 section 6.2.2): one request a connection has no use for a table.
func headerBlock(req *Request, post bool) ([]byte, error) {
	if err := checkHopHeaders(req.Header); err != nil {
		return nil, err
	}
	if req.Host == "" {
		return nil, errors.New("HTTP/2 needs a Host")
	}
	method := "GET"
	if post {
		method = "POST"
	}
	b := appendField(nil, ":authority", req.Host)
	b = appendField(b, ":method", method)
	b = appendField(b, ":path", req.URL.RequestURI())
	b = appendField(b, ":scheme", req.URL.Scheme)
	for _, name := range sortedNames(req.Header) {
		switch name {
		case "Connection", "Proxy-Connection", "Upgrade", "Keep-Alive":
			continue
		}
		for _, value := range req.Header[name] {
			b = appendField(b, strings.ToLower(name), value)
		}
	}
	return b, nil
}

// checkHopHeaders refuses what net/http refuses to send over HTTP/2.
func checkHopHeaders(h textproto.MIMEHeader) error {
	if v := h.Get("Upgrade"); v != "" {
		return fmt.Errorf("invalid Upgrade request header %.40q for HTTP/2", v)
	}
	values := h["Connection"]
	if n := len(values); n > 1 && strings.EqualFold(values[n-1], "close") {
		values = values[:n-1] // the one that turns keep-alives off
	}
	if len(values) > 1 || len(values) == 1 && values[0] != "" &&
		!strings.EqualFold(values[0], "close") && !strings.EqualFold(values[0], "keep-alive") {
		return fmt.Errorf("invalid Connection request header %.40q for HTTP/2", values)
	}
	return nil
}

func appendField(b []byte, name, value string) []byte {
	b = append(b, 0)
	b = append(appendLength(b, len(name)), name...)
	return append(appendLength(b, len(value)), value...)
}

// appendLength writes an integer with a 7-bit prefix (RFC 7541 section 5.1).
func appendLength(b []byte, n int) []byte {
	if n < 127 {
		return append(b, byte(n))
	}
	b = append(b, 127)
	for n -= 127; n >= 128; n >>= 7 {
		b = append(b, byte(n)|128)
	}
	return append(b, byte(n))
}

// A stream reads the frames of the one stream that a connection has.
type stream struct {
	w       io.Writer
	br      *bufio.Reader
	buf     []byte // of the current frame
	data    []byte // what is left of the current DATA frame
	settled bool   // the peer's settings came
	ended   bool
	got     int64 // bytes of data
	size    int   // bytes of headers
	dec     *hpack.Decoder
	res     *Response
}

type frame struct {
	kind, flags byte
	id          uint32
	payload     []byte
}

// next gives the next frame that concerns the stream; the connection's own
// business is done here.
func (s *stream) next() (frame, error) {
	for {
		f, err := s.read()
		if err != nil {
			return f, err
		}
		if !s.settled && (f.kind != frameSettings || f.flags&flagAck != 0) {
			return f, errors.New("first frame is not SETTINGS")
		}
		switch f.kind {
		case frameSettings:
			err = s.settings(f)
		case framePing:
			if f.flags&flagAck == 0 {
				_, err = s.w.Write(appendFrame(nil, framePing, flagAck, 0, f.payload))
			}
		case frameGoAway:
			err = goAway(f)
		case framePushPromise:
			err = errors.New("peer pushes though it was told not to")
		case frameRSTStream:
			if f.id == ourStream && len(f.payload) == 4 {
				err = fmt.Errorf("stream was reset with code %d", binary.BigEndian.Uint32(f.payload))
			}
		case frameData, frameHeaders, frameContinuation:
			if f.id != ourStream {
				return f, fmt.Errorf("frame for stream %d, which was never opened", f.id)
			}
			return f, nil
		}
		if err != nil {
			return f, err
		}
	}
}

func (s *stream) settings(f frame) error {
	if f.flags&flagAck != 0 {
		return nil
	}
	if len(f.payload)%6 != 0 {
		return errors.New("SETTINGS frame has a wrong size")
	}
	s.settled = true
	_, err := s.w.Write(appendFrame(nil, frameSettings, flagAck, 0, nil))
	return err
}

func goAway(f frame) error {
	if len(f.payload) < 8 {
		return errors.New("GOAWAY frame has a wrong size")
	}
	last, code := binary.BigEndian.Uint32(f.payload)&^(1<<31), binary.BigEndian.Uint32(f.payload[4:])
	if last < ourStream || code != 0 {
		return fmt.Errorf("peer went away with code %d", code)
	}
	return nil
}

func (s *stream) read() (frame, error) {
	var head [frameHeadLen]byte
	if _, err := io.ReadFull(s.br, head[:]); err != nil {
		return frame{}, err
	}
	n := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
	if n > maxFrame {
		return frame{}, fmt.Errorf("frame of %d bytes is larger than allowed", n)
	}
	if cap(s.buf) < n {
		s.buf = make([]byte, n)
	}
	s.buf = s.buf[:n]
	if _, err := io.ReadFull(s.br, s.buf); err != nil {
		return frame{}, unexpected(err)
	}
	return frame{head[3], head[4], binary.BigEndian.Uint32(head[5:]) &^ (1 << 31), s.buf}, nil
}

// unpad takes padding and priority off a HEADERS or DATA frame.
func (f *frame) unpad() error {
	p, pad := f.payload, 0
	if f.flags&flagPadded != 0 {
		if len(p) < 1 {
			return io.ErrUnexpectedEOF
		}
		pad, p = int(p[0]), p[1:]
	}
	if f.kind == frameHeaders && f.flags&flagPriority != 0 {
		if len(p) < 5 {
			return io.ErrUnexpectedEOF
		}
		p = p[5:]
	}
	if pad > len(p) {
		return errors.New("frame has more padding than payload")
	}
	f.payload = p[:len(p)-pad]
	return nil
}

// response reads up to the head of the final response.
func (s *stream) response() (*Response, error) {
	for {
		f, err := s.next()
		if err != nil {
			return nil, err
		}
		if f.kind != frameHeaders {
			return nil, errors.New("response does not begin with HEADERS")
		}
		header, status, err := s.headers(f)
		if err != nil {
			return nil, err
		}
		code, err := strconv.Atoi(status)
		if err != nil || len(status) != 3 {
			return nil, fmt.Errorf("malformed :status %.20q", status)
		}
		if code/100 == 1 {
			if s.ended {
				return nil, errors.New("1xx response ends the stream")
			}
			continue
		}
		s.res = &Response{Status: code, Header: header, ContentLength: -1, Body: s}
		if values := header["Content-Length"]; len(values) == 1 {
			// net/http ignores what it cannot read here.
			if n, err := strconv.ParseUint(values[0], 10, 63); err == nil {
				s.res.ContentLength = int64(n)
			}
		} else if s.ended && len(values) == 0 {
			s.res.ContentLength = 0
		}
		return s.res, nil
	}
}

// headers decodes a header block that begins with f.
func (s *stream) headers(f frame) (h textproto.MIMEHeader, status string, err error) {
	if err := f.unpad(); err != nil {
		return nil, "", err
	}
	ended := f.flags&flagEndStream != 0
	h = make(textproto.MIMEHeader)
	var bad error
	emit := func(field hpack.HeaderField) {
		s.size += len(field.Name) + len(field.Value)
		switch {
		case s.size > maxHead:
			bad = errHeadTooBig
		case field.Name == ":status":
			status = field.Value
		case strings.HasPrefix(field.Name, ":") || field.Name != strings.ToLower(field.Name):
			bad = fmt.Errorf("invalid header name %.40q", field.Name)
		default:
			h.Add(field.Name, field.Value)
		}
	}
	if s.dec == nil {
		s.dec = hpack.NewDecoder(4<<10, nil)
		s.dec.SetMaxStringLength(maxHead)
	}
	s.dec.SetEmitFunc(emit)
	for {
		if _, err := s.dec.Write(f.payload); err != nil {
			return nil, "", err
		}
		if bad != nil {
			return nil, "", bad
		}
		if f.flags&flagEndHeaders != 0 {
			break
		}
		if f, err = s.read(); err != nil {
			return nil, "", err
		}
		if f.kind != frameContinuation || f.id != ourStream {
			return nil, "", errors.New("header block was interrupted")
		}
	}
	s.ended = ended
	return h, status, s.dec.Close()
}

// Read gives the body's bytes.
func (s *stream) Read(p []byte) (int, error) {
	for len(s.data) == 0 {
		if s.ended {
			return 0, s.end()
		}
		f, err := s.next()
		if err != nil {
			return 0, unexpected(err)
		}
		switch f.kind {
		case frameHeaders:
			if s.res.Trailer, _, err = s.headers(f); err != nil {
				return 0, unexpected(err)
			}
			if !s.ended {
				return 0, errors.New("trailers do not end the stream")
			}
		case frameData:
			if err := f.unpad(); err != nil {
				return 0, err
			}
			s.data = f.payload
			s.got += int64(len(f.payload))
			s.ended = f.flags&flagEndStream != 0
			if s.got > maxData || s.res.ContentLength >= 0 && s.got > s.res.ContentLength {
				return 0, errors.New("body is longer than allowed")
			}
		default:
			return 0, errors.New("unexpected CONTINUATION")
		}
	}
	n := copy(p, s.data)
	s.data = s.data[n:]
	return n, nil
}

func (s *stream) end() error {
	if n := s.res.ContentLength; n > s.got {
		return io.ErrUnexpectedEOF
	}
	return io.EOF
}
