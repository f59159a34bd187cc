package transformer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
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
	own        *Finding  // the annotation of ours that opts out; nil if there is none
	conflicts  []Finding // why nothing can be rewritten, whoever answers
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
	sources := v.optOutSources()
	own, invalid := firstOff(sources)
	skipped, unknown := v.skippedBy(sources)
	return &knowledge{
		view: v, detected: detected, inspection: inspection, own: own,
		conflicts: slices.Concat(inspection.conflicts, detected.conflicts),
		skipped:   skipped, invalid: slices.Concat(invalid, unknown, ownMistakes(sources)),
	}
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

// injectorRewrites reports whether Istio's injector certainly rewrites the pod's probes.
func (k *knowledge) injectorRewrites() bool {
	f := &k.inspection.learned
	return f.Injected.Is == certain.Always && f.Rewrites.Is == certain.Always
}

// mayBeRewritten reports whether Istio's injector may rewrite the pod's probes.
func (k *knowledge) mayBeRewritten() bool {
	f := &k.inspection.facts
	return k.mesh.name == istioData.name &&
		f.Injected.May(true) &&
		f.Rewrites.May(true) &&
		!HasNoHooks(k.opts.Istio.Version)
}
