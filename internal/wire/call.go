package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// A CallError says that a call of gRPC did not end with status 0.
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

// OnlyMessage returns the message of a body that has exactly one, uncompressed.
func OnlyMessage(body []byte) (message []byte, ok bool) {
	if len(body) < 5 || body[0] != 0 || int64(binary.BigEndian.Uint32(body[1:])) != int64(len(body)-5) {
		return nil, false
	}
	return body[5:], true
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
	if err := callStatus(res.Status, res.Trailer); err != nil {
		return nil, err
	}
	answer, ok := OnlyMessage(body)
	if !ok {
		return nil, errors.New("peer's answer is not one plain message")
	}
	return answer, nil
}

// IsCall reports whether a response has the content type of gRPC.
func IsCall(h textproto.MIMEHeader) bool {
	return slices.ContainsFunc(h["Content-Type"], func(v string) bool {
		rest, ok := strings.CutPrefix(v, "application/grpc")
		return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
	})
}

// callStatus returns nil if the trailer has status 0, else the error that it tells.
func callStatus(status int, trailer textproto.MIMEHeader) error {
	code, err := strconv.Atoi(trailer.Get("Grpc-Status"))
	switch {
	case err != nil || code < 0:
		return &CallError{-1, fmt.Sprintf("peer does not speak gRPC: HTTP status %d", status)}
	case code > 0:
		return &CallError{code, StatusMessage(trailer)}
	}
	return nil
}

// StatusMessage returns what a trailer says of its status. It decodes the escapes that
// are valid, as gRPC demands of grpc-message.
func StatusMessage(trailer textproto.MIMEHeader) string {
	s := trailer.Get("Grpc-Message")
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

// A Stream is a call of gRPC that stays open. It sends messages; the peer's
// messages are read and dropped. One goroutine calls Next, any may call the other
// methods.
type Stream struct {
	frames   *stream
	exchange *Exchange
	status   int // of HTTP, once the peer's first headers have come

	mu      sync.Mutex // held while writing; guards all below
	room    sync.Cond  // signalled when the windows grew or err is set
	conn    io.Writer
	granted [2]int64 // bytes that the peer lets us send: on the connection, on the stream
	sent    int64
	err     error
}

// OpenStream begins a call on conn, fresh and known to speak HTTP/2.
func OpenStream(conn io.ReadWriter, req *Request) (*Stream, error) {
	start, head, err := opening(req, true)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(append(start, head...)); err != nil {
		return nil, err
	}
	t := &Stream{conn: conn, granted: [2]int64{defaultWindow, defaultWindow}}
	t.room.L = &t.mu
	t.frames, t.exchange = newStream(conn, controlWriter{t}, &Meter{}, true)
	return t, nil
}

// write writes frames other than messages.
func (t *Stream) write(frames []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := t.conn.Write(frames)
	return err
}

// A controlWriter writes the acknowledgements of the reader of frames.
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

// Ping makes the peer send an acknowledgement, which Next reads.
func (t *Stream) Ping() error {
	return t.write(appendFrame(nil, framePing, 0, 0, make([]byte, 8)))
}

// CloseSend tells the peer that no further messages follow.
func (t *Stream) CloseSend() error {
	return t.write(appendFrame(nil, frameData, flagEndStream, ourStream, nil))
}

// Next reads and handles one frame of the peer. It reports whether the peer has
// announced that it is going away: it still serves this call, but will end it
// soon. If the peer ended the call, the error is a [CallError], or io.EOF for
// status 0.
func (t *Stream) Next() (goingAway bool, err error) {
	err = t.step()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.granted = t.frames.window
	t.err = err
	t.room.Broadcast()
	return t.frames.lastGoAway > 0, err
}

func (t *Stream) step() error {
	*t.frames.meter = Meter{} // the stream stays open: each step is metered alone
	f, ours, err := t.frames.step()
	switch {
	case err != nil:
		return unexpected(err)
	case ours && f.kind == frameHeaders:
		return t.headers(f)
	case ours && f.has(flagEndStream):
		return errors.New("peer ended the call without a status")
	case ours && len(f.payload) > 0:
		// The message is dropped: the peer may send as much again.
		n := binary.BigEndian.AppendUint32(nil, uint32(len(f.payload)))
		b := appendFrame(nil, frameWindowUpdate, 0, 0, n)
		return t.write(appendFrame(b, frameWindowUpdate, 0, ourStream, n))
	}
	return nil
}

// headers reads the head of the response or, if they end the stream, its trailers.
func (t *Stream) headers(f frame) error {
	b, err := t.frames.headers(f)
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
