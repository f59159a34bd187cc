package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// checkIngresses warns of the first probe from which a load balancer takes its health
// check only as long as it is not rewritten.
func checkIngresses(d *decision) []Finding {
	for _, s := range d.toRewrite {
		path := healthPath(s)
		if path == "" {
			continue
		}
		v, fix := d.in.Around.HealthCheckBy(d.pods(), s.port, path, s.name == prober.Readiness)
		if v != nil {
			return []Finding{containerFinding(reason.IngressHealthCheck, s.path, s.container.Name,
				"after the rewriting, the load balancer of %s asks for / instead of %s", v.Words(), path).
				Why("It takes the path from a probe of port %d", s.port).
				Fix("%s", fix)}
		}
	}
	return nil
}

// healthPath returns the path that a load balancer takes from a probe for its health check
// in place of /; "" if it takes none.
func healthPath(s *site) string {
	h := s.original.HTTPGet
	switch {
	case h == nil, h.Path == "/", s.at.Init, !s.container.Declares(s.port):
		return ""
	case s.name != prober.Readiness && s.name != prober.Liveness:
		return ""
	case slices.ContainsFunc(h.HTTPHeaders, isNotHost):
		return ""
	}
	return h.Path
}

func isNotHost(h pod.HTTPHeader) bool { return h.Name != "Host" }
