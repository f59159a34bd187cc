package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// HTTP/2 frame types and flags (RFC 9113 sections 6 and 7).
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	framePriority     = 0x2
	frameRSTStream    = 0x3
	frameSettings     = 0x4
	framePushPromise  = 0x5
	framePing         = 0x6
	frameGoAway       = 0x7
	frameWindowUpdate = 0x8
	frameContinuation = 0x9

	flagEndStream  = 0x1
	flagAck        = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20

	settingEnablePush             = 0x2
	settingMaxStreams             = 0x3
	settingInitialWindow          = 0x4
	settingMaxFrameSize           = 0x5
	settingConnectProtocol        = 0x8
	codeNone                      = 0x0
	codeProtocol                  = 0x1
	codeRefused                   = 0x7
	maxWindow                     = math.MaxInt32
	defaultWindow                 = 64<<10 - 1
	maxFrame                      = 16 << 10 // the protocol's default, which we do not raise
	largestFrameSize              = 1<<24 - 1
	frameHeadLen                  = 9
	ourStream              uint32 = 1
)

// frameRules holds what RFC 9113 section 6 demands of each kind of frame.
var frameRules = [...]struct {
	name     string
	min, max int // bytes of payload
	onStream bool
	onConn   bool
}{
	frameData:         {"DATA", 0, maxFrame, true, false},
	frameHeaders:      {"HEADERS", 0, maxFrame, true, false},
	framePriority:     {"PRIORITY", 5, 5, true, false},
	frameRSTStream:    {"RST_STREAM", 4, 4, true, false},
	frameSettings:     {"SETTINGS", 0, maxFrame, false, true},
	framePushPromise:  {"PUSH_PROMISE", 4, maxFrame, true, false},
	framePing:         {"PING", 8, 8, false, true},
	frameGoAway:       {"GOAWAY", 8, maxFrame, false, true},
	frameWindowUpdate: {"WINDOW_UPDATE", 4, 4, true, true},
	frameContinuation: {"CONTINUATION", 0, maxFrame, true, false},
}

type frame struct {
	kind, flags byte
	id          uint32
	payload     []byte
}

func (f *frame) has(flag byte) bool {
	return f.flags&flag != 0
}

// isAnswer reports whether the frame has a part of the peer's answer.
func (f *frame) isAnswer() bool {
	return f.id == ourStream && (f.kind == frameHeaders || f.kind == frameData)
}

// number returns the 31-bit number at the start of the payload.
func (f *frame) number() uint32 {
	return binary.BigEndian.Uint32(f.payload) &^ (1 << 31)
}

// code returns the 32-bit error code at an offset of the payload.
func (f *frame) code(at int) uint32 {
	return binary.BigEndian.Uint32(f.payload[at:])
}

// check reports a frame whose size or stream is against the rules. Frames of
// unknown kinds have none.
func (f *frame) check() error {
	if int(f.kind) >= len(frameRules) {
		return nil
	}
	r := frameRules[f.kind]
	switch n := len(f.payload); {
	case n < r.min || n > r.max:
		return fmt.Errorf("%s frame has %d bytes", r.name, n)
	case f.id == 0 && !r.onConn, f.id != 0 && !r.onStream:
		return fmt.Errorf("%s frame is on stream %d", r.name, f.id)
	}
	return nil
}

// unpad removes padding and priority from a HEADERS or DATA frame.
func (f *frame) unpad() error {
	p := f.payload
	pad := 0
	if f.has(flagPadded) {
		if len(p) < 1 {
			return io.ErrUnexpectedEOF
		}
		pad, p = int(p[0]), p[1:]
	}
	if f.kind == frameHeaders && f.has(flagPriority) {
		if len(p) < 5 {
			return io.ErrUnexpectedEOF
		}
		p = p[5:]
	}
	if pad > len(p) {
		err := errors.New("frame has more padding than payload")
		if f.kind == frameHeaders {
			return &streamError{err}
		}
		return err
	}
	f.payload = p[:len(p)-pad]
	return nil
}

// A streamError ends the stream of its frame; any other error ends the
// connection.
type streamError struct{ err error }

func (e *streamError) Error() string { return e.err.Error() }

// readFrame reads one frame, whose payload is valid until the next one.
func (s *stream) readFrame() (frame, error) {
	var head [frameHeadLen]byte
	if _, err := io.ReadFull(s.br, head[:]); err != nil {
		return frame{}, unexpected(err)
	}
	n := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
	if n > maxFrame {
		return frame{}, fmt.Errorf("frame of %d bytes is larger than allowed", n)
	}
	if head[3] != frameData { // addData charges those that have nothing of the body
		if err := s.meter.take(frameCost + n); err != nil {
			return frame{}, err
		}
	}
	s.buf = slices.Grow(s.buf[:0], n)[:n]
	if _, err := io.ReadFull(s.br, s.buf); err != nil {
		return frame{}, unexpected(err)
	}
	const reserved = 1 << 31
	id := binary.BigEndian.Uint32(head[5:]) &^ reserved
	f := frame{head[3], head[4], id, s.buf}
	return f, f.check()
}

// appendFrame appends a frame, whose payload has at most maxFrame bytes.
func appendFrame(b []byte, kind, flags byte, id uint32, payload []byte) []byte {
	n := len(payload)
	b = append(b, 0, byte(n>>8), byte(n), kind, flags)
	b = binary.BigEndian.AppendUint32(b, id)
	return append(b, payload...)
}

// appendHeaders splits a header block into frames.
func appendHeaders(b, block []byte, end bool) []byte {
	flags := byte(0)
	if end {
		flags = flagEndStream
	}
	kind := byte(frameHeaders)
	for len(block) > maxFrame {
		b = appendFrame(b, kind, flags, ourStream, block[:maxFrame])
		block, kind, flags = block[maxFrame:], frameContinuation, 0
	}
	return appendFrame(b, kind, flags|flagEndHeaders, ourStream, block)
}
