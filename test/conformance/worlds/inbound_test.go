package worlds

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/generator"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
)

// An authentication is a RequestAuthentication of one rule, which looks for tokens in one place.
type authentication struct {
	name, namespace string
	selector        map[string]string
	header, param   string // that place; without it, it is the header Authorization
	revised         bool
}

func (a authentication) spec() map[string]any {
	rule := map[string]any{"issuer": "https://issuer.example.com", "jwksUri": "https://issuer.example.com/keys"}
	switch {
	case a.header != "":
		rule["fromHeaders"] = []any{map[string]string{"name": a.header}}
	case a.param != "":
		rule["fromParams"] = []string{a.param}
	}
	spec := map[string]any{"jwtRules": []any{rule}}
	if a.selector != nil {
		spec["selector"] = map[string]any{"matchLabels": a.selector}
	}
	return spec
}

// wellFormed is a token whose signature nobody knows, and malformed is none.
var wellFormed, malformed = func() (string, string) {
	part := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256"}`))
	return part + "." + part + ".c2ln", "garbage"
}()

// tokens returns what a request has where RequestAuthentications look for tokens.
func (k *knowledge) tokens(q *request, w world) (all []string) {
	if q.isTCP {
		return nil
	}
	for _, a := range k.authentications {
		applies := (a.namespace == k.root() || a.namespace == k.owner.Namespace) && (a.selector == nil || k.selects(a.selector, w)) && (!a.revised || w.canary)
		if !applies {
			k.rule("a RequestAuthentication about other pods does not count")
			continue
		}
		switch bearer, is := strings.CutPrefix(q.authorization, "Bearer "); {
		case a.header != "":
			all = append(all, q.sent...)
		case a.param != "":
			query, _ := url.ParseQuery(q.query)
			all = append(all, query[a.param]...)
		case is:
			all = append(all, bearer)
		}
	}
	return all
}

// unauthenticated reports whether a token of a request is refused.
func (k *knowledge) unauthenticated(pod *corev1.Pod, w world) func(int, corev1.ProbeHandler) bool {
	protocol := k.protocol(pod, w)
	return func(port int, h corev1.ProbeHandler) bool {
		q := requestOf(h, false, port)
		q.isTCP = q.isTCP || protocol(port) == "tcp"
		all := k.tokens(&q, w)
		for _, t := range all {
			if t != wellFormed {
				k.rule("a RequestAuthentication refuses what is no token")
				return true
			}
		}
		if len(all) > 0 {
			k.rule("a RequestAuthentication reads a token")
		}
		return len(all) > 0 && !w.valid
	}
}

// headerForms are about what probes send.
var headerForms = []*authorizationForm{
	{action: "ALLOW", isHTTP: true, when: condition("request.headers["+probeHeader+"]", "values", "1"), about: sends("1")},
	{action: "DENY", isHTTP: true, when: condition("request.headers[x-probe]", "values", "1"), about: sends("1")},
	{action: "DENY", isHTTP: true, when: condition("request.headers["+probeHeader+"]", "values", "1*"), about: sends("1", "12")},
	{action: "DENY", isHTTP: true, when: condition("request.headers["+probeHeader+"]", "values", "1,2"), about: nobody},
	{action: "ALLOW", isHTTP: true, when: condition("request.headers["+probeHeader+"]", "values", "*"), about: func(q request) bool { return len(q.sent) > 0 }},
	{action: "DENY", isHTTP: true, when: condition("request.headers["+probeHeader+"]", "notValues", "1"), about: func(q request) bool { return !sends("1")(q) }},
	{action: "DENY", isHTTP: true, to: operation("hosts", "shop.example.com"), about: func(q request) bool { return q.host == "shop.example.com" }},
	{action: "ALLOW", isHTTP: true, from: map[string]any{"requestPrincipals": []string{"*"}}, about: func(q request) bool { return q.isValid }},
	{action: "DENY", isHTTP: true, from: map[string]any{"notRequestPrincipals": []string{"*"}}, about: func(q request) bool { return !q.isValid }},
}

// sends returns whether a request has the header with one of some values.
func sends(values ...string) func(request) bool {
	return func(q request) bool {
		return slices.ContainsFunc(q.sent, func(v string) bool { return slices.Contains(values, v) })
	}
}

// revision returns the label of an object that istiod of one revision reads.
func revision(revised bool) map[string]string {
	if !revised {
		return nil
	}
	return map[string]string{"istio.io/rev": "canary"}
}

// inbound draws what decides how Envoy takes a call, from a source of its own: the other parts of a case stay.
func (g *source) inbound(k *knowledge, w *generator.Workload, often int) {
	if w.Namespace == "" {
		return
	}
	g.protocols(k)
	if g.one(often) {
		g.disagreement(k, w)
	}
	if g.one(often) {
		g.headers(&w.Template.Spec)
		g.authentication(k, w)
	}
	if g.one(often + 3) {
		g.revision(k)
	}
}

// call makes a workload one that Istio injects and that does nothing special there.
func call(w *generator.Workload) {
	w.Namespace = "shop"
	w.Template.Labels, w.Template.Annotations = map[string]string{"app": w.Name}, nil
	w.Template.Spec.HostNetwork = false
}

// call leaves of what is known what decides how Envoy takes a call.
func (k *knowledge) call() {
	*k = knowledge{
		owner: k.owner, config: rewriting.Settings{}, rules: k.rules, files: make(map[string]string),
		namespace: map[string]string{"istio-injection": "enabled"},
		istio:     rewriting.Settings{"mtls": "PERMISSIVE", "nativeSidecars": true, "injectorRewrites": false},
		services:  k.services, authorizations: k.authorizations, sidecars: k.sidecars, open: k.open, asked: k.asked,
	}
	k.config["istio"] = k.istio
	for i := range k.authorizations {
		if k.authorizations[i].namespace == "mesh" {
			k.authorizations[i].namespace = k.root()
		}
	}
}

// leastOfCalls is as least, for cases of which most calls get through.
var leastOfCalls = map[string]int{
	"a warning depends on what decides a protocol":                  80,
	"a warning depends on: its token is not valid":                  20,
	"a warning depends on: the policy and its rule are about it":    200,
	"rule: a RequestAuthentication about other pods does not count": 400,
	"rule: a RequestAuthentication reads a token":                   40,
	"rule: a RequestAuthentication refuses what is no token":        100,
	"rule: a Service declares a port http2 by its name":             100,
	"rule: a Sidecar declares a port http":                          100,
	"rule: a Sidecar declares a port http2":                         100,
	"rule: a Sidecar declares a port tcp":                           100,
	"worlds: revision canary":                                       1000,
	"worlds: the second declaration is older":                       1000,
	"worlds: with the label":                                        1000,
}

// protocols draws those of Sidecars' ports, and a second Sidecar that may be older.
func (g *source) protocols(k *knowledge) {
	for i := range k.sidecars {
		g.listeners(&k.sidecars[i])
	}
	if len(k.sidecars) == 0 || k.branch.file != "" {
		return
	}
	switch first := &k.sidecars[0]; {
	case len(first.listeners) == 0:
	case g.one(4):
		second := *first
		second.name, second.listeners = first.name+"b", slices.Clone(first.listeners)
		g.listeners(&second)
		k.sidecars = slices.Insert(k.sidecars, 1, second)
		k.disagrees = true
	case g.one(4) && first.namespace == k.owner.Namespace:
		first.selector = g.later(k)
	}
}

func (g *source) listeners(c *sidecar) {
	for i := range c.listeners {
		c.listeners[i].protocol = pick(g, "HTTP", "HTTP", "HTTP2", "GRPC", "GRPC-Web", "TCP", "HTTPS", "TLS", "HTTP_PROXY", "MONGO")
	}
}

// disagreement draws a second port of a Service, or a second Service, that leads to the same port.
func (g *source) disagreement(k *knowledge, w *generator.Workload) {
	if len(k.services) == 0 {
		for !slices.ContainsFunc(k.services, func(s service) bool { return s.name == "s0" || s.name == "s1" }) {
			k.services = nil
			g.services(k, w)
		}
	}
	first := &k.services[0]
	if k.isOpen(first.selector) || first.protocol == "UDP" {
		return
	}
	if first.portName == "" {
		first.portName = "a"
	}
	second := *first
	second.implied, first.implied = false, false
	second.portName, second.appProtocol = pick(g, "web", "http", "https", "tcp", "grpc", "grpc-web", "http2-x", "tls")+"-b", pick(g, "", "", "", "http", "https", "grpc")
	second.protocol = pick(g, "", "TCP")
	if g.one(2) {
		first.others = append(first.others, second)
		return
	}
	second.name, second.others = "t0", nil
	if g.one(3) {
		second.selector = g.later(k)
	}
	k.services = append(k.services, second)
	if k.disagrees {
		return // there are two Sidecars
	}
	k.disagrees = k.selects(second.selector, world{labelled: true})
}

// later draws a selector by a label that is added later.
func (g *source) later(k *knowledge) map[string]string {
	drawn := pick(g, []map[string]string{
		{"app": k.owner.Name, "pod-template-hash": "5d9f8c"},
		{"app": k.owner.Name, "controller-revision-hash": "web-5d9f8c"},
		{"statefulset.kubernetes.io/pod-name": k.owner.Name + "-0"},
		{"apps.kubernetes.io/pod-index": "0"},
		{"batch.kubernetes.io/controller-uid": "a5f2"},
		{"job-name": k.owner.Name},
		{"kubernetes.io/hostname": "node-1"},
		{"app": k.owner.Name, "topology.kubernetes.io/zone": "a"},
		{"topology.istio.io/subzone": "b"},
		{"app": "another", "topology.kubernetes.io/zone": "a"},
	}...)
	if !k.isOpen(drawn) {
		return drawn
	}
	if k.open {
		return map[string]string{"app": k.owner.Name}
	}
	k.open = true
	return drawn
}

// headers draws those of the probes and hooks.
func (g *source) headers(s *corev1.PodSpec) {
	for i := range s.InitContainers {
		g.headersOf(&s.InitContainers[i])
	}
	for i := range s.Containers {
		g.headersOf(&s.Containers[i])
	}
}

func (g *source) headersOf(c *corev1.Container) {
	var all []*corev1.HTTPGetAction
	for _, p := range []*corev1.Probe{c.ReadinessProbe, c.LivenessProbe, c.StartupProbe} {
		if p != nil {
			all = append(all, p.HTTPGet)
		}
	}
	if c.Lifecycle != nil {
		for _, h := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if h != nil {
				all = append(all, h.HTTPGet)
			}
		}
	}
	for _, h := range all {
		if h == nil {
			continue
		}
		add := func(name string, values ...string) {
			for _, v := range values {
				h.HTTPHeaders = append(h.HTTPHeaders, corev1.HTTPHeader{Name: name, Value: v})
			}
		}
		if g.one(2) {
			add(probeHeader, pick(g, []string{"1"}, []string{"1", "2"}, []string{"2", "1"}, []string{""}, []string{"", "1"}, []string{"12"}, []string{"2", "2"})...)
		}
		if g.one(3) {
			add("Authorization", pick(g, "Bearer "+malformed, "Bearer "+wellFormed, "Bearer "+wellFormed, "Basic YTpi", ""))
		}
		if g.one(6) {
			add("Host", pick(g, "", "shop.example.com"))
		}
	}
}

// authentication draws a RequestAuthentication, and policies about what probes send.
func (g *source) authentication(k *knowledge, w *generator.Workload) {
	if g.one(2) {
		a := authentication{name: "r0", namespace: pick(g, w.Namespace, w.Namespace, k.root(), "elsewhere")}
		switch g.IntN(5) {
		case 0:
			a.param = "full"
		case 1:
			a.header = probeHeader
		}
		switch g.IntN(4) {
		case 0:
			a.selector = map[string]string{"app": "another"}
		case 1:
			a.selector = map[string]string{"app": w.Name}
		case 2:
			if a.header+a.param != "" { // what it finds there is no token
				a.selector = g.later(k)
			}
		}
		k.authentications = append(k.authentications, a)
		k.hasToken = a.header+a.param == ""
	}
	if g.one(2) {
		a := authorization{name: "h0", namespace: w.Namespace, form: pick(g, headerForms...)}
		if g.one(3) {
			a.selector = map[string]string{"app": pick(g, w.Name, "another")}
		}
		k.authorizations = append(k.authorizations, a)
	}
}

// revision labels one object with a revision.
func (g *source) revision(k *knowledge) {
	switch {
	case len(k.policies) > 0 && !k.twice && g.one(2):
		k.policies[g.IntN(len(k.policies))].revised = true
	case len(k.authorizations) > 0 && g.one(2):
		k.authorizations[g.IntN(len(k.authorizations))].revised = true
	case len(k.sidecars) > 0:
		k.sidecars[0].revised = true
	default:
		return
	}
	k.revised = true
}

// decides words the fact that an object decides the protocol of a port; "" is none.
func decides(by string) string {
	if by == "" {
		return "nothing declares the protocol of its port"
	}
	return fmt.Sprintf("%s decides the protocol of its port", by)
}
