// Package model says what becomes of the kubelet's probes and hooks of one pod
// in one world: with everything decided that manifests leave open. It is a
// short, plain reading of what Kubernetes and Istio do, and knows nothing of
// rewrite-probes' own rules. Each rule is a comment that begins with "Rule".
package model

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// The names that decide who a container is.
const (
	IstioProxy = "istio-proxy"
	istioInit  = "istio-init"
	envName    = "ISTIO_KUBE_APP_PROBERS"
)

// OwnPort is where a probe-proxy without --port listens.
const OwnPort = 15099

// A World has what the pod itself does not say.
type World struct {
	MTLS     func(port int) string // STRICT, PERMISSIVE or DISABLE
	Protocol func(port int) string // as what a Service declares the port: http, http2, tcp; "" if none does
	// Denied reports whether AuthorizationPolicies refuse a request of the kubelet's, with the handler as the pod has it.
	Denied func(port int, h corev1.ProbeHandler, isHook bool) bool
	// Unauthenticated reports whether RequestAuthentications refuse its token; nil is never.
	Unauthenticated func(port int, h corev1.ProbeHandler) bool
	// Local returns the address of the loopback interface where the app listens on a port and nowhere
	// else; "" if it listens on the pod's IP too.
	Local func(port int) string
	// Bound reports whether Envoy itself listens on the pod's IP and a port, in a pod with istio-init or without.
	Bound      func(port int, redirects bool) bool
	Early      bool // Istio's CNI plugin redirects, and no istio-init
	OnlyHTTP1  bool // the app does not speak HTTP/2
	Uncaptured bool // the kubelet comes over an interface that is not captured
}

// A Fate is what becomes of one probe or hook.
type Fate int

// The fates, from good to bad.
const (
	Answered Fate = iota // by the app itself, whoever asks it
	FalselyPasses
	Fails
)

func (f Fate) String() string { return []string{"answered", "falsely passes", "fails"}[f] }

// Why a probe or hook is answered, for those who must tell these from others.
const (
	Elsewhere    = "elsewhere"             // by the host that it names
	ThroughIstio = "through " + IstioProxy // which asks the app
)

// A Life is what becomes of a pod.
type Life struct {
	Down  string // why the pod never starts; "" if it does
	Fates map[Site]Fate
	Why   map[Site]string
	// The mode of mutual TLS, and whether policies refuse the kubelet, for what is captured.
	Modes   map[Site]string
	Refused map[Site]bool
}

// Bad reports whether a probe or hook does not get the app's own answer.
func (l Life) Bad(at Site) bool { return l.Down != "" || l.Fates[at] != Answered }

// A judge has the pod as it runs.
type judge struct {
	World
	pod      *corev1.Pod
	all      []*corev1.Container
	asked    map[Site]corev1.ProbeHandler
	sidecars map[string]int              // by name: the port on which it answers rewritten probes
	apps     map[int]map[string]bool     // who else listens, by port
	entries  map[string]map[string]entry // by sidecar and path
	init     []string                    // the arguments of istio-init; nil if there is none
	initAt   int
}

// An entry is the original of a rewritten probe in a sidecar's env var.
type entry struct {
	corev1.ProbeHandler
	Timeout int32 `json:"timeoutSeconds"`
}

// Judge returns what becomes of a pod as it runs. asked has what the authors of its
// containers want to be asked.
func Judge(pod *corev1.Pod, asked map[Site]corev1.ProbeHandler, w World) Life {
	if w.Local == nil {
		w.Local = func(int) string { return "" }
	}
	if w.Unauthenticated == nil {
		w.Unauthenticated = func(int, corev1.ProbeHandler) bool { return false }
	}
	if w.Bound == nil {
		w.Bound = func(int, bool) bool { return false }
	}
	j := &judge{World: w, pod: pod, all: containers(pod), asked: asked, sidecars: make(map[string]int), apps: make(map[int]map[string]bool), entries: make(map[string]map[string]entry)}
	for i, c := range j.all {
		j.meet(i, c)
	}
	l := Life{Fates: make(map[Site]Fate), Why: make(map[Site]string), Modes: make(map[Site]string), Refused: make(map[Site]bool), Down: j.unstartable()}
	for at, h := range Sites(pod) {
		l.Fates[at], l.Why[at] = j.fate(at, h)
		if port, host, network := Target(h); network && host == "" && j.captured(at, port.IntValue()) {
			l.Modes[at] = j.MTLS(port.IntValue())
			h := handler(pod, at)
			n := port.IntValue()
			l.Refused[at] = h.TCPSocket == nil && (j.Unauthenticated(n, h) || j.Denied(n, h, at.isHook()))
		}
		// Rule: the kubelet starts what follows a native sidecar when its startupProbe
		// and its postStart hook have passed.
		if gate := at.Type == "startupz" || at.Type == "poststartz"; gate && j.isInit(at.Container) && l.Fates[at] == Fails && l.Down == "" {
			l.Down = fmt.Sprintf("%s of native sidecar %s fails: %s", at.Type, at.Container, l.Why[at])
		}
	}
	return l
}

// meet notes who a container is, and where it listens.
func (j *judge) meet(i int, c *corev1.Container) {
	if c.Name == istioInit {
		j.init, j.initAt = c.Args, i
		return
	}
	// Rule: of several env vars of one name the last one counts.
	value, proxy := "", c.Name == IstioProxy
	for _, e := range c.Env {
		if e.Name == envName {
			value, proxy = e.Value, true
		}
	}
	if proxy {
		j.sidecars[c.Name] = j.sidecarPort(c)
		var found map[string]entry
		if err := json.Unmarshal([]byte(value), &found); value == "" || err == nil {
			j.entries[c.Name] = found
		}
		return
	}
	listen := func(port int) {
		if j.apps[port] == nil {
			j.apps[port] = make(map[string]bool)
		}
		j.apps[port][c.Name] = true
	}
	for _, p := range c.Ports {
		if p.Protocol == "" || p.Protocol == corev1.ProtocolTCP {
			listen(int(p.ContainerPort))
		}
	}
	for at, h := range j.asked {
		if port, host, ok := Target(h); at.Container == c.Name && ok && host == "" && port.Type == intstr.Int {
			listen(port.IntValue())
		}
	}
}

// sidecarPort. Rule: Istio's agent listens where the annotation says, else where the
// pod's or the mesh's proxy config says, else on 15020. probe-proxy has a flag.
func (j *judge) sidecarPort(c *corev1.Container) int {
	if c.Name != IstioProxy {
		for _, arg := range c.Args {
			if n, err := strconv.Atoi(strings.TrimPrefix(arg, "--port=")); err == nil {
				return n
			}
		}
		return OwnPort
	}
	if v, set := j.pod.Annotations["status.sidecar.istio.io/port"]; set {
		n, _ := strconv.Atoi(v)
		return n
	}
	configs := []string{j.pod.Annotations["proxy.istio.io/config"]}
	for _, e := range c.Env {
		if e.Name == "PROXY_CONFIG" {
			configs = append(configs, e.Value)
		}
	}
	for _, text := range configs {
		var config struct{ StatusPort int }
		if yaml.Unmarshal([]byte(text), &config) == nil && config.StatusPort != 0 {
			return config.StatusPort
		}
	}
	return 15020
}

// unstartable returns why the pod never starts, whatever is probed.
func (j *judge) unstartable() string {
	names := make(map[string]bool)
	for _, c := range j.all {
		switch {
		case names[c.Name]:
			return "two containers are named " + c.Name
		case c.Image == "auto":
			return "nobody has replaced the image auto of " + c.Name
		}
		names[c.Name] = true
	}
	// Rule: containers of a pod share its ports. Only what a sidecar takes from others
	// counts: the app is taken to be in order by itself.
	taken := make(map[int]string)
	for name, port := range j.sidecars {
		own := []int{port}
		if name == IstioProxy {
			own = append(own, 15000, 15001, 15006, 15021, 15090)
		}
		for _, p := range own {
			if p == 0 {
				continue
			}
			if other := taken[p]; other != "" || len(j.apps[p]) > 0 {
				return fmt.Sprintf("port %d is taken twice: by %s, and by %s %v", p, name, other, j.apps[p])
			}
			taken[p] = name
		}
	}
	return ""
}

func (j *judge) position(name string) int {
	return slices.IndexFunc(j.all, func(c *corev1.Container) bool { return c.Name == name })
}

func (j *judge) isInit(name string) bool { return j.position(name) < len(j.pod.Spec.InitContainers) }

// Redirected returns which ports the rules of istio-init redirect, by its arguments.
// Rule: those of -b, or if that is *, all but those of -d. Rule: never that of ambient mode's tunnel, 15008, for which
// the first rule returns (tools/istio-iptables, pkg/capture/run.go).
func Redirected(args []string) func(port int) bool {
	lists := make(map[string][]string)
	for i, arg := range args {
		if arg == "-b" || arg == "-d" {
			lists[arg] = strings.Split(strings.ReplaceAll(args[i+1], " ", ""), ",")
		}
	}
	return func(port int) bool {
		n := strconv.Itoa(port)
		if port == 15008 {
			return false
		}
		if slices.Equal(lists["-b"], []string{"*"}) {
			return !slices.Contains(lists["-d"], n)
		}
		return slices.Contains(lists["-b"], n)
	}
}

// captured. Rule: without istio-init (interceptionMode NONE has none) nothing is
// captured. Rule: under containers istio-proxy's istio-init is the last of the init
// containers, so what gates a native sidecar before it is over by then. Rule: Istio's CNI
// plugin has redirected the ports before any container starts. Rule: where Envoy itself listens on the
// pod's IP, the app does not, so that everything comes to Envoy, whatever is redirected.
func (j *judge) captured(at Site, port int) bool {
	if j.position(IstioProxy) >= 0 && j.Bound(port, j.init != nil) {
		return true
	}
	if j.init == nil || j.Uncaptured {
		return false
	}
	if gate := at.Type == "startupz" || at.Type == "poststartz"; gate && !j.Early {
		if j.position(at.Container) < j.initAt {
			return false
		}
	}
	return Redirected(j.init)(port)
}

// runs reports whether a sidecar runs when the kubelet first asks. Rule: native
// sidecars run one after the other, before all others. Rule: of ordinary containers
// only a postStart hook comes before those that follow; istio-proxy takes a while, so
// it must be waited for. Rule: all run when a preStop hook is called, and the readiness
// of a native sidecar does not count before all have started, and its liveness probe is
// repeated until those that follow it have.
func (j *judge) runs(sidecar string, at Site) bool {
	s, mine := j.position(sidecar), j.position(at.Container)
	switch {
	case s < 0:
		return false
	case at.Type == "prestopz" || s == mine || j.isInit(sidecar) && s < mine:
		return true
	case j.isInit(at.Container):
		return at.Type == "readyz" || at.Type == "livez" && j.isInit(sidecar)
	case at.Type != "poststartz":
		return true
	}
	c := j.all[s]
	return s < mine && (sidecar != IstioProxy || awaited(c))
}

// awaited. Rule: the containers after istio-proxy wait for Envoy if its postStart hook
// does, which is Istio's own, and not that of a declared istio-proxy.
func awaited(c *corev1.Container) bool {
	if c.Lifecycle == nil || c.Lifecycle.PostStart == nil || c.Lifecycle.PostStart.Exec == nil {
		return false
	}
	return slices.Contains(c.Lifecycle.PostStart.Exec.Command, "wait")
}

func (j *judge) fate(at Site, h corev1.ProbeHandler) (Fate, string) {
	port, host, network := Target(h)
	switch {
	case !network: // Rule: the kubelet runs exec and sleep itself.
		return Answered, "no network"
	case at.isHook() && h.HTTPGet == nil: // Rule: the kubelet has no other hooks over the network.
		return Fails, "no such hook"
	case port.Type == intstr.String:
		return Fails, "no such port"
	case host != "": // Rule: a host leads elsewhere, which is as it is.
		if reflect.DeepEqual(h, j.asked[at]) {
			return Answered, Elsewhere
		}
		return Fails, "sent to another host"
	}
	n := port.IntValue()
	if j.captured(at, n) {
		if f, why := j.throughEnvoy(at, h, n); f != Answered {
			return f, why
		}
	}
	for sidecar, own := range j.sidecars {
		if own == n {
			return j.bySidecar(sidecar, at, h)
		}
	}
	switch {
	case len(j.apps[n]) == 0:
		return Fails, fmt.Sprintf("nobody listens on %d", n)
	case j.Local(n) != "" && !j.captured(at, n): // Rule: Envoy asks the app where the Sidecar says, the kubelet at the pod's IP.
		return Fails, "the app listens on " + j.Local(n) + " alone"
	case !reflect.DeepEqual(h, j.asked[at]):
		return Fails, "the app is not asked what its author wants"
	}
	return Answered, "by the app"
}

// throughEnvoy returns what Envoy makes of a captured request of the kubelet's.
func (j *judge) throughEnvoy(at Site, h corev1.ProbeHandler, port int) (Fate, string) {
	mode, protocol := j.MTLS(port), j.Protocol(port)
	isTLS := h.HTTPGet != nil && h.HTTPGet.Scheme == corev1.URISchemeHTTPS
	switch {
	case (at.Type == "poststartz" || at.Type == "startupz" && j.isInit(at.Container)) && !j.runs(IstioProxy, at): // Rule: a captured connection needs a running Envoy.
		return Fails, "captured, and istio-proxy does not run yet"
	case h.TCPSocket != nil: // Rule: Envoy accepts every connection.
		return FalselyPasses, "Envoy accepts the connection"
	case mode == "STRICT": // Rule: the kubelet has no client certificate.
		return Fails, "STRICT"
	case isTLS && strings.HasPrefix(protocol, "http"): // Rule: TLS on a port that is HTTP.
		return Fails, mode + ", and a Service declares the port HTTP"
	case h.GRPC != nil && protocol == "http": // Rule: Envoy then asks the app in HTTP/1.1.
		return Fails, mode + ", and a Service declares the port HTTP/1"
	case j.Unauthenticated(port, handler(j.pod, at)): // Rule: a token that a policy looks for must be valid.
		return Fails, mode + ", and a RequestAuthentication refuses"
	case j.Denied(port, handler(j.pod, at), at.isHook()): // Rule: what has no identity is let in by no rule about identities.
		return Fails, mode + ", and an AuthorizationPolicy refuses"
	case h.HTTPGet != nil && !isTLS && protocol == "http2" && j.OnlyHTTP1: // Rule: Envoy then asks the app in HTTP/2.
		return Fails, mode + ", and a port is declared HTTP/2"
	}
	return Answered, mode
}

// bySidecar returns what a sidecar makes of a request on its own port.
func (j *judge) bySidecar(name string, at Site, h corev1.ProbeHandler) (Fate, string) {
	switch e, found := j.entry(name, h); {
	case h.TCPSocket != nil:
		return FalselyPasses, name + " accepts the connection"
	case !j.runs(name, at):
		return Fails, name + " does not run yet"
	case h.HTTPGet == nil || h.HTTPGet.Scheme != corev1.URISchemeHTTP:
		return Fails, name + " speaks plain HTTP"
	case at.Container == name && reflect.DeepEqual(h, j.asked[at]):
		return Answered, "by " + name + " about itself"
	case !found:
		return Fails, name + " has no entry " + h.HTTPGet.Path
	case h.HTTPGet.Path != at.key() || !reflect.DeepEqual(asked(name, e.ProbeHandler), asked(name, j.asked[at])):
		return Fails, name + " asks something else"
	case j.asksElsewhere(name, at):
		return Fails, name + " does not ask where the app listens"
	case name == IstioProxy && e.GRPC != nil && e.Timeout == 0: // Rule: Istio's agent has no default there.
		return Fails, name + " gives grpc no time"
	}
	return Answered, "through " + name
}

// asksElsewhere reports whether the app listens where a sidecar does not ask. Rule: Istio's agent asks the pod's IP.
// Rule: probe-proxy asks its env var POD_IP, which is the pod's IP unless it has a value.
func (j *judge) asksElsewhere(sidecar string, at Site) bool {
	port, host, _ := Target(j.asked[at])
	local := j.Local(port.IntValue())
	if local == "" || host != "" {
		return false
	}
	for _, e := range j.all[j.position(sidecar)].Env {
		if e.Name == "POD_IP" && e.Value == local {
			return sidecar == IstioProxy
		}
	}
	return true
}

// asked returns what a sidecar asks. Rule: Istio's agent dials the pod, whatever host a tcpSocket has.
func asked(sidecar string, h corev1.ProbeHandler) corev1.ProbeHandler {
	if sidecar == IstioProxy && h.TCPSocket != nil {
		h.TCPSocket = &corev1.TCPSocketAction{Port: h.TCPSocket.Port}
	}
	return h
}

func (j *judge) entry(sidecar string, h corev1.ProbeHandler) (entry, bool) {
	if h.HTTPGet == nil {
		return entry{}, false
	}
	e, found := j.entries[sidecar][h.HTTPGet.Path]
	e.ProbeHandler = resolved(new(corev1.Container), e.ProbeHandler)
	return e, found
}
