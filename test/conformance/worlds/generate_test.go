package worlds

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/generator"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/worlds/model"
)

// source draws the parts of a case.
type source struct{ *rand.Rand }

func newSource(seed uint64) *source { return &source{rand.New(rand.NewPCG(seed, 20))} }

// one reports true once in n times.
func (g *source) one(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *source, from ...T) T { return from[g.IntN(len(from))] }

// workload draws an object with a pod template.
func (g *source) workload(seed uint64) generator.Workload {
	w := generator.Workload{Seed: seed, Name: fmt.Sprintf("w-%d", seed), Kind: pick(g, "Deployment", "Deployment", "Deployment", "StatefulSet", "Pod", "Job")}
	w.Namespace = "shop"
	if g.one(25) {
		w.Namespace = pick(g, "kube-system", "local-path-storage", "")
	}
	w.Template.Labels = map[string]string{"app": w.Name}
	w.Template.Annotations = make(map[string]string)
	g.mark(&w.Template.ObjectMeta.Labels, []mark{
		{8, "sidecar.istio.io/inject", []string{"true", "true", "true", "false", "", "yes"}},
		{14, "istio.io/rev", []string{"stable", "stable", ""}},
	})
	g.mark(&w.Template.ObjectMeta.Annotations, []mark{
		{8, "sidecar.istio.io/inject", []string{"true", "true", "false"}},
		{7, "sidecar.istio.io/nativeSidecar", []string{"true", "false"}},
		{7, "proxy.istio.io/config", []string{"holdApplicationUntilProxyStarts: true", "holdApplicationUntilProxyStarts: false", `{"holdApplicationUntilProxyStarts": true}`, "statusPort: 15030", `{"statusPort": 15030}`, "interceptionMode: NONE"}},
		{14, "status.sidecar.istio.io/port", []string{"15030", "15099", "15020", "8099", "0"}},
		{10, "sidecar.istio.io/rewriteAppHTTPProbers", []string{"true", "1", "false", "0", "yes"}},
		{12, excludeInboundPorts, []string{"8081", "8080, 8081", "15020", ""}},
		{14, includeInboundPorts, []string{"*", "8080", "8080,15020", "8081,15099", "15020, 15099", ""}},
		{12, "sidecar.istio.io/interceptionMode", []string{"NONE", "NONE", "TPROXY", "REDIRECT"}},
		{20, "traffic.sidecar.istio.io/excludeInterfaces", []string{"eth0"}},
		{25, "rewrite-probes.io/skip-containers", []string{"app", "web"}},
		{50, "rewrite-probes.io/rewrite", []string{"false"}},
		{40, daprEnabled, []string{"true", "true", "on", "false"}},
	})
	// The label wins over the annotation, even if it is empty.
	if v, set := w.Template.Labels["sidecar.istio.io/inject"]; set && v == "" && seed%2 == 0 {
		w.Template.Annotations["sidecar.istio.io/inject"] = "false"
	}
	// Istio ignores an exclusion next to a list of included ports. No number is drawn, so
	// that the other cases stay.
	if list := w.Template.Annotations[includeInboundPorts]; seed%3 == 0 && list != "" && list != "*" {
		w.Template.Annotations[excludeInboundPorts] = list
	}
	if strings.HasSuffix(w.Template.Annotations["proxy.istio.io/config"], "Mode: NONE") && g.one(3) {
		w.Template.Annotations["sidecar.istio.io/interceptionMode"] = "REDIRECT" // it wins
	}
	g.spec(&w.Template.Spec)
	if seed%16 == 5 {
		g.declare(&w.Template.Spec)
	}
	if w.Kind == "Job" {
		w.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	}
	return w
}

// declare adds the istio-proxy that Istio's injector completes.
func (g *source) declare(s *corev1.PodSpec) {
	c := corev1.Container{Name: model.IstioProxy, Image: "auto"}
	if g.one(2) { // instead of Istio's own hook, which has the other containers wait
		c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
	}
	s.Containers = append(s.Containers, c)
}

const (
	includeInboundPorts = "traffic.sidecar.istio.io/includeInboundPorts"
	excludeInboundPorts = "traffic.sidecar.istio.io/excludeInboundPorts"
)

// A mark is a label or annotation that one in so many objects has.
type mark struct {
	once   int
	key    string
	values []string
}

func (g *source) mark(into *map[string]string, marks []mark) {
	for _, m := range marks {
		if g.one(m.once) {
			(*into)[m.key] = pick(g, m.values...)
		}
	}
}

func (g *source) spec(s *corev1.PodSpec) {
	s.HostNetwork = g.one(40)
	names := []string{"app", "web", "db"}
	for i := range pick(g, 1, 1, 2) {
		s.Containers = append(s.Containers, g.container(names[i], int32(8080+10*i)))
	}
	always := corev1.ContainerRestartPolicyAlways
	for i := range pick(g, 0, 0, 0, 1, 1, 2) {
		c := g.container([]string{"proxy", "cache"}[i], int32(7000+10*i))
		c.RestartPolicy = &always
		s.InitContainers = append(s.InitContainers, c)
	}
	if g.one(5) {
		at := g.IntN(len(s.InitContainers) + 1)
		c := corev1.Container{Name: "migrate", Image: "example.com/migrate:1"}
		s.InitContainers = append(s.InitContainers[:at:at], append([]corev1.Container{c}, s.InitContainers[at:]...)...)
	}
}

// container draws one whose app listens on base and the ports after it.
func (g *source) container(name string, base int32) corev1.Container {
	c := corev1.Container{Name: name, Image: "example.com/" + name + ":1"}
	c.Ports = []corev1.ContainerPort{{Name: portName(base), ContainerPort: base}, {ContainerPort: base + 1}}[:g.IntN(3)]
	if g.one(30) {
		c.Ports = append(c.Ports, corev1.ContainerPort{Name: oddPort, ContainerPort: pick[int32](g, 15020, 15099, 15030)})
	}
	probe := func(once int) *corev1.Probe {
		if g.one(once) {
			return &corev1.Probe{ProbeHandler: g.handler(&c, base)}
		}
		return nil
	}
	c.ReadinessProbe, c.LivenessProbe, c.StartupProbe = probe(2), probe(3), probe(4)
	if g.one(5) {
		c.Lifecycle = new(corev1.Lifecycle)
		hook := &corev1.LifecycleHandler{HTTPGet: g.httpGet(&c, base)}
		if g.one(8) {
			hook = &corev1.LifecycleHandler{TCPSocket: &corev1.TCPSocketAction{Port: g.port(&c, base)}}
		}
		if g.one(2) {
			c.Lifecycle.PostStart = hook
		} else {
			c.Lifecycle.PreStop = hook
		}
	}
	return c
}

// movedPort is where istio-proxy listens if the mesh's configuration has moved its status port.
const movedPort = 15030

// oddPort names a port of the app that a sidecar may want.
const oddPort = "odd-port"

// portName names the first port of a container; every pod has a name once.
func portName(base int32) string { return fmt.Sprintf("http-%d", base) }

func (g *source) handler(c *corev1.Container, base int32) corev1.ProbeHandler {
	switch g.IntN(10) {
	case 0:
		return corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}
	case 1, 2:
		h := &corev1.TCPSocketAction{Port: g.port(c, base)}
		if g.one(15) {
			h.Host = pick(g, "127.0.0.1", "shop.example.com")
		}
		return corev1.ProbeHandler{TCPSocket: h}
	case 3, 4:
		return corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: base + 1}}
	}
	return corev1.ProbeHandler{HTTPGet: g.httpGet(c, base)}
}

func (g *source) httpGet(c *corev1.Container, base int32) *corev1.HTTPGetAction {
	h := &corev1.HTTPGetAction{Path: pick(g, "/healthz", "/ready?full=1"), Port: g.port(c, base)}
	if g.one(4) {
		h.Scheme = corev1.URISchemeHTTPS
	}
	if g.one(30) {
		h.Host = pick(g, "127.0.0.1", "shop.example.com")
	}
	return h
}

func (g *source) port(c *corev1.Container, base int32) intstr.IntOrString {
	switch {
	case g.one(60):
		return intstr.FromString("nowhere")
	case len(c.Ports) > 0 && c.Ports[0].ContainerPort == base && g.one(2):
		return intstr.FromString(portName(base))
	}
	return intstr.FromInt32(base + int32(g.IntN(2)))
}

// A knowledge has what the manifests beside a workload, and the functionConfig, say.
type knowledge struct {
	namespace       map[string]string // the labels of its Namespace; nil if that is not there
	others          bool              // another Namespace has an injection label
	policies        []policy
	authorizations  []authorization
	services        []service
	sidecars        []sidecar
	owner           generator.Workload // whose controller adds labels
	contradicted    bool               // two Namespaces of the name differ in what they say to Istio: either counts
	twice           bool               // of two policies about the same pods one is older
	open            bool               // a selector has a label that some of the pods may have
	asked           bool               // a policy asks what only the cluster knows
	disagrees       bool               // two objects of unknown age declare the protocol of a port
	hasToken        bool               // a policy reads a token that may be valid
	revised         bool               // an object has a label of a revision
	authentications []authentication
	statusPort      bool              // the mesh has istio-proxy listen on movedPort
	files           map[string]string // the manifests in other files
	branch          branch
	moved           bool // the Namespace is in one of them
	config          rewriting.Settings
	rules           map[string]bool    // those that decided something
	istio           rewriting.Settings // config's part of that name
}

// A policy is a PeerAuthentication.
type policy struct {
	name, namespace, mode string
	selector              map[string]string
	ports                 map[int]string
	revised               bool
}

// An authorization is an AuthorizationPolicy, about one port unless that is 0.
type authorization struct {
	name, namespace string
	selector        map[string]string
	port            int
	form            *authorizationForm
	revised         bool
}

// An authorizationForm is what a policy says of who comes, and with what.
type authorizationForm struct {
	action  string
	from    map[string]any // of a rule; nil is everyone
	to      map[string]any // what it says of the request besides the port
	when    map[string]any
	more    []any // other rules
	none    bool  // there is no rule, so that nobody is meant
	isHTTP  bool  // it has an attribute that only HTTP has
	isAsked bool  // only the cluster knows whether it is about the kubelet
	// about reports whether the rule is about a request of the kubelet's; nil is always.
	about func(request) bool
}

// A request is one that the kubelet makes, as Envoy sees it.
type request struct {
	isTCP               bool // Envoy knows the port alone
	method, path, agent string
	query, host         string
	sent                []string // the values of probeHeader
	authorization       string
	port                int
	isValid             bool // its token is
}

// probeHeader is a header that probes may have.
const probeHeader = "X-Probe"

func nobody(request) bool { return false }

var authorizationForms = []*authorizationForm{
	{action: "DENY", from: map[string]any{"notPrincipals": []string{"*"}}},
	{action: "ALLOW", from: map[string]any{"principals": []string{"cluster.local/ns/shop/sa/web"}}, about: nobody},
	{action: "ALLOW"},
	{action: "ALLOW", none: true, about: nobody},
	{from: map[string]any{"namespaces": []string{"*"}}, about: nobody}, // it is ALLOW
	{action: "DENY"},
	{action: "DENY", from: map[string]any{"principals": []string{"*"}}, about: nobody},
	{action: "DENY", none: true, about: nobody},
	{action: "ALLOW", when: condition("source.principal", "notValues", "cluster.local/ns/shop/sa/web")},
	{action: "ALLOW", when: condition("connection.sni", "values", "*"), about: nobody},

	// What only HTTP has.
	{action: "ALLOW", isHTTP: true, to: operation("paths", "/healthz"), about: func(q request) bool { return q.path == "/healthz" }},
	{action: "ALLOW", isHTTP: true, to: operation("paths", "/ready*"), about: func(q request) bool { return q.path == "/ready" }},
	{action: "ALLOW", isHTTP: true, to: operation("paths", "/{*}"), about: func(q request) bool { return strings.Count(q.path, "/") == 1 }},
	{action: "ALLOW", isHTTP: true, to: operation("notPaths", "/healthz"), about: func(q request) bool { return q.path != "/healthz" }},
	{action: "DENY", isHTTP: true, to: operation("paths", "/admin*"), about: nobody},
	{action: "DENY", isHTTP: true, to: operation("paths", "/ready?full=1"), about: nobody}, // no query is compared
	{action: "DENY", isHTTP: true, to: operation("paths", "*/ready"), about: func(q request) bool { return q.path == "/ready" }},
	{action: "ALLOW", isHTTP: true, to: operation("methods", "POST"), about: func(q request) bool { return q.method == "POST" }},
	{action: "DENY", isHTTP: true, to: operation("methods", "GET"), about: func(q request) bool { return q.method == "GET" }},
	{action: "ALLOW", isHTTP: true, to: operation("hosts", "web.shop.svc.cluster.local"), about: nobody},
	{action: "ALLOW", isHTTP: true, to: operation("hosts", "*:8080"), about: func(q request) bool { return strings.HasSuffix(q.host, ":8080") }},
	{action: "DENY", isHTTP: true, from: map[string]any{"notRequestPrincipals": []string{"*"}}, about: func(q request) bool { return !q.isValid }},
	{action: "ALLOW", isHTTP: true, when: condition("request.headers[User-Agent]", "values", "kube-probe/*"), about: func(q request) bool { return q.agent == "kube-probe" }},
	{action: "ALLOW", isHTTP: true, when: condition("request.headers[User-Agent]", "values", "curl/*"), about: nobody},
	{action: "ALLOW", isHTTP: true, from: map[string]any{"principals": []string{"*"}}, more: []any{map[string]any{"to": []any{map[string]any{"operation": operation("paths", "/healthz")}}}},
		about: func(q request) bool { return q.path == "/healthz" }},

	// What only the cluster knows.
	{action: "ALLOW", isAsked: true, from: map[string]any{"ipBlocks": []string{"10.0.0.0/8"}}},
	{action: "DENY", isAsked: true, from: map[string]any{"ipBlocks": []string{"10.0.0.0/8"}}},
	{action: "CUSTOM", isAsked: true},
}

func operation(key, value string) map[string]any { return map[string]any{key: []string{value}} }

func condition(key, values, value string) map[string]any {
	return map[string]any{"key": key, values: []string{value}}
}

// A service selects the workload's pods.
type service struct {
	name, portName, appProtocol, protocol string
	target                                intstr.IntOrString
	implied                               bool      // the manifest has it as port
	others                                []service // its other ports
	selector                              map[string]string
}

var modes = []string{"STRICT", "PERMISSIVE", "DISABLE", "PERMISSIVE", "UNSET"}

// knowledge draws what is known of a workload.
func (g *source) knowledge(w *generator.Workload) knowledge {
	k := knowledge{owner: *w, config: rewriting.Settings{}, istio: rewriting.Settings{}, rules: make(map[string]bool), others: g.one(4)}
	if w.Namespace != "" && !g.one(3) {
		k.namespace = map[string]string{"team": "shop"}
		g.mark(&k.namespace, []mark{
			{2, "istio-injection", []string{"enabled", "enabled", "enabled", "enabled", "disabled", "no"}},
			{6, "istio.io/rev", []string{"stable", "stable", ""}},
		})
	}
	switch g.IntN(11) {
	case 0, 1, 2, 3, 4:
	case 10:
		k.config["answeredBy"] = "app"
	case 5, 6:
		k.config["answeredBy"] = "probe-proxy"
	case 7:
		k.config["answeredBy"] = "istio-proxy"
	default:
		k.config["answeredBy"] = "auto"
	}
	if k.statusPort = k.config["answeredBy"] == "istio-proxy" && g.one(4); k.statusPort {
		k.config["port"] = movedPort
	}
	if k.config["answeredBy"] != "istio-proxy" && g.one(10) {
		k.config["port"] = pick(g, 15099, 15030, 15200, 15020)
	}
	if g.one(10) {
		k.config["rewrite"] = pick(g, []string{"httpGet"}, []string{"httpGet", "tcpSocket", "grpc"}, []string{"grpc", "lifecycle"})
	}
	if g.one(15) {
		k.config["probeProxy"] = rewriting.Settings{"placement": "container"}
	}
	k.ofMesh(g, w)
	if len(k.istio) > 0 {
		k.config["istio"] = k.istio
	}
	g.services(&k, w)
	g.authorize(&k, w)
	g.elsewhere(&k, w)
	g.fork(&k, w)
	return k
}

// The files around that of the workload, from near to far. What is nearer to the workload wins.
const (
	here    = "shop/web/input.yaml"
	near    = "shop/web/near.yaml"
	alsoBy  = "shop/web/also.yaml" // as near, in another file
	farther = "shop/farther.yaml"
	far     = "far.yaml"
)

// elsewhere draws what is in other files: objects that must not count, since a nearer one
// says something else, and Namespaces that are no nearer than one that says something else.
func (g *source) elsewhere(k *knowledge, w *generator.Workload) {
	k.files = make(map[string]string)
	if w.Namespace == "" {
		if g.one(2) { // it is nobody's
			k.files[near] += object("v1", "Namespace", "", "", map[string]string{"istio-injection": pick(g, "enabled", "disabled")}, nil)
		}
		return
	}
	if g.one(12) {
		k.files[far] += object("v1", "Namespace", "", "", map[string]string{"istio-injection": pick(g, "enabled", "disabled")}, nil)
	}
	labels := func() map[string]string {
		return pick(g, map[string]string{"istio-injection": "enabled"}, map[string]string{"istio-injection": "disabled"}, map[string]string{"istio.io/rev": "stable"}, map[string]string{"team": "far"})
	}
	namespace := func(labels map[string]string) string {
		return object("v1", "Namespace", "", w.Namespace, labels, nil)
	}
	if k.namespace != nil {
		k.moved = g.one(4)
		if k.moved {
			k.files[pick(g, near, alsoBy)] += namespace(k.namespace)
		}
		if g.one(6) {
			k.rule("the nearest Namespace")
			k.files[pick(g, farther, far)] += namespace(labels())
		}
		if k.moved && g.one(3) {
			if other := labels(); !maps.Equal(ofIstio(other), ofIstio(k.namespace)) {
				k.files[pick(g, near, alsoBy)] += namespace(other)
				k.namespace, k.contradicted = nil, true
				k.rule("two Namespaces of one name contradict each other")
			}
		}
	}
	for _, p := range k.policies {
		isTwice := slices.ContainsFunc(k.policies, func(other policy) bool { return other.name == p.name+"b" })
		if isTwice || strings.HasSuffix(p.name, "b") || !g.one(6) {
			continue
		}
		other := p
		if g.one(2) {
			other.name += "-far" // it is about the same pods
		} else if g.one(2) && p.namespace != k.root() {
			other.selector = map[string]string{"app": w.Name} // it may be about others
		}
		other.mode = pick(g, modes...)
		k.rule("the nearest PeerAuthentication")
		k.files[pick(g, farther, far)] += object("security.istio.io/v1", "PeerAuthentication", other.namespace, other.name, nil, other.spec())
	}
}

// ofIstio returns what labels of a Namespace say to Istio: its injection is on for one value alone.
func ofIstio(labels map[string]string) map[string]string {
	said := make(map[string]string)
	for key, value := range labels {
		switch {
		case key == "istio-injection" && value != "enabled":
			said[key] = "disabled"
		case strings.Contains(key, "istio"):
			said[key] = value
		}
	}
	return said
}

// A branch is a file in another branch of the folders, whose object may be in another cluster.
type branch struct {
	file, text    string
	namespace     map[string]string // the labels of the workload's Namespace; nil if the object is another
	policy        *policy
	authorization *authorization
}

// fork draws an object of another branch.
func (g *source) fork(k *knowledge, w *generator.Workload) {
	if w.Namespace == "" || !g.one(6) {
		return
	}
	b := &k.branch
	b.file = pick(g, "other/all.yaml", "shop/other/all.yaml", "shop/web/below/all.yaml", "shop/web2/all.yaml")
	namespace := pick(g, w.Namespace, w.Namespace, k.root())
	switch g.IntN(4) {
	case 0:
		b.namespace = map[string]string{"istio-injection": pick(g, "enabled", "disabled")}
		b.text = object("v1", "Namespace", "", w.Namespace, b.namespace, nil)
	case 1:
		b.policy = &policy{name: "branch", namespace: namespace, mode: pick(g, modes...)}
		b.text = object("security.istio.io/v1", "PeerAuthentication", namespace, b.policy.name, nil, b.policy.spec())
	case 2:
		b.authorization = &authorization{name: "branch", namespace: namespace, form: pick(g, authorizationForms...)}
		if b.authorization.form.isAsked {
			b.authorization.form = authorizationForms[0]
		}
		b.text = object("security.istio.io/v1", "AuthorizationPolicy", namespace, b.authorization.name, nil, b.authorization.spec())
	default:
		ports := []any{map[string]any{"port": 8080, "name": pick(g, "http", "tcp", "grpc")}}
		b.text = object("v1", "Service", w.Namespace, "branch", nil, map[string]any{"selector": map[string]string{"app": w.Name}, "ports": ports})
	}
}

// with returns what is known if the branch is about the same cluster. Its PeerAuthentication is
// the oldest, unless one of the same scope is near: that of the branch is then about another
// cluster, as folders of two clusters have one each.
func (k knowledge) with(b branch) knowledge {
	k.rules = nil
	if k.namespace == nil && !k.contradicted && !k.isNamed(k.owner.Namespace) { // what the functionConfig says is certain
		k.namespace = b.namespace
	}
	if b.policy != nil && !k.hasScope(b.policy.namespace) {
		k.policies = append([]policy{*b.policy}, k.policies...)
	}
	if b.authorization != nil {
		k.authorizations = append(slices.Clone(k.authorizations), *b.authorization)
	}
	return k
}

// hasScope reports whether a PeerAuthentication about all pods of a namespace is near.
func (k *knowledge) hasScope(namespace string) bool {
	return slices.ContainsFunc(k.policies, func(p policy) bool { return p.namespace == namespace && p.selector == nil })
}

// object returns the text of an object that begins with the line before it.
func object(apiVersion, kind, namespace, name string, labels map[string]string, spec any) string {
	meta := make(map[string]any)
	for key, v := range map[string]string{"name": name, "namespace": namespace} {
		if v != "" {
			meta[key] = v
		}
	}
	if labels != nil {
		meta["labels"] = labels
	}
	o := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": meta}
	if spec != nil {
		o["spec"] = spec
	}
	text, err := yaml.Marshal(o)
	if err != nil {
		panic(err)
	}
	return "---\n" + string(text)
}

// ofMesh draws what is said of the mesh.
func (k *knowledge) ofMesh(g *source, w *generator.Workload) {
	for _, f := range []struct {
		once   int
		key    string
		values []any
	}{
		{6, "nativeSidecars", []any{"auto", true, false, true, false}},
		{8, "holdApplicationUntilProxyStarts", []any{true, false}},
		{6, "injectorRewrites", []any{"auto", true, false, true, false}},
		{6, "injectedNamespaces", []any{[]string{}, []string{"shop"}, []string{"other", "sh*"}, []string{"other"}}},
		{5, "mtls", []any{"STRICT", "PERMISSIVE", "DISABLE"}},
	} {
		if g.one(f.once) {
			k.istio[f.key] = pick(g, f.values...)
		}
	}
	if w.Namespace == "" { // what an unknown namespace matches is left to the tests of the config
		delete(k.istio, "injectedNamespaces")
	}
	root := "istio-system"
	if g.one(15) {
		root = "mesh"
		k.istio["rootNamespace"] = root
	}
	add := func(once int, p policy) {
		if !g.one(once) {
			return
		}
		p.name, p.mode = fmt.Sprintf("p%d", len(k.policies)), pick(g, modes...)
		if p.selector != nil && g.one(2) {
			p.ports = map[int]string{pick(g, 8080, 8081, 8090, 7000): pick(g, modes...)}
		}
		if k.twice || !g.one(10) {
			k.policies = append(k.policies, p)
			return
		}
		k.twice = true
		other := p
		other.name, other.mode = p.name+"b", pick(g, modes...)
		if g.one(8) {
			p, other = other, p
		}
		k.policies = append(k.policies, p, other)
	}
	add(5, policy{namespace: root})
	add(30, policy{namespace: root, selector: map[string]string{"app": w.Name}}) // counts for nothing
	add(30, policy{namespace: "elsewhere"})
	if w.Namespace != "" {
		add(5, policy{namespace: w.Namespace})
		if g.one(4) {
			add(1, policy{namespace: w.Namespace, selector: g.selector(k, !k.twice)})
			k.twice = k.twice || k.open // the pods with the label may have two policies
		}
		add(12, policy{namespace: w.Namespace, selector: map[string]string{"app": "another"}})
	}
}

// selector draws one that is about the workload's pods, or about some or none of them by
// a label that is added later. A case has one selector about some of them at most.
func (g *source) selector(k *knowledge, mayBeOpen bool) map[string]string {
	if !g.one(4) {
		return map[string]string{"app": k.owner.Name}
	}
	drawn := pick(g, []map[string]string{
		{"service.istio.io/canonical-name": k.owner.Name},
		{"service.istio.io/canonical-name": "another"},
		{"service.istio.io/canonical-revision": "latest"},
		{"security.istio.io/tlsMode": "istio"},
		{"app": k.owner.Name, "pod-template-hash": "5d9f8c"},
		{"app": "another", "pod-template-hash": "5d9f8c"},
		{"statefulset.kubernetes.io/pod-name": k.owner.Name + "-0"},
		{"statefulset.kubernetes.io/pod-name": "another-0"},
		{"app": k.owner.Name, "batch.kubernetes.io/job-name": k.owner.Name},
		{"kubernetes.io/hostname": "node-1"},
		{"app": "another", "kubernetes.io/hostname": "node-1"},
	}...)
	if k.selects(drawn, world{}) == k.selects(drawn, world{labelled: true}) {
		return drawn
	}
	if k.open || !mayBeOpen {
		return map[string]string{"app": k.owner.Name}
	}
	k.open = true
	return drawn
}

// authorize draws AuthorizationPolicies.
func (g *source) authorize(k *knowledge, w *generator.Workload) {
	if w.Namespace == "" || !g.one(4) {
		return
	}
	for range pick(g, 1, 1, 2) {
		a := authorization{name: fmt.Sprintf("a%d", len(k.authorizations)), namespace: w.Namespace, form: pick(g, authorizationForms...)}
		if a.form.isAsked && k.asked {
			continue
		}
		k.asked = k.asked || a.form.isAsked
		if g.one(4) {
			a.namespace = pick(g, k.root(), "elsewhere")
		}
		if g.one(2) {
			a.selector = map[string]string{"app": "another"}
			if !g.one(3) {
				a.selector = g.selector(k, true)
			}
		}
		if !a.form.none && a.form.more == nil && g.one(2) {
			a.port = pick(g, 8080, 8081)
		}
		k.authorizations = append(k.authorizations, a)
	}
}

func (a authorization) spec() map[string]any {
	spec := make(map[string]any)
	if a.form.action != "" {
		spec["action"] = a.form.action
	}
	if a.selector != nil {
		spec["selector"] = map[string]any{"matchLabels": a.selector}
	}
	rule := make(map[string]any)
	if a.form.from != nil {
		rule["from"] = []any{map[string]any{"source": a.form.from}}
	}
	to := maps.Clone(a.form.to)
	if a.port != 0 {
		if to == nil {
			to = make(map[string]any)
		}
		to["ports"] = []string{strconv.Itoa(a.port)}
	}
	if to != nil {
		rule["to"] = []any{map[string]any{"operation": to}}
	}
	if a.form.when != nil {
		rule["when"] = []any{a.form.when}
	}
	if a.form.action == "CUSTOM" {
		spec["provider"] = map[string]string{"name": "elsewhere"}
	}
	if !a.form.none {
		spec["rules"] = append([]any{rule}, a.form.more...)
	}
	return spec
}

func (g *source) services(k *knowledge, w *generator.Workload) {
	if w.Namespace == "" || !g.one(3) {
		return
	}
	for i, target := range []intstr.IntOrString{intstr.FromInt32(8080), intstr.FromString(portName(8080)), intstr.FromInt32(8081)} {
		if g.one(2) {
			selector := map[string]string{"app": w.Name}
			if g.one(4) {
				selector = g.selector(k, true)
			}
			k.services = append(k.services, service{
				selector: selector,
				name:     fmt.Sprintf("s%d", i), target: target, implied: target.Type == intstr.Int && g.one(2), protocol: pick(g, "", "", "", "TCP", "UDP"),
				portName: pick(g, "", "http", "http-web", "https", "tcp", "httpx", "grpc"), appProtocol: pick(g, "", "", "", "http", "https", "tcp"),
			})
			if last := &k.services[len(k.services)-1]; k.isOpen(selector) {
				last.portName, last.appProtocol, last.protocol = "", "", "" // Envoy takes the port for the same with and without it
			}
			return
		}
	}
}

// manifests returns the text of a case: the workload first, then what is beside it.
func manifests(w *generator.Workload, k *knowledge) ([]byte, error) {
	first, err := w.YAML()
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.Write(first)
	add := func(apiVersion, kind, namespace, name string, labels map[string]string, spec any) {
		b.WriteString(object(apiVersion, kind, namespace, name, labels, spec))
	}
	if k.namespace != nil && !k.moved {
		add("v1", "Namespace", "", w.Namespace, k.namespace, nil)
	}
	if k.others {
		add("v1", "Namespace", "", "other-team", map[string]string{"istio-injection": "enabled"}, nil)
	}
	for _, p := range k.policies {
		add("security.istio.io/v1", "PeerAuthentication", p.namespace, p.name, revision(p.revised), p.spec())
	}
	for _, a := range k.authorizations {
		add("security.istio.io/v1", "AuthorizationPolicy", a.namespace, a.name, revision(a.revised), a.spec())
	}
	for _, a := range k.authentications {
		add("security.istio.io/v1", "RequestAuthentication", a.namespace, a.name, revision(a.revised), a.spec())
	}
	for _, s := range k.services {
		var ports []any
		for i, p := range s.ports() {
			ports = append(ports, p.port(80+i))
		}
		add("v1", "Service", w.Namespace, s.name, nil, map[string]any{"selector": s.selector, "ports": ports})
	}
	for _, c := range k.sidecars {
		add("networking.istio.io/v1", "Sidecar", c.namespace, c.name, revision(c.revised), c.spec())
	}
	return []byte(b.String()), err
}

// port returns the manifest of a Service's port that has a number, unless its target does not have another.
func (s service) port(number int) map[string]any {
	port := map[string]any{"port": number, "targetPort": s.target.IntValue()}
	switch {
	case s.target.Type == intstr.String:
		port["targetPort"] = s.target.StrVal
	case s.implied:
		port["port"] = s.target.IntValue()
		delete(port, "targetPort")
	}
	for key, v := range map[string]string{"protocol": s.protocol, "name": s.portName, "appProtocol": s.appProtocol} {
		if v != "" {
			port[key] = v
		}
	}
	return port
}

func (p policy) spec() map[string]any {
	spec := map[string]any{"mtls": map[string]string{"mode": p.mode}}
	if p.selector != nil {
		spec["selector"] = map[string]any{"matchLabels": p.selector}
	}
	if p.ports != nil {
		ports := make(map[string]any)
		for n, mode := range p.ports {
			ports[strconv.Itoa(n)] = map[string]string{"mode": mode}
		}
		spec["portLevelMtls"] = ports
	}
	return spec
}
