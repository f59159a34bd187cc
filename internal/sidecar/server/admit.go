package server

import "time"

// How long a connection is not evicted. A request that has come may not have
// had its turn yet; a call beyond the limit of its probe may get its turn soon.
const (
	headPatience = 50 * time.Millisecond
	callPatience = 200 * time.Millisecond
)

// admit takes a slot for the connection. If none is free, the first connection
// that may be evicted loses its own.
func (s *Server) admit(c *conn) {
	for {
		select {
		case s.slots <- struct{}{}:
			s.mayEvict(c, headPatience)
			return
		default:
		}
		timer := time.NewTimer(s.evict())
		select {
		case s.slots <- struct{}{}:
			timer.Stop()
			s.mayEvict(c, headPatience)
			return
		case <-timer.C:
		}
	}
}

// evict evicts the first connection that may be evicted now, and returns how
// long to wait for its slot. If there is none, evict returns when there may be
// one.
func (s *Server) evict() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := headPatience
	for e := s.evictable.Front(); e != nil; e = e.Next() {
		c := e.Value.(*conn)
		left := time.Until(c.evictAt)
		if left <= 0 {
			s.evictLocked(c)
			return headPatience
		}
		wait = min(wait, left)
	}
	return wait
}

func (s *Server) evictLocked(c *conn) {
	s.evictable.Remove(c.place)
	c.place = nil
	s.headBytes -= c.headBytes
	c.headBytes = 0
	_ = c.SetDeadline(time.Unix(1, 0))
	close(c.evicted)
}

// mayEvict makes c evictable after some time, and after all others: it waits
// for the rest of its head, or for its turn.
func (s *Server) mayEvict(c *conn, patience time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.evictAt = time.Now().Add(patience)
	c.place = s.evictable.PushBack(c)
}

// mayEvictFirst makes c evictable at once, before all others: it has been
// refused.
func (s *Server) mayEvictFirst(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.evictAt = time.Time{}
	c.place = s.evictable.PushFront(c)
}

// keep ends c's being evictable, and reports whether it was not evicted.
func (s *Server) keep(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.place == nil {
		return false
	}
	s.evictable.Remove(c.place)
	c.place = nil
	return true
}

// growHead raises the memory of c's large head to size bytes. The connections
// that have waited longest for the rest of a large head are evicted as far as
// that is necessary.
func (s *Server) growHead(c *conn, size int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := size - c.headBytes
	for e := s.evictable.Front(); e != nil && s.headBytes+n > maxHeadBytes; {
		other := e.Value.(*conn)
		e = e.Next()
		if other != c && other.headBytes > 0 {
			s.evictLocked(other)
		}
	}
	if c.place == nil || s.headBytes+n > maxHeadBytes {
		return false
	}
	s.headBytes += n
	c.headBytes += n
	return true
}

// freeHead returns the memory of c's head.
func (s *Server) freeHead(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.headBytes -= c.headBytes
	c.headBytes = 0
}
