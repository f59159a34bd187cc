package server

import "time"

// How long a connection is safe from eviction: the rest of its head may be on
// its way, or a call before it may end.
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

// evict evicts the first connection that may be evicted now, if there is one. It
// returns how long to wait for a slot before evict is called again.
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
	s.evictable.Remove(c.evictable)
	c.evictable = nil
	s.headBytes -= c.headBytes
	c.headBytes = 0
	_ = c.SetDeadline(time.Unix(1, 0))
	close(c.evicted)
}

// mayEvict makes c evictable after patience, and after all others. c waits for
// the rest of its head, or for a place.
func (s *Server) mayEvict(c *conn, patience time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.evictAt = time.Now().Add(patience)
	c.evictable = s.evictable.PushBack(c)
}

// mayEvictFirst makes c evictable at once, before all others. c has been
// refused.
func (s *Server) mayEvictFirst(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.evictAt = time.Time{}
	c.evictable = s.evictable.PushFront(c)
}

// keep makes c safe from eviction. It returns false if c was evicted before.
func (s *Server) keep(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.evictable == nil {
		return false
	}
	s.evictable.Remove(c.evictable)
	c.evictable = nil
	return true
}

// growHead reserves size bytes for c's large head. If there are not as many, it
// evicts others that wait for the rest of a large head, the oldest first.
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
	if c.evictable == nil || s.headBytes+n > maxHeadBytes {
		return false
	}
	s.headBytes += n
	c.headBytes += n
	return true
}

// freeHead releases what growHead reserved.
func (s *Server) freeHead(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.headBytes -= c.headBytes
	c.headBytes = 0
}
