package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/textproto"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/sidecar/kubelet"
)

// An osm says how calls are told apart in the dialect osm: by the port on
// which they come, and there by their path; on the port of healthchecks by the
// port that they name, of which only those that a prober has are dialled.
type osm struct {
	app     kubelet.App
	routes  map[route]*entry
	streams map[int]*stream
}

// A route is what names an entry.
type route struct {
	port   int    // ours
	target string // of the request
	named  string // the port that a healthcheck names
}

// A stream is where TLS goes that comes in on one port.
type stream struct {
	port    int // of the app
	timeout time.Duration
	open    atomic.Int32 // connections
	down    atomic.Bool  // the last could not be passed on
}

// NewOSM prepares the answering of the probers in the dialect osm, on the
// ports that [Server.OSMPorts] gives. HTTPS probers of one slot must have one
// port of the app, since nothing in their streams tells them apart: those that
// have another than the first, in the order of their keys, are disabled.
func NewOSM(log *slog.Logger, app kubelet.App, probers map[string]*prober.Prober, bad []*prober.EntryError) *Server {
	o := &osm{app: app, routes: make(map[route]*entry), streams: make(map[int]*stream)}
	targets := make(map[string]*prober.Prober, len(probers))
	for _, key := range slices.Sorted(maps.Keys(probers)) {
		p := probers[key]
		if p.HTTPGet == nil || p.HTTPGet.Scheme != "HTTPS" {
			targets[key] = p
		} else if err := o.addStream(key, p); err != nil {
			bad = append(bad, &prober.EntryError{Key: key, Err: err})
		}
	}
	s := New(log, app, targets, bad)
	s.osm = o
	for _, key := range slices.Sorted(maps.Keys(s.entries)) {
		o.addRoute(key, targets[key], s.entries[key])
	}
	return s
}

func (o *osm) addStream(key string, p *prober.Prober) error {
	_, slot, _ := prober.ParseOSMKey(key)
	port, timeout := prober.OSMPort(slot), time.Duration(p.TimeoutSeconds)*time.Second
	st := o.streams[port]
	if st == nil {
		st = &stream{port: int(p.HTTPGet.Port)}
		o.streams[port] = st
	}
	if st.port != int(p.HTTPGet.Port) {
		return fmt.Errorf("port %d passes TLS on to port %d, and streams to port %d cannot be told from those", port, st.port, p.HTTPGet.Port)
	}
	st.timeout = max(st.timeout, timeout)
	return nil
}

// addRoute: of several healthchecks of one port that with the longest timeout
// answers, since whoever calls gives up in its own time.
func (o *osm) addRoute(key string, p *prober.Prober, e *entry) {
	if p == nil || p.TCPSocket == nil {
		_, slot, _ := prober.ParseOSMKey(key)
		o.routes[route{port: prober.OSMPort(slot), target: key}] = e
		return
	}
	r := route{prober.OSMHealthcheckPort, prober.OSMHealthcheckPath, strconv.Itoa(int(p.TCPSocket.Port))}
	if have := o.routes[r]; have == nil || have.target == nil || e.target != nil && e.target.Timeout() > have.target.Timeout() {
		o.routes[r] = e
	}
}

// OSMPorts gives the ports on which there is something to answer, with that of
// healthchecks, where the server answers for itself.
func (s *Server) OSMPorts() []int {
	ports := map[int]bool{prober.OSMHealthcheckPort: true}
	for r := range s.osm.routes {
		ports[r.port] = true
	}
	for port := range s.osm.streams {
		ports[port] = true
	}
	delete(ports, 0) // of keys that are none
	return slices.Sorted(maps.Keys(ports))
}

// ServeOSM answers what comes in on l as on the convention's port, until l is
// closed.
func (s *Server) ServeOSM(l net.Listener, port int) error { return s.serve(l, port) }

// find gives the entry or the page that a request is for; neither where there
// is none.
func (s *Server) find(c *conn, req *request) (e *entry, page func() []byte, err *badRequest) {
	if s.osm == nil || c.osmPort == prober.OSMHealthcheckPort {
		switch req.target {
		case "/healthz":
			page = func() []byte { return []byte("ok\n") }
		case "/metrics":
			page = s.metrics
		}
	}
	if s.osm == nil {
		return s.entries[req.target], page, nil
	}
	r := route{port: c.osmPort, target: req.target}
	if r.port == prober.OSMHealthcheckPort && r.target == prober.OSMHealthcheckPath {
		named := req.header[textproto.CanonicalMIMEHeaderKey(prober.OSMHealthcheckHeader)]
		if len(named) != 1 {
			return nil, nil, &badRequest{400, "request must have one header " + prober.OSMHealthcheckHeader}
		}
		r.named = named[0]
	}
	return s.osm.routes[r], page, nil
}

// recordHandshake is the first byte of any TLS connection (RFC 8446, section
// 5.1), and of no HTTP request.
const recordHandshake = 0x16

// stream gives where the connection is to be passed on, nil where it is no TLS
// or nothing takes any.
func (c *conn) stream() *stream {
	if c.server.osm == nil {
		return nil
	}
	st := c.server.osm.streams[c.osmPort]
	if st == nil {
		return nil
	}
	if first, err := c.br.Peek(1); err != nil || first[0] != recordHandshake {
		return nil
	}
	return st
}

// passThrough passes the bytes of both sides on, until both have said all, or
// the time of the slowest probe is over.
func (c *conn) passThrough(st *stream) {
	defer st.open.Add(-1)
	if st.open.Add(1) > maxCalls {
		return
	}
	c.server.callBegins(nil)
	defer c.server.callEnds(nil)
	ctx, cancel := context.WithDeadline(context.Background(), c.start.Add(st.timeout))
	defer cancel()
	app, stop, err := c.server.osm.app.Dial(ctx, strconv.Itoa(st.port))
	if down := err != nil; st.down.Swap(down) != down {
		c.server.logStream(c.osmPort, st.port, err)
	}
	if err != nil {
		return
	}
	defer app.Close()
	defer stop()
	deadline, _ := ctx.Deadline()
	_ = c.SetDeadline(deadline)
	back := make(chan struct{})
	go func() {
		defer close(back)
		pass(c.Conn, app)
	}()
	pass(app, c.br)
	<-back
}

func (s *Server) logStream(port, to int, err error) {
	if err == nil {
		s.log.Info("TLS is passed on again", "port", port, "to", to)
		return
	}
	s.log.Warn("TLS cannot be passed on", "port", port, "to", to, "reason", err.Error())
}

// pass copies what src says to dst, and its end. Where dst takes no more, src
// is told by its connection's end, which comes with the other direction's.
func pass(dst net.Conn, src io.Reader) {
	_, err := io.Copy(dst, src)
	if half, ok := dst.(halfCloser); ok && (err == nil || errors.Is(err, io.EOF)) {
		_ = half.CloseWrite()
		return
	}
	_ = dst.SetDeadline(time.Unix(1, 0))
}
