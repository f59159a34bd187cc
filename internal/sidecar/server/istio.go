package server

import "github.com/rewrite-probes/rewrite-probes/internal/prober"

// Istio is the convention of Istio.
var Istio = &Convention{
	Format:    prober.Istio,
	Mesh:      "Istio",
	ProxyID:   prober.IstioProxyID,
	PortTaken: "Istio's own sidecar is probably injected into this pod; set `answeredBy: istio-proxy`, or another `port`, in the functionConfig of rewrite-probes",
	newRouter: newIstio,
}

// An istio router answers everything on one port, by the request's path.
type istio struct {
	server *Server
	port   int
}

func newIstio(s *Server, c *Convention, port int, probers map[string]*prober.Prober) router {
	for key, p := range probers {
		s.add(c, key, p)
	}
	return &istio{s, port}
}

func (r *istio) ports() []int { return []int{r.port} }

func (r *istio) find(_ int, req *request) (*entry, func() []byte, error) {
	return r.server.entries[req.target], r.server.ownPage(req.target), nil
}

func (r *istio) streams() map[int]*stream { return nil }
