package worlds

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/istio"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/worlds/model"
)

// A world decides what manifests and config leave open.
type world struct {
	injected               bool
	native, hold, rewrites bool // what Istio does in an injected pod
	early                  bool // Istio's CNI plugin redirects, before any container starts
	uncaptured             bool // excludeInterfaces names the kubelet's way in
	reversed               bool // of two PeerAuthentications in one place the second is older
	labelled               bool // the pods have the label that only some of them have
	matches                bool // what only the cluster knows of the kubelet is as a policy says
	moved                  bool // the mesh has moved the status port, which a functionConfig must say
	local                  bool // the app listens where a Sidecar says, and nowhere else
	onlyHTTP1              bool // the app does not speak HTTP/2
	swapped                bool // of two objects that declare a port's protocol the second is older
	valid                  bool // the tokens of probes that have some are valid
	canary                 bool // the pods' revision is that of the object with a label of one
}

func (w world) String() string {
	if !w.injected {
		return "not injected"
	}
	words := []string{"injected", "container"}
	if w.native {
		words[1] = "native"
	}
	for word, on := range map[string]bool{"CNI": w.early, "held": w.hold, "injector rewrites": w.rewrites, "interface not captured": w.uncaptured, "the second PeerAuthentication is older": w.reversed,
		"the app listens locally": w.local, "with the label": w.labelled, "as the policy asks": w.matches, "status port moved": w.moved, "the app speaks HTTP/1.1 alone": w.onlyHTTP1,
		"the second declaration is older": w.swapped, "valid token": w.valid, "revision canary": w.canary} {
		if on {
			words = append(words, word)
		}
	}
	slices.Sort(words[2:])
	return strings.Join(words, ", ")
}

func (w world) mode() istio.Mode {
	if w.native {
		return istio.Native
	}
	return istio.Ordinary
}

// both are the values of what is not known.
var both = []bool{false, true}

// rule notes that a rule decided something.
func (k *knowledge) rule(words string) {
	if k.rules != nil {
		k.rules[words] = true
	}
}

// worlds returns every world that a pod and what is known leave open. check says that they are
// those of check, which counts on no rewriting that is not declared, and takes a pod's own label
// at its word. To check, an app listens where it is asked, unless Istio's injector has it asked elsewhere.
func (k *knowledge) worlds(pod *corev1.Pod, namespace string, check bool) []world {
	injected := k.injection(pod, namespace)
	if !check && k.mayBeRevoked(pod, namespace) {
		injected = both
	}
	var all []world
	mayBeLocal := k.mayListenLocally()
	if slices.Contains(injected, false) {
		for _, isLocal := range mayBe(mayBeLocal && !check) {
			all = append(all, world{local: isLocal})
		}
	}
	if !slices.Contains(injected, true) {
		return all
	}
	for _, native := range k.native(pod) {
		for _, hold := range k.hold(pod, native, check) {
			for _, rewrites := range k.rewrites(pod, check) {
				for _, early := range early(pod, native) {
					for _, isLocal := range mayBe(mayBeLocal && (!check || rewrites)) {
						w := world{injected: true, native: native, hold: hold, rewrites: rewrites, early: early, moved: k.statusPort, local: isLocal}
						all = append(all, k.around(pod, w)...)
					}
				}
			}
		}
	}
	return all
}

// around returns the worlds that differ in what is around an injected pod.
func (k *knowledge) around(pod *corev1.Pod, w world) []world {
	all := []world{w}
	open := func(isOpen bool, set func(*world)) {
		if !isOpen {
			return
		}
		for _, w := range all {
			set(&w)
			all = append(all, w)
		}
	}
	open(pod.Annotations["traffic.sidecar.istio.io/excludeInterfaces"] != "", func(w *world) { w.uncaptured = true })
	open(k.twice, func(w *world) { w.reversed = true })
	open(k.open, func(w *world) { w.labelled = true })
	open(k.asked, func(w *world) { w.matches = true })
	open(k.hasHTTP2(), func(w *world) { w.onlyHTTP1 = true })
	open(k.disagrees, func(w *world) { w.swapped = true })
	open(k.hasToken, func(w *world) { w.valid = true })
	open(k.revised, func(w *world) { w.canary = true })
	return all
}

// hasHTTP2 reports whether Envoy may ask an app in HTTP/2 that the kubelet asks in HTTP/1.1.
func (k *knowledge) hasHTTP2() bool {
	for _, s := range k.services {
		for _, p := range s.ports() {
			if declared, _ := p.declared(); protocols[declared] == "http2" {
				return true
			}
		}
	}
	isHTTP2 := func(l listener) bool { return protocols[strings.ToLower(l.protocol)] == "http2" }
	return slices.ContainsFunc(k.sidecars, func(c sidecar) bool { return slices.ContainsFunc(c.listeners, isHTTP2) })
}

// mayBe returns both values of what is open, and false for what does not matter.
func mayBe(open bool) []bool {
	if open {
		return both
	}
	return both[:1]
}

// early: where istio-proxy is native, or no container precedes istio-init, it does not matter.
func early(pod *corev1.Pod, native bool) []bool {
	if native || len(pod.Spec.InitContainers) == 0 {
		return both[:1]
	}
	return both
}

// neverInjected are the namespaces that Istio's injector ignores.
var neverInjected = []string{"kube-system", "kube-public", "kube-node-lease", "local-path-storage"}

// injection returns whether a pod may be injected, may not be, or both: Istio's two
// gates, then what people say of the mesh.
func (k *knowledge) injection(pod *corev1.Pod, namespace string) []bool {
	no, yes := both[:1], both[1:]
	if !k.gateB(pod, namespace) {
		return no
	}
	if k.contradicted && !declared(pod) {
		k.rule("one of two Namespaces decides, whatever else is said")
		return both
	}
	if called, certain := k.gateA(pod); certain {
		return []bool{called}
	}
	if declared(pod) {
		k.rule("who declares istio-proxy expects that it is injected")
		return yes
	}
	if pod.Annotations["sidecar.istio.io/inject"] == "true" {
		k.rule("an annotation opens no gate")
	}
	_, given := k.istio["injectedNamespaces"]
	switch {
	case given && k.isNamed(namespace):
		k.rule("injectedNamespaces names the namespace")
		return yes
	case given:
		k.rule("injectedNamespaces does not name the namespace")
		return no
	case k.namespace != nil && k.others && asksByAnnotation(pod):
		k.rule("the annotation inject is what OpenShift Service Mesh 2 injects by")
	case k.namespace != nil && k.others:
		k.rule("the Namespace has no label, and another has one")
		return no
	case k.namespace != nil:
		k.rule("the Namespace has no label, and no other has one")
	}
	return both
}

// isNamed reports whether injectedNamespaces names a namespace.
func (k *knowledge) isNamed(namespace string) bool {
	declared, _ := k.istio["injectedNamespaces"].([]string)
	return slices.ContainsFunc(declared, func(pattern string) bool { ok, _ := path.Match(pattern, namespace); return ok })
}

// mayBeRevoked reports whether a pod is injected by its own label alone: a label of its Namespace, which is
// not known, may switch injection off.
func (k *knowledge) mayBeRevoked(pod *corev1.Pod, namespace string) bool {
	if _, byNamespace := k.gateA(new(corev1.Pod)); byNamespace || k.namespace != nil || declared(pod) || k.isNamed(namespace) {
		return false
	}
	_, byLabel := k.gateA(pod)
	return byLabel && k.gateB(pod, namespace)
}

// declared reports whether a pod has a container for the injector to complete, without
// which it cannot start.
func declared(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == model.IstioProxy && c.Image == "auto" })
}

// asksByAnnotation reports whether a pod asks for injection by an annotation, and no label wins over that.
func asksByAnnotation(pod *corev1.Pod) bool {
	_, labelled := pod.Labels["sidecar.istio.io/inject"]
	return !labelled && pod.Annotations["sidecar.istio.io/inject"] == "true"
}

// gateB is injectRequired of Istio's injector, with its default policy.
func (k *knowledge) gateB(pod *corev1.Pod, namespace string) bool {
	inject, labelled := pod.Labels["sidecar.istio.io/inject"]
	annotated := pod.Annotations["sidecar.istio.io/inject"]
	switch {
	case pod.Spec.HostNetwork:
		k.rule("a pod in the host's network is never injected")
		return false
	case slices.Contains(neverInjected, namespace):
		k.rule("namespace " + namespace + " is never injected")
		return false
	case labelled && inject != "false" && annotated == "false":
		k.rule("the label inject wins over the annotation")
	case labelled && inject == "false":
		k.rule("the label inject is false")
	case !labelled && annotated == "false":
		k.rule("the annotation inject is false")
		return false
	}
	return inject != "false"
}

// gateA are the selectors of Istio's webhooks; certain says whether they decide.
func (k *knowledge) gateA(pod *corev1.Pod) (called, certain bool) {
	byNamespace, named := k.namespace["istio-injection"]
	byPod := pod.Labels["istio.io/rev"] != "" || pod.Labels["sidecar.istio.io/inject"] == "true"
	switch rev, revised := k.namespace["istio.io/rev"]; {
	case named && byNamespace == "enabled":
		k.rule("the Namespace has istio-injection: enabled")
		return true, true
	case named:
		k.rule("the Namespace has istio-injection with another value")
		if byPod || rev != "" {
			k.rule("the Namespace has istio-injection with another value, whatever else is said")
		}
		return false, true
	case rev != "":
		k.rule("the Namespace has istio.io/rev")
		return true, true
	case revised: // the webhooks by the pod's labels ask for a Namespace without the key
		k.rule("the Namespace has an empty istio.io/rev")
		return false, true
	case byPod:
		k.rule("a label of the pod has it injected")
		return true, true
	}
	return false, false
}

func known(v any) ([]bool, bool) {
	on, ok := v.(bool)
	return []bool{on}, ok
}

func (k *knowledge) native(pod *corev1.Pod) []bool {
	switch v := pod.Annotations["sidecar.istio.io/nativeSidecar"]; v {
	case "true", "false":
		k.rule("the annotation nativeSidecar")
		if on, ok := known(k.istio["nativeSidecars"]); ok && on[0] != (v == "true") {
			k.rule("the annotation nativeSidecar, against the config")
		}
		return []bool{v == "true"}
	}
	if v, ok := known(k.istio["nativeSidecars"]); ok {
		k.rule("nativeSidecars of the config")
		return v
	}
	return both
}

// hold: where istio-proxy is native it does not matter. What a pod's own proxy config says, Helm's
// global.proxy.lifecycle may undo; check takes it at its word.
func (k *knowledge) hold(pod *corev1.Pod, native, check bool) []bool {
	switch {
	case native:
		return both[:1]
	case k.istio["holdApplicationUntilProxyStarts"] == true:
		k.rule("holdApplicationUntilProxyStarts of the config")
		return both[1:]
	case asksToHold(pod):
		k.rule("the proxy config has the others wait")
		if check {
			return both[1:]
		}
	case strings.Contains(pod.Annotations["proxy.istio.io/config"], "Starts: false"):
		k.rule("a proxy config in which nobody waits does not decide")
	}
	return both
}

// asksToHold reports whether a pod's own proxy config has the other containers wait.
func asksToHold(pod *corev1.Pod) bool {
	var config struct{ HoldApplicationUntilProxyStarts bool }
	_ = yaml.Unmarshal([]byte(pod.Annotations["proxy.istio.io/config"]), &config)
	return config.HoldApplicationUntilProxyStarts
}

// isToldOff reports whether check is told that the injector rewrites nothing: where the config does not say it. Else most
// probes only may fail, and few certain failures are left to judge.
func (k *knowledge) isToldOff() bool {
	_, given := known(k.istio["injectorRewrites"])
	return !given
}

// checked returns the config of check.
func (k *knowledge) checked() rewriting.Settings {
	if !k.isToldOff() {
		return k.config
	}
	told, inIstio := maps.Clone(k.config), maps.Clone(k.istio)
	if inIstio == nil {
		inIstio = rewriting.Settings{}
	}
	inIstio["injectorRewrites"] = false
	told["istio"] = inIstio
	return told
}

func (k *knowledge) rewrites(pod *corev1.Pod, check bool) []bool {
	if on, err := strconv.ParseBool(pod.Annotations["sidecar.istio.io/rewriteAppHTTPProbers"]); err == nil {
		k.rule("the annotation rewriteAppHTTPProbers")
		if v, ok := known(k.istio["injectorRewrites"]); ok && v[0] != on {
			k.rule("the annotation rewriteAppHTTPProbers, against the config")
		}
		return []bool{on}
	}
	if v, ok := known(k.istio["injectorRewrites"]); ok {
		k.rule("injectorRewrites of the config")
		return v
	}
	if check && k.isToldOff() {
		return both[:1]
	}
	return both
}

// laterLabels are the labels that controllers add to the pods of their workloads, or istiod to all, which have values
// that no manifest has.
var laterLabels = map[string]string{
	"pod-template-hash":                  "Deployment",
	"statefulset.kubernetes.io/pod-name": "StatefulSet",
	"apps.kubernetes.io/pod-index":       "StatefulSet",
	"controller-revision-hash":           "StatefulSet",
	"batch.kubernetes.io/job-name":       "Job",
	"batch.kubernetes.io/controller-uid": "Job",
	"job-name":                           "Job",
	"kubernetes.io/hostname":             anyKind,
	"topology.kubernetes.io/zone":        anyKind,
	"topology.istio.io/subzone":          anyKind,
}

const anyKind = ""

// selects reports whether a selector is about the pods. Istio's injector adds labels, whose values
// are those of other labels or have a default; controllers add others.
func (k *knowledge) selects(selector map[string]string, w world) bool {
	labels := map[string]string{
		"app":                                 k.owner.Name,
		"service.istio.io/canonical-name":     k.owner.Name,
		"service.istio.io/canonical-revision": "latest",
		"security.istio.io/tlsMode":           "istio",
	}
	for key, value := range selector {
		kind, isLater := laterLabels[key]
		mayHave := isLater && w.labelled && (kind == k.owner.Kind || kind == anyKind) && !strings.HasPrefix(value, "another")
		if labels[key] != value && !mayHave {
			return false
		}
	}
	return true
}

// isOpen reports whether a selector may be about the pods, or may not be.
func (k *knowledge) isOpen(selector map[string]string) bool {
	return k.selects(selector, world{}) != k.selects(selector, world{labelled: true})
}

// mtls returns the mode of a port, by Istio's rules.
func (k *knowledge) mtls(namespace string, w world) func(int) string {
	root, mode, by := k.root(), "STRICT", "nobody"
	policies := slices.Clone(k.policies)
	if w.reversed {
		slices.Reverse(policies)
	}
	policies = slices.DeleteFunc(policies, func(p policy) bool { return p.revised && !w.canary })
	oldest := func(scope func(policy) bool) policy {
		if i := slices.IndexFunc(policies, scope); i >= 0 {
			return policies[i]
		}
		return policy{}
	}
	merge := func(scope string, p policy) {
		switch {
		case p.mode == "UNSET":
			k.rule("mTLS UNSET of " + scope)
		case p.mode != "":
			mode, by = p.mode, scope
		}
	}
	merge("the config", policy{mode: k.mode()})
	whole := oldest(func(p policy) bool { return p.namespace == root && p.selector == nil })
	if whole.mode == "UNSET" {
		whole.mode, by = "PERMISSIVE", "Istio's default" // it inherits from nothing
	}
	merge("the root namespace", whole)
	merge("the namespace", oldest(func(p policy) bool { return p.namespace == namespace && p.selector == nil }))
	for _, p := range policies {
		switch {
		case p.namespace == root && p.selector != nil:
			k.rule("a policy of the root namespace with a selector does not count")
		case p.namespace == "elsewhere":
			k.rule("a policy of another namespace does not count")
		case p.selector != nil && !k.selects(p.selector, w):
			k.rule("a policy that selects other pods does not count")
		}
	}
	mine := oldest(func(p policy) bool {
		return p.namespace == namespace && namespace != root && p.selector != nil && k.selects(p.selector, w)
	})
	merge("the workload", mine)
	return func(port int) string {
		switch own := mine.ports[port]; own {
		case "":
		case "UNSET":
			k.rule("mTLS UNSET of a port")
		default:
			k.rule("mTLS " + own + " by the port")
			return own
		}
		k.rule("mTLS " + mode + " by " + by)
		return mode
	}
}

// mode returns the mode of the config; "" if it says none.
func (k *knowledge) mode() string {
	v, _ := k.istio["mtls"].(string)
	return v
}

// denied reports whether the AuthorizationPolicies refuse the kubelet, which has no
// certificate: one that denies, or some that allow, and none of them it.
func (k *knowledge) denied(pod *corev1.Pod, namespace string, w world) func(int, corev1.ProbeHandler, bool) bool {
	root, protocol := k.root(), k.protocol(pod, w)
	return func(port int, h corev1.ProbeHandler, isHook bool) bool {
		q := requestOf(h, isHook, port)
		q.isTCP = q.isTCP || protocol(port) == "tcp"
		q.isValid = w.valid && len(k.tokens(&q, w)) > 0
		allows, allowed := false, false
		for _, a := range k.authorizations {
			applies := (a.namespace == root || a.namespace == namespace) && (a.selector == nil || k.selects(a.selector, w)) && (!a.revised || w.canary)
			matches := (a.port == 0 || a.port == port) && a.form.matches(q, w)
			switch {
			case !applies:
				k.rule("an AuthorizationPolicy about other pods does not count")
			case (a.form.action == "DENY" || a.form.action == "CUSTOM") && matches:
				k.rule("an AuthorizationPolicy denies the kubelet")
				return true
			case a.form.action == "DENY", a.form.action == "CUSTOM":
				k.rule("an AuthorizationPolicy denies others, or elsewhere")
			default:
				allows = true
				allowed = allowed || matches
			}
		}
		if allowed {
			k.rule("an AuthorizationPolicy allows the kubelet")
		} else if allows {
			k.rule("AuthorizationPolicies allow others alone")
		}
		return allows && !allowed
	}
}

// matches reports whether a rule of the form is about a request. A rule about HTTP that is to
// be used for TCP allows nothing, or denies without what only HTTP has.
func (f *authorizationForm) matches(q request, w world) bool {
	switch {
	case f.none, f.isAsked && !w.matches:
		return false
	case q.isTCP && f.isHTTP:
		return f.action == "DENY"
	}
	return f.about == nil || f.about(q)
}

// requestOf returns what Envoy sees of a request of the kubelet's.
func requestOf(h corev1.ProbeHandler, isHook bool, port int) request {
	host := fmt.Sprintf("10.0.0.1:%d", port)
	if h.HTTPGet == nil {
		return request{method: "POST", path: "/grpc.health.v1.Health/Check", agent: "kube-probe", host: host, port: port}
	}
	path, query, _ := strings.Cut(h.HTTPGet.Path, "?")
	agent := "kube-probe"
	if isHook {
		agent = "kube-lifecycle"
	}
	q := request{isTCP: h.HTTPGet.Scheme == corev1.URISchemeHTTPS, method: "GET", path: path, query: query, agent: agent, host: host, port: port}
	for _, header := range h.HTTPGet.HTTPHeaders {
		switch header.Name {
		case "Host":
			q.host = cmp.Or(header.Value, host)
		case probeHeader:
			q.sent = append(q.sent, header.Value)
		case "Authorization":
			q.authorization = header.Value
		}
	}
	return q
}

func (k *knowledge) root() string {
	if v, ok := k.istio["rootNamespace"].(string); ok {
		return v
	}
	return "istio-system"
}

// ports returns the ports of a Service, each as a Service of one port.
func (s service) ports() []service { return append([]service{s}, s.others...) }

// declared returns what a Service's port says of its protocol, and by what.
func (s service) declared() (word, by string) {
	if s.appProtocol != "" {
		return s.appProtocol, "appProtocol"
	}
	word, _, _ = strings.Cut(s.portName, "-")
	return word, "its name"
}

// leadsTo reports whether a Service's port leads to a port of the pods that it selects.
func (s service) leadsTo(pod *corev1.Pod, port int) bool {
	if s.protocol == "UDP" {
		return false
	}
	if s.target.Type == intstr.Int {
		return s.target.IntValue() == port
	}
	for _, c := range append(slices.Clone(pod.Spec.InitContainers), pod.Spec.Containers...) {
		for _, p := range c.Ports {
			if p.Name == s.target.StrVal {
				return int(p.ContainerPort) == port
			}
		}
	}
	return false
}

// protocols are those of Istio by their names, as far as they matter.
var protocols = map[string]string{
	"http": "http", "http_proxy": "http", "http2": "http2", "grpc": "http2", "grpc-web": "http2", "tcp": "tcp", "https": "tcp", "tls": "tcp", "mongo": "tcp",
}

// A declaration is a protocol of a port (http, http2 or tcp; "" if Envoy looks at what comes), and the kind and the name of
// the object that decides it.
type declaration struct{ protocol, by string }

// declared returns what a port of the pod is declared as: by the ingress of the pod's Sidecar; if it has none, by the oldest
// Service that leads to the port, in the first of its ports, by protocol, appProtocol, or what the name begins with.
func (k *knowledge) declared(pod *corev1.Pod, w world) func(int) declaration {
	mine := k.sidecar(w)
	services := slices.Clone(k.services)
	if w.swapped {
		slices.Reverse(services)
	}
	return func(port int) declaration {
		for _, l := range mine.listeners {
			if p := protocols[strings.ToLower(l.protocol)]; l.port == port {
				k.rule("a Sidecar declares a port " + p)
				return declaration{p, "Sidecar " + mine.namespace + "/" + mine.name}
			}
		}
		if len(mine.listeners) > 0 {
			return declaration{"", "Sidecar " + mine.namespace + "/" + mine.name}
		}
		for _, s := range services {
			if !k.selects(s.selector, w) {
				continue
			}
			by := "Service " + k.owner.Namespace + "/" + s.name
			for _, p := range s.ports() {
				if p.protocol == "UDP" && p.target.IntValue() == port {
					k.rule("a Service declares a port by UDP")
					return declaration{"tcp", by}
				}
				if !p.leadsTo(pod, port) {
					continue
				}
				word, how := p.declared()
				if protocol := protocols[word]; protocol != "" {
					k.rule("a Service declares a port " + protocol + " by " + how)
				}
				return declaration{protocols[word], by}
			}
		}
		return declaration{}
	}
}

// protocol returns what a port of the pod is declared as.
func (k *knowledge) protocol(pod *corev1.Pod, w world) func(int) string {
	declared := k.declared(pod, w)
	return func(port int) string { return declared(port).protocol }
}

// model returns what the model has to know of a world.
func (k *knowledge) model(pod *corev1.Pod, namespace string, w world) model.World {
	return model.World{
		MTLS: k.mtls(namespace, w), Protocol: k.protocol(pod, w), Denied: k.denied(pod, namespace, w), Unauthenticated: k.unauthenticated(pod, w),
		Local: k.local(w), Bound: k.bound(w),
		Early: w.early, Uncaptured: w.uncaptured, OnlyHTTP1: w.onlyHTTP1,
	}
}
