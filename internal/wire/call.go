package wire

import (
	"bytes"
	"cmp"
	"compress/gzip"
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

// A message of gRPC has fewer bytes than maxMessage, with its length and after it was
// decompressed.
const maxMessage = 32 << 10

// A CallError says that a call of gRPC did not end with status 0 and, where one is
// wanted, one message. What it accepts is what grpc-go's client accepts.
type CallError struct {
	Code    int    // of gRPC; -1 if the peer's answer is not one
	Message string // of the status, or what is wrong with the answer
}

func (e *CallError) Error() string {
	if e.Code == -1 {
		return e.Message
	}
	return fmt.Sprintf("%s (gRPC status %d)", e.Message, e.Code)
}

func malformed(format string, args ...any) error {
	return &CallError{-1, fmt.Sprintf(format, args...)}
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
// message of the answer, which has less than 32 KiB, also after it was
// decompressed. If there is an answer and it has none, the error is a [CallError].
func Call(conn io.ReadWriter, req *Request, message []byte) ([]byte, error) {
	res, err := RoundTrip2(conn, req, prefixed(message))
	if err != nil {
		return nil, err
	}
	if err := checkHeader(res); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxMessage))
	if err != nil {
		return nil, err
	}
	if len(body) == maxMessage {
		return nil, malformed("gRPC answer has %d bytes or more", maxMessage)
	}
	if err := checkTrailer(res.Trailer); err != nil {
		return nil, err
	}
	return onlyMessage(body, res.Header["Grpc-Encoding"])
}

// prefixed returns a message with its length before it.
func prefixed(message []byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))
	return append(b, message...)
}

// prefixLen is the length of what comes before a message.
const prefixLen = 5

// onlyMessage returns the only message of a body, decompressed. Too few bytes after it for
// another message's length are ignored, as grpc-go ignores them.
func onlyMessage(body []byte, encodings []string) ([]byte, error) {
	if len(body) < prefixLen || body[0] > 1 {
		return nil, malformed("gRPC answer is not one message")
	}
	message := body[prefixLen:]
	stray := int64(len(message)) - int64(binary.BigEndian.Uint32(body[1:]))
	if stray < 0 || stray >= prefixLen {
		return nil, malformed("gRPC answer is not one message")
	}
	message = message[:int64(len(message))-stray]
	switch {
	case body[0] == 0:
		return message, nil
	case len(encodings) == 0 || encodings[len(encodings)-1] != "gzip":
		return nil, malformed("gRPC answer is compressed, with grpc-encoding %.60q", encodings)
	}
	z, err := gzip.NewReader(bytes.NewReader(message))
	if err == nil {
		message, err = io.ReadAll(io.LimitReader(z, maxMessage))
	}
	if err != nil || len(message) == maxMessage {
		return nil, malformed("gRPC answer cannot be decompressed")
	}
	return message, nil
}

// isCall reports whether a response has the content type of gRPC.
func isCall(h textproto.MIMEHeader) bool {
	return slices.ContainsFunc(h["Content-Type"], func(v string) bool {
		rest, ok := strings.CutPrefix(v, "application/grpc")
		return ok && (rest == "" ||
			rest[0] == '+' ||
			rest[0] == ';')
	})
}

// checkHeader demands the content type of gRPC. The HTTP status of a response that
// has it is ignored.
func checkHeader(res *Response) error {
	switch {
	case isCall(res.Header):
		return nil
	case res.Status != 200:
		return malformed("answer to the gRPC call has HTTP status %d", res.Status)
	}
	return malformed("answer is not gRPC: Content-Type %.60q", res.Header["Content-Type"])
}

// checkTrailer demands grpc-status 0. If it is repeated, all must be numbers and the
// last one counts.
func checkTrailer(trailer textproto.MIMEHeader) error {
	if trailer == nil {
		return malformed("gRPC answer has no trailers")
	}
	code := int64(0)
	valid := len(trailer["Grpc-Status"]) > 0
	for _, v := range trailer["Grpc-Status"] {
		var err error
		code, err = strconv.ParseInt(v, 10, 32)
		valid = valid && err == nil && code >= 0
	}
	switch {
	case !valid:
		return malformed("gRPC answer has no valid grpc-status")
	case code != 0:
		return &CallError{int(code), statusMessage(trailer)}
	}
	return nil
}

// statusMessage returns what a trailer says of its status. It decodes the escapes of
// grpc-message, if they are valid.
func statusMessage(trailer textproto.MIMEHeader) string {
	raw := trailer.Get("Grpc-Message")
	if message, err := url.PathUnescape(raw); err == nil && utf8.ValidString(message) {
		return message
	}
	return raw
}

// A Stream is a call of gRPC that stays open. It sends messages; the peer's
// messages are read and dropped. One goroutine calls Next, one calls Send, any may call
// the other methods.
type Stream struct {
	frames *stream // whose mu guards all below

	room    sync.Cond // signalled when the windows grew or err is set
	granted [2]int64  // bytes that the peer lets us send: on the connection, on the stream
	sent    int64
	err     error
}

// OpenStream begins a call on conn, fresh and known to speak HTTP/2.
func OpenStream(conn io.ReadWriter, req *Request) (*Stream, error) {
	s, start, head, err := newStream(conn, req, true)
	if err != nil {
		return nil, err
	}
	t := &Stream{frames: s, granted: s.window}
	t.room.L = &s.mu
	return t, s.write(append(start, head...))
}

// Send sends one message, of at most 16 KiB. It waits until the peer allows it.
func (t *Stream) Send(message []byte) error {
	b := prefixed(message)
	if len(b) > maxFrame {
		return fmt.Errorf("message of %d bytes is too large", len(message))
	}
	t.frames.mu.Lock()
	defer t.frames.mu.Unlock()
	n := t.sent + int64(len(b))
	for t.err == nil &&
		(n > t.granted[0] || n > t.granted[1]) {
		t.room.Wait()
	}
	if t.err != nil {
		return t.err
	}
	t.sent = n
	_, err := t.frames.conn.Write(appendFrame(nil, frameData, 0, ourStream, b))
	return err
}

// Ping makes the peer send an acknowledgement, which Next reads.
func (t *Stream) Ping() error {
	return t.frames.write(appendFrame(nil, framePing, 0, 0, make([]byte, 8)))
}

// CloseSend tells the peer that no further messages follow.
func (t *Stream) CloseSend() error {
	return t.frames.write(appendFrame(nil, frameData, flagEndStream, ourStream, nil))
}

// Next reads and handles one frame of the peer. It reports whether the peer has
// announced that it is going away: it still serves this call, but will end it
// soon. If the peer ended the call, the error is a [CallError], or io.EOF for
// status 0.
func (t *Stream) Next() (goingAway bool, err error) {
	err = t.step()
	t.frames.mu.Lock()
	defer t.frames.mu.Unlock()
	t.granted = t.frames.window
	t.err = err
	t.room.Broadcast()
	return t.frames.lastGoAway > 0, err
}

func (t *Stream) step() error {
	s := t.frames
	*s.meter = Meter{} // the stream stays open: each step is metered alone
	f, err := s.step()
	switch {
	case err != nil:
		return err
	case !f.isAnswer() || s.res == nil:
		return nil
	case f.kind == frameHeaders:
		if err := checkHeader(s.res); err != nil || !s.ended {
			return err
		}
		return cmp.Or(checkTrailer(s.res.Trailer), io.EOF)
	case s.ended:
		return errors.New("peer ended the call without a status")
	case len(f.payload) > 0:
		// The message is dropped: the peer may send as much again.
		n := binary.BigEndian.AppendUint32(nil, uint32(len(f.payload)))
		b := appendFrame(nil, frameWindowUpdate, 0, 0, n)
		return t.frames.write(appendFrame(b, frameWindowUpdate, 0, ourStream, n))
	}
	return nil
}
