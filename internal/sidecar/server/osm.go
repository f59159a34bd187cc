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
type osm struct{ fixedPorts }

// newOSM makes the router. HTTPS probers of one type must have one port of the
// app, since nothing in their streams tells them apart: those that have another
// port than the first, in the order of their keys, are disabled.
func newOSM(s *Server, c *Convention, _ int, probers map[string]*prober.Prober) router {
	r := &osm{fixedPorts{s, make(map[route]*entry), make(map[int]*stream)}}
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
		r.add(osmRoute(key, e.probeType, probers[key]), e)
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

// osmRoute returns the route of an entry, whose prober is nil if it is bad.
func osmRoute(key string, probeType prober.ProbeType, p *prober.Prober) route {
	if p == nil || p.TCPSocket == nil {
		return route{port: prober.OSMPort(probeType), path: key}
	}
	return route{port: prober.OSMHealthcheckPort, path: prober.OSMHealthcheckPath, tcp: p.TCPSocket.Port.String()}
}

func (r *osm) find(port int, req *request) (*entry, func() []byte, error) {
	to := route{port: port, path: req.target}
	if port != prober.OSMHealthcheckPort {
		return r.routes[to], nil, nil
	}
	if to.path == prober.OSMHealthcheckPath {
		named := req.header[textproto.CanonicalMIMEHeaderKey(prober.OSMHealthcheckHeader)]
		if len(named) != 1 {
			return nil, nil, &badRequest{400, "request must have one header " + prober.OSMHealthcheckHeader}
		}
		to.tcp = named[0]
	}
	return r.routes[to], r.server.ownPage(req.target), nil
}
