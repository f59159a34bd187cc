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

func noNetwork(k *knowledge, s *site) leave {
	return because(s.original.Kind() != "" && !s.original.Dials(), reason.NoNetwork)
}

func notOneHandler(k *knowledge, s *site) leave {
	if s.original.Kind() != "" {
		return leave{}
	}
	return skip(s, reason.NotOneHandler, s.path, "must have exactly one handler (exec, httpGet, tcpSocket, grpc, and for hooks sleep), and has %s", s.original)
}

func ofProxy(k *knowledge, s *site) leave {
	return because(k.mesh.isProxy(s.container), reason.ProxyContainer)
}

func isLost(k *knowledge, s *site) leave {
	if !s.isDangling() {
		return leave{}
	}
	l := skip(s, reason.Dangling, s.path, danglingText)
	fix := "Write the original probe back"
	if k.annotations().Get(istioRewrite) == "false" {
		fix += ", and delete the annotation `" + istioRewrite + ": \"false\"`: with it, Istio's injector does not rewrite the probe either"
	}
	*l.finding = l.finding.Fix("%s", fix)
	return l
}

// notRewritten is a rule of restoring.
func notRewritten(k *knowledge, s *site) leave {
	return because(!s.alreadyRewritten, reason.NotRewritten)
}

// notSelected asks whether [Options].Rewrite names the handler. A hook that never works is left
// alone for that reason, which is the better one.
func notSelected(k *knowledge, s *site) leave {
	kind := s.original.Kind()
	switch {
	case s.name.IsHook() && kind == pod.KindHTTPGet:
		kind = rewriteHooks
	case s.name.IsHook():
		return leave{}
	}
	return because(!slices.Contains(k.opts.Rewrite, kind), reason.NotSelected)
}

func hookNeverWorks(k *knowledge, s *site) leave {
	kind := s.original.Kind()
	if !s.name.IsHook() || kind == pod.KindHTTPGet {
		return leave{}
	}
	if s.isTCPHook() && k.mayBeRewritten() {
		return skip(s, reason.HookNeverWorks, s.in(), "the kubelet has no %s hooks: this one fails, unless Istio's injector makes an httpGet hook of it (Istio 1.25 and later)", kind)
	}
	return skip(s, reason.HookNeverWorks, s.in(), "the kubelet has no %s hooks: this one always fails", kind)
}

func onInitContainer(k *knowledge, s *site) leave {
	if !s.at.Init || pod.IsSidecar(s.at, s.container) {
		return leave{}
	}
	return skip(s, reason.InitContainer, s.path, "the API server allows probes and hooks on an init container only with `restartPolicy: Always`")
}

func nameNotUnique(k *knowledge, s *site) leave {
	name := s.container.Name
	first := slices.Index(k.names, name)
	if name != "" && !strings.Contains(name, "/") && !slices.Contains(k.names[first+1:], name) {
		return leave{}
	}
	return skip(s, reason.ContainerName, k.containerPath(s.at).Key("name"), "%q must be the name of this container alone, without a slash", name)
}

func nameIsVariable(k *knowledge, s *site) leave {
	if !pod.IsVariable(s.container.Name) {
		return leave{}
	}
	return skip(s, reason.Variable, k.containerPath(s.at).Key("name"), "%q has what looks like a variable, and rewritten probes and their originals are known by this name; rewrite-probes must run after the substitution, and the probe is left alone", s.container.Name)
}

func goesToHost(k *knowledge, s *site) leave {
	_, host := s.original.Endpoint()
	if host == "" {
		return leave{}
	}
	return skip(s, reason.HostSet, s.in("host"), "%q is where the probe goes, so it is left alone; without `host` it goes to the pod and can be rewritten", host)
}

func textIsVariable(k *knowledge, s *site) leave {
	key, text := s.original.Carried()
	if !pod.IsVariable(text) {
		return leave{}
	}
	return skip(s, reason.Variable, s.in(key), "%q has what looks like a variable, which nothing would substitute in the env var that carries the original; rewrite-probes must run after the substitution, and the probe is left alone", text)
}

func schemeInvalid(k *knowledge, s *site) leave {
	h := s.original.HTTPGet
	if h == nil || slices.Contains([]string{"", "HTTP", "HTTPS"}, h.Scheme) {
		return leave{}
	}
	return skip(s, reason.SchemeInvalid, s.in("scheme"), "%q must be HTTP or HTTPS", h.Scheme)
}

func timeoutInvalid(k *knowledge, s *site) leave {
	if 0 <= s.timeout && s.timeout <= math.MaxInt32 {
		return leave{}
	}
	return skip(s, reason.TimeoutInvalid, s.path.Key("timeoutSeconds"), "%d must be a number of seconds from 1 to %d", s.timeout, math.MaxInt32)
}

func portUnresolved(k *knowledge, s *site) leave {
	if s.portErr == nil {
		return leave{}
	}
	why := reason.PortUnresolved
	if _, numeric := s.portErr.(pod.OutOfRange); numeric {
		why = reason.PortInvalid
	}
	l := skip(s, why, s.in("port"), "%v; the probe is left alone", s.portErr)
	port, _ := s.original.Endpoint()
	if *port != (field.IntOrString{}) {
		l.finding.Current = port.Value()
	}
	if n, err := strconv.Atoi(port.Str); err == nil && n > 0 {
		l.finding.Proposed = n
	}
	return l
}

func atProbePort(k *knowledge, s *site) leave {
	if !k.listensOn(k.inspection.answerer, s.port) || s.byEnvoy {
		return leave{}
	}
	return skip(s, reason.AimsAtProbePort, s.in("port"), "asks port %d, where rewritten probes are answered, but it is not one of them", s.port)
}

func notCaptured(k *knowledge, s *site) leave {
	if k.inspection.captures(s.port) {
		return leave{}
	}
	return skip(s, reason.PortNotCaptured, s.in("port"), "the mesh does not capture port %d, so the probe works as it is", s.port)
}

// appElsewhere refuses a probe of a port that is Envoy's alone: the app is behind it, at another port or
// at a socket.
func appElsewhere(k *knowledge, s *site) leave {
	in := k.inbound(s.port)
	if in.Elsewhere == "" {
		return leave{}
	}
	f := containerFinding(reason.AppElsewhere, s.in("port"), s.container.Name,
		"Not rewritten: the app may not listen on port %d", s.port).
		Why("%s has Envoy send what comes there to %s", in.By, in.Elsewhere)
	if strings.HasPrefix(in.Elsewhere, "unix:") {
		f = f.Fix("Write an exec probe that asks the socket")
	} else {
		f = f.Fix("Set the port of the probe to %s", in.Elsewhere[strings.LastIndexByte(in.Elsewhere, ':')+1:])
	}
	return leave{reason.AppElsewhere, &f}
}

func startsTooEarly(k *knowledge, s *site) leave {
	if !s.at.Init && !k.answeredByUs() {
		return leave{}
	}
	if k.lateIn(&k.inspection.facts, s, k.inspection.answerer) == "" {
		return leave{}
	}
	return skip(s, reason.StartsBeforeAnswerer, s.path,
		"container %q starts before the one that answers rewritten probes, so this one is left alone; %s",
		s.container.Name, k.startsEarlierCure(s))
}

// newerThanProxy leaves alone what the mesh's proxy would have to make but does not support.
func newerThanProxy(k *knowledge, s *site) leave {
	newer := s.original.Newer(s.name.IsHook())
	if !k.isAnsweredBy(AnsweredByIstioProxy) || newer == "" {
		return leave{}
	}
	return skip(s, reason.ProxyCannotAnswer, s.in(),
		"has `%s.%s`, which %s does not know; probe-proxy makes such a probe (`answeredBy: %s`)",
		s.original.Kind(), newer, k.inspection.answerer.who, AnsweredByProbeProxy)
}

// localOnly leaves alone what the mesh's proxy would ask at the pod's IP, where the app does not listen.
func localOnly(k *knowledge, s *site) leave {
	in := k.inbound(s.port)
	if !k.isAnsweredBy(AnsweredByIstioProxy) || in.Local == "" {
		return leave{}
	}
	return skip(s, reason.ProxyCannotAnswer, s.in("port"),
		"asks the pod's IP through istio-proxy, and %s says that the app listens on %s; probe-proxy asks there (`answeredBy: %s`)",
		in.By, in.Local, AnsweredByProbeProxy)
}

// beyondEnvoy leaves alone what an Envoy in Open Service Mesh's form cannot answer.
func beyondEnvoy(s *site) leave {
	what := "a " + s.original.Kind() + " probe"
	switch {
	case s.name.IsHook():
		what = "a hook"
	case s.original.HTTPGet != nil:
		what = "HTTPS at a second port: all TLS of a probe type goes to one port"
	}
	f := containerFinding(reason.ProxyCannotAnswer, s.in(), s.container.Name, "Not rewritten: Envoy cannot answer %s", what)
	return leave{f.Reason, &f}
}

// unknownFieldIn leaves alone what has a field that the planner does not know.
func unknownFieldIn(k *knowledge, s *site) leave {
	path, known := pod.UnknownField(s.source)
	if path == nil {
		return leave{}
	}
	return skip(s, reason.HandlerUnknown, s.path.Join(path), "is a field that this version does not know (it knows %s), so the probe is left alone", strings.Join(known, ", "))
}

// unsupportedValue leaves alone what has a value that the planner does not know.
func unsupportedValue(k *knowledge, s *site) leave {
	name, problem := s.original.Unsupported()
	if s.original.Kind() == "" || name == "" {
		return leave{}
	}
	return skip(s, reason.HandlerUnknown, s.in(name), "%s", problem)
}

func (k *knowledge) startsEarlierCure(s *site) string {
	switch {
	case k.in.Shape.NoNativeSidecars:
		return "a " + k.in.Kind + " can have no native sidecars, which would start first"
	case k.isAnsweredBy(AnsweredByEnvoy):
		return "an `" + envoyName + "` before it in `initContainers`, with `restartPolicy: Always`, would start first"
	case k.answeredByUs():
		return "`placement: native` starts probe-proxy first"
	}
	return "probe-proxy with `placement: native`, on a port of its own, would start first"
}
