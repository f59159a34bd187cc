package server

import (
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// OSM is the convention of Open Service Mesh.
var OSM = &Convention{
	Format:    prober.OSM,
	Mesh:      "Open Service Mesh",
	ProxyID:   prober.OSMProxyID,
	PortTaken: leaveToOne("Open Service Mesh", "openservicemesh.io/sidecar-injection"),
	newRouter: newOSM,
}

// An osm router finds the entry of a call by the port on which it comes and its
// path; on the port of healthchecks also by the port that the call names. Only
// ports that a prober has are dialled.
type osm struct {
	server *Server
	routes map[osmRoute]*entry
	tls    map[int]*stream
}

// An osmRoute is what leads to an entry.
type osmRoute struct {
	port   int    // ours
	target string // of the request
	named  string // the port that a healthcheck names
}

// newOSM makes the router. HTTPS probers of one type must have one port of the
// app, since nothing in their streams tells them apart: those that have another
// port than the first, in the order of their keys, are disabled.
func newOSM(s *Server, c *Convention, _ int, probers map[string]*prober.Prober) router {
	r := &osm{server: s, routes: make(map[osmRoute]*entry), tls: make(map[int]*stream)}
	for _, key := range slices.Sorted(maps.Keys(probers)) {
		p := probers[key]
		if p.HTTPGet == nil || p.HTTPGet.Scheme != "HTTPS" {
			s.add(c, key, p)
		} else if err := r.addStream(key, p); err != nil {
			s.disable(c, key, err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.entries)) {
		e := s.entries[key]
		addRoute(r.routes, osmRouteOf(key, e.probeType, probers[key]), e)
	}
	return r
}

func (r *osm) addStream(key string, p *prober.Prober) error {
	_, probeType, _ := prober.ParseOSMKey(key)
	port, timeout := prober.OSMPort(probeType), time.Duration(p.TimeoutSeconds)*time.Second
	tls := r.tls[port]
	if tls == nil {
		tls = &stream{port: int(p.HTTPGet.Port.Int)}
		r.tls[port] = tls
	}
	if tls.port != int(p.HTTPGet.Port.Int) {
		return fmt.Errorf("port %d passes TLS on to port %d, and streams to port %s cannot be told from those", port, tls.port, p.HTTPGet.Port)
	}
	tls.timeout = max(tls.timeout, timeout)
	return nil
}

// osmRouteOf returns the route of an entry, whose prober is nil if it is bad.
func osmRouteOf(key string, probeType prober.ProbeType, p *prober.Prober) osmRoute {
	if p == nil || p.TCPSocket == nil {
		return osmRoute{port: prober.OSMPort(probeType), target: key}
	}
	return osmRoute{prober.OSMHealthcheckPort, prober.OSMHealthcheckPath, p.TCPSocket.Port.String()}
}

// ports returns the ports on which there is something to answer, and that of
// healthchecks, where the server has its own pages.
func (r *osm) ports() []int {
	ports := map[int]bool{prober.OSMHealthcheckPort: true}
	for route := range r.routes {
		ports[route.port] = true
	}
	for port := range r.tls {
		ports[port] = true
	}
	delete(ports, 0) // of invalid keys
	return slices.Sorted(maps.Keys(ports))
}

func (r *osm) find(port int, req *request) (*entry, func() []byte, error) {
	to := osmRoute{port: port, target: req.target}
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
