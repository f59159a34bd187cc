package wire

import (
	"context"
	"errors"
	"net"
	"time"
)

const (
	// maxHandshake bounds what a peer may send before a TLS handshake is done: four times
	// the largest chain of 14 public sites in github.com/C2SP/x509-limbo (limbo/_assets/online
	// at commit 8a2e6f4), which is microsoft.com's with 9,805 bytes in three certificates.
	maxHandshake = 40 << 10
	// parseCost is the most memory that crypto/tls takes for a byte of a certificate: an
	// empty URI in a subjectAltName has two bytes, and becomes a url.URL with its pointer.
	parseCost = 68
	// freeWork is the processor's time that every handshake may take. One with P-256 or
	// RSA takes less.
	freeWork = 2 * time.Millisecond
	// workPause is how many times as long as what a handshake took beyond freeWork the next
	// one waits, up to maxWorkPause.
	workPause    = 20
	maxWorkPause = 2 * time.Second
)

var (
	errHandshakeTooBig = errors.New("TLS handshake is larger than 40 KiB")
	errHandshakeRoom   = errors.New("TLS handshakes are too large, or too many at a time")
)

// A Handshake is a connection during its TLS handshake. Nothing that the peer sends is
// verified by then, and what it sends takes much more memory than its bytes: they are
// bounded, and charged to the meter before crypto/tls parses them. It is the connection
// below TLS, since TLS 1.3 encrypts certificates.
type Handshake struct {
	net.Conn
	ctx     context.Context
	meter   *Meter
	bytes   int
	done    bool
	refused bool          // there was no turn
	waited  time.Duration // in Read and Write
	started time.Time
}

// NewHandshake returns conn for a TLS handshake. Until ctx is done, it waits for room. A
// nil meter charges nothing.
func NewHandshake(ctx context.Context, conn net.Conn, meter *Meter) *Handshake {
	if meter == nil {
		meter = new(Meter)
	}
	h := &Handshake{Conn: conn, ctx: ctx, meter: meter}
	h.refused = meter.Turn != nil && !meter.Turn(ctx)
	h.started = time.Now()
	return h
}

// Done ends the bound, whether or not the handshake succeeded. What was charged stays so until the meter's [Meter.Forget].
func (h *Handshake) Done() {
	h.done = true
	if h.meter.Worked != nil && !h.refused {
		work := time.Since(h.started) - h.waited
		h.meter.Worked(min(max(work-freeWork, 0)*workPause, maxWorkPause))
	}
}

func (h *Handshake) Read(b []byte) (int, error) {
	if h.done {
		return h.Conn.Read(b)
	}
	began := time.Now()
	defer func() { h.waited += time.Since(began) }()
	n, err := h.Conn.Read(b)
	h.bytes += n
	if h.bytes > maxHandshake {
		return 0, errHandshakeTooBig
	}
	if !h.meter.handshake(h.ctx, n*parseCost) {
		return 0, errHandshakeRoom
	}
	return n, err
}

func (h *Handshake) Write(b []byte) (int, error) {
	if h.done {
		return h.Conn.Write(b)
	}
	if h.refused {
		return 0, errHandshakeRoom
	}
	began := time.Now()
	defer func() { h.waited += time.Since(began) }()
	return h.Conn.Write(b)
}

// Forget returns what handshakes took, once nothing of their connections is kept.
func (m *Meter) Forget() {
	if m.Release != nil {
		m.Release(m.Handshakes)
	}
	m.Handshakes = 0
}

// handshake charges n bytes for a handshake. It waits for room until ctx is done.
func (m *Meter) handshake(ctx context.Context, n int) bool {
	if m.Handshake == nil {
		return true
	}
	if !m.Handshake(ctx, n) {
		return false
	}
	m.Handshakes += n
	return true
}
