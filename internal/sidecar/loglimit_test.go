package sidecar

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

func TestTheLogIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		log := limited(slog.New(slog.NewTextHandler(&b, nil)))
		lines := func() int {
			n := strings.Count(b.String(), "\n")
			return n
		}
		for range 1000 {
			log.Info("line")
		}
		if lines() != logBurst {
			t.Errorf("%d lines, want %d", lines(), logBurst)
		}
		time.Sleep(3 * time.Second)
		b.Reset()
		for range 10 {
			log.Info("line")
		}
		if lines() != 3 || strings.Count(b.String(), "dropped=950") != 1 {
			t.Errorf("want 3 lines, one of which says that 950 were dropped:\n%s", &b)
		}
		time.Sleep(time.Hour)
		b.Reset()
		for range 1000 {
			log.Info("line")
		}
		if lines() != logBurst || strings.Count(b.String(), "dropped=7") != 1 {
			t.Errorf("%d lines after an hour, want %d and 7 dropped", lines(), logBurst)
		}
	})
}

// TestTheLogGetsALineEverySecond compares it with a bucket that gets one at each full second,
// however long the pauses between lines are.
func TestTheLogGetsALineEverySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		var b bytes.Buffer
		log := limited(slog.New(slog.NewTextHandler(&b, nil)))
		began := time.Now()
		left, seconds := logBurst, 0
		for range 1000 {
			time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
			for ; seconds < int(time.Since(began)/time.Second); seconds++ {
				left = min(left+1, logBurst)
			}
			lines := r.IntN(4)
			want := min(lines, left)
			left -= want
			b.Reset()
			for range lines {
				log.Info("line")
			}
			if got := strings.Count(b.String(), "\n"); got != want {
				t.Fatalf("after %s %d of %d lines are written, want %d", time.Since(began), got, lines, want)
			}
		}
	})
}

// A brokenListener has no file descriptors left for some time.
type brokenListener struct{ until time.Time }

func (l *brokenListener) Accept() (net.Conn, error) {
	if time.Now().Before(l.until) {
		return nil, errors.New("too many open files")
	}
	return nil, net.ErrClosed
}
func (l *brokenListener) Close() error   { return nil }
func (l *brokenListener) Addr() net.Addr { return &net.TCPAddr{Port: 15020} }

func TestAMinuteWithoutFileDescriptorsIsAFewLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		s := New(slog.New(slog.NewTextHandler(&b, nil)), "", 0, nil, nil)
		s.Serve(&brokenListener{time.Now().Add(time.Minute)})
		if n := strings.Count(b.String(), "too many open files"); n < 2 || n > logBurst+60 {
			t.Errorf("%d lines", n)
		}
	})
}

// TestEveryDisabledProbeIsLogged: the lines of the start are not limited.
func TestEveryDisabledProbeIsLogged(t *testing.T) {
	var b bytes.Buffer
	var bad []*prober.EntryError
	for range 200 {
		bad = append(bad, &prober.EntryError{Key: "/app-health/a/livez", Err: errors.New("bad")})
	}
	New(slog.New(slog.NewTextHandler(&b, nil)), "", 0, nil, bad)
	if n := strings.Count(b.String(), "is disabled"); n != 200 {
		t.Errorf("%d lines", n)
	}
}

// A stuckReader takes a line only when it is told to.
type stuckReader struct {
	let   chan struct{}
	lines bytes.Buffer
}

func (r *stuckReader) Write(line []byte) (int, error) {
	<-r.let
	return r.lines.Write(line)
}

// TestLinesThatNobodyReadsAreCounted: what is not dropped comes in order, and the rest is counted.
func TestLinesThatNobodyReadsAreCounted(t *testing.T) {
	for _, more := range []int{0, 1, 500} {
		synctest.Test(t, func(t *testing.T) {
			reader := &stuckReader{let: make(chan struct{})}
			w := NewLogWriter(reader, more)
			all := slog.New(slog.NewTextHandler(w, nil))
			for range more {
				all.Info("of the start")
			}
			log := limited(all)
			const lines = 1000
			for range lines {
				log.Info("line")
				time.Sleep(time.Second)
			}
			close(reader.let)
			time.Sleep(time.Minute)
			log.Info("last")
			w.End(time.Second)
			said := reader.lines.String()
			written := strings.Count(said, "msg=line\n")
			if n := strings.Count(said, "of the start"); n != more {
				t.Errorf("%d of %d lines of the start are written", n, more)
			}
			if want := maxUnwritten + 1; written != want {
				t.Errorf("%d lines are written, want %d", written, want)
			}
			if want := fmt.Sprintf("msg=last dropped=%d\n", lines-written); !strings.HasSuffix(said, want) {
				t.Errorf("the end is %q, want %q", said[max(len(said)-100, 0):], want)
			}
		})
	}
}

// TestTheEndDoesNotWaitForTheLog for longer than it is told, whether lines wait or not.
func TestTheEndDoesNotWaitForTheLog(t *testing.T) {
	for _, lines := range []int{0, 1, 2, maxUnwritten, 2 * maxUnwritten} {
		synctest.Test(t, func(t *testing.T) {
			reader := &stuckReader{let: make(chan struct{})}
			w := NewLogWriter(reader, 0)
			for i := range lines {
				_, err := w.Write([]byte("line\n"))
				synctest.Wait() // until the writer has the first line
				if i > maxUnwritten && (err == nil || err.Error() != "nobody reads the log") {
					t.Errorf("line %d: %v", i, err)
				}
			}
			began := time.Now()
			w.End(time.Second)
			want := time.Second
			if lines == 0 {
				want = 0
			}
			if took := time.Since(began); took != want {
				t.Errorf("with %d lines it ends after %s, want %s", lines, took, want)
			}
			close(reader.let)
			w.End(time.Second)
		})
	}
}
