package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// evicted returns a connection whose head has come, and which was evicted before
// it was read.
func evicted(s *Server, head string) *conn {
	_, ours := net.Pipe()
	c := newConn(s, &view{common: true, port: s.port}, ours)
	c.first = copy(c.buf[:], head)
	for range maxHeads {
		_, other := net.Pipe()
		newConn(s, &view{common: true, port: s.port}, other)
	}
	return c
}

func TestAConnectionThatWasEvictedIsNotAnswered(t *testing.T) {
	s := New(slog.New(slog.DiscardHandler), "", 0, nil, nil)
	c := evicted(s, "GET /healthz HTTP/1.1\r\n\r\n")
	w := &written{Conn: c.Conn}
	c.Conn = w
	c.serve()
	if got := w.firstLines(); got != "" {
		t.Errorf("answered with %q", got)
	}
}

func TestAConnectionThatWasEvictedEntersNoQueue(t *testing.T) {
	s := New(slog.New(slog.DiscardHandler), "", 0, nil, nil)
	c := evicted(s, "GET /healthz HTTP/1.1\r\n\r\n")
	if q := &s.budget.waiting; s.budget.enter(c, q) || q.Len() != 0 {
		t.Errorf("it entered a queue, which has %d connections", q.Len())
	}
}

// A burst is a listener at which many connections wait.
type burst struct {
	net.Listener
	left       int
	open, most atomic.Int32
	callers    []net.Conn
}

func (b *burst) Addr() net.Addr { return &net.TCPAddr{} }

func (b *burst) Accept() (net.Conn, error) {
	if b.left--; b.left < 0 {
		return nil, net.ErrClosed
	}
	caller, ours := net.Pipe()
	b.callers = append(b.callers, caller)
	b.most.Store(max(b.most.Load(), b.open.Add(1)))
	return &burstConn{ours, b}, nil
}

type burstConn struct {
	net.Conn
	*burst
}

func (c *burstConn) Close() error {
	c.open.Add(-1)
	return c.Conn.Close()
}

// On one processor, as in the program, accepting could go on for 10 ms before anything else runs.
func TestABurstOfConnectionsTakesNoMoreThanTheBudget(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := New(slog.New(slog.DiscardHandler), "", 0, nil, nil)
	b := &burst{left: 20 * maxHeads}
	s.Serve(b)
	for _, caller := range b.callers {
		caller.Close()
	}
	if most := b.most.Load(); most < maxHeads || most > 2*maxHeads {
		t.Errorf("%d connections were open at once; at most %d may wait", most, maxHeads)
	}
}

// A written keeps what is written to a connection.
type written struct {
	net.Conn
	texts []string
}

func (w *written) Write(p []byte) (int, error) {
	w.texts = append(w.texts, string(p))
	return len(p), nil
}

// firstLines returns the first line of each text.
func (w *written) firstLines() string {
	lines := make([]string, len(w.texts))
	for i, text := range w.texts {
		lines[i], _, _ = strings.Cut(text, "\r\n")
	}
	return strings.Join(lines, ", ")
}

// TestACallThatWasEvictedTakesNoPlace: neither one that is free, nor later.
func TestACallThatWasEvictedTakesNoPlace(t *testing.T) {
	const key = "/app-health/a/livez"
	synctest.Test(t, func(t *testing.T) {
		probers := map[string]*prober.Original{key: {TCPSocket: &prober.TCPSocket{Port: field.Number(1)}, TimeoutSeconds: 1}}
		s := New(slog.New(slog.DiscardHandler), "127.0.0.1", 0, probers, nil)
		c, e := evicted(s, ""), s.entries[key]
		for range 50 {
			if c.waitFor(e, e.share.places, &s.budget.waiting) || len(e.share.places) > 0 {
				t.Fatalf("it has a place: %d are taken", len(e.share.places))
			}
		}
		for range cap(e.share.places) {
			e.share.places <- struct{}{}
		}
		began := time.Now()
		if c.waitFor(e, e.share.places, &s.budget.waiting) || time.Since(began) > 0 {
			t.Errorf("it waits for %s", time.Since(began))
		}
	})
}

// TestACallerThatLeavesAfterAWhileIsNoticed: the time for its head is over by then.
func TestACallerThatLeavesAfterAWhileIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(slog.New(slog.DiscardHandler), "", 0, nil, nil)
		caller, ours := net.Pipe()
		c := newConn(s, &view{common: true, port: s.port}, ours)
		ctx, stop := c.watch()
		time.Sleep(time.Minute)
		if ctx.Err() != nil {
			t.Error("a caller that waits is taken to be gone")
		}
		caller.Close()
		synctest.Wait()
		if ctx.Err() == nil {
			t.Error("a caller that has gone is waited for")
		}
		stop()
	})
}

// TestACallThatFindsNoPlaceInItsTimeIsToldSo: all places are taken, for ever.
func TestACallThatFindsNoPlaceInItsTimeIsToldSo(t *testing.T) {
	const probe, hook = "/app-health/a/livez", "/app-lifecycle/a/prestopz"
	const refusal = "HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\n" +
		"Content-Length: 52\r\n\r\nprobe-proxy: too many calls of this probe at a time\n"
	for key, test := range map[string]struct {
		want string
		took time.Duration
	}{
		probe: {refusal, 3*time.Second - 10*time.Millisecond + 500*time.Millisecond}, // to read the rest of the request
		hook:  {"", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			get := &prober.HTTPGet{Path: "/", Port: field.Number(1), Scheme: "HTTP"}
			s := New(slog.New(slog.DiscardHandler), "127.0.0.1", 0, map[string]*prober.Original{probe: {HTTPGet: get, TimeoutSeconds: 3}, hook: {HTTPGet: get}}, nil)
			e := s.entries[key]
			for range cap(e.share.places) {
				e.share.places <- struct{}{}
			}
			caller, ours := net.Pipe()
			c := newConn(s, &view{common: true, port: s.port}, ours)
			s.budget.leave(c)
			began := time.Now()
			go func() {
				c.call(e, &request{})
				c.Close()
			}()
			b, _ := io.ReadAll(caller)
			if took := time.Since(began); string(b) != test.want || took != test.took {
				t.Errorf("%s: after %s %q, want %q", key, took, b, test.want)
			}
			if n := s.budget.waiting.Len() + s.budget.heads.Len(); n > 0 {
				t.Errorf("%d are in a queue", n)
			}
		})
	}
}

// TestAPageThatIsEvictedIsDropped: what the kernel has of it is not sent any more.
func TestAPageThatIsEvictedIsDropped(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b := newBudget()
	for _, q := range []*queue{&b.pages, &b.heads} {
		caller, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer caller.Close()
		ours, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c := &conn{Conn: ours, evicted: make(chan struct{})}
		b.enter(c, q)
		b.mu.Lock()
		b.evictLocked(c)
		b.mu.Unlock()
		c.Close()
		if _, err := caller.Read(make([]byte, 1)); errors.Is(err, syscall.ECONNRESET) != (q == &b.pages) {
			t.Errorf("the caller reads %v", err)
		}
	}
}

// TestACallThatIsOverIsNotWatched: its connection may be closed already.
func TestACallThatIsOverIsNotWatched(t *testing.T) {
	for _, took := range []time.Duration{0, watchAfter, 2 * watchAfter} {
		synctest.Test(t, func(*testing.T) {
			ours, callers := net.Pipe()
			defer callers.Close()
			c := &conn{Conn: ours}
			ctx, stop := c.watch()
			time.Sleep(took)
			if ctx.Err() != nil {
				t.Errorf("after %s: the caller is taken to be gone", took)
			}
			stop()
			ours.Close()
			c.Conn = nil // there is nothing left to read from
		})
	}
}

// TestDisabledProbesTakeNoPartOfTheBudget, whether the env var cannot be read or no probe can be made of it.
func TestDisabledProbesTakeNoPartOfTheBudget(t *testing.T) {
	for good := 1; good < 12; good++ {
		probers := make(map[string]*prober.Original)
		for i := range good {
			probers[fmt.Sprintf("/app-health/c%d/livez", i)] = &prober.Original{TCPSocket: &prober.TCPSocket{Port: field.Number(1)}, TimeoutSeconds: 1}
		}
		parts := func(bad ...*prober.EntryError) string {
			e := New(slog.New(slog.DiscardHandler), "127.0.0.1", 0, probers, bad).entries["/app-health/c0/livez"]
			return fmt.Sprint(cap(e.share.places), e.share.maxBytes, e.share.maxTLSBytes)
		}
		want := parts()
		for i := range 9 {
			probers[fmt.Sprintf("/app-lifecycle/c%d/prestopz", i)] = &prober.Original{TCPSocket: &prober.TCPSocket{Port: field.Number(1)}}
		}
		if got := parts(&prober.EntryError{Key: "/app-health/x/livez", Err: errors.New("bad")}, &prober.EntryError{Key: "/app-health/y/livez", Err: errors.New("bad")}); got != want {
			t.Errorf("of %d probes one has %s, beside those that are disabled, want %s", good, got, want)
		}
	}
}

// TestAllAppsTogetherTakeNoMoreThanTheBudget, however many probes there are.
func TestAllAppsTogetherTakeNoMoreThanTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shares := make([]*share, 2*maxAppBytes/minKeyBytes)
		for i := range shares {
			shares[i] = &share{}
		}
		newBudget().divide(maxProbes, shares)
		const part = 16 << 10
		taken := 0
		for _, s := range shares {
			for s.take(part) {
				taken += part
			}
		}
		if taken != maxAppBytes {
			t.Errorf("%d bytes are taken, want %d", taken, maxAppBytes)
		}
		shares[0].release(minKeyBytes)
		if !shares[len(shares)-1].take(part) {
			t.Error("what one probe releases is not there for another")
		}
	})
}

// TestLargeHeadsOfAProbeTakeTurns: calls at the same time wait for each other.
func TestLargeHeadsOfAProbeTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &share{}
		newBudget().divide(maxProbes, []*share{s})
		began := time.Now()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { s.take(1) })
		}
		wg.Wait()
		if took := time.Since(began); took != 10*appPause {
			t.Errorf("ten parts take %s", took)
		}
	})
}

// One app must not take all: what is answered to other callers needs memory too.
func TestAnAppHasAtMostHalfOfTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &share{}
		newBudget().divide(maxProbes, []*share{s})
		taken := 0
		for s.take(1 << 10) {
			taken += 1 << 10
		}
		if taken != maxAppBytes/2 {
			t.Errorf("one app takes %d bytes of %d", taken, maxAppBytes)
		}
	})
}

// A handshake waits for its turn as long as its call may take, and no longer.
func TestATurnIsWaitedForUntilTheCallIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := newBudget(), new(share)
		b.divide(maxProbes, []*share{s})
		within := func(d time.Duration) (got bool, took time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			start := time.Now()
			got = s.turn(ctx)
			return got, time.Since(start)
		}
		expect := func(what string, d time.Duration, want bool, wantTook time.Duration) {
			t.Helper()
			if got, took := within(d); got != want || took != wantTook {
				t.Errorf("%s: %t after %s, want %t after %s", what, got, took, want, wantTook)
			}
		}
		expect("nobody has the turn", time.Second, true, 0)
		expect("another has it", time.Second, false, time.Second)
		s.pauseTLS(3 * time.Second)
		expect("the pause is longer", 2*time.Second, false, 2*time.Second)
		expect("the pause ends", 2*time.Second, true, time.Second)
		s.pauseTLS(0)
		expect("no pause", time.Second, true, 0)
	})
}

// TestBytesThatAreReturnedCanBeTakenAgain takes and returns bytes of many keys in any order. A key gets
// them if there is room in its own part and in that of all keys: two sums say whether there is.
func TestBytesThatAreReturnedCanBeTakenAgain(t *testing.T) {
	for name, bytes := range map[string]struct {
		take    func(s *share, n int) bool
		release func(s *share, n int)
		ofKey   func(s *share) int
		ofAll   int
	}{
		"heads": {(*share).take, (*share).release, func(s *share) int { return s.maxBytes }, maxAppBytes},
		"TLS":   {func(s *share, n int) bool { return s.tryTLS(n) == 0 }, (*share).releaseTLS, func(s *share) int { return s.maxTLSBytes }, maxTLSBytes},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			for range 10 {
				shares := make([]*share, 1+r.IntN(20))
				for i := range shares {
					shares[i] = new(share)
				}
				newBudget().divide(maxProbes, shares)
				taken := make(map[*share][]int)
				sums, all := make(map[*share]int), 0
				for range 1000 {
					s := shares[r.IntN(len(shares))]
					if have := taken[s]; len(have) > 0 && r.IntN(3) == 0 {
						n := have[len(have)-1]
						taken[s] = have[:len(have)-1]
						bytes.release(s, n)
						sums[s] -= n
						all -= n
						continue
					}
					n := 1 + r.IntN(bytes.ofKey(s)/2)
					want := sums[s]+n <= bytes.ofKey(s) && all+n <= bytes.ofAll
					if got := bytes.take(s, n); got != want {
						t.Fatalf("%s: %d bytes beside %d of the key and %d of all %d keys: %t, want %t", name, n, sums[s], all, len(shares), got, want)
					}
					if want {
						taken[s] = append(taken[s], n)
						sums[s] += n
						all += n
					}
				}
			}
		})
	}
}

// TestEveryPlaceHasItsFiles: whatever the limit of open files is, and however many probes and hooks
// there are, all that may be open at once fits into it, or into 64 if it is less.
func TestEveryPlaceHasItsFiles(t *testing.T) {
	for _, test := range []struct{ files, probes, hooks int }{
		{64, 1, 0}, {64, 1, 1}, {64, 3, 1}, {100, 6, 2}, {256, 20, 0}, {500, 3, 2}, {1023, 3, 2}, {1024, 3, 2}, {1024, 100, 20}, {4096, 200, 0}, {anyFiles, 3, 2}, {anyFiles, 300, 0}, {20, 1, 1}, {0, 1, 0},
	} {
		b := newBudget()
		b.files = test.files
		probers := make(map[string]*entry)
		for i := range test.probes + test.hooks {
			probeType := prober.Liveness
			if i >= test.probes {
				probeType = prober.PreStop
			}
			probers[strconv.Itoa(i)] = &entry{probeType: probeType}
		}
		s := &Server{budget: b, entries: probers}
		s.share()
		queues := []int{b.heads.max, b.waiting.max, b.maxInLines, b.unread.max, b.large.max, b.pages.max}
		open := ownFiles
		for _, e := range probers {
			open += filesOfCall * cap(e.share.places)
			if n := cap(e.share.places); n < minOfKey || cap(e.share.large) < 1 {
				t.Errorf("%v: a key has %d places", test, n)
			}
		}
		for _, size := range queues {
			open += size
			if size < 1 {
				t.Errorf("%v: queues of %v", test, queues)
			}
		}
		if open > max(test.files, 64) {
			t.Errorf("%v: %d files may be open; queues of %v", test, open, queues)
		}
		if full := []int{maxHeads, maxWaiting, maxInLines, maxUnread, maxLarge, maxPages}; (test.files >= enoughFiles && test.probes < 10 || test.files == anyFiles) && !slices.Equal(queues, full) {
			t.Errorf("%v: queues of %v, want %v", test, queues, full)
		}
	}
}
