package transformer

import (
	"cmp"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// learnIstio sets the facts by which probes are judged, and what becomes of them: the facts of the plan, and where
// these leave something open, what the objects of Istio's installations state. No plan reads it: what is written
// would depend on an installation that happens to lie in the same stream, and so would its patches.
func learnIstio(v *view, m *inspection) {
	var d istio
	now := v.annotations()
	m.learned = m.facts
	f := m.facts
	f.Rewrites = d.rewritesFact(v, now)
	judged := new(*v)
	switch {
	case isPastInjection(v, now):
		if f.Rewrites.Is == certain.Maybe {
			f.Rewrites.Is = certain.Never
		}
	case !v.in.OnlyEdits:
		v.in.Notes.aside(func() { judged.installed = installedIstio(v) })
		m.rewrittenElsewhere = judged.installed.FarRewrites
		learnFacts(judged, &f)
		m.learned = f
		if m.facts.Rewrites.Is != certain.Maybe || d.rewritesFact(v, now).Is != certain.Maybe {
			m.learned.Rewrites = m.facts.Rewrites // explain shows what the user has said, and not our own annotation
		}
	}
	if !v.in.OnlyEdits {
		m.filter = surroundings.Filter(&v.in.Around, v.opts.Istio.RootNamespace, v.pods())
	}
	m.version = istioVersion(judged)
	m.outcome = d.outcomes(judged, f)
}

func installedIstio(v *view) *surroundings.Installed {
	ns, known := v.namespace()
	_, inject := istioInjectSwitch(v)
	pods := v.pods()
	pods.IsCurrent, pods.RevisionOf = v.isCurrent, v.opts.Istio.revisionOf
	return new(v.in.Around.Istio(pods, inject, ns.Labels.Unnoted(), known))
}

// learnFacts takes what is stated for the facts that are open.
func learnFacts(v *view, f *world.Facts) {
	x := v.installed
	r, _ := declaredRevision(v)
	r.declareRewriting(&f.Rewrites)
	r.declareNative(f)
	r.declareHold(f)
	if isForWebhooks(v) {
		learnFact(&f.Injected, x.Injected)
		if f.Injected.Is == certain.Maybe {
			learnFact(&f.Injected, x.InjectsHere)
			f.Injected.Presumed = true
		}
	}
	if f.Rewrites.Is == certain.Maybe {
		learnFact(&f.Rewrites, x.Rewrites)
	}
	if f.Native.Is == certain.Maybe {
		learnFact(&f.Native, x.Native)
	}
	if f.Holds.Is == certain.Maybe || f.Holds.Presumed {
		f.Holds.Presumed = false
		learnFact(&f.Holds, x.Holds(istioConfigOf(v.annotations()).Holds))
	}
}

// isForWebhooks reports whether Istio's webhooks decide if a pod has the sidecar: neither its own containers
// nor the options say so, and the injector does not leave it.
func isForWebhooks(v *view) bool {
	_, proxy := v.proxyOf(istioData.isProxy)
	set, _ := v.in.Around.SidecarSet(v.pods())
	_, inject := istioInjectSwitch(v)
	isIgnored := inject == "false" || v.in.Template.Spec.HostNetwork || slices.Contains(istioNeverInjected, v.in.NamespaceName)
	return proxy == nil && set == nil && !isIgnored && v.opts.Istio.InjectedNamespaces == nil
}

// learnFact takes what is stated for a fact that is open or presumed. If objects contradict each other, the fact
// stays open, and names them.
func learnFact(f *world.Fact, s surroundings.Stated) {
	if s.At != "" {
		*f = world.Fact{Is: s.Is, At: s.At}
	}
}

// statusOr is istioStatusOr with the port of the mesh, as far as something states it.
func (v *view) statusOr(annotations field.Noted) int {
	port := istioStatusOr(annotations)
	if _, set := annotations.Lookup(istioStatusPort); !set && v.installed != nil {
		port = cmp.Or(v.installed.Uncaptured, port)
	}
	return port
}

// sendsTo returns the port to which Istio's injector sends probes.
func (v *view) sendsTo(annotations field.Noted) int {
	if _, set := annotations.Lookup(istioStatusPort); !set && v.installed != nil && v.installed.SendsTo != 0 {
		return v.installed.SendsTo
	}
	return istioStatusIn(v, annotations)
}
