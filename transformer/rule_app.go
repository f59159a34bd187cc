package transformer

import (
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// excludePorts leaves the probes to the app: it notes the ports that the mesh must not
// capture. A port that a Service leads to is an error, since everything that comes in
// there would pass without mTLS.
func (d *decision) excludePorts() {
	left := slices.ContainsFunc(d.rulings, func(r ruling) bool { return r.reason == reason.None })
	list := d.mesh.excluded
	if left && d.metadata == nil {
		d.addFinding(NewFinding(reason.AnnotationsUnknown, d.spec, "this pod spec has no metadata, so the annotation `%s` has no place", list.key))
		return
	}
	if left {
		d.findings = slices.Concat(d.findings, d.against, d.conflicts)
	}
	for i := range d.rulings {
		s := &d.rulings[i]
		if s.reason != reason.None {
			continue
		}
		at := s.in("port")
		if why := d.unreachable(s.port); why != "" {
			d.addFinding(containerFinding(reason.AppElsewhere, at, s.container.Name, "Not rewritten: the kubelet cannot reach the app on port %d", s.port).
				Why("%s", why).
				Fix("Set `answeredBy: %s`", AnsweredByProbeProxy))
			continue
		}
		if service := d.exposed(s.port); service != "" {
			d.addFinding(containerFinding(reason.PortExposed, at, s.container.Name,
				"%s leads to port %d, where traffic would lose mTLS without the mesh", service, s.port))
			continue
		}
		if service := d.in.Around.ExposedElsewhere(d.pods(), s.port); service != "" {
			d.addFinding(containerFinding(reason.PortExposedElsewhere, at, s.container.Name,
				"%s in another folder leads to port %d, where traffic would lose mTLS without the mesh", service, s.port).
				Why("It counts if that folder is about the same cluster"))
		}
		d.leave(
			s,
			skip(s.site, reason.ExcludedPort, at, "the app answers on port %d, which the annotation `%s` keeps out of the mesh", s.port, list.key),
		)
		if !slices.Contains(d.excluded, s.port) {
			d.excluded = append(d.excluded, s.port)
		}
	}
}

// unreachable returns why, by a Sidecar, the kubelet does not reach the app on a port that the mesh does not capture; ""
// if it does.
func (d *decision) unreachable(port int) string {
	switch in := d.inbound(port); {
	case in.Local != "":
		return fmt.Sprintf("The app listens on %s, by %s", in.Local, in.By)
	case in.Binds != certain.Never:
		return in.By + " has Envoy listen there, also if the port is excluded"
	}
	return ""
}
