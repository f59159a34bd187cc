package transformer

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// inspect reads what the manifests and the options say of Istio, and decides who
// answers.
func (d istio) inspect(v *view) inspection {
	said := d.sidecarMembership(v)
	m := inspection{facts: d.openFacts(v, said), collisions: d.collisions(v, said)}
	m.optOut = d.optOut(v, said, &m.facts, m.report)
	if _, on := d.ambient(v); on && said.injected != certain.Always {
		v.in.Notes.aside(func() { v.checkNetworkPolicies(m.report) })
	}
	m.captures = d.captures(v, v.userAnnotations)
	m.outcome = d.outcomes(v, m.facts)
	v.in.Notes.aside(func() {
		d.checkPortLists(v, m.report)
		d.checkInjectSwitch(v, m.report)
	})
	m.answerer, m.because = d.answerer(v, m.facts)
	if m.answerer.who == AnsweredByApp {
		if listsPorts(v.annotations()) {
			m.conflicts = append(m.conflicts, v.annotationFinding(reason.ProbePortCaptured, istioIncludePorts,
				"has the port of a probe, so Istio ignores `%s`", istioExcludePorts).
				Fix("Remove the port here, or set another `answeredBy`"))
		}
		return m
	}
	if set, _ := v.in.Around.SidecarSet(v.pods()); set != nil {
		m.conflicts = append(
			m.conflicts,
			sidecarSetConflicts(set, m.answerer, d.captures(v, v.userAnnotations))...,
		)
	}
	if m.answerer.who == AnsweredByIstioProxy {
		badStatus := badIstioStatus(v.annotations())
		m.conflicts = append(m.conflicts, d.proxyConflicts(v, badStatus)...)
		if istioNativeUnclear(v.annotations()) {
			m.conflicts = append(m.conflicts, v.annotationFinding(reason.AnnotationInvalid, istioNative,
				"is neither true nor false, so Istio may add a second istio-proxy to the declared one").
				Why("The API server refuses a pod with both"))
		}
		if key, why := d.proxyUnreachable(v, m.answerer.port); key != "" && !badStatus {
			m.conflicts = append(m.conflicts, v.annotationFinding(reason.ProbePortCaptured, key,
				"keeps the kubelet from rewritten probes: %s", why).
				Fix("Move that port with the annotation `%s`, or set `answeredBy: probe-proxy`", istioStatusPort))
		}
		_, proxy := v.proxyOf(v.mesh.isProxy)
		if m.optOut == nil &&
			proxy == nil &&
			len(otherTemplates(v.annotations())) > 0 {
			m.optOut = new(v.annotationFinding(reason.UnknownTemplate, istioTemplates, "does not name `sidecar`, so Istio may inject no istio-proxy"))
		}
		return m
	}
	if listens := istioListens(v); m.facts.Injected.Is != certain.Never && m.answerer.port == listens {
		another := prober.DefaultPort
		if listens == another {
			another--
		}
		m.conflicts = append(m.conflicts, NewFinding(reason.PortCollision, nil,
			"probe-proxy cannot listen on port %d, where istio-proxy listens in an injected pod", listens).
			Fix("Set another `port` in the functionConfig, such as %d, or set `answeredBy: istio-proxy`", another))
	}
	if path := d.initCaptures(v, m.answerer.port); path != nil {
		m.conflicts = append(m.conflicts, NewFinding(reason.ProbePortCaptured, path,
			"these arguments make the mesh capture port %d of probe-proxy, and no annotation changes that", m.answerer.port).
			Fix("Add the port to the argument after -d, or set `answeredBy: istio-proxy`"))
	} else if m.facts.Injected.Is != certain.Never &&
		istioIncluded.has(v.annotations(), m.answerer.port) {
		m.conflicts = append(m.conflicts, v.annotationFinding(reason.ProbePortCaptured, istioIncludePorts,
			"has port %d of probe-proxy, so the mesh would capture the rewritten probes", m.answerer.port).
			Fix("Remove that port from the list"))
	}
	return m
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

// openFacts returns what is known of the pod, with the user's annotations.
func (d istio) openFacts(v *view, said membership) world.Facts {
	o := &v.opts.Istio
	user := v.userAnnotations
	f := world.Facts{Injected: world.Fact{
		Is:       said.injected,
		At:       said.at,
		Presumed: said.presumed,
	}}
	f.Rewrites = d.rewritesFact(v, user)
	f.InjectionCure = v.injectionCure()
	if said.injected == certain.Maybe && v.opts.AnsweredBy == AnsweredByIstioProxy {
		f.Injected.Say(true, "`answeredBy: istio-proxy` of the functionConfig")
	}
	if value := user.Get(istioNative); value != "" {
		f.Native.Declare(value, "the annotation `"+istioNative+"`")
	} else {
		f.Native.Declare(o.NativeSidecars, "`istio.nativeSidecars` of the functionConfig")
	}
	if istioConfigField(user.Get(istioProxyConfig), "holdApplicationUntilProxyStarts") == "true" {
		f.Holds.Say(true, "the annotation `"+istioProxyConfig+"`")
		f.Holds.Presumed = !o.HoldApplication // Helm's global.proxy.lifecycle would replace the hook that makes them wait
	} else if o.HoldApplication {
		f.Holds.Say(true, "`istio.holdApplicationUntilProxyStarts` of the functionConfig")
	}
	_, c := v.proxyOf(istioData.isProxy)
	isDeclared := c != nil && c.Image == autoImage
	if isDeclared && c.Lifecycle != nil && c.Lifecycle.PostStart != nil {
		f.Holds.Say(false, "the lifecycle of the container `"+istioProxyName+"`") // Istio's own hook would make them wait
	}
	return f
}

// rewritesFact returns whether Istio's injector rewrites the pod's probes: an
// annotation that is a boolean, else what the options say (ShouldRewriteAppHTTPProbers
// in pkg/kube/inject/app_probe.go).
func (istio) rewritesFact(v *view, annotations field.Noted) (f world.Fact) {
	if on, err := strconv.ParseBool(annotations.Get(istioRewrite)); err == nil {
		f.Say(on, "the annotation `"+istioRewrite+"`")
	} else {
		f.Declare(v.opts.Istio.InjectorRewrites, "`istio.injectorRewrites` of the functionConfig")
	}
	return f
}

// istioConfigField returns a field of a ProxyConfig in YAML or JSON, as it is written
// without quotes; "" if it is absent, or only in a comment.
func istioConfigField(config, key string) string {
	if !strings.Contains(config, key) {
		return "" // nearly always
	}
	text := regexp.MustCompile(`(?m)(^|[ \t])#.*`).ReplaceAllString(config, "")
	if found := regexp.MustCompile(`(?:^|["'{, \t\n])` + key + `["' ]*:([^,}\n#]*)`).FindStringSubmatch(text); found != nil {
		return strings.Trim(strings.TrimSpace(found[1]), `"'`)
	}
	return ""
}

// istioListens returns the port on which istio-proxy's status server listens: that of
// the annotation, else that of the pod's ProxyConfig, which moves neither the
// injector's rewriting nor the redirection. It is 0 if there is no such server, which
// Istio's agent makes of 0 and of every annotation that is no number.
func istioListens(v *view) int {
	if value, set := v.annotations().Lookup(istioStatusPort); set {
		n, _ := strconv.Atoi(value)
		return n
	}
	if n, ok := portIn(istioConfigField(v.annotations().Get(istioProxyConfig), "statusPort")); ok {
		return int(n.Int)
	}
	return istioStatusIn(v, v.annotations())
}

// istioStatusIn returns the port that the redirection leaves to istio-proxy: that of
// the annotation, else that of the whole mesh, which the options say if they have
// istio-proxy answer.
func istioStatusIn(v *view, annotations field.Noted) int {
	o := v.opts
	byOptions := o.AnsweredBy == AnsweredByIstioProxy && o.Port != prober.DefaultPort
	if _, set := annotations.Lookup(istioStatusPort); !set && byOptions {
		return o.Port
	}
	return istioStatusOr(annotations)
}

// istioMode returns how the pod's connections are redirected, and where that is said;
// "" if only the mesh's configuration says it.
func istioMode(annotations field.Noted) (mode, key string) {
	if v, set := annotations.Lookup(istioInterception); set {
		return v, istioInterception
	}
	return istioConfigField(annotations.Get(istioProxyConfig), "interceptionMode"), istioProxyConfig
}

// captures: on a port where a Sidecar has Envoy listen, or may have, everything comes to Envoy. If
// includeInboundPorts lists ports, Istio captures those and ignores
// exclusions. If the status server has moved away from 15020, istio-init captures
// that port like any other; Istio's CNI plugin does not.
func (istio) captures(v *view, annotations field.Noted) func(int) bool {
	return istioCaptures(v, istioRedirects(v, annotations))
}

// istioCaptures adds the ports where Envoy listens, or may, to those that are redirected.
func istioCaptures(v *view, redirects func(port int) bool) func(port int) bool {
	return func(port int) bool {
		return v.inbound(port).Binds != certain.Never || redirects(port)
	}
}

// istioRedirects reports whether the connections to a port are redirected to Envoy.
func istioRedirects(v *view, annotations field.Noted) func(int) bool {
	ports, _ := istioInitPorts(v, annotations)
	listed := listsPorts(ports)
	status := istioStatusIn(v, annotations)
	mode, _ := istioMode(annotations)
	return func(port int) bool {
		if mode == "NONE" {
			return false
		}
		if listed {
			return istioIncluded.has(ports, port)
		}
		return port != status &&
			!slices.Contains(istioNeverCaptured, port) &&
			!istioData.excluded.has(ports, port)
	}
}

// istioInitPorts returns the annotations with the lists of ports that a container istio-init has
// as its arguments: one of the template, such as that of `istioctl kube-inject`, with the path of
// the arguments, or one that a SidecarSet adds; the path is nil then, and if there is none. The annotations are
// without effect.
func istioInitPorts(v *view, annotations field.Noted) (field.Noted, field.Path) {
	var path field.Path
	if set, _ := v.in.Around.SidecarSet(v.pods()); set != nil {
		annotations, _ = withInitPorts(annotations, set.InitArgs)
	}
	for i, c := range v.in.Template.Spec.InitContainers {
		if c.Name != istioInitName {
			continue
		}
		isThere := false
		if annotations, isThere = withInitPorts(annotations, c.Args); isThere {
			path = v.containerPath(pod.Ref{Init: true, Index: i}).Key("args")
		}
	}
	return annotations, path
}

// withInitPorts returns annotations with the lists of ports among the arguments of an istio-init.
func withInitPorts(annotations field.Noted, args []string) (with field.Noted, isThere bool) {
	for j := 0; j+1 < len(args); j++ {
		if key := map[string]string{
			"-b": istioIncludePorts,
			"-d": istioExcludePorts,
		}[args[j]]; key != "" {
			annotations, isThere = annotations.With(key, args[j+1]), true
		}
	}
	return annotations, isThere
}

// initCaptures returns the path of the arguments that have the mesh capture a port; nil if
// there are none.
func (d istio) initCaptures(v *view, port int) field.Path {
	_, path := istioInitPorts(v, field.Noted{})
	if path != nil && d.captures(v, v.userAnnotations)(port) {
		return path
	}
	return nil
}

// answerer decides who answers: istio-proxy, if it is certain to be there and to
// answer every probe in each world, else probe-proxy, which needs nothing of Istio's.
// because says why it is not istio-proxy in an injected pod; "" if the options say so.
func (d istio) answerer(v *view, f world.Facts) (a answerer, because string) {
	o := v.opts
	if o.AnsweredBy == AnsweredByApp {
		return answerer{who: AnsweredByApp}, ""
	}
	proxy := answerer{AnsweredByIstioProxy, istioStatusIn(v, v.annotations())}
	bad := badIstioStatus(v.annotations())
	switch {
	case bad && o.Port != prober.DefaultPort:
		proxy.port = o.Port
	case bad:
		proxy.port = prober.StatusPort
	}
	if o.AnsweredBy == AnsweredByIstioProxy {
		return proxy, ""
	}
	set, _ := v.in.Around.SidecarSet(v.pods())
	if o.AnsweredBy == AnsweredByAuto && set != nil {
		return answerer{AnsweredByProbeProxy, o.Port}, set.Words() + " adds istio-proxy with a fixed env"
	}
	if o.AnsweredBy == AnsweredByAuto && f.Injected.Presumed {
		because = "a Namespace that is not in the input may switch off the injection that the pod's label asks for"
	}
	isItsPort := o.Port == prober.DefaultPort || o.Port == istioStatusOr(v.annotations())
	if o.AnsweredBy == AnsweredByAuto && f.Injected.IsSure() && isItsPort {
		if because = d.cannotAnswer(v, f); bad || because == "" || d.initCaptures(v, o.Port) != nil {
			return proxy, "" // with a bad status port it is refused
		}
	}
	return answerer{AnsweredByProbeProxy, o.Port}, because
}

// cannotAnswer returns why istio-proxy may not answer all probes of the pod; "" if it
// does in every world. The kubelet ends an ordinary istio-proxy at the moment in which it
// calls the preStop hooks of other containers. Its status server closes its port at once,
// and what it has already accepted ends with it, by default after 5 s (pilot/cmd/pilot-agent/status/server.go,
// Run; pkg/envoy/agent.go, terminate).
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
		if !s.original.Dials() ||
			istioData.isProxy(s.container) ||
			s.name.IsHook() && s.original.HTTPGet == nil {
			continue
		}
		if in := v.inbound(s.port); in.Local != "" {
			return fmt.Sprintf("istio-proxy asks the pod's IP, and container %q listens on %s by %s", s.container.Name, in.Local, in.By)
		}
		if s.original.Newer(s.name.IsHook()) != "" {
			return fmt.Sprintf("istio-proxy cannot make the %s of container %q", s.name.Field(), s.container.Name)
		}
		if s.name == prober.PreStop && f.Native.Is != certain.Always {
			return fmt.Sprintf("istio-proxy may end before the preStop hook of container %q, unless it is a native sidecar", s.container.Name)
		}
		if f.Native.Is != certain.Always &&
			f.Holds.Is != certain.Always &&
			v.patience(s) < istioStart {
			return fmt.Sprintf("istio-proxy may start after container %q, whose %s fails for good within %d s, unless it is a native sidecar", s.container.Name, s.name.Field(), istioStart)
		}
		if unless := v.lateIn(&f, s, answerer{who: AnsweredByIstioProxy}); unless != "" {
			return fmt.Sprintf("istio-proxy may start after container %q, whose %s needs it, if %s", s.container.Name, s.name.Field(), unless)
		}
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
		t.in.Notes.field(s.path.Key(key))
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

// outcomes returns the function that says what becomes of a probe, as it was read, in
// the worlds that are left. The injector is taken to rewrite nothing unless the pod's
// annotation or the options say that it does.
func (d istio) outcomes(v *view, f world.Facts) func(*site) (world.Fate, string) {
	now := v.annotations()
	f.Rewrites = d.rewritesFact(v, now)
	if f.Rewrites.Is == certain.Maybe {
		f.Rewrites.Is = certain.Never
	}
	worlds := f.Worlds()
	redirects := istioRedirects(v, now)
	captures := istioCaptures(v, redirects)
	_, path := istioInitPorts(v, field.Noted{}) // with an istio-init, Istio's CNI plugin does nothing
	notInjected := v.notInjectedElsewhere(f.Injected)
	return func(s *site) (world.Fate, string) {
		var fates, far []world.WorldFate
		foretell := func(x world.WorldFate) {
			x.Fate = d.fate(v, s, x)
			if x.MTLS.Far {
				x.Elsewhere = x.MTLS.At
			}
			if x.Elsewhere != "" {
				far = append(far, x)
			} else {
				fates = append(fates, x)
			}
		}
		if notInjected != "" {
			far = append(far, world.WorldFate{Elsewhere: notInjected, Fate: world.Spared})
		}
		for _, w := range worlds {
			port := s.dialed()
			rewritten := w.Rewrites && s.holder == nil
			if rewritten {
				port = istioStatusIn(v, now)
				if v.inbound(s.dialed()).Local != "" {
					foretell(world.WorldFate{World: w, Local: true})
				}
			}
			if !w.Injected || !captures(port) {
				foretell(world.WorldFate{World: w})
				continue
			}
			if !redirects(port) && v.inbound(port).Binds == certain.Maybe { // or the Sidecar is about other pods
				foretell(world.WorldFate{World: w, Unbound: true})
			}
			mayBeEarly := !w.Native && path == nil && s.needsStart()
			refusal := v.refusal(s, port, rewritten)
			for _, m := range v.mtls(port) {
				if refusal.Is != certain.Never {
					foretell(world.WorldFate{World: w, MTLS: m, Refused: refusal.By})
				}
				if refusal.Is != certain.Always || refusal.Unless != "" {
					foretell(world.WorldFate{World: w, MTLS: m, Elsewhere: refusal.Unless})
				}
				if mayBeEarly {
					foretell(world.WorldFate{World: w, MTLS: m, Early: true})
				}
			}
			if now.Get(istioExcludeInterfaces) != "" && v.inbound(port).Binds != certain.Always {
				// It may name the interface of the kubelet's connections.
				foretell(world.WorldFate{World: w, Uncaptured: true})
				if mayBeEarly {
					foretell(world.WorldFate{World: w, Uncaptured: true, Early: true})
				}
			}
		}
		isSpared := func(x world.WorldFate) bool { return x.Outcome == world.Unaffected }
		if !slices.ContainsFunc(fates, isSpared) {
			fates = append(fates, far...) // it fails for certain, and what is far can make that open
		}
		return f.VerdictOn(fates)
	}
}

// notInjectedElsewhere names a Namespace in another branch of the folders that would switch injection
// off, although the pod's own label is presumed to have switched it on; "" if there is none.
func (v *view) notInjectedElsewhere(injected world.Fact) string {
	if injected.Presumed {
		for _, n := range v.in.Around.NamespaceElsewhere {
			if value, set := n.Namespace.Labels.Lookup(istioInjection); set && value != "enabled" {
				return n.Words()
			}
		}
	}
	return ""
}

// fate returns what becomes of a probe, as it was read, in one world; without a mode of mutual
// TLS the mesh does not capture the port.
func (d istio) fate(v *view, s *site, w world.WorldFate) world.Fate {
	h := s.holder
	switch {
	case h != nil && h.proxy && !w.Injected:
		return world.Failing("istio-proxy, which must answer, is not in the pod")
	case !w.Injected:
		return world.Spared
	}
	running := v.runsBefore(w.World, s, answerer{who: AnsweredByIstioProxy})
	switch _, host := s.current.Endpoint(); {
	case h != nil:
		if f := d.answeredFate(v, s, w.World); f != world.Spared {
			return f
		}
	case w.Rewrites:
		return d.injectorsFate(v, s, w, running)
	case host != "":
		return world.Spared
	}
	if w.MTLS.Mode == "" {
		return world.Spared
	}
	return d.capturedFate(v, s, w, running)
}

// capturedFate returns what becomes of a probe that the mesh captures.
func (istio) capturedFate(v *view, s *site, w world.WorldFate, running bool) world.Fate {
	kind := s.current.Kind()
	port := s.dialed()
	switch {
	case s.gates() &&
		!running &&
		v.inbound(port).Binds == certain.Always:
		return world.Failing("istio-proxy listens there instead of the app, and does not run yet")
	case s.at.Init &&
		s.gates() &&
		!w.Native &&
		!w.Early:
		return world.Spared // istio-init, the last init container, has not run yet
	case s.gates() && !running:
		return world.Failing("the mesh captures it, and istio-proxy does not run yet")
	case w.Early:
		return world.Failing(fmt.Sprintf("the mesh captures port %d, and istio-proxy starts after probe-proxy, whose own startupProbe asks that port", port))
	case kind == pod.KindTCPSocket:
		return world.FalselyPassing(whyAccepted)
	case w.MTLS.Mode == surroundings.MTLSStrict:
		return world.Failing(s.whyStrict(w.MTLS.At))
	}
	h := s.current.HTTPGet
	g := s.current.GRPC
	declared := v.in.Around.Declared(v.pods(), port)
	isTLS := h != nil && h.Scheme == "HTTPS" || g != nil && g.Mode == prober.GRPCTLS
	isHTTP := slices.Contains(declared, surroundings.HTTP1) || slices.Contains(declared, surroundings.HTTP2)
	switch {
	case isTLS && isHTTP:
		return world.Failing("a Service declares its port as HTTP, which istio-proxy then expects instead of TLS")
	case g != nil && slices.Equal(declared, []surroundings.Protocol{surroundings.HTTP1}):
		return world.Failing("a Service declares its port as HTTP/1, so that istio-proxy asks the app in HTTP/1.1, which is not gRPC; the port's name must begin with grpc")
	case w.Refused != "":
		return world.Failing(s.whyRefused(w.Refused))
	}
	return world.Spared
}

// injectorsFate returns what becomes of a probe that Istio's injector rewrites, in a world with
// the mode of istio-proxy's own port.
func (istio) injectorsFate(v *view, s *site, w world.WorldFate, running bool) world.Fate {
	status := istioStatusIn(v, v.annotations())
	listens := istioListens(v)
	_, host := s.current.Endpoint()
	why := unrecordedReason(s, istioStatusIn(v, field.Noted{}))
	switch {
	case host != "" && s.current.HTTPGet != nil: // of a tcpSocket it drops the host
		return world.Failing("Istio's injector sends it to its own port of that host")
	case why != "":
		return world.Failing("Istio's injector sends it to istio-proxy without its original, since " + why + ", and istio-proxy answers 400")
	case s.current.Newer(s.name.IsHook()) != "":
		return world.Failing("Istio's injector sends it to istio-proxy, which does not support `" + s.current.Newer(s.name.IsHook()) + "`")
	case w.Local:
		return world.Failing("Istio's injector sends it to istio-proxy, which asks the pod's IP and not where " + v.inbound(s.dialed()).By + " says")
	case badIstioStatus(v.annotations()):
		return world.Failing("Istio's injector sends it to no port of istio-proxy's status server (annotation `" + istioStatusPort + "`)")
	case listens != status:
		return world.Failing(fmt.Sprintf("Istio's injector sends it to port %d, and istio-proxy listens on port %d", status, listens))
	case !running:
		return world.Failing("Istio's injector rewrites it, and istio-proxy starts later")
	case w.MTLS.Mode == surroundings.MTLSStrict:
		return world.Failing(fmt.Sprintf("the mesh captures port %d, where Istio's injector sends it", status))
	case w.Refused != "":
		return world.Failing(w.Refused + " refuses the kubelet, which has no identity")
	}
	return world.Spared
}

// unrecordedReason returns why Istio's injector does not record the original of a probe that it
// sends to istio-proxy; "" if it does. status is the port of the mesh's configuration, which alone
// counts here (DumpAppProbers in pkg/kube/inject/app_probe.go).
func unrecordedReason(s *site, status int) string {
	port, _ := s.current.Endpoint()
	switch {
	case port.IsString && s.dialed() == 0:
		return fmt.Sprintf("no port of the container has the name %q", port.Str)
	case !port.IsString && int(port.Int) == status:
		return fmt.Sprintf("it asks port %d already", status)
	}
	return ""
}

// answeredFate returns what becomes of a rewritten probe next to istio-proxy, as far as it
// does not matter whether the mesh captures it.
func (d istio) answeredFate(v *view, s *site, w world.World) world.Fate {
	listens := istioListens(v)
	switch h := s.holder; {
	case h.proxy && s.dialed() != listens:
		return world.Failing(fmt.Sprintf("istio-proxy answers on port %d", listens))
	case h.proxy && !v.runsBefore(w, s, h.answerer()):
		return world.Failing("istio-proxy, which must answer, starts later")
	case !h.proxy && slices.Contains(h.listens, listens):
		return world.Failing(fmt.Sprintf("probe-proxy and istio-proxy listen on the same port, %d", listens))
	case h.isGated() &&
		!w.Native &&
		d.rewritesFact(v, v.annotations()).Is != certain.Never:
		return world.Failing("the annotation `" + istioRewrite + ": \"false\"` is missing: Istio's injector sends probe-proxy's own startupProbe to istio-proxy, which starts later, so the pod never starts")
	}
	return world.Spared
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
				"it listens on port %d, where istio-proxy answers in this pod, so one of the two cannot start", listens))
		}
	}
	return found
}

// whyStrict returns why a captured probe fails under strict mTLS, which at says.
func (s *site) whyStrict(at string) string {
	switch {
	case s.holder != nil:
		return fmt.Sprintf("the mesh captures port %d, where it is answered", s.dialed())
	case at != "":
		return whyNoCertificate + " (" + at + ")"
	}
	return whyNoCertificate
}
