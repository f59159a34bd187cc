package transformer

import "slices"

// excludePorts leaves the probes to the app: it notes the ports that the mesh must not
// capture. A port that a Service leads to is an error, since everything that comes in
// there would pass without mTLS.
func (b *decision) excludePorts() {
	left := slices.ContainsFunc(b.rulings, func(r ruling) bool { return r.reason == "" })
	list := b.mesh.excluded
	if left && b.metadata == nil {
		b.addFinding(NewFinding("annotations-unknown", b.spec, "is a pod's spec without metadata, so that there is no known place for the annotation `%s`, which the pods need; the object must be excluded", list.key))
		return
	}
	if left {
		b.findings = append(b.findings, b.conflicts...)
	}
	for i := range b.rulings {
		s := &b.rulings[i]
		if s.reason != "" {
			continue
		}
		at := s.in("port")
		if service := b.exposed(s.port); service != "" {
			b.addFinding(containerFinding("port-exposed", at, s.container.Name,
				"%s leads to port %d, and without the mesh everything there would go without mTLS; probe-proxy must answer (`answeredBy: probe-proxy`), or the probe must have a port of its own", service, s.port))
			continue
		}
		b.leave(s, skip(s.handlerSite, "excluded-port", at, "the app answers on port %d, which the annotation `%s` keeps out of the mesh", s.port, list.key))
		if !slices.Contains(b.excluded, s.port) {
			b.excluded = append(b.excluded, s.port)
		}
	}
}
