// Package sidecar answers the kubelet's rewritten probes: it listens, admits
// connections, reads one request from each and answers it with what the app
// says.
package sidecar

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"net"
	"runtime"
	"slices"
	"strconv"
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
	// BodiesFrom is the lowest status of which callers get the app's body: the kubelet
	// judges by the status, and shows a body only in the event of a redirect to another
	// host. Set it before [Server.Serve].
	BodiesFrom int

	log     *slog.Logger
	appIP   string
	port    string            // on which calls come
	entries map[string]*entry // by the path of their calls
	budget  *budget
	served  atomic.Uint64 // calls that ended
	ended   chan struct{} // gets an element whenever a call ends
}

// New returns a server for the probers of an app, by their keys. Its calls come on a
// port of the pod. A prober that cannot be used, and those in bad, are logged and
// answered with a failure.
func New(
	log *slog.Logger, appIP string, port int,
	probers map[string]*prober.Original, bad []*prober.EntryError,
) *Server {
	s := &Server{
		log:     log,
		appIP:   appIP,
		port:    strconv.Itoa(port),
		entries: make(map[string]*entry),
		budget:  newBudget(),
		ended:   make(chan struct{}, 1),
	}
	s.budget.files = openFiles()
	for _, e := range bad {
		s.add(e.Key, nil, e.Err)
	}
	for _, key := range slices.Sorted(maps.Keys(probers)) {
		s.add(key, probers[key], nil)
	}
	s.share()
	s.log = limited(log)
	return s
}

// add makes the entry of a prober. It is disabled if err says why, or the prober cannot
// be used.
func (s *Server) add(key string, p *prober.Original, err error) {
	_, probeType, _ := prober.ParseKey(key)
	var target *kubelet.Target
	if err == nil {
		target, err = kubelet.NewTarget(s.appIP, probeType, p)
	}
	if err != nil {
		s.log.Error("probe is disabled: its entry cannot be used", "probe", key, "reason", err.Error())
	}
	e := &entry{key: key, probeType: probeType, target: target, bad: err}
	if p != nil && p.HTTPGet != nil {
		e.address = net.JoinHostPort(s.appIP, p.HTTPGet.Port.String())
	}
	s.entries[key] = e
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
	s.budget.divide(maxHooks, hooks)
	s.budget.divide(maxProbes, probes)
	calls := 0
	for _, s := range append(hooks, probes...) {
		calls += cap(s.places)
	}
	s.budget.fit(calls)
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

// Serve answers calls on l until l is closed.
func (s *Server) Serve(l net.Listener) {
	s.serve(l, &view{port: s.port, common: true})
}

func (s *Server) serve(l net.Listener, v *view) {
	w := &workers{next: make(chan *conn)}
	defer close(w.next)
	waiting := newLines(s.budget.maxInLines, drop)
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
		if c := newConn(s, v, nc); !c.answeredAtOnce() {
			w.serve(c)
		}
		for s.takeWaiting(l, v, w, waiting) {
			time.Sleep(restTime)
		}
	}
}

// takeWaiting accepts connections that wait, answers those that it can answer at once, and serves
// some of the others. It returns whether there are more.
func (s *Server) takeWaiting(l net.Listener, v *view, w *workers, waiting *lines) bool {
	more := acceptWaiting(l, acceptAtOnce, waiting.buf[:], func(socket int, first []byte) {
		answer, called := v.atOnce(s, first)
		if answer != nil {
			answerNow(socket, answer, s.budget.leaveBehind)
			return
		}
		waiting.add(called, inLine{socket, bytes.Clone(first), time.Now()})
	})
	waiting.serve(func(c inLine) {
		if conn := connOf(c.socket); conn != nil {
			w.serve(newConnWith(s, v, conn, c.first, c.start))
		}
	})
	return more || waiting.len > 0
}

// workers serve the connections of a listener, each in a goroutine. One of them
// is kept for the next connection, because the stack of a new goroutine would
// have to grow first.
type workers struct {
	idle atomic.Bool // a goroutine waits
	next chan *conn
}

// serve serves a connection, or has it take its place in a queue, before it returns: of a
// burst, no more are in memory than the budget allows.
func (w *workers) serve(c *conn) {
	select {
	case w.next <- c:
	default:
		go w.run(c)
	}
	runtime.Gosched()
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
