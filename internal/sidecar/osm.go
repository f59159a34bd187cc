package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/kubelet"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// A view says whose call a request is that comes on one port.
type view struct {
	port   string
	common bool // paths of Istio's form are answered
	osm    map[prober.OSMRoute]*entry
	number int    // of the port
	tls    *entry // whose connections over TLS are passed on to the app; nil if none are
}

// find returns the entry that a request calls; nil if there is none.
func (v *view) find(s *Server, req *request) *entry {
	if v.osm != nil {
		route := prober.OSMRoute{Port: v.number, Path: req.target}
		if req.target == prober.OSMHealthcheckPath {
			route.TCPPort = req.header.Get(prober.OSMPortHeader)
		}
		if e := v.osm[route]; e != nil && !route.IsTLS() {
			return e
		}
	}
	if v.common {
		return s.entries[req.target]
	}
	return nil
}

// mayFind reports whether find may have an entry for a request of a target, and which, unless
// that depends on a header.
func (v *view) mayFind(s *Server, target []byte) (e *entry, may bool) {
	if v.osm != nil {
		if string(target) == prober.OSMHealthcheckPath {
			return nil, true
		}
		if e = v.osm[prober.OSMRoute{Port: v.number, Path: string(target)}]; e != nil {
			return e, true
		}
	}
	if v.common {
		e = s.entries[string(target)]
	}
	return e, e != nil
}

// ServeOSM answers calls on l, a port of Open Service Mesh's form, until l is closed. On the
// server's own port it answers those of Istio's form too, which has what the other cannot express.
func (s *Server) ServeOSM(l net.Listener, port int, probers map[string]*prober.Original) {
	v := &view{port: strconv.Itoa(port), number: port, osm: make(map[prober.OSMRoute]*entry)}
	v.common = v.port == s.port
	all := prober.OSMRoutes(probers)
	for _, key := range slices.Sorted(func(yield func(string) bool) {
		for key := range all {
			if !yield(key) {
				return
			}
		}
	}) {
		for _, route := range all[key] {
			v.add(route, s.entries[key])
		}
	}
	s.serve(l, v)
}

// add adds a route. Of entries that share one, the kubelet's request does not say which it is:
// the one with the longest timeout answers, since the kubelet itself knows when a time is over.
func (v *view) add(route prober.OSMRoute, e *entry) {
	have := v.osm[route]
	switch {
	case have == nil, have.bad != nil:
		v.osm[route] = e
	case e.bad == nil && e.target.Timeout > have.target.Timeout:
		v.osm[route] = e
	}
	if route.IsTLS() && route.Port == v.number {
		v.tls = v.osm[route]
	}
}

// tlsHandshake is the first byte of a TLS connection.
const tlsHandshake = 0x16

// errTLS says that a connection begins with TLS, which is passed on.
var errTLS = errors.New("connection speaks TLS")

// isPassedOn reports whether a connection is passed on to the app unread, by what came first.
func (c *conn) isPassedOn(first []byte) bool {
	return c.view.tls != nil &&
		c.view.tls.bad == nil &&
		len(first) > 0 &&
		first[0] == tlsHandshake
}

// passOn connects the caller with the app, until the probe's time is over. It has a place like
// any call, and keeps nothing in memory.
func (c *conn) passOn(first []byte) {
	e := c.view.tls
	if !c.takePlace(e, &request{}) {
		return
	}
	defer c.server.callEnds(&e.share, false)
	end := c.start.Add(e.target.Timeout)
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	app, err := kubelet.Dial(ctx, e.address)
	if err == nil {
		defer app.Close()
		_ = app.SetDeadline(end)
		_, err = app.Write(first)
	}
	if err != nil {
		reason := fmt.Sprintf("cannot pass TLS on to the app: %s", kubelet.OneLine(err.Error()))
		a := &kubelet.Answer{Drop: true, Reason: reason}
		e.record(c.server.log, a, time.Since(c.start), c.server.BodiesFrom)
		return
	}
	_ = c.SetDeadline(end)
	var copying sync.WaitGroup
	copying.Go(func() {
		_, _ = io.Copy(app, c.Conn)
		closeWrite(app)
	})
	_, _ = io.Copy(c.Conn, app)
	closeWrite(c.Conn)
	_ = app.Close()
	_ = c.SetReadDeadline(time.Now())
	copying.Wait()
}

// closeWrite tells a peer that nothing follows.
func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
