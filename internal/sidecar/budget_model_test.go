package sidecar

import (
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestQueuesEvictTheOldest takes connections in and out of queues in any order. Each is in one queue at most, a full queue gives up the
// one that has been in it for longest, and what was evicted never comes back.
func TestQueuesEvictTheOldest(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 2))
	evictions := 0
	for range 300 {
		b := newBudget()
		queues := []*queue{&b.heads, &b.large, &b.waiting, &b.pages, &b.unread}
		for _, q := range queues {
			q.max = 1 + r.IntN(4)
		}
		conns := make([]*conn, 12)
		for i := range conns {
			conns[i] = &conn{Conn: new(ended), evicted: make(chan struct{})}
		}
		in := make([][]int, len(queues)) // the connections of each queue, the oldest first
		gone := map[int]bool{}
		for range 60 {
			i, to := r.IntN(len(conns)), r.IntN(len(queues))
			isEntering := r.IntN(4) > 0
			for q := range in {
				in[q] = slices.DeleteFunc(in[q], func(c int) bool { return c == i })
			}
			want := !gone[i]
			if isEntering && want {
				if len(in[to]) == queues[to].max {
					gone[in[to][0]] = true
					in[to] = in[to][1:]
					evictions++
				}
				in[to] = append(in[to], i)
			}
			got := false
			if isEntering {
				got = b.enter(conns[i], queues[to])
			} else {
				got = b.leave(conns[i])
			}
			if got != want {
				t.Fatalf("connection %d may stay: %t, want %t", i, got, want)
			}
			compareQueues(t, queues, conns, in, gone)
		}
	}
	if evictions < 1000 {
		t.Errorf("%d evictions", evictions)
	}
}

// An ended is a connection with a deadline.
type ended struct {
	net.Conn
	by time.Time
}

func (c *ended) SetDeadline(t time.Time) error {
	c.by = t
	return nil
}

// compareQueues compares the queues, and which connections are gone, with what they should be.
func compareQueues(t *testing.T, queues []*queue, conns []*conn, in [][]int, gone map[int]bool) {
	t.Helper()
	for q, want := range in {
		var got []int
		for e := queues[q].Front(); e != nil; e = e.Next() {
			got = append(got, slices.Index(conns, e.Value.(*conn)))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("queue %d has %v, want %v", q, got, want)
		}
	}
	for i, c := range conns {
		isTold := false
		select {
		case <-c.evicted:
			isTold = true
		default:
		}
		if isEnded := c.Conn.(*ended).by.After(time.Time{}); isTold != gone[i] || isEnded != gone[i] {
			t.Fatalf("connection %d is told: %t and ended: %t, want %t", i, isTold, isEnded, gone[i])
		}
	}
}

// TestWhatIsLeftToTheKernelDrainsInItsTime closes connections at any time. What they leave is a bucket that empties within sendTime.
func TestWhatIsLeftToTheKernelDrainsInItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(61, 3))
		refused, taken := 0, 0
		for range 50 {
			b := newBudget()
			room := float64(maxLeft)
			for range 200 {
				pause := time.Duration(r.Int64N(int64(sendTime / 20)))
				if r.IntN(40) == 0 {
					pause = sendTime * time.Duration(r.IntN(4)) / 2
				}
				time.Sleep(pause)
				room = min(room+maxLeft*float64(pause)/float64(sendTime), maxLeft)
				n := r.IntN(maxLeft / 4)
				if r.IntN(20) == 0 {
					n = maxLeft - leftCost + r.IntN(2)
				}
				cost := float64(n + leftCost)
				got := b.leaveBehind(n)
				if want := cost <= room; got != want && (cost < room-300 || cost > room) { // a byte is lost with each rounding
					t.Fatalf("%d bytes beside room for %.0f: %t", n, room, got)
				}
				if got {
					room -= cost
					taken++
				} else {
					refused++
				}
			}
		}
		if refused < 1000 || taken < 1000 {
			t.Errorf("%d refused, %d taken", refused, taken)
		}
	})
}

// TestPartsOfLargeHeadsArePaced: the calls of a key get their parts one after the other, one each appPause, and no key waits for another.
func TestPartsOfLargeHeadsArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(61, 4))
		shares := make([]*share, 3)
		for i := range shares {
			shares[i] = new(share)
		}
		newBudget().divide(maxProbes, shares)
		free := make([]time.Time, len(shares)) // when the next call of a key may begin its pause
		for range 300 {
			i := r.IntN(len(shares))
			calls := 1 + r.IntN(4)
			done := make(chan time.Time, calls)
			for range calls {
				go func() {
					if shares[i].take(10) {
						done <- time.Now()
					}
				}()
			}
			for range calls {
				if now := time.Now(); free[i].Before(now) {
					free[i] = now
				}
				free[i] = free[i].Add(appPause)
				if at := <-done; !at.Equal(free[i]) {
					t.Fatalf("a call of key %d got its part at %v, want %v", i, at, free[i])
				}
				shares[i].release(10)
			}
			time.Sleep(time.Duration(r.IntN(3)) * appPause / 2)
		}
	})
}

// TestAHandshakeBeginsWhenThereIsRoom until the time of its call is over: it begins at the first look after there is room. What has no room
// ever is refused at once.
func TestAHandshakeBeginsWhenThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(61, 5))
		seen := map[bool]int{}
		for range 300 {
			shares := make([]*share, 1+r.IntN(12))
			for i := range shares {
				shares[i] = new(share)
			}
			newBudget().divide(maxProbes, shares)
			mine, other := shares[0], shares[r.IntN(len(shares))]
			have := 1 + r.IntN(other.maxTLSBytes)
			if !other.takeTLS(t.Context(), have) {
				t.Fatalf("%d bytes of %d are refused", have, other.maxTLSBytes)
			}
			n := 1 + r.IntN(mine.maxTLSBytes*5/4)
			if r.IntN(3) == 0 { // all that is left
				n = mine.maxTLSBytes
				if other == mine && have < n {
					n -= have
				}
			}
			freeAfter := time.Duration(1+r.IntN(40)) * time.Millisecond * 7 / 4
			patience := time.Duration(1+r.IntN(40)) * time.Millisecond * 11 / 8
			time.AfterFunc(freeAfter, func() { other.releaseTLS(have) })
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			start := time.Now()
			got := mine.takeTLS(ctx, n)
			took := time.Since(start)
			cancel()
			begins := time.Duration(0) // when there is room and it looks
			if other == mine && have+n > mine.maxTLSBytes {
				begins = (freeAfter + roomEvery - 1) / roomEvery * roomEvery
			}
			switch want := n <= mine.maxTLSBytes && begins <= patience; {
			case begins == patience || begins == freeAfter && begins > 0: // both at once
			case n > mine.maxTLSBytes && (got || took > 0):
				t.Fatalf("%d bytes of %d: %t after %v", n, mine.maxTLSBytes, got, took)
			case n <= mine.maxTLSBytes && (got != want || took != min(begins, patience)):
				t.Fatalf("%d bytes beside %d of %d, free after %v, patient for %v: %t after %v", n, have, mine.maxTLSBytes, freeAfter, patience, got, took)
			default:
				seen[want && begins > 0]++
			}
			time.Sleep(time.Second)
		}
		if seen[true] < 5 || seen[false] < 100 {
			t.Errorf("%v", seen)
		}
	})
}

// TestTurnsEndAfterTheirPause: the handshakes of a key follow each other, each after the pause of the one before.
func TestTurnsEndAfterTheirPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(61, 6))
		s := new(share)
		newBudget().divide(maxProbes, []*share{s})
		free := time.Now()
		for range 200 {
			patience := time.Duration(1+r.IntN(20)) * time.Millisecond
			pause := time.Duration(r.IntN(30)) * time.Millisecond * 3 / 4
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			start := time.Now()
			got := s.turn(ctx)
			cancel()
			at := free
			if at.Before(start) {
				at = start
			}
			over := start.Add(patience)
			if !at.Equal(over) && (got != at.Before(over) || got && !time.Now().Equal(at)) {
				t.Fatalf("free at %v, patient until %v: %t at %v", at, over, got, time.Now())
			}
			if got {
				s.pauseTLS(pause)
				free = time.Now().Add(pause)
			}
		}
	})
}

// TestKeysHaveEqualParts, whatever their number and the limit of open files: each has its part, but no less than the least and no more than
// the most that one may have.
func TestKeysHaveEqualParts(t *testing.T) {
	for keys := 1; keys <= 200; keys++ {
		for _, files := range []int{1, 64, 300, 512, 1023, 1024, 5000, anyFiles} {
			for _, places := range []int{maxProbes, maxHooks} {
				b := newBudget()
				b.files = files
				shares := make([]*share, keys)
				for i := range shares {
					shares[i] = new(share)
				}
				b.divide(places, shares)
				all := places
				if files < 1024 {
					all = places * files / 1024
				}
				for _, part := range []struct{ have, all, least, most int }{
					{cap(shares[keys-1].places), all, 2, 32},
					{cap(shares[keys-1].large), all / 4, 1, 8},
					{shares[keys-1].maxBytes, 3 << 20, 512 << 10, 3 << 19},
					{shares[keys-1].maxTLSBytes, 8 << 20, 1 << 20, 3 << 20},
					{cap(shares[keys-1].turns), keys, 1, 1},
				} {
					want := part.all / keys
					if want < part.least {
						want = part.least
					} else if want > part.most {
						want = part.most
					}
					if part.have != want || shares[0].maxBytes != shares[keys-1].maxBytes || shares[0].budget != b {
						t.Fatalf("%d keys with %d files and %d places: a key has %d of %d, want %d", keys, files, places, part.have, part.all, want)
					}
				}
			}
		}
	}
}
