package transformer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// istio is the profile of Istio with sidecars.
type istio struct{}

// istioIncluded are the only ports that the mesh captures, if [listsPorts]. Those that are
// excluded then do not matter.
var istioIncluded = portList{key: istioIncludePorts, full: true}

// istioTunnel is the port of ambient mode's tunnel, which Istio's redirection leaves alone whatever ports are listed
// (tools/istio-iptables/pkg/capture/run.go, and the same in its nftables).
const istioTunnel = 15008

// istioNeverCaptured are the ports that the mesh never captures, besides that of
// the status server, unless they are listed.
var istioNeverCaptured = []int{15021, 15090}

// istioNoCapture are the injection templates of Istio without an init container
// that captures the pod's connections.
var istioNoCapture = []string{"gateway", "grpc-agent", "grpc-simple", "kube-gateway", "waypoint"}

// istioPrivileged reports whether the annotations require more rights for istio-proxy than
// the Pod Security level "restricted" allows: Istio's template then runs it as root.
func istioPrivileged(annotations field.Noted) bool {
	mode, _ := istioMode(annotations)
	return mode == "TPROXY" || annotations.Get(istioNetBind) == "true" ||
		field.As[string](istioConfigOf(annotations).Metadata, "IPTABLES_TRACE_LOGGING") == "true"
}

// badIstioStatus reports whether the annotation has no port to which Istio's status server can
// move. White space around the number is an error: Istio accepts the pod and sends its probes
// to port 0.
func badIstioStatus(annotations field.Noted) bool {
	v, set := annotations.Lookup(istioStatusPort)
	if !set {
		return false
	}
	n, err := strconv.Atoi(v)
	return err != nil ||
		n < 1 ||
		n > 65535 ||
		slices.Contains(istioData.reserved, n)
}

// inspect reads what the manifests and the options say of Istio.
func (d istio) inspect(v *view) inspection {
	said := d.sidecarMembership(v)
	m := inspection{facts: d.openFacts(v, said), collisions: d.collisions(v, said)}
	m.optOut = d.optOut(v, said, &m.facts, m.report)
	if _, on := d.ambient(v); on && said.injected != certain.Always {
		v.in.Notes.aside(func() { v.checkNetworkPolicies(m.report) })
	}
	m.captures = d.captures(v, v.userAnnotations)
	learnIstio(v, &m)
	v.in.Notes.aside(func() {
		d.checkPortLists(v, m.report)
		d.checkInjectSwitch(v, m.report)
	})
	return m
}

// optOut returns why the probes of the pod need no rewriting, or must not be
// rewritten; nil if they are to be.
func (d istio) optOut(v *view, said membership, open *world.Facts, report func(Finding)) *Finding {
	turnedOff := func(a answerer) bool {
		return d.needsRewriterOff(v.annotations(), a)
	}
	ours := slices.ContainsFunc(v.previousAnswerers(), turnedOff)
	off, invalid := optOutSource{&v.ofPods, v.metadata, "the pods"}.switchedOff(
		istioRewrite,
		reason.IstioOptOut,
	)
	if invalid != nil {
		report(*invalid)
	}
	if off != nil && !ours {
		return off
	}
	v.checkMisplaced(istioRewrite, report)
	for _, f := range v.misplacedOfIstio() {
		report(f)
	}
	if f := d.capturesNothing(v); f != nil {
		return f
	}
	isNever := slices.Contains(istioNeverInjected, v.in.NamespaceName)
	if said.off != nil && (isNever || v.opts.AnsweredBy != AnsweredByProbeProxy) {
		return said.off
	}
	mayBind := func(s *site) bool {
		return v.inbound(s.port).Binds != certain.Never
	}
	if mode, key := istioMode(v.annotations()); mode == "NONE" && !slices.ContainsFunc(v.sites, mayBind) {
		return new(v.annotationFinding(reason.InterceptionNone, key, "turns off Istio's redirection, so the mesh captures no connection to this pod"))
	}
	if f := d.passesProbes(v, said.injected); f != nil {
		return f
	}
	return v.leftToInjector(open)
}

// leftToInjector returns a finding if Istio's injector rewrites the probes of the pod, so that no
// probe needs us; nil if that is not certain. Where it is open whether the pod is injected, only the
// pod's own annotation counts: it names Istio, and without an injection the probes work as they are.
// The options say nothing about a pod that may be in another mesh.
func (v *view) leftToInjector(open *world.Facts) *Finding {
	_, done := v.annotations().Lookup(istioInjected)
	if done || open.Rewrites.Is != certain.Always {
		return nil
	}
	const text = "Istio's injector rewrites the probes of this pod"
	switch byPod, _ := strconv.ParseBool(v.userAnnotations.Get(istioRewrite)); {
	case open.Injected.Is == certain.Always:
		return new(NewFinding(reason.InjectorRewrites, nil, text+" (%s)", open.Rewrites.At))
	case open.Injected.Is == certain.Maybe && byPod:
		return new(NewFinding(reason.InjectorRewrites, nil, text+" if it injects its sidecar (%s)", open.Rewrites.At))
	}
	return nil
}

// otherTemplates returns the injection templates that an annotation names; none
// if the sidecar's is among them, or there is no such annotation.
func otherTemplates(annotations field.Noted) []string {
	v, set := annotations.Lookup(istioTemplates)
	if !set {
		return nil
	}
	names := strings.Split(v, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	if slices.Contains(names, "sidecar") {
		return nil
	}
	return names
}

// capturesNothing returns a finding if an annotation has the injector use
// templates that capture nothing.
func (istio) capturesNothing(v *view) *Finding {
	names := otherTemplates(v.annotations())
	mayCapture := func(name string) bool { return !slices.Contains(istioNoCapture, name) }
	if len(names) == 0 || slices.ContainsFunc(names, mayCapture) {
		return nil
	}
	return new(v.annotationFinding(reason.NotSidecarTemplate, istioTemplates, "injects no sidecar that captures incoming connections"))
}

// listsPorts reports whether the annotation istioIncluded lists the only ports that the mesh
// captures: it is there, and not "*".
func listsPorts(annotations field.Noted) bool {
	v, set := annotations.Lookup(istioIncludePorts)
	return set && strings.TrimSpace(v) != "*"
}

// checkPortLists warns of items that are no port, empty ones included: the injector
// refuses such a pod.
func (istio) checkPortLists(v *view, report func(Finding)) {
	for _, l := range []portList{istioIncluded, istioData.excluded} {
		value := strings.TrimSpace(v.annotations().Get(l.key))
		if value == "" || value == "*" && l.key == istioIncludePorts {
			continue
		}
		if item, bad := l.badItem(v.annotations()); bad {
			report(v.annotationFinding(reason.PortListInvalid, l.key, "%s, and %q is not one", l.allowed(), item))
		}
	}
}

// needsRewriterOff reports whether Istio's own rewriter must be turned off for an
// answerer, because Istio's injector may get the pod.
func (d istio) needsRewriterOff(annotations field.Noted, a answerer) bool {
	return a.who == AnsweredByIstioProxy || d.runsNextToProxy(annotations, a)
}

// runsNextToProxy reports whether probe-proxy answers on another port than
// istio-proxy, which then must not capture it.
func (istio) runsNextToProxy(annotations field.Noted, a answerer) bool {
	if a.who != AnsweredByProbeProxy {
		return false
	}
	moved := istioConfigOf(annotations).StatusPort != 0 || istioStatusOr(annotations) != prober.StatusPort
	return moved ||
		a.port != prober.StatusPort ||
		istioData.excluded.has(annotations, a.port)
}

func (d istio) undo(annotations field.Noted, past []answerer, recorded field.KeyValues) field.Noted {
	out := annotations
	for _, a := range past {
		if d.needsRewriterOff(annotations, a) {
			out = istioData.off.without(out, recorded)
		}
		if d.runsNextToProxy(annotations, a) && !istioData.excluded.has(recorded.Note(nil), a.port) {
			out = istioData.excluded.without(out, recorded, a.port)
		}
	}
	return out
}

// demand: Istio's own rewriter must be off, and the mesh must not capture the
// port of a probe-proxy that runs next to its proxy.
func (d istio) demand(user field.Noted, now answerer) demand {
	x := demand{off: d.needsRewriterOff(user, now)}
	if !listsPorts(user) && d.runsNextToProxy(user, now) && now.port != istioStatusOr(user) {
		x.exclude = now.port
	}
	return x
}

// checkMisplaced warns of a pod's annotation that the workload has instead of its template.
func (v *view) checkMisplaced(key string, report func(Finding)) {
	if value, set := v.in.Workload.Annotations.Lookup(key); set && v.hasOwnMetadata() && v.metadata != nil { // it only warns
		report(metadataFinding(reason.AnnotationMisplaced, field.NewPath("metadata", "annotations").Key(key), value,
			"has no effect here: Istio reads this annotation only on the pod template").
			Fix("Move it to `%s`", v.metadata.Key("annotations")))
	}
}
