package server

import (
	"maps"
	"net/textproto"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// FSM is the convention of Flomesh Service Mesh.
var FSM = &Convention{
	Format:    prober.FSM,
	Mesh:      "Flomesh Service Mesh",
	ProxyID:   prober.OSMProxyID,
	PortTaken: leaveToOne("Flomesh Service Mesh", "flomesh.io/sidecar-injection"),
	newRouter: newFSM,
}

// An fsm router finds the entry of a call by the port on which it comes and by
// the headers that say where the probe goes. Only what a prober has is called.
type fsm struct{ fixedPorts }

func newFSM(s *Server, c *Convention, _ int, probers map[string]*prober.Prober) router {
	r := &fsm{fixedPorts{server: s, routes: make(map[route]*entry)}}
	for _, key := range slices.Sorted(maps.Keys(probers)) {
		e := s.add(c, key, probers[key])
		r.add(fsmRoute(e.probeType, probers[key]), e)
	}
	return r
}

// fsmRoute returns the route of an entry: where the app's probe goes.
func fsmRoute(probeType prober.ProbeType, p *prober.Prober) route {
	switch {
	case p.TCPSocket != nil:
		return route{port: prober.OSMHealthcheckPort, tcp: p.TCPSocket.Port.String()}
	case p.HTTPGet.Scheme == "HTTPS":
		return route{port: prober.OSMPort(probeType), tcp: p.HTTPGet.Port.String(), path: p.HTTPGet.Path}
	}
	return route{port: prober.OSMPort(probeType), http: p.HTTPGet.Port.String(), path: p.HTTPGet.Path}
}

// find removes the headers that lead to the entry from the request: the app's
// probe did not have them.
func (r *fsm) find(port int, req *request) (*entry, func() []byte, error) {
	if req.target != prober.FSMPath {
		if port == prober.OSMHealthcheckPort {
			return nil, r.server.ownPage(req.target), nil
		}
		return nil, nil, nil
	}
	to := route{port: port}
	for name, field := range map[string]*string{prober.FSMHTTPPortHeader: &to.http, prober.FSMTCPPortHeader: &to.tcp, prober.FSMHTTPPathHeader: &to.path} {
		name = textproto.CanonicalMIMEHeaderKey(name)
		values := req.header[name]
		if len(values) > 1 {
			return nil, nil, &badRequest{400, "request must have one header " + name}
		}
		if len(values) == 1 {
			*field = values[0]
		}
		delete(req.header, name)
	}
	if (to.http == "") == (to.tcp == "") {
		return nil, nil, &badRequest{400, "request must have one header " + prober.FSMHTTPPortHeader + " or " + prober.FSMTCPPortHeader}
	}
	return r.routes[to], nil, nil
}
