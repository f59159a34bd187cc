package wire

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// A pausing connection takes wait for each read, which has n bytes, and for each write.
type pausing struct {
	net.Conn
	wait time.Duration
	n    int
}

func (c *pausing) Read([]byte) (int, error) {
	time.Sleep(c.wait)
	return c.n, nil
}

func (c *pausing) Write(b []byte) (int, error) {
	time.Sleep(c.wait)
	return len(b), nil
}

// TestAHandshakeIsChargedAndTimed draws reads, writes and work: what was read is charged up to the bound, and the pause
// after it is due to the work alone. What comes after the handshake is free.
func TestAHandshakeIsChargedAndTimed(t *testing.T) {
	tooBig, paused := 0, make(map[time.Duration]bool)
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			granted, pause := 0, time.Duration(-1)
			conn := &pausing{}
			h := NewHandshake(t.Context(), conn, &Meter{
				Handshake: func(_ context.Context, n int) bool { granted += n; return true },
				Turn:      func(context.Context) bool { time.Sleep(time.Hour); return true }, // is not work
				Worked:    func(p time.Duration) { pause = p },
			})
			read, charged, work := 0, 0, time.Duration(0)
			for range r.IntN(12) {
				d := time.Duration(r.IntN(1000)) * time.Microsecond << r.IntN(6)
				time.Sleep(d)
				work += d
				conn.wait = time.Duration(r.IntN(3000)) * time.Millisecond
				if r.IntN(2) == 0 {
					if n, err := h.Write(make([]byte, 100)); n != 100 || err != nil {
						t.Fatalf("seed %d: %d bytes are written, %v", seed, n, err)
					}
					continue
				}
				conn.n = 1 + r.IntN(12<<10)
				n, err := h.Read(nil)
				if read += conn.n; read > 40<<10 {
					tooBig++
					if n != 0 || !errors.Is(err, errHandshakeTooBig) {
						t.Fatalf("seed %d: %d bytes are read after %d, %v", seed, n, read, err)
					}
					continue
				}
				charged = read
				if n != conn.n || err != nil {
					t.Fatalf("seed %d: %d bytes are read, %v", seed, n, err)
				}
			}
			if granted != charged*parseCost {
				t.Errorf("seed %d: %d bytes are charged, want %d for each of %d", seed, granted, parseCost, charged)
			}
			h.Done()
			want := min(20*max(0, work-2*time.Millisecond), 2*time.Second)
			if pause != want {
				t.Errorf("seed %d: after work of %s the next waits for %s, want %s", seed, work, pause, want)
			}
			paused[want] = true
			conn.n = 64 << 10
			if n, err := h.Read(nil); n != conn.n || err != nil || granted != charged*parseCost {
				t.Errorf("seed %d: after the handshake %d bytes are read, %v; %d are charged", seed, n, err, granted)
			}
			if n, err := h.Write([]byte("x")); n != 1 || err != nil {
				t.Errorf("seed %d: after the handshake %d bytes are written, %v", seed, n, err)
			}
		})
	}
	if !paused[0] || !paused[2*time.Second] || len(paused) < 50 || tooBig < 20 {
		t.Errorf("%d pauses, %d handshakes that are too big", len(paused), tooBig)
	}
}

// Who gets no turn, or no room, writes nothing more of the handshake, and reads none.
func TestAHandshakeThatMayNotBeginSaysSo(t *testing.T) {
	no := func(context.Context) bool { return false }
	h := NewHandshake(t.Context(), &pausing{n: 1}, &Meter{Turn: no})
	if n, err := h.Write([]byte("x")); n != 0 || !errors.Is(err, errHandshakeRoom) {
		t.Errorf("without a turn %d bytes are written, %v", n, err)
	}
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "of the call")
	h = NewHandshake(ctx, &pausing{n: 7}, &Meter{Handshake: func(ctx context.Context, n int) bool {
		if ctx.Value(key{}) != "of the call" || n != 7*parseCost {
			t.Errorf("room for %d bytes is waited for with another context than the call's", n)
		}
		return false
	}})
	if n, err := h.Read(nil); n != 0 || !errors.Is(err, errHandshakeRoom) {
		t.Errorf("without room %d bytes are read, %v", n, err)
	}
	h = NewHandshake(t.Context(), &pausing{n: 7}, nil)
	if n, err := h.Read(nil); n != 7 || err != nil {
		t.Errorf("without a meter %d bytes are read, %v", n, err)
	}
	h.Done()
}
