package transformer

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// skip leaves a probe or hook alone and reports the reason.
func skip(s *site, why reason.Key, path field.Path, format string, args ...any) leave {
	return leave{why, new(containerFinding(why, path, s.container.Name, format, args...))}
}

// because leaves a probe or hook alone for a reason if that applies, and reports nothing.
func because(applies bool, why reason.Key) leave {
	if !applies {
		return leave{}
	}
	return leave{reason: why}
}

func noNetwork(a *answering, s *site) leave {
	return because(s.original.Kind() != "" && !s.original.Dials(), reason.NoNetwork)
}

func notOneHandler(a *answering, s *site) leave {
	if s.original.Kind() != "" {
		return leave{}
	}
	return skip(s, reason.NotOneHandler, s.path, "not rewritten: it has %s", s.original).
		fix("Write exactly one of exec, httpGet, tcpSocket, grpc and, for a hook, sleep")
}

func ofProxy(a *answering, s *site) leave {
	return because(a.mesh.isProxy(s.container), reason.ProxyContainer)
}

func isLost(a *answering, s *site) leave {
	if !s.isDangling() {
		return leave{}
	}
	l := skip(s, reason.Dangling, s.path, danglingText)
	fix := "Write the original probe back"
	for _, c := range a.containers() {
		if name := a.opts.ProbeProxy.Name; c.Name == name {
			fix += ". Delete or rename the container `" + name + "`"
		}
	}
	if a.annotations().Get(istioRewrite) == "false" {
		fix += ". Delete the annotation `" + istioRewrite + ": \"false\"`: with it, Istio's injector does not rewrite the probe either"
	}
	*l.finding = l.finding.Fix("%s", fix)
	return l
}

// notRewritten is a rule of restoring.
func notRewritten(a *answering, s *site) leave {
	return because(!s.alreadyRewritten, reason.NotRewritten)
}

// notSelected asks whether [Options].Rewrite names the handler. A hook that never works is left
// alone for that reason, which is the better one.
func notSelected(a *answering, s *site) leave {
	kind := s.original.Kind()
	switch {
	case s.name.IsHook() && kind == pod.KindHTTPGet:
		kind = rewriteHooks
	case s.name.IsHook():
		return leave{}
	}
	return because(!slices.Contains(a.opts.Rewrite, kind), reason.NotSelected)
}

func hookNeverWorks(a *answering, s *site) leave {
	kind := s.original.Kind()
	if !s.name.IsHook() || kind == pod.KindHTTPGet {
		return leave{}
	}
	if s.isTCPHook() && a.mayBeRewritten() {
		return skip(s, reason.HookNeverWorks, s.in(), "the kubelet has no %s hooks, so this one fails, unless Istio 1.25 or later makes it an httpGet hook", kind)
	}
	return skip(s, reason.HookNeverWorks, s.in(), "the kubelet has no %s hooks, so this one always fails", kind)
}

// madeByKubelet leaves alone what every kubelet makes itself, where no mesh is in its way.
func madeByKubelet(a *answering, s *site) leave {
	gate, _ := gateOf(s)
	return because(a.mesh.name == noMeshData.name && gate == "", reason.MadeByKubelet)
}

func onInitContainer(a *answering, s *site) leave {
	if !s.at.Init || pod.IsSidecar(s.at, s.container) {
		return leave{}
	}
	return skip(s, reason.InitContainer, s.path, "the API server refuses probes and hooks of an init container without `restartPolicy: Always`")
}

func nameNotUnique(a *answering, s *site) leave {
	name := s.container.Name
	if name != "" &&
		!strings.Contains(name, "/") &&
		a.named[name] == 1 {
		return leave{}
	}
	return skip(
		s,
		reason.ContainerName,
		a.containerPath(s.at).Key("name"),
		"not rewritten: %q is not a unique name without a slash",
		name,
	)
}

func nameIsVariable(a *answering, s *site) leave {
	if !pod.IsVariable(s.container.Name) {
		return leave{}
	}
	return skip(
		s,
		reason.Variable,
		a.containerPath(s.at).Key("name"),
		"not rewritten: %q looks like it has a variable",
		s.container.Name,
	).
		why("The path of a rewritten probe has this name")
}

func goesToHost(a *answering, s *site) leave {
	_, host := s.original.Endpoint()
	if host == "" {
		return leave{}
	}
	return skip(s, reason.HostSet, s.in("host"), "not rewritten: it asks host %q, not the pod", host)
}

func textIsVariable(a *answering, s *site) leave {
	key, text := s.original.Carried()
	if !pod.IsVariable(text) {
		return leave{}
	}
	return skip(s, reason.Variable, s.in(key), "not rewritten: %q looks like it has a variable", text).
		why("Nothing would substitute it in the env var that stores the original")
}

func schemeInvalid(a *answering, s *site) leave {
	h := s.original.HTTPGet
	if h == nil ||
		slices.Contains([]string{"", "HTTP", "HTTPS"}, h.Scheme) {
		return leave{}
	}
	return skip(s, reason.SchemeInvalid, s.in("scheme"), "not rewritten: the scheme %q is neither HTTP nor HTTPS", h.Scheme)
}

func timeoutInvalid(a *answering, s *site) leave {
	if 0 <= s.timeout && s.timeout <= math.MaxInt32 {
		return leave{}
	}
	return skip(
		s,
		reason.TimeoutInvalid,
		s.path.Key("timeoutSeconds"),
		"not rewritten: the timeout %d is not from 1 to %d seconds",
		s.timeout,
		math.MaxInt32,
	)
}

func portUnresolved(a *answering, s *site) leave {
	if s.portErr == nil {
		return leave{}
	}
	why := reason.PortUnresolved
	if _, numeric := s.portErr.(pod.OutOfRange); numeric {
		why = reason.PortInvalid
	}
	l := skip(s, why, s.in("port"), "not rewritten: %v", s.portErr)
	if wrong, named := s.portErr.(pod.UnknownPort); named {
		l = l.fix("%s", wrong.Fix)
	}
	port, _ := s.original.Endpoint()
	if *port != (field.IntOrString{}) {
		l.finding.Current = port.Value()
	}
	if n, err := strconv.Atoi(port.Str); err == nil && n > 0 {
		l.finding.Proposed = n
	}
	return l
}

func atProbePort(a *answering, s *site) leave {
	asksAgent := a.isAnsweredBy(AnsweredByIstioProxy) && s.asksAgent()
	if !a.listensOn(a.answerer, s.port) || s.byEnvoy || asksAgent {
		return leave{}
	}
	return skip(
		s,
		reason.AimsAtProbePort,
		s.in("port"),
		"this %s asks port %d, where %s answers rewritten ones",
		s.noun(),
		s.port,
		a.who,
	)
}

// atAgentsPort leaves alone what asks the port of Istio's agent, where no app can listen in an injected pod.
func atAgentsPort(a *answering, s *site) leave {
	isThere := a.mesh.name == istioData.name && a.inspection.facts.Injected.May(true)
	if !isThere || s.port != istioListens(a.view) || s.asksAgent() {
		return leave{}
	}
	return skip(s, reason.AimsAtProbePort, s.in("port"),
		"this %s asks port %d, where Istio's agent listens in an injected pod", s.noun(), s.port).
		fix("Write the app's port")
}

func notCaptured(a *answering, s *site) leave {
	if a.inspection.captures(s.port) {
		return leave{}
	}
	return skip(s, reason.PortNotCaptured, s.in("port"), "the mesh does not capture port %d, so this works unchanged", s.port)
}

// appElsewhere refuses a probe of a port that is Envoy's alone: the app is behind it, at another port or
// at a socket.
func appElsewhere(a *answering, s *site) leave {
	in := a.inbound(s.port)
	if in.Elsewhere == "" {
		return leave{}
	}
	f := containerFinding(reason.AppElsewhere, s.in("port"), s.container.Name,
		"Not rewritten: the app may not listen on port %d", s.port).
		Why("%s has Envoy send what comes there to %s", in.By, in.Elsewhere)
	if strings.HasPrefix(in.Elsewhere, "unix:") {
		f = f.Fix("Write an exec probe that asks the socket")
	} else {
		f = f.Fix(
			"Set the port of the probe to %s",
			in.Elsewhere[strings.LastIndexByte(in.Elsewhere, ':')+1:],
		)
	}
	return leave{reason.AppElsewhere, &f}
}

func startsTooEarly(a *answering, s *site) leave {
	if !s.at.Init && !a.answeredByUs() {
		return leave{}
	}
	if a.lateIn(&a.inspection.facts, s, a.answerer) == "" {
		return leave{}
	}
	return skip(s, reason.StartsBeforeAnswerer, s.path,
		"not rewritten: container %q starts before %s, which would answer", s.container.Name, a.who).
		fix("%s", a.startsEarlierFix(s))
}

// newerThanProxy leaves alone what the mesh's proxy would have to make but does not support.
func newerThanProxy(a *answering, s *site) leave {
	newer := s.original.Newer(s.name.IsHook())
	if !a.isAnsweredBy(AnsweredByIstioProxy) {
		return leave{}
	}
	if s.name.IsHook() && HasNoHooks(agentVersion(a.view)) {
		return skip(s, reason.ProxyCannotAnswer, s.in(), "not rewritten: istio-proxy of Istio %s knows no hooks", agentVersion(a.view)).
			why("It ends if its env var has one").
			fix("Set `answeredBy: %s`", AnsweredByProbeProxy)
	}
	if newer == "" {
		return leave{}
	}
	return skip(s, reason.ProxyCannotAnswer, s.in(),
		"not rewritten: %s does not know `%s.%s`", a.who, s.original.Kind(), newer).
		fix("Set `answeredBy: %s`", AnsweredByProbeProxy)
}

// localOnly leaves alone what the mesh's proxy would ask at the pod's IP, where the app does not listen.
func localOnly(a *answering, s *site) leave {
	in := a.inbound(s.port)
	if !a.isAnsweredBy(AnsweredByIstioProxy) || in.Local == "" {
		return leave{}
	}
	return skip(s, reason.ProxyCannotAnswer, s.in("port"),
		"not rewritten: istio-proxy asks the pod's IP, and the app listens on %s, by %s", in.Local, in.By).
		fix("Set `answeredBy: %s`, which asks there", AnsweredByProbeProxy)
}

// twoAddresses refuses a probe whose app listens on another address of the loopback interface than that of a probe
// before it: the pod has one probe-proxy, which asks one of them.
func twoAddresses(a *answering, s *site) leave {
	in := a.inbound(s.port)
	if in.Local == "" {
		return leave{}
	}
	first := a.localAddress(a.sites)
	if in.Local == first {
		return leave{}
	}
	f := containerFinding(
		reason.AppElsewhere,
		s.in("port"),
		s.container.Name,
		"Not rewritten: the app listens on %s, and probe-proxy asks %s",
		in.Local,
		first,
	).
		Why("%s has two addresses of the pod, and probe-proxy asks one", in.By).
		Fix("Write the same address into each `defaultEndpoint`")
	return leave{reason.AppElsewhere, &f}
}

// beyondEnvoy leaves alone what an Envoy in Open Service Mesh's form cannot answer.
func beyondEnvoy(s *site) leave {
	what := "a " + s.original.Kind() + " probe"
	switch {
	case s.name.IsHook():
		what = "a hook"
	case s.original.HTTPGet != nil:
		what = "HTTPS at a second port, since a probe type has one port for TLS"
	}
	f := containerFinding(reason.ProxyCannotAnswer, s.in(), s.container.Name, "Not rewritten: Envoy cannot answer %s", what)
	return leave{f.Reason, &f}
}

// unknownFieldIn leaves alone what has a field that the planner does not know.
func unknownFieldIn(a *answering, s *site) leave {
	path, known := pod.UnknownField(s.source)
	if path == nil {
		return leave{}
	}
	key := path[len(path)-1].Key
	why, fix := pod.AboutField(key, known)
	return skip(s, reason.HandlerUnknown, s.path.Join(path), "not rewritten: this version does not know the field `%s`", key).
		why("%s", why).
		fix("%s", fix)
}

// unsupportedValue leaves alone what has a value that the planner does not know.
func unsupportedValue(a *answering, s *site) leave {
	name, problem := s.original.Unsupported()
	if s.original.Kind() == "" || name == "" {
		return leave{}
	}
	return skip(s, reason.HandlerUnknown, s.in(name), "not rewritten: %s", problem)
}

func (a *answering) startsEarlierFix(s *site) string {
	switch {
	case a.in.Shape.NoNativeSidecars:
		return "Make it exec: a " + a.in.Kind + " cannot have native sidecars, which would start first"
	case a.isAnsweredBy(AnsweredByEnvoy):
		return "Put the `" + envoyName + "` before it in `initContainers`, with `restartPolicy: Always`"
	case a.answeredByUs():
		return "Set `probeProxy.placement: native`: probe-proxy then starts first"
	}
	return "Set `answeredBy: probe-proxy` and `probeProxy.placement: native`, with a separate `port`"
}
