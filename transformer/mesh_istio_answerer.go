package transformer

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// answer chooses who answers, and asks what is against that.
func (d istio) answer(v *view, m *inspection) choice {
	var c choice
	c.answerer, c.because = d.answerer(v, m.facts)
	if c.who == AnsweredByApp {
		if listsPorts(v.annotations()) {
			c.against = append(c.against, v.annotationFinding(reason.ProbePortCaptured, istioIncludePorts,
				"has the port of a probe, so Istio ignores `%s`", istioExcludePorts).
				Fix("Remove the port here, or set another `answeredBy`"))
		}
		return c
	}
	if set, _ := v.in.Around.SidecarSet(v.pods()); set != nil {
		c.against = sidecarSetConflicts(set, c.answerer, m.captures)
	}
	if c.who != AnsweredByIstioProxy {
		c.against = append(c.against, d.probeProxyConflicts(v, m, c.port)...)
		return c
	}
	c.against = append(c.against, d.proxyConflicts(v, c.port)...)
	if v.proxy == nil && len(otherTemplates(v.annotations())) > 0 {
		c.unsure = new(v.annotationFinding(reason.UnknownTemplate, istioTemplates, "does not name `sidecar`, so Istio may inject no istio-proxy"))
	}
	return c
}

// proxyConflicts returns why istio-proxy cannot answer on a port.
func (d istio) proxyConflicts(v *view, port int) (found []Finding) {
	isBad := badIstioStatus(v.annotations())
	if isBad {
		found = append(found, v.annotationFinding(reason.StatusPortInvalid, istioStatusPort, "is not a port where istio-proxy can answer").
			Why("The port must be from 1 to 65535, and none of %s", joinPorts(istioData.reserved)))
	}
	if at, c := v.proxyOf(istioData.isProxy); c != nil && c.Image == autoImage && at.Init {
		found = append(found, containerFinding(reason.ProxyInInitContainers, v.containerPath(at), c.Name,
			"only an injector in native-sidecar mode finds this placeholder of istio-proxy here"))
	}
	if istioNativeUnclear(v.annotations()) {
		found = append(found, v.annotationFinding(reason.AnnotationInvalid, istioNative,
			"is neither true nor false, so Istio may add a second istio-proxy to the declared one").
			Why("The API server refuses a pod with both"))
	}
	if key, why := d.proxyUnreachable(v, port); key != "" && !isBad {
		found = append(found, v.annotationFinding(reason.ProbePortCaptured, key,
			"keeps the kubelet from rewritten probes: %s", why).
			Fix("Move that port with the annotation `%s`, or set `answeredBy: probe-proxy`", istioStatusPort))
	}
	return found
}

// probeProxyConflicts returns why probe-proxy cannot answer on a port next to istio-proxy.
func (d istio) probeProxyConflicts(v *view, m *inspection, port int) (found []Finding) {
	mayBeInjected := m.facts.Injected.Is != certain.Never
	if listens := istioListens(v); mayBeInjected && port == listens {
		another := prober.DefaultPort
		if listens == another {
			another--
		}
		found = append(found, NewFinding(reason.PortCollision, nil,
			"probe-proxy cannot listen on port %d, where istio-proxy listens in an injected pod", listens).
			Fix("Set another `port` in the functionConfig, such as %d, or set `answeredBy: istio-proxy`", another))
	}
	if path := d.initCaptures(v, port); path != nil {
		found = append(found, NewFinding(reason.ProbePortCaptured, path,
			"these arguments make the mesh capture port %d of probe-proxy, and no annotation changes that", port).
			Fix("Add the port to the argument after -d, or set `answeredBy: istio-proxy`"))
	} else if mayBeInjected && istioIncluded.has(v.annotations(), port) {
		found = append(found, v.annotationFinding(reason.ProbePortCaptured, istioIncludePorts,
			"has port %d of probe-proxy, so the mesh would capture the rewritten probes", port).
			Fix("Remove that port from the list"))
	}
	return found
}

// sidecarSetConflicts returns why nobody can answer in a pod to which a SidecarSet adds Istio's sidecar.
func sidecarSetConflicts(set *surroundings.SidecarSet, a answerer, captures func(int) bool) []Finding {
	if a.who == AnsweredByIstioProxy {
		return []Finding{NewFinding(reason.OptionsUnfit, nil, "Not rewritten: istio-proxy does not get the originals of the probes").
			Why("%s adds it, and it has a fixed env", set.Words()).Fix("Set `answeredBy: %s`", AnsweredByProbeProxy)}
	}
	if !captures(a.port) {
		return nil
	}
	return []Finding{NewFinding(reason.ProbePortCaptured, nil, "Not rewritten: the mesh captures port %d, the port of probe-proxy", a.port).
		Why("%s adds an istio-init with fixed arguments, which no annotation changes", set.Words()).
		Fix("Add %d to the ports after `-d` of that istio-init", a.port)}
}

// answerer chooses who answers: istio-proxy if it suits, else probe-proxy, which needs nothing of Istio's.
// because says why it is not istio-proxy in an injected pod; "" if the options say so.
func (d istio) answerer(v *view, f world.Facts) (a answerer, because string) {
	isProxys := false
	switch v.opts.AnsweredBy {
	case AnsweredByApp:
		return answerer{who: AnsweredByApp}, ""
	case AnsweredByIstioProxy:
		isProxys = true
	case AnsweredByAuto:
		isProxys, because = d.suits(v, f)
	}
	if !isProxys {
		return answerer{AnsweredByProbeProxy, v.opts.Port}, because
	}
	port := istioStatusIn(v, v.annotations())
	switch isBad := badIstioStatus(v.annotations()); {
	case isBad && v.opts.Port != prober.DefaultPort:
		port = v.opts.Port
	case isBad:
		port = prober.StatusPort
	}
	return answerer{AnsweredByIstioProxy, port}, ""
}

// suits reports whether istio-proxy is certain to be there and to answer every probe of the pod in
// each world. because says why not, if it is in the pod and the options do not rule it out.
func (d istio) suits(v *view, f world.Facts) (ok bool, because string) {
	if set, _ := v.in.Around.SidecarSet(v.pods()); set != nil {
		return false, set.Words() + " adds istio-proxy with a fixed env"
	}
	if f.Injected.Presumed {
		return false, "a Namespace that is not in the input may switch off the injection that the pod's label asks for"
	}
	port := v.opts.Port
	if f.Injected.Is != certain.Always || port != prober.DefaultPort && port != istioStatusOr(v.annotations()) {
		return false, ""
	}
	because = d.cannotAnswer(v, f)
	if because == "" || badIstioStatus(v.annotations()) || d.initCaptures(v, port) != nil {
		return true, "" // with a bad status port it is refused
	}
	return false, because
}

// cannotAnswer returns why istio-proxy may not answer all probes of the pod; "" if it
// does in every world.
func (d istio) cannotAnswer(v *view, f world.Facts) string {
	if f.Holds.Is == certain.Always && f.Holds.Presumed {
		f.Holds = world.Fact{}
	}
	if istioNativeUnclear(v.annotations()) {
		return "istio-proxy may be in the pod twice, since `" + istioNative + "` is neither true nor false"
	}
	if key, why := d.proxyUnreachable(v, istioStatusOr(v.annotations())); key != "" {
		return why + " (`" + key + "`)"
	}
	for _, s := range v.sites {
		if !s.original.Dials() || istioData.isProxy(s.container) || s.name.IsHook() && s.original.HTTPGet == nil {
			continue
		}
		if why := istioCannotMake(v, s, &f); why != "" {
			return why
		}
	}
	return ""
}

// istioCannotMake returns why istio-proxy may not answer a probe or hook; "" if it does in every world.
// The kubelet ends an ordinary istio-proxy at the moment in which it
// calls the preStop hooks of other containers. Its status server closes its port at once,
// and what it has already accepted ends with it, by default after 5 s (pilot/cmd/pilot-agent/status/server.go,
// Run; pkg/envoy/agent.go, terminate). It answers a hook with 200 whatever the app says. After a postStart hook
// that fails, the kubelet would start the container again, and call it again.
func istioCannotMake(v *view, s *site, f *world.Facts) string {
	if in := v.inbound(s.port); in.Local != "" {
		return fmt.Sprintf("istio-proxy asks the pod's IP, and container %q listens on %s by %s", s.container.Name, in.Local, in.By)
	}
	isNative := f.Native.Is == certain.Always
	switch {
	case s.original.Newer(s.name.IsHook()) != "":
		return fmt.Sprintf("istio-proxy cannot make the %s of container %q", s.name.Field(), s.container.Name)
	case s.name.IsHook() && HasNoHooks(agentVersion(v)):
		return fmt.Sprintf("istio-proxy of Istio %s knows no hooks, and container %q has one", agentVersion(v), s.container.Name)
	case s.name == prober.PostStart:
		return fmt.Sprintf("istio-proxy reports the postStart hook of container %q as passed, even if the app never got it", s.container.Name)
	case s.name == prober.PreStop && !isNative:
		return fmt.Sprintf("istio-proxy may end before the preStop hook of container %q, unless it is a native sidecar", s.container.Name)
	case !isNative && f.Holds.Is != certain.Always && v.patience(s) < istioStart:
		return fmt.Sprintf("istio-proxy may start after container %q, whose %s fails for good within %d s, unless it is a native sidecar", s.container.Name, s.name.Field(), istioStart)
	}
	if unless := v.lateIn(f, s, answerer{who: AnsweredByIstioProxy}); unless != "" {
		return fmt.Sprintf("istio-proxy may start after container %q, whose %s needs it, if %s", s.container.Name, s.name.Field(), unless)
	}
	return ""
}

// istioStart is in how many seconds istio-proxy answers after the container before it has started,
// on a node that has its image. It connects to istiod first.
const istioStart = 10

// patience returns after how many seconds the kubelet restarts the container if nothing
// answers the probe; it is large if the kubelet does not, or waits for another probe first.
func (t *template) patience(s *site) int {
	startup := s.container.StartupProbe
	if s.name != prober.Startup &&
		(s.name != prober.Liveness || startup != nil && startup.Dials()) {
		return math.MaxInt
	}
	seconds := func(key string, byDefault int) int {
		t.in.Notes.field(s.path, key)
		return cmp.Or(field.As[int](s.source, key), byDefault)
	}
	return seconds("initialDelaySeconds", 0) + (seconds("failureThreshold", 3)-1)*seconds("periodSeconds", 10)
}

// istioNativeUnclear reports whether an annotation about native sidecars has a value that
// Istio's template and its injector read differently. From 1.27 on the template makes a
// native sidecar of all but "false", and the injector moves a declared istio-proxy to it
// only for "true" or if the mesh has native sidecars (RunTemplate in
// pkg/kube/inject/inject.go). Else the pod has two containers of that name.
func istioNativeUnclear(annotations field.Noted) bool {
	v := annotations.Get(istioNative)
	return v != "" && v != "true" && v != "false"
}

// proxyUnreachable returns the annotation because of which istio-proxy does not get the
// rewritten probes that go to a port, and why; "" if it gets them.
func (istio) proxyUnreachable(v *view, port int) (key, why string) {
	if listens := istioListens(v); listens != port {
		return istioProxyConfig, fmt.Sprintf("istio-proxy listens on port %d, which the mesh captures", listens)
	}
	if istioIncluded.has(v.annotations(), port) {
		return istioIncludePorts, fmt.Sprintf("the mesh captures istio-proxy's own port %d", port)
	}
	return
}

// collisions returns a finding for each probe-proxy of the template, as it was
// read, that listens on the port of Istio's agent.
func (d istio) collisions(v *view, said membership) []Finding {
	var found []Finding
	if said.injected != certain.Always {
		return nil
	}
	listens := istioListens(v)
	for _, h := range v.holders {
		if !h.proxy && slices.Contains(h.listens, listens) {
			found = append(found, containerFinding(reason.PortCollision, h.path, h.container.Name,
				"it listens on istio-proxy's port %d, so one of the two cannot start", listens))
		}
	}
	return found
}
