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
type fsm struct {
	server *Server
	routes map[fsmRoute]*entry
}

// An fsmRoute is what leads to an entry: where the app's probe goes.
type fsmRoute struct {
	port int    // ours
	http string // the app's port, of a probe over plain HTTP
	tcp  string // the app's port, of any other probe
	path string
}

func newFSM(s *Server, c *Convention, _ int, probers map[string]*prober.Prober) router {
	r := &fsm{server: s, routes: make(map[fsmRoute]*entry)}
	for _, key := range slices.Sorted(maps.Keys(probers)) {
		e := s.add(c, key, probers[key])
		addRoute(r.routes, fsmRouteOf(e.probeType, probers[key]), e)
	}
	return r
}

func fsmRouteOf(probeType prober.ProbeType, p *prober.Prober) fsmRoute {
	switch {
	case p.TCPSocket != nil:
		return fsmRoute{port: prober.OSMHealthcheckPort, tcp: p.TCPSocket.Port.String()}
	case p.HTTPGet.Scheme == "HTTPS":
		return fsmRoute{port: prober.OSMPort(probeType), tcp: p.HTTPGet.Port.String(), path: p.HTTPGet.Path}
	}
	return fsmRoute{port: prober.OSMPort(probeType), http: p.HTTPGet.Port.String(), path: p.HTTPGet.Path}
}

// ports returns the ports on which there is something to answer, and that of
// healthchecks, where the server has its own pages.
func (r *fsm) ports() []int {
	ports := map[int]bool{prober.OSMHealthcheckPort: true}
	for route := range r.routes {
		ports[route.port] = true
	}
	return slices.Sorted(maps.Keys(ports))
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
	to := fsmRoute{port: port}
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

func (r *fsm) streams() map[int]*stream { return nil }
