// Package server answers the kubelet's rewritten probes: it listens, admits
// connections, reads one request from each and answers it with what the app
// says.
package server

import (
	"container/list"
	"errors"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/sidecar/kubelet"
	"github.com/rewrite-probes/rewrite-probes/internal/sidecar/socket"
)

// Limits of what callers may take, whoever they are.
const (
	maxConns = 96              // connections at a time
	maxCalls = 32              // calls of one key at a time
	maxHead  = 64 << 10        // bytes of a request's head
	headTime = 5 * time.Second // to send a request's head
	sendTime = 5 * time.Second // to take an answer
)

// A Server answers calls. Make one with [New].
type Server struct {
	log     *slog.Logger
	entries map[string]*entry
	osm     *osm          // nil in the dialect istio
	slots   chan struct{} // one for each connection

	mu    sync.Mutex
	heads list.List     // of *conn that may be evicted, in this order: they were refused, or no head has come; guarded by mu
	calls int           // open calls; guarded by mu
	idle  chan struct{} // gets a token whenever a call ends
}

// New prepares the answering of the probers. A prober that cannot be used,
// and those in bad, are logged and answered with a failure.
func New(log *slog.Logger, app kubelet.App, probers map[string]*prober.Prober, bad []*prober.EntryError) *Server {
	s := &Server{
		log:     log,
		entries: make(map[string]*entry, len(probers)+len(bad)),
		slots:   make(chan struct{}, maxConns),
		idle:    make(chan struct{}, 1),
	}
	for _, e := range bad {
		s.disable(e.Key, e.Err)
	}
	for key, p := range probers {
		target, err := kubelet.NewTarget(app, key, p)
		if err != nil {
			s.disable(key, err)
			continue
		}
		_, slot, _ := prober.ParseKey(key)
		s.entries[key] = &entry{key: key, target: target, preStop: slot == prober.PreStop}
	}
	return s
}

func (s *Server) disable(key string, err error) {
	s.log.Error("probe is disabled: its entry cannot be used", "probe", key, "reason", err.Error())
	_, slot, _ := prober.ParseKey(key)
	s.entries[key] = &entry{key: key, hook: slot.IsHook(), bad: err}
}

// Listen opens the port on all addresses, IPv4 and IPv6.
func Listen(port int) (net.Listener, error) { return socket.Listen(port, headTime) }

// Serve answers what comes in on l until l is closed, then returns nil.
func (s *Server) Serve(l net.Listener) error { return s.serve(l, 0) }

func (s *Server) serve(l net.Listener, osmPort int) error {
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return err
	}
	w := newWorkers()
	defer w.end()
	for {
		nc, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			// Out of file descriptors, or the caller was quick to give up.
			s.log.Warn("cannot accept a connection", "reason", err.Error())
			time.Sleep(10 * time.Millisecond)
			continue
		}
		c := &conn{Conn: nc, server: s, port: port, osmPort: osmPort, start: time.Now()}
		// Before it can be evicted, which is done by an earlier deadline.
		_ = c.SetReadDeadline(c.start.Add(headTime))
		s.admit(c)
		w.serve(c)
		// The call first: asking for another connection costs it 4 µs where
		// there is none.
		runtime.Gosched()
	}
}

// The workers of a listener serve its connections, each in a goroutine. One of
// those that are done waits for the next connection, because the stack of a
// new goroutine has to grow on its way to the app: 15 µs after a pause.
type workers struct {
	idle chan struct{} // has an element where one waits, or is about to
	next chan *conn
}

func newWorkers() *workers { return &workers{make(chan struct{}, 1), make(chan *conn)} }

func (w *workers) serve(c *conn) {
	select {
	case <-w.idle:
		w.next <- c
	default:
		go w.run(c)
	}
}

func (w *workers) run(c *conn) {
	for c != nil {
		c.serve()
		select {
		case w.idle <- struct{}{}:
			c = <-w.next
		default:
			return
		}
	}
}

// end ends the worker that waits, when nothing more will be served.
func (w *workers) end() { close(w.next) }

// admit takes a slot for the connection. Where none is free, the connection
// that has waited longest for the head of its request loses its own: a caller
// that means it sends that at once.
func (s *Server) admit(c *conn) {
	select {
	case s.slots <- struct{}{}:
	default:
		s.evict()
		s.slots <- struct{}{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.head = s.heads.PushBack(c)
}

func (s *Server) evict() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if oldest := s.heads.Front(); oldest != nil {
		c := s.heads.Remove(oldest).(*conn)
		c.head = nil
		_ = c.SetDeadline(time.Unix(1, 0))
	}
}

// expendable says that c has been refused and may be evicted before others.
func (s *Server) expendable(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.head = s.heads.PushFront(c)
}

// headDone says that c's head has come, or never will. A connection that
// was evicted is told so.
func (s *Server) headDone(c *conn) (evicted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.head == nil {
		return true
	}
	s.heads.Remove(c.head)
	c.head = nil
	return false
}
