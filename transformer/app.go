package transformer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// answersItself reports whether the app itself is to answer: the probes stay as they
// are, and the mesh is told not to capture their ports.
func (b *knowledge) answersItself() bool { return b.inspection.answerer.who == AnsweredByApp }

// excludePorts leaves the probes to the app: it notes the ports that the mesh must not
// capture. A port that a Service leads to is an error, since everything that comes in
// there would pass without mTLS.
func (b *decision) excludePorts() {
	left := slices.ContainsFunc(b.rulings, func(r ruling) bool { return r.reason == "" })
	list := b.p.mesh.excluded
	if left && b.metadata == nil {
		b.addFinding(NewFinding("annotations-unknown", b.spec, "is a pod's spec without metadata, so that there is no known place for the annotation `%s`, which the pods need; the object must be excluded", list.key))
		return
	}
	if left {
		b.findings = append(b.findings, b.inspection.conflicts...)
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

// withExcluded returns the user's annotations with the ports that the mesh must not
// capture, and with what restore needs.
func (b *decision) withExcluded(user field.KeyValues) field.KeyValues {
	list := b.p.mesh.excluded
	want := b.withInherited(user)
	var added []string
	for _, port := range b.excluded {
		if !list.has(want, port) {
			want = list.with(want, port)
			added = append(added, strconv.Itoa(port))
		}
	}
	if len(added) == 0 {
		return user
	}
	var r Record
	r.Add(recordExcluded, field.Entry{Key: list.key, Value: strings.Join(added, ",")})
	if v, set := user.Lookup(list.key); set {
		r.Add(recordAnnotations, field.Entry{Key: list.key, Value: v})
	} else if v, set := b.inspection.inherited.Lookup(list.key); set {
		r.Add(recordInherited, field.Entry{Key: list.key, Value: v})
	}
	b.noteEmptyMetadata(&r)
	return want.With(OriginalsAnnotation, r.Encode())
}

// withoutExcluded returns the annotations without the ports that an earlier run took out
// of the mesh.
func (b *template) withoutExcluded(annotations field.KeyValues) field.KeyValues {
	for _, p := range b.record.Values(recordExcluded) {
		var ports []int
		for item := range strings.SplitSeq(p.Value, ",") {
			port, _ := strconv.Atoi(item)
			ports = append(ports, port)
		}
		annotations = portList{key: p.Key}.without(annotations, b.record.Values(recordAnnotations), ports...)
	}
	return annotations
}

// appWouldDo reports whether the app could answer all probes that the plan rewrites
// (`answeredBy: app`), because Services among the manifests are known, and none leads to
// the probes' ports.
func (b *template) appWouldDo(toRewrite []*handlerSite) bool {
	return b.in.Around.HasServices() && !slices.ContainsFunc(toRewrite, func(s *handlerSite) bool { return b.exposed(s.port) != "" })
}
