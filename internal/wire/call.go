package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"net/url"
	"strconv"
	"sync"
	"unicode/utf8"
)

// A CallError is the answer of a peer that did not end a call of gRPC with
// status 0.
type CallError struct {
	Code    int // of gRPC; -1 if the peer did not speak gRPC
	Message string
}

func (e *CallError) Error() string {
	if e.Code < 0 {
		return e.Message
	}
	return fmt.Sprintf("%s (gRPC status %d)", e.Message, e.Code)
}

// AppendMessage appends a message of gRPC with its length before it.
func AppendMessage(b, message []byte) []byte {
	b = binary.BigEndian.AppendUint32(append(b, 0), uint32(len(message)))
	return append(b, message...)
}

// NewCall returns the request of a call of gRPC, such as "/grpc.health.v1.Health/Check".
func NewCall(scheme, authority, method string) *Request {
	return &Request{
		URL:  &url.URL{Scheme: scheme, Path: method},
		Host: authority,
		Header: textproto.MIMEHeader{
			"Content-Type": {"application/grpc"},
			"Te":           {"trailers"},
		},
	}
}

// Call makes one call on conn, fresh and known to speak HTTP/2, and returns the
// message of the answer, which may have up to 32 KiB.
func Call(conn io.ReadWriter, req *Request, message []byte) ([]byte, error) {
	res, exchange, err := RoundTrip2(conn, req, AppendMessage(nil, message))
	defer exchange.Close()
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, 32<<10))
	if err != nil {
		return nil, err
	}
	trailer := res.Trailer
	if trailer == nil {
		trailer = res.Header // a response of trailers only
	}
	if err := callStatus(res.Status, trailer); err != nil {
		return nil, err
	}
	if len(body) < 5 || body[0] != 0 || int64(binary.BigEndian.Uint32(body[1:])) != int64(len(body)-5) {
		return nil, errors.New("peer's answer is not one plain message")
	}
	return body[5:], nil
}

// callStatus returns the error that the end of a call tells, nil for status 0.
func callStatus(status int, trailer textproto.MIMEHeader) error {
	code, err := strconv.Atoi(trailer.Get("Grpc-Status"))
	switch {
	case err != nil || code < 0:
		return &CallError{-1, fmt.Sprintf("peer does not speak gRPC: HTTP status %d", status)}
	case code > 0:
		return &CallError{code, percentDecode(trailer.Get("Grpc-Message"))}
	}
	return nil
}

// percentDecode decodes what it can, as gRPC demands of grpc-message.
func percentDecode(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(n))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	if !utf8.Valid(b) {
		return s
	}
	return string(b)
}

// A Stream is a call of gRPC that stays open. Messages are sent as they come;
// the peer's messages are read and dropped. One goroutine calls Next, any
// others the other methods.
type Stream struct {
	s        *stream
	exchange *Exchange
	status   int // of HTTP, once the peer's first headers came

	mu      sync.Mutex // of writing and all below
	room    sync.Cond  // the windows grew, or err is set
	conn    io.Writer
	granted [2]int64 // bytes that the peer lets us send: on the connection, on the stream
	sent    int64
	err     error
}

// OpenStream begins a call on conn, fresh and known to speak HTTP/2.
func OpenStream(conn io.ReadWriter, req *Request) (*Stream, error) {
	head, err := headerBlock(req, true)
	if err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, 512), preface...)
	out = appendFrame(out, frameSettings, 0, 0, []byte{0, settingEnablePush, 0, 0, 0, 0})
	if _, err := conn.Write(appendHeaders(out, head, false)); err != nil {
		return nil, err
	}
	t := &Stream{conn: conn, granted: [2]int64{defaultWindow, defaultWindow}}
	t.room.L = &t.mu
	t.s, t.exchange = newStream(conn, controlWriter{t}, true)
	return t, nil
}

// write writes frames that are no data.
func (t *Stream) write(frames []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := t.conn.Write(frames)
	return err
}

// A controlWriter takes what the reader of frames acknowledges.
type controlWriter struct{ *Stream }

func (w controlWriter) Write(frames []byte) (int, error) { return len(frames), w.write(frames) }

// Send sends one message, of at most 16 KiB. It waits until the peer allows it.
func (t *Stream) Send(message []byte) error {
	b := AppendMessage(nil, message)
	if len(b) > maxFrame {
		return fmt.Errorf("message of %d bytes is too large", len(message))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.sent + int64(len(b))
	for t.err == nil && (n > t.granted[0] || n > t.granted[1]) {
		t.room.Wait()
		n = t.sent + int64(len(b))
	}
	if t.err != nil {
		return t.err
	}
	t.sent = n
	_, err := t.conn.Write(appendFrame(nil, frameData, 0, ourStream, b))
	return err
}

// Ping asks the peer for a sign of life, which Next then reads.
func (t *Stream) Ping() error {
	return t.write(appendFrame(nil, framePing, 0, 0, make([]byte, 8)))
}

// CloseSend tells the peer that no further messages follow.
func (t *Stream) CloseSend() error {
	return t.write(appendFrame(nil, frameData, flagEndStream, ourStream, nil))
}

// Next reads and handles one frame of the peer. It reports whether the peer
// said that it is going away: it still handles this call, and will end it soon.
// The error is a [CallError] or io.EOF if the peer ended the call.
func (t *Stream) Next() (goingAway bool, err error) {
	err = t.step()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.granted = t.s.window
	t.err = err
	t.room.Broadcast()
	return t.s.lastGoAway > 0, err
}

func (t *Stream) step() error {
	f, ours, err := t.s.step()
	switch {
	case err != nil:
		return unexpected(err)
	case ours && f.kind == frameHeaders:
		return t.headers(f)
	case ours && f.has(flagEndStream):
		return errors.New("peer ended the call without a status")
	case ours && len(f.payload) > 0:
		// What was read may be sent again.
		n := binary.BigEndian.AppendUint32(nil, uint32(len(f.payload)))
		b := appendFrame(nil, frameWindowUpdate, 0, 0, n)
		return t.write(appendFrame(b, frameWindowUpdate, 0, ourStream, n))
	}
	return nil
}

// headers reads the head of the response or, if they end the stream, its trailers.
func (t *Stream) headers(f frame) error {
	b, err := t.s.headers(f)
	if err != nil {
		return err
	}
	if t.status == 0 {
		t.status, _ = strconv.Atoi(b.status)
	}
	if !b.end {
		return nil
	}
	if err := callStatus(t.status, b.header); err != nil {
		return err
	}
	return io.EOF
}

// Close releases the buffers; it does not close the connection. Call it after
// the last Next.
func (t *Stream) Close() { t.exchange.Close() }
