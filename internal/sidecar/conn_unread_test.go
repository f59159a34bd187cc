package sidecar

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// TestClosedConnectionsLeaveNoMoreThanTheBudget: of any five seconds, twice it at most, since what is left may be
// as old as that.
func TestClosedConnectionsLeaveNoMoreThanTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		b := newBudget()
		type closed struct {
			at    time.Time
			bytes int
		}
		var left []closed
		refused := 0
		for range 5000 {
			time.Sleep(time.Duration(r.IntN(30)) * time.Millisecond)
			n := 1 + r.IntN(12<<10)
			if !b.leaveBehind(n) {
				refused++
				continue
			}
			left = append(left, closed{time.Now(), n + leftCost})
			for time.Since(left[0].at) > sendTime {
				left = left[1:]
			}
			sum := 0
			for _, c := range left {
				sum += c.bytes
			}
			if sum > 2*maxLeft {
				t.Fatalf("%d bytes are left, want at most %d", sum, 2*maxLeft)
			}
		}
		if refused == 0 || refused == 5000 {
			t.Errorf("%d of 5000 are refused", refused)
		}
		time.Sleep(sendTime)
		if !b.leaveBehind(maxLeft - leftCost) {
			t.Error("after five seconds there is no room")
		}
	})
}

// TestAnswersThatNobodyTakesEvictEachOther: nobody reads, and the newest stay until their time is over.
func TestAnswersThatNobodyTakesEvictEachOther(t *testing.T) {
	s := New(slog.New(slog.DiscardHandler), "", 0, nil, nil)
	s.budget.left = -1 << 30 // for longer than the test takes
	l, err := Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var callers []net.Conn
	for i := range maxUnread + 8 {
		caller := dialLittle(t, l)
		callers = append(callers, caller)
		ours, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c := &conn{Conn: ours, server: s, evicted: make(chan struct{})}
		c.flush([]byte(strings.Repeat("x", 10<<10)))
		ended := make(chan bool)
		go func() { c.end(); close(ended) }()
		if i < 8 {
			defer func() { <-ended }()
		}
		err = testutil.Eventually(10*time.Second, func() error {
			s.budget.mu.Lock()
			defer s.budget.mu.Unlock()
			if c.queue != &s.budget.unread {
				return fmt.Errorf("caller %d is in no queue", i)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, caller := range callers {
		b, err := io.ReadAll(caller)
		if reset := errors.Is(err, syscall.ECONNRESET); reset != (i < 8) || !reset && len(b) != 10<<10 {
			t.Errorf("caller %d of %d reads %d bytes: %v", i, len(callers), len(b), err)
		}
		caller.Close()
	}
}

// dialLittle connects with the smallest receive buffer that there is.
func dialLittle(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	d := net.Dialer{Timeout: 10 * time.Second, Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 1) })
	}}
	caller, err := d.Dial("tcp", fmt.Sprint("127.0.0.1:", l.Addr().(*net.TCPAddr).Port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { caller.Close() })
	if _, err := io.WriteString(caller, "x"); err != nil {
		t.Fatal(err)
	}
	_ = caller.SetDeadline(time.Now().Add(20 * time.Second))
	return caller
}

// TestALargeHeadWaitsAmongLargeHeads, and has its fields when it gets its places.
func TestALargeHeadWaitsAmongLargeHeads(t *testing.T) {
	const key = "/app-health/a/livez"
	synctest.Test(t, func(t *testing.T) {
		probers := map[string]*prober.Original{key: {TCPSocket: &prober.TCPSocket{Port: field.Number(1)}, TimeoutSeconds: 60}}
		s := New(slog.New(slog.DiscardHandler), "127.0.0.1", 0, probers, nil)
		e := s.entries[key]
		if cap(e.share.large) != maxOfKey/callPart {
			t.Fatalf("%d calls may have large heads", cap(e.share.large))
		}
		head := "GET " + key + " HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("y", 2*smallHead)
		var got []*request
		for range cap(e.share.large) + maxLarge + 5 {
			req, err := parseHead([]byte(head))
			if err != nil || !req.large {
				t.Fatalf("large: %t, %v", req.large, err)
			}
			_, ours := net.Pipe()
			c := &conn{Conn: ours, server: s, start: time.Now(), evicted: make(chan struct{})}
			go func() {
				if c.takePlace(e, req) {
					got = append(got, req)
				}
			}()
			synctest.Wait()
		}
		if n := s.budget.large.Len(); n != maxLarge || len(got) != cap(e.share.large) || s.budget.waiting.Len() > 0 {
			t.Fatalf("%d large heads wait, %d are called", n, len(got))
		}
		for range maxLarge {
			s.callEnds(&e.share, true)
			synctest.Wait()
		}
		if len(got) != cap(e.share.large)+maxLarge || s.budget.large.Len() > 0 {
			t.Errorf("%d are called in the end", len(got))
		}
		for _, req := range got {
			if len(req.header) != 1 || len(req.header.Get("X-Long")) != 2*smallHead {
				t.Fatalf("a call has the fields %.100v", req.header)
			}
		}
	})
}

// TestEveryPlaceIsGivenBack: over random calls with large heads and small ones, of which some get a place, some wait in vain and some end:
// in the end all places are free.
func TestEveryPlaceIsGivenBack(t *testing.T) {
	const key = "/app-health/a/livez"
	var refused atomic.Int32
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(61, seed))
			probers := map[string]*prober.Original{key: {TCPSocket: &prober.TCPSocket{Port: field.Number(1)}, TimeoutSeconds: 2}}
			s := New(slog.New(slog.DiscardHandler), "127.0.0.1", 0, probers, nil)
			e := s.entries[key]
			var running sync.WaitGroup
			var mu sync.Mutex
			inCalls, most := 0, 0
			count := func(n int) {
				mu.Lock()
				defer mu.Unlock()
				inCalls += n
				most = max(most, inCalls)
			}
			for range cap(e.share.places) + 40 {
				head := "GET " + key + " HTTP/1.1\r\nHost: x"
				if rnd.IntN(3) == 0 {
					head += "\r\nX-Long: " + strings.Repeat("y", 2*smallHead)
				}
				req, err := parseHead([]byte(head))
				if err != nil {
					t.Fatal(err)
				}
				_, ours := net.Pipe()
				c := &conn{Conn: ours, server: s, start: time.Now(), evicted: make(chan struct{})}
				lasts := time.Duration(rnd.IntN(8000)) * time.Millisecond
				running.Go(func() {
					if !c.takePlace(e, req) {
						refused.Add(1)
						return
					}
					count(1)
					time.Sleep(lasts)
					count(-1)
					s.callEnds(&e.share, req.large)
				})
				synctest.Wait()
				time.Sleep(time.Duration(rnd.IntN(100)) * time.Millisecond)
			}
			running.Wait()
			if n, large := len(e.share.places), len(e.share.large); n+large > 0 || most > cap(e.share.places) {
				t.Errorf("seed %d: %d places are taken in the end, %d of large heads, and %d were at most, of %d", seed, n, large, most, cap(e.share.places))
			}
		})
	}
	if refused.Load() == 0 {
		t.Error("no call waited in vain")
	}
}
