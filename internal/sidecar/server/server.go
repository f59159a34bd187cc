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
	"sync/atomic"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/kubelet"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// Limits of what all callers together may take. Probes and hooks have shares of
// their own, of which each key has an equal part, so that none takes the
// connections of the others.
const (
	maxConns  = 96 // connections at a time
	maxProbes = 64 // of them, calls of probes and TLS streams
	maxHooks  = 24 // and calls of hooks
	maxOfKey  = 32 // calls of one key, however few keys there are
	minOfKey  = 4  // calls of one key, however many keys there are

	headTime = 5 * time.Second // to send a request's head
	sendTime = 5 * time.Second // to take an answer
)

// collectEvery is the number of connections after which garbage is collected.
// The runtime itself waits for 1 MiB of garbage, whatever the GC percentage
// (docs/probe-proxy.md has the measurement).
const collectEvery = 32

// A Server answers calls. Make one with [New].
type Server struct {
	log     *slog.Logger
	app     kubelet.App
	entries map[string]*entry
	router  router
	slots   chan struct{} // one for each connection
	served  atomic.Uint64 // connections that are done

	mu        sync.Mutex
	evictable list.List     // of *conn, in the order of eviction; guarded by mu
	headBytes int           // taken by large heads; guarded by mu
	calls     int           // open calls; guarded by mu
	ended     chan struct{} // gets an element whenever a call ends
}

// New returns a server for probers in a dialect; port is the one that the user
// chose, for dialects whose ports are not fixed. A prober that cannot be used,
// and those in bad, are logged and answered with a failure.
func New(log *slog.Logger, app kubelet.App, d *Dialect, port int, probers map[string]*prober.Prober, bad []*prober.EntryError) *Server {
	s := &Server{
		log:     log,
		app:     app,
		entries: make(map[string]*entry, len(probers)+len(bad)),
		slots:   make(chan struct{}, maxConns),
		ended:   make(chan struct{}, 1),
	}
	for _, e := range bad {
		s.disable(d, e.Key, e.Err)
	}
	s.router = d.newRouter(s, d, port, probers)
	s.share()
	s.log = limited(log)
	return s
}

// add makes the entry of a prober.
func (s *Server) add(d *Dialect, key string, p *prober.Prober) *entry {
	_, probeType, _ := d.ParseKey(key)
	target, err := kubelet.NewTarget(s.app, probeType, p)
	if err != nil {
		return s.disable(d, key, err)
	}
	e := &entry{key: key, probeType: probeType, target: target}
	s.entries[key] = e
	return e
}

func (s *Server) disable(d *Dialect, key string, err error) *entry {
	s.log.Error("probe is disabled: its entry cannot be used", "probe", key, "reason", err.Error())
	_, probeType, _ := d.ParseKey(key)
	e := &entry{key: key, probeType: probeType, bad: err}
	s.entries[key] = e
	return e
}

// share divides the allowed calls among the keys that can be called.
func (s *Server) share() {
	var hooks, probes []*chan struct{}
	for _, e := range s.entries {
		switch {
		case e.bad != nil:
		case e.probeType.IsHook():
			hooks = append(hooks, &e.places)
		default:
			probes = append(probes, &e.places)
		}
	}
	for _, stream := range s.router.streams() {
		probes = append(probes, &stream.places)
	}
	for _, places := range hooks {
		*places = make(chan struct{}, portion(maxHooks, len(hooks)))
	}
	for _, places := range probes {
		*places = make(chan struct{}, portion(maxProbes, len(probes)))
	}
}

func portion(total, keys int) int { return min(max(total/keys, minOfKey), maxOfKey) }

// Count returns how many probes are answered, and how many are disabled.
func (s *Server) Count() (answered, disabled int) {
	for _, e := range s.entries {
		if e.bad != nil {
			disabled++
		}
	}
	return len(s.entries) - disabled, disabled
}

// Ports returns the ports to listen on.
func (s *Server) Ports() []int { return s.router.ports() }

// Serve answers calls on l, which stands for one of [Server.Ports]. It returns
// nil when l is closed.
func (s *Server) Serve(l net.Listener, port int) error {
	_, localPort, err := net.SplitHostPort(l.Addr().String())
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
			// There are no file descriptors left, or the caller has gone again.
			s.log.Warn("cannot accept a connection", "reason", err.Error())
			time.Sleep(10 * time.Millisecond)
			continue
		}
		c := &conn{Conn: nc, server: s, localPort: localPort, port: port, start: time.Now(), evicted: make(chan struct{})}
		// Before the connection can be evicted, which sets an earlier deadline.
		_ = c.SetReadDeadline(c.start.Add(headTime))
		s.admit(c)
		w.serve(c)
		// Let the call begin first.
		runtime.Gosched()
	}
}

// workers serve the connections of a listener, each in a goroutine. One of them
// is kept for the next connection, because the stack of a new goroutine would
// have to grow first.
type workers struct {
	idle chan struct{} // has an element while a goroutine waits, or is about to
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
		c.server.collect()
		select {
		case w.idle <- struct{}{}:
			c = <-w.next
		default:
			return
		}
	}
}

// end ends the goroutine that waits. Nothing may be served after it.
func (w *workers) end() { close(w.next) }

// collect counts a connection that is done, and collects garbage after every
// few.
func (s *Server) collect() {
	if s.served.Add(1)%collectEvery == 0 {
		runtime.GC()
	}
}
