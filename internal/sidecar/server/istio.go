package server

import "github.com/rewrite-probes/rewrite-probes/internal/prober"

// Istio is the convention of Istio.
var Istio = &Convention{
	Format:    prober.Istio,
	Mesh:      "Istio",
	ProxyID:   prober.IstioProxyID,
	PortTaken: "Istio's own sidecar is probably injected into this pod; set `answeredBy: istio-proxy`, or another `port`, in the functionConfig of rewrite-probes",
	routeTo: func(chosen int, key string, _ *prober.Prober) route {
		return route{port: chosen, path: key}
	},
	routeOf: func(port int, req *request) (route, *badRequest) {
		return route{port: port, path: req.target}, nil
	},
}
