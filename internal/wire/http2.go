package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/http2/hpack"
)

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// Errors of a peer that did not process the request, so that the kubelet's
// clients send it again.
var (
	// ErrNotHTTP2 means that the peer does not begin with HTTP/2's settings.
	ErrNotHTTP2 = errors.New("peer does not speak HTTP/2")
	// ErrNotProcessed means that the peer said so (REFUSED_STREAM, GOAWAY).
	ErrNotProcessed = errors.New("peer did not process the request")
)

// RoundTrip2 sends the request on conn, fresh and known to speak HTTP/2, and
// reads the head of the response. A body makes it a POST of gRPC. At most 64
// KiB of the response's body can be read.
//
// A peer that violates the protocol gets the verdict of the kubelet's client:
// that of net/http, or for gRPC that of grpc-go, which is less strict, and makes
// no call before the peer's settings allow one.
func RoundTrip2(conn io.ReadWriter, req *Request, body []byte) (*Response, error) {
	s, start, head, err := newStream(conn, req, body != nil)
	if err != nil {
		return nil, err
	}
	if body != nil {
		for ; len(body) > maxFrame; body = body[maxFrame:] {
			head = appendFrame(head, frameData, 0, ourStream, body[:maxFrame])
		}
		head = appendFrame(head, frameData, flagEndStream, ourStream, body)
		err = s.write(start)
		start = nil
		for err == nil && (!s.settled || s.noCalls) {
			var f frame
			if f, err = s.step(); s.settled && f.isAnswer() {
				err = errors.New("peer answers a call before it is made")
			}
		}
	}
	if err == nil {
		err = s.write(append(start, head...))
	}
	for err == nil && s.res == nil {
		_, err = s.step()
	}
	if err != nil && !s.settled {
		err = fmt.Errorf("%w: %w", ErrNotHTTP2, err)
	}
	return s.res, err
}

// newStream returns the stream that a request opens on a connection, and what is sent:
// at the start of the connection the preface and our settings, then the head of the
// request. A call of gRPC goes on after its head.
func newStream(conn io.ReadWriter, req *Request, grpc bool) (s *stream, start, head []byte, err error) {
	block, err := headerBlock(req, grpc)
	if err != nil {
		return nil, nil, nil, err
	}
	s = &stream{
		conn:          conn,
		br:            bufio.NewReader(conn),
		meter:         cmp.Or(req.Meter, &Meter{}),
		grpc:          grpc,
		dec:           hpack.NewDecoder(4<<10, nil),
		window:        [2]int64{defaultWindow, defaultWindow},
		initialWindow: defaultWindow,
	}
	s.dec.SetMaxStringLength(maxMetered / 2)
	start = appendFrame([]byte(preface), frameSettings, 0, 0, []byte{0, settingEnablePush, 0, 0, 0, 0})
	return s, start, appendHeaders(nil, block, !grpc), nil
}

func headerBlock(req *Request, grpc bool) ([]byte, error) {
	if err := checkHopHeaders(req.Header); err != nil {
		return nil, err
	}
	if req.Host == "" {
		return nil, errors.New("HTTP/2 needs a Host")
	}
	method := "GET"
	if grpc {
		method = "POST"
	}
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	write := func(name, value string) {
		_ = enc.WriteField(hpack.HeaderField{Name: name, Value: value}) // a Buffer never fails
	}
	write(":authority", req.Host)
	write(":method", method)
	write(":path", req.URL.RequestURI())
	write(":scheme", req.URL.Scheme)
	for _, name := range sentNames(req.Header) {
		switch name {
		case "Connection", "Proxy-Connection", "Upgrade", "Keep-Alive":
			continue
		}
		for _, value := range req.Header[name] {
			write(strings.ToLower(name), value)
		}
	}
	return b.Bytes(), nil
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

// A stream reads the frames of a connection that has one stream.
type stream struct {
	mu    sync.Mutex // held while writing
	conn  io.Writer
	br    *bufio.Reader
	grpc  bool
	buf   []byte // of the current frame
	dec   *hpack.Decoder
	meter *Meter

	// State of the connection.
	settled       bool // the peer's settings came
	noCalls       bool // they allow no streams, for now
	acked         bool // the peer acknowledged ours
	window        [2]int64
	initialWindow int64
	goAwayCode    uint32
	lastGoAway    uint32 // the last stream of the last GOAWAY, if any

	// State of the stream.
	res   *Response
	data  []byte // the unread part of the current DATA frame
	ended bool   // no frames follow
	got   int64  // bytes of data
}

func (s *stream) write(frames []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.conn.Write(frames)
	return err
}

// step reads and handles one frame, which it returns.
func (s *stream) step() (frame, error) {
	f, err := s.readFrame()
	if err != nil {
		return f, err
	}
	// An error of another stream does not end ours, even before the settings.
	if ignored, err := s.foreignError(f); ignored || err != nil {
		return f, err
	}
	if !s.settled && f.kind != frameSettings {
		return f, errors.New("first frame is not SETTINGS")
	}
	switch {
	case f.kind == frameData:
		err = s.addData(f)
	case f.isAnswer() && s.res == nil:
		err = s.head(f)
	case f.isAnswer():
		err = s.trailers(f)
	case f.kind == frameContinuation:
		err = errors.New("CONTINUATION frame without HEADERS")
	default:
		err = s.control(f)
	}
	return f, err
}

// foreignError reports whether a frame is an error of another stream. It reads
// the headers of other streams, because the compression depends on them.
func (s *stream) foreignError(f frame) (bool, error) {
	switch {
	case f.id <= ourStream:
	case f.kind == frameWindowUpdate:
		return f.number() == 0, nil
	case f.kind == frameHeaders:
		_, err := s.headers(f)
		if _, other := errors.AsType[*streamError](err); other {
			return true, nil
		}
		return false, err
	}
	return false, nil
}

func (s *stream) control(f frame) error {
	switch f.kind {
	case frameSettings:
		return s.settings(f)
	case framePing:
		if !f.has(flagAck) {
			return s.write(appendFrame(nil, framePing, flagAck, 0, f.payload))
		}
	case frameGoAway:
		return s.goAway(f)
	case frameWindowUpdate:
		return s.windowUpdate(f)
	case framePushPromise:
		if !s.grpc {
			return errors.New("peer pushes though it was told not to")
		}
	case frameRSTStream:
		if f.id == ourStream {
			return s.reset(f.code(0))
		}
	}
	return nil
}

func (s *stream) settings(f frame) error {
	switch {
	case f.has(flagAck) && len(f.payload) > 0, len(f.payload)%6 != 0:
		return errors.New("SETTINGS frame has a wrong size")
	case f.has(flagAck) && s.acked && !s.grpc:
		return errors.New("peer acknowledges settings that were never sent")
	case f.has(flagAck):
		s.acked = true
		s.settled = true
		return nil
	}
	for p := f.payload; len(p) > 0; p = p[6:] {
		if err := s.setting(binary.BigEndian.Uint16(p), binary.BigEndian.Uint32(p[2:])); err != nil {
			return err
		}
	}
	s.settled = true
	return s.write(appendFrame(nil, frameSettings, flagAck, 0, nil))
}

func (s *stream) setting(id uint16, value uint32) error {
	switch {
	case id == settingInitialWindow && value > maxWindow,
		(id == settingEnablePush || id == settingConnectProtocol) && value > 1 && !s.grpc,
		id == settingMaxFrameSize && (value < maxFrame || value > largestFrameSize) && !s.grpc:
		return fmt.Errorf("setting %d is %d", id, value)
	case id == settingInitialWindow:
		s.window[1] += int64(value) - s.initialWindow
		s.initialWindow = int64(value)
	case id == settingMaxStreams:
		s.noCalls = value == 0
	}
	return nil
}

// windowUpdate checks updates of flow control. We send too little to need them.
func (s *stream) windowUpdate(f frame) error {
	if f.id > ourStream {
		return nil
	}
	n := f.number()
	if n == 0 {
		return errors.New("WINDOW_UPDATE frame adds nothing")
	}
	if s.window[f.id] += int64(n); s.window[f.id] > maxWindow && !s.grpc {
		return errors.New("WINDOW_UPDATE frame adds too much")
	}
	return nil
}

func (s *stream) reset(code uint32) error {
	if code == codeRefused || code == codeProtocol && !s.grpc {
		return fmt.Errorf("%w: stream was reset with code %d", ErrNotProcessed, code)
	}
	return fmt.Errorf("stream was reset with code %d", code)
}

// goAway ends the stream if the peer will not process it.
func (s *stream) goAway(f frame) error {
	last, code := f.number(), f.code(4)
	s.goAwayCode = cmp.Or(s.goAwayCode, code)
	if s.grpc {
		if last > 0 && last%2 == 0 || s.lastGoAway > 0 && last > s.lastGoAway {
			return fmt.Errorf("GOAWAY frame names stream %d", last)
		}
		s.lastGoAway = last
	}
	switch {
	case last >= ourStream:
		return nil
	case s.goAwayCode == codeNone || s.grpc:
		return fmt.Errorf("%w: peer went away with code %d", ErrNotProcessed, s.goAwayCode)
	}
	return fmt.Errorf("peer went away with code %d", s.goAwayCode)
}

// head reads the head of a response, which it drops if another follows.
func (s *stream) head(f frame) error {
	b, err := s.headers(f)
	if err != nil {
		return err
	}
	code, err := strconv.Atoi(b.status)
	if !s.grpc || !isCall(b.header) { // gRPC's client looks at the content type first
		if err != nil {
			return fmt.Errorf("malformed :status %.20q", b.status)
		}
		if code/100 == 1 {
			if b.end {
				return errors.New("1xx response ends the stream")
			}
			return nil
		}
	}
	s.ended = b.end
	s.res = &Response{
		Status:        code,
		Header:        b.header,
		ContentLength: b.contentLength(),
		Body:          s,
	}
	if s.ended {
		s.res.Trailer = b.header
	}
	return nil
}

// A headBlock is a decoded header block.
type headBlock struct {
	header  textproto.MIMEHeader
	status  string
	pseudos int
	fields  int
	end     bool // of the stream
	err     error
}

// contentLength returns how long the body is to be, -1 if that is not known. What cannot be
// read is ignored, as net/http does.
func (b *headBlock) contentLength() int64 {
	values := b.header["Content-Length"]
	if len(values) == 1 {
		if n, err := strconv.ParseUint(values[0], 10, 63); err == nil {
			return int64(n)
		}
	} else if b.end && len(values) == 0 {
		return 0
	}
	return -1
}

// headers decodes the header block that begins with f.
func (s *stream) headers(f frame) (*headBlock, error) {
	if err := f.unpad(); err != nil {
		return nil, err
	}
	id := f.id
	b := &headBlock{header: make(textproto.MIMEHeader), end: f.has(flagEndStream)}
	var tooBig error
	s.dec.SetEmitFunc(func(field hpack.HeaderField) {
		size := fieldCost + len(field.Name) + len(field.Value)
		if tooBig = cmp.Or(tooBig, s.meter.take(size)); tooBig == nil {
			b.add(field)
		}
	})
	for {
		if _, err := s.dec.Write(f.payload); err != nil || tooBig != nil {
			return nil, cmp.Or(tooBig, err)
		}
		if f.has(flagEndHeaders) {
			break
		}
		if b.err != nil {
			return nil, b.err
		}
		var err error
		if f, err = s.readFrame(); err != nil {
			return nil, err
		}
		if f.kind != frameContinuation || f.id != id {
			return nil, errors.New("header block was interrupted")
		}
	}
	if err := s.dec.Close(); err != nil {
		return nil, err
	}
	if b.err != nil {
		return nil, &streamError{b.err}
	}
	return b, nil
}

// add takes one field of the block. :status is the only field of a response
// that begins with a colon, comes before the others and only once.
func (b *headBlock) add(field hpack.HeaderField) {
	switch {
	case b.err != nil:
	case strings.HasPrefix(field.Name, ":"):
		if b.pseudos++; field.Name != ":status" || b.pseudos > 1 || b.fields > 0 {
			b.err = fmt.Errorf("invalid header name %.40q", field.Name)
		}
		b.status = field.Value
	case !ValidName(field.Name) || field.Name != strings.ToLower(field.Name):
		b.err = fmt.Errorf("invalid header name %.40q", field.Name)
	case !ValidValue(field.Value):
		b.err = fmt.Errorf("invalid value of header %.40q", field.Name)
	default:
		b.fields++
		if key := keptField(field.Name); key != "" {
			b.header[key] = append(b.header[key], field.Value)
		}
	}
}

func (s *stream) Read(p []byte) (int, error) {
	for len(s.data) == 0 {
		switch {
		case s.ended &&
			s.res.ContentLength > s.got &&
			!s.grpc:
			return 0, io.ErrUnexpectedEOF
		case s.ended:
			return 0, io.EOF
		}
		if _, err := s.step(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.data)
	s.data = s.data[n:]
	return n, nil
}

func (s *stream) trailers(f frame) error {
	b, err := s.headers(f)
	switch {
	case err != nil:
		return err
	case !b.end:
		return errors.New("trailers do not end the stream")
	case b.pseudos > 0 && !s.grpc:
		return errors.New("trailers have a status")
	}
	s.res.Trailer = b.header
	s.ended = true
	return nil
}

// addData takes the data of our stream, and charges the frame by what it brings less than it takes. A
// body that comes byte by byte is not a failure, but the call waits for its work. That of a stream which was never opened is an
// error, as it is to net/http.
func (s *stream) addData(f frame) error {
	size := len(f.payload)
	switch err := f.unpad(); {
	case f.id == ourStream && s.res == nil:
		return errors.New("response does not begin with HEADERS")
	case err != nil:
		return err
	case f.id > ourStream+1 && !s.grpc:
		return fmt.Errorf("DATA frame for stream %d, which was never opened", f.id)
	case f.id == ourStream:
		s.data = f.payload
		s.ended = f.has(flagEndStream)
		s.got += int64(len(s.data))
		if s.res.ContentLength >= 0 &&
			s.got > s.res.ContentLength &&
			!s.grpc {
			return errors.New("body is longer than declared")
		}
	}
	brought := len(s.data)
	if brought == 0 {
		return s.meter.take(frameCost + size)
	}
	s.meter.work(max(dataWork-brought, 0))
	return s.meter.take(max(size-2*brought, 0))
}
