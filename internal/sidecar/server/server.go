// Package server answers the kubelet's rewritten probes: it listens, admits
// connections, reads one request from each and answers it with what the app
// says.
package server

import (
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

const (
	headTime = 5 * time.Second // to send a request's head
	sendTime = 5 * time.Second // to take an answer
)

// collectEvery is the number of calls after which garbage is collected.
// The runtime itself waits for 1 MiB of garbage, whatever the GC percentage
// (docs/probe-proxy.md has the measurement).
const collectEvery = 32

// A Server answers calls. Make one with [New].
type Server struct {
	Bodies Bodies // to be set before [Server.Serve]

	log     *slog.Logger
	app     kubelet.App
	entries map[string]*entry
	router  router
	budget  *budget
	served  atomic.Uint64 // calls that are done

	mu    sync.Mutex
	calls int           // open calls; guarded by mu
	ended chan struct{} // gets an element whenever a call ends
}

// New returns a server for probers in a convention; port is the one that the user
// chose, for conventions whose ports are not fixed. A prober that cannot be used,
// and those in bad, are logged and answered with a failure.
func New(log *slog.Logger, app kubelet.App, c *Convention, port int, probers map[string]*prober.Prober, bad []*prober.EntryError) *Server {
	s := &Server{
		log:     log,
		app:     app,
		entries: make(map[string]*entry, len(probers)+len(bad)),
		budget:  newBudget(),
		ended:   make(chan struct{}, 1),
	}
	for _, e := range bad {
		s.disable(c, e.Key, e.Err)
	}
	s.router = c.newRouter(s, c, port, probers)
	s.share()
	s.log = limited(log)
	return s
}

// add makes the entry of a prober.
func (s *Server) add(c *Convention, key string, p *prober.Prober) *entry {
	_, probeType, _ := c.ParseKey(key)
	target, err := kubelet.NewTarget(s.app, probeType, p)
	if err != nil {
		return s.disable(c, key, err)
	}
	e := &entry{key: key, probeType: probeType, target: target}
	s.entries[key] = e
	return e
}

func (s *Server) disable(c *Convention, key string, err error) *entry {
	s.log.Error("probe is disabled: its entry cannot be used", "probe", key, "reason", err.Error())
	_, probeType, _ := c.ParseKey(key)
	e := &entry{key: key, probeType: probeType, bad: err}
	s.entries[key] = e
	return e
}

// share divides the budget among the keys that can be called.
func (s *Server) share() {
	var hooks, probes []*share
	for _, e := range s.entries {
		switch {
		case e.bad != nil:
		case e.probeType.IsHook():
			hooks = append(hooks, &e.share)
		default:
			probes = append(probes, &e.share)
		}
	}
	for _, stream := range s.router.streams() {
		probes = append(probes, &stream.share)
	}
	s.budget.divide(maxHooks, hooks)
	s.budget.divide(maxProbes, probes)
}

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
	w := &workers{next: make(chan *conn)}
	defer close(w.next)
	for n := 0; ; n++ {
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
		c, whole := newConn(s, nc, localPort, port)
		w.serve(c)
		// Let a call begin first; connections without a request must not keep it in
		// the kernel's queue.
		if whole || n%16 == 0 {
			runtime.Gosched()
		}
	}
}

// workers serve the connections of a listener, each in a goroutine. One of them
// is kept for the next connection, because the stack of a new goroutine would
// have to grow first.
type workers struct {
	idle atomic.Bool // a goroutine waits
	next chan *conn
}

func (w *workers) serve(c *conn) {
	select {
	case w.next <- c:
	default:
		go w.run(c)
	}
}

func (w *workers) run(c *conn) {
	for c != nil {
		c.serve()
		if !w.idle.CompareAndSwap(false, true) {
			return
		}
		c = <-w.next
		w.idle.Store(false)
	}
}

// collect counts a call that is done, and collects garbage after every few.
func (s *Server) collect() {
	if s.served.Add(1)%collectEvery == 0 {
		runtime.GC()
	}
}
