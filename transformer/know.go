package transformer

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/resources"
)

// A knowledge is what is known of a template before anything is decided: its mesh, what that
// does to the pod, and who has opted out.
type knowledge struct {
	*view
	detected   detection
	inspection inspection
	byMesh     *Finding  // why the whole template is left alone, as far as meshes say it; nil if they do not
	conflicts  []Finding // why nothing can be rewritten
	off        *Finding  // why the whole template is left alone, for any reason; nil if it is not
	skipped    []string  // the containers to leave alone
	invalid    []Finding // about the annotations that opt out
}

// know finds out which mesh a template is in, and what that says.
func know(settings []*setting, t *template) *knowledge {
	v := newView(settings[0], t, userAnnotations(t))
	detected, in := detect(settings, v)
	if in != settings[0] {
		v = newView(in, t, v.userAnnotations)
	}
	inspection := in.mesh.inspect(v)
	byMesh := cmp.Or(inspection.optOut, detected.optOut)
	sources := v.optOutSources()
	own, invalid := firstOff(sources)
	skipped, unknown := v.skippedBy(sources)
	return &knowledge{
		view: v, detected: detected, inspection: inspection, byMesh: byMesh,
		conflicts: slices.Concat(inspection.conflicts, detected.conflicts),
		off:       v.optOut(own, byMesh), skipped: skipped, invalid: slices.Concat(invalid, unknown, ownMistakes(sources)),
	}
}

// answersItself reports whether the app itself is to answer: the probes stay as they
// are, and the mesh is told not to capture their ports.
func (k *knowledge) answersItself() bool { return k.isAnsweredBy(AnsweredByApp) }

// isAnsweredBy reports whether somebody is to answer rewritten probes: one of the AnsweredBy
// constants but auto.
func (k *knowledge) isAnsweredBy(who string) bool {
	return k.inspection.answerer.who == who
}

// withoutExcluded returns the annotations without the ports that an earlier run took out
// of the mesh.
func withoutExcluded(t *template, annotations field.Noted) field.Noted {
	for _, p := range t.record.Values(recordExcluded) {
		var ports []int
		for item := range strings.SplitSeq(p.Value, ",") {
			port, _ := strconv.Atoi(item)
			ports = append(ports, port)
		}
		annotations = portList{key: p.Key}.without(
			annotations,
			t.record.Values(recordAnnotations),
			ports...,
		)
	}
	return annotations
}

// userAnnotations returns the annotations of the template without what was added for past
// answerers in any mesh.
func userAnnotations(t *template) field.Noted {
	user := withoutExcluded(t, t.annotations().Without(OriginalsAnnotation))
	user = undoAll(user, t.previousAnswerers(), t.record.Values(recordAnnotations))
	for _, p := range t.record.Values(recordInherited) { // the template would have replaced them
		if user.Get(p.Key) == p.Value {
			user = user.Without(p.Key)
		}
	}
	return user
}

// undoAll returns the annotations without what any mesh added for past
// answerers.
func undoAll(annotations field.Noted, past []answerer, recorded field.KeyValues) field.Noted {
	for _, d := range serviceMeshes {
		annotations = d.undo(annotations, past, recorded)
	}
	return annotations
}

// answeredByUs reports whether a probe-proxy is to make rewritten probes.
func (k *knowledge) answeredByUs() bool { return k.isAnsweredBy(AnsweredByProbeProxy) }

func (v *view) probeProxyResources(pod *resources.Pod, toRewrite []*site) field.Map {
	given := v.opts.ProbeProxy.Resources
	defaults := pod.Defaults(v.tlsProbes(toRewrite), len(field.Merge(nil, given)) > 0)
	return resources.Merge(defaults, given, pod.Class())
}

// tlsProbes returns how many of the rewritten probes probe-proxy makes over TLS.
func (t *template) tlsProbes(toRewrite []*site) (n int) {
	for _, s := range toRewrite {
		if g := s.original.GRPC; s.isHTTPS() || g != nil && g.Mode == prober.GRPCTLS {
			n++
		}
	}
	return n
}
