// Package server answers the kubelet's rewritten probes: it listens, admits
// connections, reads one request from each and answers it with what the app
// says.
package server

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"runtime"
	"slices"
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
	budget  *budget
	served  atomic.Uint64 // calls that ended
	ended   chan struct{} // gets an element whenever a call ends

	convention *Convention
	pagePort   int // of the server's own pages
	routes     map[route]*entry
	streams    map[int]*stream // where TLS is passed on to, by the port on which it comes
}

// New returns a server for probers in a convention; port is the one that the user
// chose, for conventions whose ports are not fixed. A prober that cannot be used,
// and those in bad, are logged and answered with a failure.
func New(log *slog.Logger, app kubelet.App, c *Convention, port int, probers map[string]*prober.Prober, bad []*prober.EntryError) *Server {
	s := &Server{
		log:        log,
		app:        app,
		entries:    make(map[string]*entry),
		budget:     newBudget(),
		ended:      make(chan struct{}, 1),
		convention: c,
		pagePort:   cmp.Or(c.fixedPort, port),
		routes:     make(map[route]*entry),
		streams:    make(map[int]*stream),
	}
	for _, e := range bad {
		s.add(e.Key, nil, e.Err)
	}
	for _, key := range slices.Sorted(maps.Keys(probers)) {
		if p := probers[key]; c.passesTLS && p.HTTPGet != nil && p.HTTPGet.Scheme == "HTTPS" {
			s.addStream(c.routeTo(port, key, p).port, key, p)
		} else {
			s.add(key, p, nil)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.entries)) {
		// Of several entries of one route, the one with the longest timeout answers, since
		// each caller gives up in its own time.
		to, e := c.routeTo(port, key, probers[key]), s.entries[key]
		if have := s.routes[to]; have == nil || e.target.Timeout > have.target.Timeout {
			s.routes[to] = e
		}
	}
	s.share()
	s.log = limited(log)
	return s
}

// add makes the entry of a prober. It is disabled if err says why, or the prober cannot
// be used.
func (s *Server) add(key string, p *prober.Prober, err error) {
	_, probeType, _ := s.convention.ParseKey(key)
	var target *kubelet.Target
	if err == nil {
		target, err = kubelet.NewTarget(s.app, probeType, p)
	}
	if err != nil {
		s.log.Error("probe is disabled: its entry cannot be used", "probe", key, "reason", err.Error())
		target = new(kubelet.Target)
	}
	s.entries[key] = &entry{key: key, probeType: probeType, target: target, bad: err}
}

// addStream passes TLS that comes in on a port on to the app. HTTPS probers of one
// port of ours must have one port of the app, since nothing in their streams tells
// them apart: those that have another than the first are disabled.
func (s *Server) addStream(port int, key string, p *prober.Prober) {
	app := int(p.HTTPGet.Port.Int)
	to := s.streams[port]
	if to == nil {
		to = &stream{port: app}
		s.streams[port] = to
	}
	if to.port != app {
		s.add(key, nil, fmt.Errorf("port %d passes TLS on to port %d, and streams to port %d cannot be told from those", port, to.port, app))
		return
	}
	to.timeout = max(to.timeout, time.Duration(p.TimeoutSeconds)*time.Second)
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
	for _, stream := range s.streams {
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

// Ports returns the ports to listen on: those on which there is something to answer,
// and that of the server's own pages.
func (s *Server) Ports() []int {
	ports := slices.AppendSeq([]int{s.pagePort}, maps.Keys(s.streams))
	for to := range s.routes {
		if to.port != 0 { // of an entry to which nothing leads
			ports = append(ports, to.port)
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// Serve answers calls on l, which stands for one of [Server.Ports], until l is
// closed.
func (s *Server) Serve(l net.Listener, port int) {
	w := &workers{next: make(chan *conn)}
	defer close(w.next)
	for {
		nc, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// There are no file descriptors left, or the caller has gone again.
			s.log.Warn("cannot accept a connection", "reason", err.Error())
			time.Sleep(10 * time.Millisecond)
			continue
		}
		w.serve(newConn(s, nc, port))
		// It is served, or takes its place in a queue, before the next one comes: of
		// a burst, no more are in memory than the budget allows.
		runtime.Gosched()
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
