package transformer

import (
	"cmp"
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

// kuma is the profile of Kuma and of Kong Mesh, which is built on it (kuma,
// v2.14.3 and commit 348b6528bc23 of August 2026).
//
//   - Injection: the label of the pod, else of its Namespace
//     (pkg/plugins/runtime/k8s/metadata/annotations.go:17 and GetEnabled,
//     pkg/plugins/runtime/k8s/webhooks/injector/precheck.go:151-171). The webhook is
//     called for Namespaces with "enabled" or "true", and for pods with "enabled", from
//     2.11 only if their Namespace has the label at all
//     (deployments/charts/kuma/templates/cp-webhooks-and-secrets.yaml).
//   - Its own rewriter sends httpGet, tcpSocket and grpc probes of containers to
//     the port in an annotation, 9001 by default, and "0" turns it off
//     (metadata/annotations.go:30, pkg/plugins/runtime/k8s/probes). It fails the
//     injection of a pod whose probes already go to that port
//     (probe_converter.go:33-36). With "0", Kuma 2.13 and 2.14 fall back to virtual
//     probes, for httpGet alone: the kubelet goes to another port, 9000, which
//     redirects it to the port that the probe had (v2.14.3,
//     probes/probe.go:106-117, pkg/xds/generator/probe_generator.go:57-71). Envoy
//     cannot have a second listener for that port, such as that of a Service, so that an
//     annotation moves it where the app has it (injector/probes.go).
//     Probes of native sidecars are rewritten too if Kuma's is a native one, which then
//     comes first; it is by default from 2.14 on (deployments/charts/kuma/values.yaml,
//     pod_probe_overrider.go).
//   - Of a pod that an annotation makes a gateway nothing that comes in is captured, and
//     its probes are not rewritten (pkg/transparentproxy/kubernetes/kubernetes.go,
//     pkg/plugins/runtime/k8s/probes).
//   - The annotation of excluded ports (metadata/annotations.go:51) replaces those
//     of the mesh (pkg/config/app/kuma-cp/kuma-cp.defaults.yaml:379).
//   - uid 5678, and ports 15001, 15006, 15053, 9901 and 9902
//     (kuma-cp.defaults.yaml:94-99, 269-283, 396).
var kuma = passiveProxy{
	meshData: meshData{
		name: "kuma", title: "Kuma", proxy: "kuma-sidecar", uid: 5678,
		word: "kuma", inject: []mark{{kumaInject, "labels"}}, control: "kuma-control-plane",
		reserved: []int{9000, 9001, 9901, 9902, 15001, 15006, 15053},
		excluded: portList{key: "traffic.kuma.io/exclude-inbound-ports"},
		off: rewriterOff{key: kumaProbeProxyPort, value: "0", means: func(v string) bool {
			n, err := strconv.ParseUint(v, 10, 32)
			return err == nil && n == 0
		}},
	},
	serves: func(s *site) bool {
		return !s.name.IsHook()
	},
	excludedAddresses:    "traffic.kuma.io/exclude-inbound-ips",
	uninjectedNamespaces: []string{"kube-system"},
	switched:             kumaSwitched,
	refine:               refineKuma,
}

const kumaInject = "kuma.io/sidecar-injection"

// kumaSwitched reads the switch of injection. A pod's own counts only if the webhook is
// called for the pod.
func kumaSwitched(v *view) membership {
	m := v.switchIn("labels", kumaInject, "enabled, true, yes, disabled, false or no", isEnabled)
	ns, known := v.namespace()
	if m.injected != certain.Always ||
		!known ||
		v.labels().Get(kumaInject) == "enabled" {
		return m
	}
	if value := ns.Labels.Get(kumaInject); value != "enabled" && value != "true" {
		m.injected = certain.Never
		m.off = new(NewFinding(reason.NamespaceNotInjected, nil,
			"neither the pod nor %s has the label `%s: enabled`, so Kuma does not inject the pod", v.namespaceWords(), kumaInject).
			Why("On a Namespace, `%s: \"true\"` injects too", kumaInject))
	}
	return m
}

// kumaUnless words what decides whether Kuma injects a pod that has the switch on; "" if
// it certainly does.
func kumaUnless(v *view) string {
	ns, known := v.namespace()
	_, set := ns.Labels.Lookup(kumaInject)
	if v.proxy != nil ||
		!known ||
		set ||
		v.labels().Get(kumaInject) != "enabled" {
		return ""
	}
	return "Kuma is older than 2.11 (unknown: newer versions inject nothing here; set the label `" + kumaInject + "` of " + v.namespaceWords() + ")"
}

const (
	kumaGateway          = "kuma.io/gateway"
	kumaProbeProxyPort   = "kuma.io/application-probe-proxy-port"
	kumaVirtualProbePort = "kuma.io/virtual-probes-port" // of Kuma before 3
)

// kumaVirtualPort is the port of virtual probes unless an annotation moves them.
const kumaVirtualPort = 9000

// redirectedHosts warns of probes with a Host header of their own: the redirect
// of virtual probes goes to that host, where the kubelet does not follow.
func redirectedHosts(v *view) (found []Finding) {
	for _, s := range v.sites {
		h := s.original.HTTPGet
		isHost := func(x pod.HTTPHeader) bool {
			return strings.EqualFold(x.Name, "Host")
		}
		if h == nil ||
			s.name.IsHook() ||
			!slices.ContainsFunc(h.HTTPHeaders, isHost) {
			continue
		}
		path := s.path.Key(pod.KindHTTPGet, pod.HeadersField)
		found = append(found, containerFinding(reason.KumaHost, path, s.container.Name,
			"with its Host header, this probe always passes in Kuma 2.13 and 2.14"))
	}
	return found
}

func refineKuma(p passiveProxy, v *view, m *inspection) {
	m.warnings = redirectedHosts(v)
	if gateway, _ := isEnabled(v.annotations().Get(kumaGateway)); gateway {
		m.optOut = new(v.annotationFinding(reason.PortNotCaptured, kumaGateway, "makes the pod a gateway, where Kuma captures no incoming connections"))
	}
	if v.opts.AnsweredBy != AnsweredByApp && v.uses(kumaVirtualPort) {
		free := prober.DefaultPort - 1
		for free == v.opts.Port || v.uses(free) {
			free--
		}
		m.inherited = field.KeyValues{{Key: kumaVirtualProbePort, Value: strconv.Itoa(free)}}
	}
	unless := kumaUnless(v)
	fate := func(s *site) (world.Fate, string) { return kumaFate(p, v, s, unless) }
	m.outcome = m.capturedOutcome(v, fate)
	m.known = func() []string {
		k := kumaOf(v)
		return statedWords(
			stated{k.MTLS, "the mesh demands mTLS", "the mesh demands no mTLS"},
			stated{k.Rewrites, "Kuma rewrites probes", "Kuma rewrites no probes"},
			stated{k.Native, "native sidecar", "not a native sidecar"},
		)
	}
}

// kumaOf returns what the installation states for the mesh of the pod.
func kumaOf(v *view) surroundings.Kuma {
	const key = "kuma.io/mesh"
	ns, _ := v.namespace()
	own := cmp.Or(v.labels().Get(key), v.annotations().Get(key))
	mesh := cmp.Or(own, ns.Labels.Get(key), ns.Annotations.Get(key), "default")
	return surroundings.KumaOf(&v.in.Around, mesh)
}

// kumaFate returns what becomes of a captured probe. What its own annotation does not decide the installation does,
// or else Kuma's defaults.
func kumaFate(p passiveProxy, v *view, s *site, unless string) (world.Fate, string) {
	k := kumaOf(v)
	f := p.fate(v, s)
	_, isOwn := v.annotations().Lookup(p.off.key)
	rewrites := !p.off.isOff(v.annotations())
	if !isOwn && k.Rewrites.Is == certain.Never {
		rewrites = false
		f = atStrictProxy(s)
		unless = cmp.Or(unless, kumaVirtual(s, k.Virtual.Is))
	}
	isSidecar := rewrites && s.at.Init && !s.name.IsHook()
	switch {
	case isSidecar && k.Native.Is == certain.Always:
		return world.Spared, "" // it is rewritten too
	case k.MTLS.Is == certain.Never && f.Outcome == world.Fails:
		return world.Spared, ""
	case isSidecar && k.Native.Is == certain.Maybe:
		unless = cmp.Or(unless, kumaNative)
	}
	return f, unless
}

const kumaNative = "Kuma's sidecar is not a native sidecar (unknown: by default it is from Kuma 2.14 on, which then rewrites this probe)"

// kumaVirtual words what decides about a probe if Kuma's own rewriting is off for the whole mesh; "" if nothing does.
func kumaVirtual(s *site, enabled certain.Certainty) string {
	if s.current.Kind() != pod.KindHTTPGet || s.name.IsHook() || enabled == certain.Never {
		return ""
	}
	return "Kuma makes no virtual probe of it (unknown: look at the injected pod)"
}

// kumaHeader is what the names of Kuma's headers begin with
// (pkg/plugins/runtime/k8s/probes/headers.go).
const kumaHeader = "X-Kuma-Probes-"

// kumaInjected are the annotations of Kuma's injector that say where the probes go.
var kumaInjected = []string{kumaProbeProxyPort, kumaVirtualProbePort}

// kumaOriginal is the findOriginal of Kuma. It reads the path and the headers of a probe
// that goes to Kuma's probe proxy
// (pkg/plugins/runtime/k8s/probes/probe_converter.go:31-131). Kuma's injector
// writes the port of the probe proxy into the pod's annotations, and also that of
// virtual probes, which have no headers.
func kumaOriginal(t *template, s *site) (*pod.Handler, bool) {
	h := s.current.HTTPGet
	goesTo := func(key string) bool {
		n, ok := portIn(t.annotations().Get(key))
		return ok && h.Port == n
	}
	isVirtual := goesTo(kumaVirtualProbePort) && t.annotations().Get("kuma.io/virtual-probes") == "enabled"
	if s.name.IsHook() || !goesTo(kumaProbeProxyPort) && !isVirtual {
		return nil, false
	}
	kind, rest, _ := strings.Cut(strings.TrimPrefix(h.Path, "/"), "/")
	number := kind
	if kind == "tcp" || kind == "grpc" {
		number = rest
	}
	port, ok := portIn(number)
	if !ok {
		return nil, true
	}
	switch kind {
	case "tcp":
		return &pod.Handler{TCPSocket: &pod.TCPSocket{Port: port}}, true
	case "grpc":
		g := &pod.GRPC{Port: port}
		if service := pod.HeaderIn(h, kumaHeader+"GRPC-Service"); service != "" {
			g.Service = &service
		}
		return &pod.Handler{GRPC: g}, true
	}
	own := pod.HTTPGet{Path: "/" + rest, Port: port, Scheme: pod.HeaderIn(h, kumaHeader+"Scheme")}
	for _, x := range h.HTTPHeaders {
		if x.Name == kumaHeader+"Host" {
			x.Name = "Host"
		}
		if !strings.HasPrefix(x.Name, kumaHeader) {
			own.HTTPHeaders = append(own.HTTPHeaders, x)
		}
	}
	return &pod.Handler{HTTPGet: &own}, true
}
