package server

import (
	"net/textproto"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// OSM is the convention of Open Service Mesh. A call is told by the port on which it
// comes and its path; on the port of healthchecks also by the port that it names.
// Only ports that a prober has are dialled.
var OSM = &Convention{
	Format:    prober.OSM,
	Mesh:      "Open Service Mesh",
	ProxyID:   prober.OSMProxyID,
	PortTaken: leaveToOne("Open Service Mesh", "openservicemesh.io/sidecar-injection"),
	fixedPort: prober.OSMHealthcheckPort,
	passesTLS: true,
	routeTo:   osmRouteTo,
	routeOf:   osmRouteOf,
}

func osmRouteTo(_ int, key string, p *prober.Prober) route {
	if p == nil || p.TCPSocket == nil {
		_, probeType, _ := prober.ParseOSMKey(key)
		return route{port: prober.OSMPort(probeType), path: key}
	}
	return route{port: prober.OSMHealthcheckPort, path: prober.OSMHealthcheckPath, tcp: p.TCPSocket.Port.String()}
}

func osmRouteOf(port int, req *request) (route, *badRequest) {
	to := route{port: port, path: req.target}
	if port == prober.OSMHealthcheckPort && to.path == prober.OSMHealthcheckPath {
		named := req.header[textproto.CanonicalMIMEHeaderKey(prober.OSMHealthcheckHeader)]
		if len(named) != 1 {
			return to, &badRequest{400, "request must have one header " + prober.OSMHealthcheckHeader}
		}
		to.tcp = named[0]
	}
	return to, nil
}
