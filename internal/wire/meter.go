package wire

import (
	"context"
	"errors"
	"io"
	"time"
)

const (
	// maxMetered bounds what is charged for one call: for the heads of its
	// responses twice their bytes, as they are read and as they are decoded.
	// net/http allows 10 MB a head, a third of the whole memory limit.
	maxMetered = 512 << 10
	fieldCost  = 128      // is charged for each field beside its bytes
	frameCost  = 256      // is charged for each frame of HTTP/2 that carries nothing of the body
	dataWork   = 128      // is the work of a frame of the body, less its bytes
	meterStep  = 16 << 10 // is free for every call, and the size of further steps
)

var (
	errHeadTooBig = errors.New("response head is too large, or has too many fields or frames")
	errNoRoom     = errors.New("too many large response heads at a time")
)

// A Meter bounds what the responses to one call take, however many requests it
// makes: they are charged before they are kept. The zero value may be used.
type Meter struct {
	// More, if set, is asked for each n bytes beyond those that are free. It may
	// wait, and returns false if there are none left. For 0 bytes it only waits.
	More    func(n int) bool
	Granted int // bytes that More has granted

	// Handshake, if set, is asked for each n bytes that a TLS handshake may take. It waits
	// until ctx is done, and returns false if there are none left by then.
	Handshake  func(ctx context.Context, n int) bool
	Handshakes int // bytes that Handshake has granted, and that Forget returns
	Release    func(n int)
	// Turn, if set, waits until a handshake may begin. It returns false if ctx is done first.
	Turn func(ctx context.Context) bool
	// Worked, if set, is told that the handshake is over, and for how long the next has to
	// wait, because this one took much of the processor.
	Worked func(pause time.Duration)

	used   int
	worked int // beyond used, and since the last pause
}

// A meteredReader reads heads of HTTP/1 and charges them, before they are parsed.
type meteredReader struct {
	io.Reader
	meter *Meter
	empty bool  // the line has nothing yet
	ended bool  // the head, with an empty line
	err   error // the meter's
}

func (r *meteredReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.charge(p[:n])
	if r.err != nil {
		return 0, r.err
	}
	return n, err
}

// charge charges the part of b that belongs to the head.
func (r *meteredReader) charge(b []byte) {
	n := 0
	for i := 0; i < len(b) && !r.ended; i++ {
		n += 2
		switch b[i] {
		case '\n':
			n += fieldCost
			r.ended, r.empty = r.empty, true
		case '\r':
		default:
			r.empty = false
		}
	}
	r.err = r.meter.take(n)
}

// work has the call wait as long as n bytes would, and takes none: they are not kept.
func (m *Meter) work(n int) {
	for m.worked += n; m.worked > meterStep; m.worked -= meterStep {
		if m.More != nil {
			m.More(0)
		}
	}
}

func (m *Meter) take(n int) error {
	m.used += n
	if m.used > maxMetered {
		return errHeadTooBig
	}
	for ; m.used > m.Granted+meterStep; m.Granted += meterStep {
		if m.More != nil && !m.More(meterStep) {
			return errNoRoom
		}
	}
	return nil
}
