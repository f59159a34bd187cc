package server

import (
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"strconv"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// OSM is the dialect of Open Service Mesh.
var OSM = &Dialect{
	EnvName:   prober.OSMEnvName,
	Mesh:      "Open Service Mesh",
	ProxyID:   prober.OSMProxyID,
	PortTaken: "Open Service Mesh probably injects its own proxy into this pod and rewrites its probes; leave the pod to one of the two: set the annotation `rewrite-probes.io/rewrite: \"false\"`, or `openservicemesh.io/sidecar-injection: disabled`",
	Decode:    prober.DecodeOSM,
	ParseKey:  prober.ParseOSMKey,
	newRouter: newOSM,
}

// An osm router tells calls apart by the port on which they come, and there by
// their path; on the port of healthchecks by the port that they name. Only
// ports that a prober has are dialled.
type osm struct {
	server *Server
	routes map[route]*entry
	tls    map[int]*stream
}

// A route is what names an entry.
type route struct {
	port   int    // ours
	target string // of the request
	named  string // the port that a healthcheck names
}

// newOSM makes the router. HTTPS probers of one type must have one port of the
// app, since nothing in their streams tells them apart: those that have another
// port than the first, in the order of their keys, are disabled.
func newOSM(s *Server, d *Dialect, _ int, probers map[string]*prober.Prober) router {
	r := &osm{server: s, routes: make(map[route]*entry), tls: make(map[int]*stream)}
	for _, key := range slices.Sorted(maps.Keys(probers)) {
		p := probers[key]
		if p.HTTPGet == nil || p.HTTPGet.Scheme != "HTTPS" {
			s.add(d, key, p)
		} else if err := r.addStream(key, p); err != nil {
			s.disable(d, key, err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.entries)) {
		r.addRoute(key, probers[key], s.entries[key])
	}
	return r
}

func (r *osm) addStream(key string, p *prober.Prober) error {
	_, probeType, _ := prober.ParseOSMKey(key)
	port, timeout := prober.OSMPort(probeType), time.Duration(p.TimeoutSeconds)*time.Second
	st := r.tls[port]
	if st == nil {
		st = &stream{port: int(p.HTTPGet.Port)}
		r.tls[port] = st
	}
	if st.port != int(p.HTTPGet.Port) {
		return fmt.Errorf("port %d passes TLS on to port %d, and streams to port %d cannot be told from those", port, st.port, p.HTTPGet.Port)
	}
	st.timeout = max(st.timeout, timeout)
	return nil
}

// addRoute adds the route of an entry. Of several healthchecks of one port, the
// one with the longest timeout answers, since each caller gives up in its own
// time.
func (r *osm) addRoute(key string, p *prober.Prober, e *entry) {
	if p == nil || p.TCPSocket == nil {
		r.routes[route{port: prober.OSMPort(e.probeType), target: key}] = e
		return
	}
	to := route{prober.OSMHealthcheckPort, prober.OSMHealthcheckPath, strconv.Itoa(int(p.TCPSocket.Port))}
	if have := r.routes[to]; have == nil || have.target == nil || e.target != nil && e.target.Timeout() > have.target.Timeout() {
		r.routes[to] = e
	}
}

// ports returns the ports on which there is something to answer, and that of
// healthchecks, where the server has its own pages.
func (r *osm) ports() []int {
	ports := map[int]bool{prober.OSMHealthcheckPort: true}
	for to := range r.routes {
		ports[to.port] = true
	}
	for port := range r.tls {
		ports[port] = true
	}
	delete(ports, 0) // of invalid keys
	return slices.Sorted(maps.Keys(ports))
}

func (r *osm) find(port int, req *request) (*entry, func() []byte, error) {
	to := route{port: port, target: req.target}
	if port != prober.OSMHealthcheckPort {
		return r.routes[to], nil, nil
	}
	if to.target == prober.OSMHealthcheckPath {
		named := req.header[textproto.CanonicalMIMEHeaderKey(prober.OSMHealthcheckHeader)]
		if len(named) != 1 {
			return nil, nil, &badRequest{400, "request must have one header " + prober.OSMHealthcheckHeader}
		}
		to.named = named[0]
	}
	return r.routes[to], r.server.ownPage(req.target), nil
}

func (r *osm) streams() map[int]*stream { return r.tls }
