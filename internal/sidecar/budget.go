package sidecar

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// What callers and apps may take. Probes and hooks have places of their own, of
// which each key has an equal part, and so have the heads of apps' answers.
const (
	maxProbes = 64 // calls of probes
	maxHooks  = 24 // calls of hooks
	maxOfKey  = 32 // calls of one key, however few keys there are
	minOfKey  = 2  // calls of one key, however many keys there are

	maxHeads   = 256 // connections whose head is not complete, or that are refused
	maxLarge   = 16  // connections with heads larger than smallHead that are not complete, or wait
	maxWaiting = 256 // calls that wait for a place
	maxPages   = 4   // pages of the server's own that are being sent
	maxUnread  = 32  // answers that are sent, and not taken, beyond maxLeft

	// callPart is the part of the places that calls with heads larger than smallHead may have.
	callPart = 4

	// What the kernel keeps for a caller: it is charged to the container. A request has one
	// head, and an answer of 10 KiB with its head must not wait for its caller. The kernel
	// doubles these numbers for its own needs.
	callerReceives = 4 << 10
	callerSends    = 16 << 10

	// maxLeft bounds what closed connections leave to the kernel to send within sendTime. Each
	// leaves leftCost beside its bytes.
	maxLeft  = 1 << 20
	leftCost = 4 << 10

	maxAppBytes = 3 << 20   // of apps' heads, as wire.Meter charges them
	minKeyBytes = 512 << 10 // of them for one key, however many keys there are

	// What crypto/tls may take of apps' certificates, as wire.Handshake charges them, and
	// the least and the most of it for one key. A certificate of 4 KB is charged 272 KB.
	maxTLSBytes    = 8 << 20
	minKeyTLSBytes = 1 << 20
	maxKeyTLSBytes = 3 << 20
	turnsOfKey     = 1 // handshakes of one key at a time: the kubelet makes no more

	// All places together need enoughFiles. With fewer there are fewer places, but some of each
	// kind. ownFiles are for what is no caller's and no app's, and for connections on their way.
	enoughFiles = 1024
	anyFiles    = 1 << 20
	ownFiles    = 16
	filesOfCall = 2  // the caller's connection and the app's
	leastOf     = 64 // a queue has one place of so many

	// appPause is what a key waits for each part of a large head, so that an app
	// that sends many takes a part of the processor alone.
	appPause = time.Millisecond
)

// A budget owns all places and bytes. A connection has a place of its key, or is
// in a queue, from which the oldest is evicted for a new one: nobody waits to be
// accepted, and patience with slow callers ends as others come.
type budget struct {
	mu                                   sync.Mutex
	heads, large, waiting, pages, unread queue

	files      int // that the process may have open
	maxInLines int // connections in the lines of a listener

	appBytes, tlsBytes int
	left               int       // bytes that closed connections may still leave to the kernel
	leftAt             time.Time // when left was last raised
}

// A queue has the connections that may be evicted, the oldest first. It is
// guarded by the budget's mu.
type queue struct {
	list.List
	max int
}

// A share is the part of the budget that the calls of one key have.
type share struct {
	budget   *budget
	places   chan struct{} // one for each open call
	large    chan struct{} // one for each of them with a large head
	maxBytes int
	bytes    int       // guarded by the budget's mu
	next     time.Time // when the next part of a large head may be read; guarded by the budget's mu

	maxTLSBytes int
	tlsBytes    int           // guarded by the budget's mu
	turns       chan struct{} // one for each handshake, and for the pause after it
}

func newBudget() *budget {
	return &budget{
		files:      enoughFiles,
		maxInLines: maxInLines,
		heads:      queue{max: maxHeads},
		large:      queue{max: maxLarge},
		waiting:    queue{max: maxWaiting},
		pages:      queue{max: maxPages},
		unread:     queue{max: maxUnread},
		left:       maxLeft,
		leftAt:     time.Now(),
	}
}

// fit makes the queues so small that the files suffice for them and so many calls.
func (b *budget) fit(calls int) {
	left := b.files - ownFiles - filesOfCall*calls
	sizes := []*int{&b.maxInLines, &b.heads.max, &b.waiting.max}
	sizes = append(sizes, &b.large.max, &b.pages.max, &b.unread.max)
	all := 0
	for _, size := range sizes {
		all += *size
	}
	for _, size := range sizes {
		*size = min(*size, max(*size*left/all, *size/leastOf, 1))
	}
}

// divide assigns each of the shares an equal part of the places.
func (b *budget) divide(places int, shares []*share) {
	places = min(places, places*b.files/enoughFiles)
	for _, s := range shares {
		*s = share{
			budget:   b,
			places:   make(chan struct{}, portion(places, len(shares), minOfKey, maxOfKey)),
			large:    make(chan struct{}, portion(places/callPart, len(shares), 1, maxOfKey/callPart)),
			maxBytes: portion(maxAppBytes, len(shares), minKeyBytes, maxAppBytes/2),

			turns:       make(chan struct{}, turnsOfKey),
			maxTLSBytes: portion(maxTLSBytes, len(shares), minKeyTLSBytes, maxKeyTLSBytes),
		}
	}
}

func portion(total, keys, least, most int) int {
	return min(max(total/keys, least), most)
}

// enter makes c evictable, after all others of the queue, and in no other. If the
// queue is full, it evicts the oldest. It returns false if c was evicted before.
func (b *budget) enter(c *conn, q *queue) bool {
	if !b.leave(c) {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if q.Len() >= q.max {
		b.evictLocked(q.Front().Value.(*conn))
	}
	c.queue, c.element = q, q.PushBack(c)
	return true
}

// leave makes c safe from eviction. It returns false if c was evicted before.
func (b *budget) leave(c *conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.queue != nil {
		c.queue.Remove(c.element)
		c.queue = nil
	}
	return !c.gone
}

func (b *budget) evictLocked(c *conn) {
	if c.queue == &b.pages {
		reset(c.Conn) // the rest of the page is dropped
	}
	c.queue.Remove(c.element)
	c.queue = nil
	c.gone = true
	_ = c.SetDeadline(time.Now())
	close(c.evicted)
}

// leaveBehind reports whether a connection may be closed that leaves n bytes to the kernel, which
// drops them after sendTime at the latest.
func (b *budget) leaveBehind(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	more := float64(maxLeft) * min(now.Sub(b.leftAt).Seconds()/sendTime.Seconds(), 1)
	b.left = min(b.left+int(more), maxLeft)
	b.leftAt = now
	if n += leftCost; n > b.left {
		return false
	}
	b.left -= n
	return true
}

// take reserves n bytes for the app's answer to a call, and waits for the key's
// turn.
func (s *share) take(n int) bool {
	s.budget.mu.Lock()
	if s.bytes+n > s.maxBytes || s.budget.appBytes+n > maxAppBytes {
		s.budget.mu.Unlock()
		return false
	}
	s.bytes += n
	s.budget.appBytes += n
	wait := max(time.Until(s.next), 0) + appPause
	s.next = time.Now().Add(wait)
	s.budget.mu.Unlock()
	time.Sleep(wait)
	return true
}

// release returns what was taken.
func (s *share) release(n int) {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	s.bytes -= n
	s.budget.appBytes -= n
}

// roomEvery is how often a handshake that waits for room looks whether there is some.
const roomEvery = 5 * time.Millisecond

// takeTLS reserves n bytes for a handshake with the app. It waits for room until ctx is done. More than the key may ever have is refused at once.
func (s *share) takeTLS(ctx context.Context, n int) bool {
	for n <= s.maxTLSBytes {
		wait := s.tryTLS(n)
		if wait == 0 {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
	return false
}

// tryTLS reserves n bytes, or returns how long to wait before the next attempt.
func (s *share) tryTLS(n int) (wait time.Duration) {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	if s.tlsBytes+n > s.maxTLSBytes || s.budget.tlsBytes+n > maxTLSBytes {
		return roomEvery
	}
	s.tlsBytes += n
	s.budget.tlsBytes += n
	return 0
}

// releaseTLS returns what handshakes took.
func (s *share) releaseTLS(n int) {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	s.tlsBytes -= n
	s.budget.tlsBytes -= n
}

// turn waits until one of the key's handshakes may begin, or ctx is done.
func (s *share) turn(ctx context.Context) bool {
	select {
	case s.turns <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// pauseTLS ends a turn after a pause: the handshake took much of the processor.
func (s *share) pauseTLS(pause time.Duration) {
	if pause == 0 {
		<-s.turns
		return
	}
	time.AfterFunc(pause, func() { <-s.turns })
}
