package server

import (
	"net/textproto"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// FSM is the convention of Flomesh Service Mesh. A call is told by the port on which
// it comes and by the headers that say where the probe goes. Only what a prober has
// is called.
var FSM = &Convention{
	Format:    prober.FSM,
	Mesh:      "Flomesh Service Mesh",
	ProxyID:   prober.OSMProxyID,
	PortTaken: leaveToOne("Flomesh Service Mesh", "flomesh.io/sidecar-injection"),
	fixedPort: prober.OSMHealthcheckPort,
	routeTo:   fsmRouteTo,
	routeOf:   fsmRouteOf,
}

func fsmRouteTo(_ int, key string, p *prober.Prober) route {
	_, probeType, _ := prober.FSM.ParseKey(key)
	switch {
	case p == nil:
		return route{} // nothing leads to it
	case p.TCPSocket != nil:
		return route{port: prober.OSMHealthcheckPort, tcp: p.TCPSocket.Port.String()}
	case p.HTTPGet.Scheme == "HTTPS":
		return route{port: prober.OSMPort(probeType), tcp: p.HTTPGet.Port.String(), path: p.HTTPGet.Path}
	}
	return route{port: prober.OSMPort(probeType), http: p.HTTPGet.Port.String(), path: p.HTTPGet.Path}
}

func fsmRouteOf(port int, req *request) (route, *badRequest) {
	to := route{port: port}
	if req.target != prober.FSMPath {
		return to, nil
	}
	for name, field := range map[string]*string{prober.FSMHTTPPortHeader: &to.http, prober.FSMTCPPortHeader: &to.tcp, prober.FSMHTTPPathHeader: &to.path} {
		name = textproto.CanonicalMIMEHeaderKey(name)
		if len(req.header[name]) > 1 {
			return to, &badRequest{400, "request must have one header " + name}
		}
		*field = req.header.Get(name)
		delete(req.header, name)
	}
	if (to.http == "") == (to.tcp == "") {
		return to, &badRequest{400, "request must have one header " + prober.FSMHTTPPortHeader + " or " + prober.FSMTCPPortHeader}
	}
	return to, nil
}
