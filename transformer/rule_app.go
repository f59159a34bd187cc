package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// excludePorts leaves the probes to the app: it notes the ports that the mesh must not
// capture. A port that a Service leads to is an error, since everything that comes in
// there would pass without mTLS.
func (d *decision) excludePorts() {
	left := slices.ContainsFunc(
		d.rulings,
		func(r ruling) bool { return r.reason == reason.None },
	)
	list := d.mesh.excluded
	if left && d.metadata == nil {
		d.addFinding(NewFinding(reason.AnnotationsUnknown, d.spec, "this pod spec has no metadata, so the annotation `%s` has no place", list.key))
		return
	}
	if left {
		d.findings = append(d.findings, d.conflicts...)
	}
	for i := range d.rulings {
		s := &d.rulings[i]
		if s.reason != reason.None {
			continue
		}
		at := s.in("port")
		if in := d.inbound(s.port); in.Local != "" {
			d.addFinding(containerFinding(reason.AppElsewhere, at, s.container.Name, "Not rewritten: the kubelet cannot reach port %d", s.port).
				Why("The app listens on %s, by %s", in.Local, in.By).
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
