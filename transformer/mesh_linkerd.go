package transformer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// linkerd is the profile of Linkerd (linkerd2, edge-26.8.3, commit b24cd4059841).
//
//   - Injection: the annotation of the pod, else of its Namespace; an unknown value
//     on either injects nothing (pkg/k8s/labels.go:102, pkg/inject/report.go:172-233).
//     The webhook leaves out two namespaces, and Namespaces with a label
//     (charts/linkerd-control-plane/values.yaml, proxyInjector.namespaceSelector).
//   - Ports of the proxy: outbound, inbound, control and admin
//     (charts/linkerd-control-plane/values.yaml:165-173); proxy-init never captures
//     the last two (charts/partials/templates/_proxy-init.tpl:24).
//   - The annotation of excluded ports takes ports and ranges
//     (pkg/k8s/labels.go:154) and replaces the mesh's default, 4567,4568
//     (pkg/inject/inject.go:552, charts/linkerd-control-plane/values.yaml:335);
//     that of a pod replaces that of its Namespace (inject.go:147-160, 843-856).
//   - uid 2102 (charts/linkerd-control-plane/values.yaml:220).
//
// Linkerd rewrites no probes. If its policy demands mTLS, it still lets in requests
// that look like an httpGet probe of the pod: GET, the exact path, without TLS, on a port
// that is not opaque (policy-controller/k8s/index/src/inbound/workload.rs:66-113,
// index.rs:1753-1792). One annotation of the pod or its Namespace lists the opaque ports; without it
// those are opaque that a container declares and the mesh's default has (inject.go:858-945,
// values.yaml:245). Another lists ports on which every policy but audit demands mTLS.
var linkerd = passiveProxy{
	meshData: meshData{
		name: "linkerd", title: "Linkerd", proxy: "linkerd-proxy", uid: 2102,
		reserved: []int{4140, 4143, 4190, 4191},
		excluded: portList{key: "config.linkerd.io/skip-inbound-ports", ranges: true},
	},
	uncapturedPorts:         []int{4190, 4191},
	inherits:                true,
	uninjectedNamespaces:    []string{"kube-system", "cert-manager"},
	excludedNamespaceLabels: field.KeyValues{{Key: "config.linkerd.io/admission-webhooks", Value: "disabled"}},
	switched:                linkerdSwitched,
	refine:                  refineLinkerd,
}

// linkerdSkipped are the ports that the mesh's default does not capture: Galera's.
var linkerdSkipped = []int{4567, 4568}

// linkerdOpaqueDefault are the ports that are opaque without an annotation.
var linkerdOpaqueDefault = []int{25, 587, 3306, 4444, 5432, 6379, 9300, 11211}

const (
	linkerdInject = "linkerd.io/inject"
	linkerdPolicy = "config.linkerd.io/default-inbound-policy"
	linkerdOpaque = "config.linkerd.io/opaque-ports"
	linkerdStrict = "config.linkerd.io/proxy-require-identity-inbound-ports"
	linkerdValues = "enabled, ingress or disabled"
)

// linkerdSwitched reads the switch of injection. A Namespace's value that Linkerd does
// not know switches it off even for a pod that has it on.
func linkerdSwitched(v *view) membership {
	read := func(value string) (on, ok bool) {
		return value == "enabled" || value == "ingress", value == "enabled" || value == "ingress" || value == "disabled"
	}
	m := v.switchIn("annotations", linkerdInject, linkerdValues, read)
	ns, _ := v.namespace()
	value, _ := ns.Annotations.Lookup(linkerdInject)
	if _, ok := read(value); ok || value == "" || m.off != nil || m.unclear != nil {
		return m
	}
	annotation := entryWords("annotations", linkerdInject, value)
	unclear := NewFinding(reason.InjectUnclear, nil,
		"%s has %s, so Linkerd injects nothing there, not even a pod that asks for it", v.namespaceWords(), annotation).
		Why("The value must be %s", linkerdValues)
	off := NewFinding(reason.NamespaceNotInjected, nil,
		"%s has %s, which Linkerd does not know, so Linkerd does not capture this pod", v.namespaceWords(), annotation)
	m.injected, m.off, m.unclear = certain.Never, &off, &unclear
	return m
}

func refineLinkerd(p passiveProxy, v *view, m *inspection) {
	if said := p.membership(v); said.unclear != nil && m.optOut == nil {
		m.optOut = new(v.annotationFinding(reason.InjectionOff, linkerdInject, "is not a value that Linkerd knows, so Linkerd neither injects nor captures this pod"))
	}
	if len(m.inherited) == 0 && slices.ContainsFunc(linkerdSkipped, v.declares) {
		inherited := m.inherited.Note(nil)
		for _, port := range linkerdSkipped {
			inherited = p.excluded.with(inherited, port)
		}
		m.inherited = inherited.Unnoted()
	}
	letsIn, unless := linkerdLetsIn(v)
	_, listed := linkerdAnnotation(v, p.excluded.key)
	m.outcome = m.capturedOutcome(v, func(s *site) (f world.Fate, captures string) {
		if !listed && slices.Contains(linkerdSkipped, s.dialed()) {
			captures = fmt.Sprintf("Linkerd captures port %d, which it ignores by default (`proxyInit.ignoreInboundPorts`; unknown: set the annotation `%s`)", s.dialed(), p.excluded.key)
		}
		if f, unless, isSettled := linkerdSettled(v, s, letsIn); isSettled {
			return f, cmp.Or(unless, captures)
		}
		f = linkerdFate(v, s, letsIn, "")
		if captures == "" && s.current.Kind() != pod.KindTCPSocket { // which passes falsely under every policy
			captures = unless
		}
		return f, captures
	})
}

// linkerdSettled returns the fate of a probe that the default policy does not decide, as far as the port or a route
// does. unless words what would spare it.
func linkerdSettled(v *view, s *site, letsIn bool) (f world.Fate, unless string, isSettled bool) {
	policy, _ := linkerdAnnotation(v, linkerdPolicy)
	if letsIn && policy != "audit" && linkerdListed(v, linkerdStrict, s.dialed()) {
		return linkerdFate(v, s, false, " (its port is in `"+linkerdStrict+"`)"), "", true
	}
	h := s.current.HTTPGet
	if h == nil || h.Scheme == "HTTPS" || s.name.IsHook() {
		return f, "", false
	}
	path, _, _ := strings.Cut(cmp.Or(h.Path, "/"), "?")
	route, may := v.in.Around.RoutedBy(v.pods(), s.dialed(), path)
	if route == "" {
		return f, "", false
	}
	if may {
		unless = "no policy lets in the requests that the route matches (unknown: look in the cluster)"
	}
	return world.Failing(route + " is attached to the Server of its port, so Linkerd no longer lets in the paths of probes by itself"), unless, true
}

// linkerdLetsIn reports whether the default policy for what comes in, that of the pod or else
// of its Namespace, certainly lets in the kubelet, which is in the cluster's network and
// has no certificate. If neither has one, unless words that it may not: by default Linkerd's lets in
// everybody, and the mesh can have another.
func linkerdLetsIn(v *view) (letsIn bool, unless string) {
	switch value, _ := linkerdAnnotation(v, linkerdPolicy); value {
	case "all-unauthenticated", "cluster-unauthenticated", "audit":
		return true, ""
	case "all-authenticated", "cluster-authenticated", "deny":
		return false, ""
	}
	return false, "Linkerd's default policy lets in only callers with a certificate (unknown: set the annotation `" + linkerdPolicy + "` of the pod or its Namespace)"
}

// linkerdAnnotation returns an annotation of the pod or else of its Namespace, as Linkerd does.
func linkerdAnnotation(v *view, key string) (string, bool) {
	if value, own := v.annotations().Lookup(key); own {
		return value, true
	}
	ns, _ := v.namespace()
	return ns.Annotations.Lookup(key)
}

// linkerdListed reports whether an annotation that lists ports has one.
func linkerdListed(v *view, key string, port int) bool {
	value, _ := linkerdAnnotation(v, key)
	return portList{key: key, ranges: true}.has(
		field.KeyValues{{Key: key, Value: value}}.Note(nil),
		port,
	)
}

func linkerdOpaqueTo(v *view, port int) bool {
	if _, set := linkerdAnnotation(v, linkerdOpaque); set {
		return linkerdListed(v, linkerdOpaque, port)
	}
	return slices.Contains(linkerdOpaqueDefault, port) && v.declares(port)
}

// linkerdFate: the proxy answers 403 to a hook that it does not let in, and to the
// kubelet any answer to a hook is a success.
func linkerdFate(v *view, s *site, letsIn bool, unless string) world.Fate {
	kind := s.current.Kind()
	switch {
	case kind == pod.KindTCPSocket:
		return world.FalselyPassing("Linkerd's proxy accepts the connection before it knows whether the app does")
	case letsIn:
		return world.Spared
	case kind == pod.KindHTTPGet && linkerdOpaqueTo(v, s.dialed()):
		return world.Failing("Linkerd's policy lets in no request from the kubelet on port " + strconv.Itoa(s.dialed()) + ", since the port is opaque and its proxy cannot see the path" + unless)
	case s.name.IsHook() && s.current.HTTPGet.Scheme != "HTTPS":
		return world.FalselyPassing("Linkerd's proxy answers the hook with 403, which the kubelet takes for success, and the app never gets it" + unless)
	case kind == pod.KindGRPC:
		return world.Failing("Linkerd's policy lets in no gRPC from the kubelet" + unless)
	case kind == pod.KindHTTPGet && s.current.HTTPGet.Scheme == "HTTPS":
		return world.Failing("Linkerd's policy lets in no TLS from the kubelet, since it cannot see the path" + unless)
	case kind == pod.KindHTTPGet &&
		s.current.HTTPGet.Path != "" &&
		!strings.HasPrefix(s.current.HTTPGet.Path, "/"):
		return world.Failing("Linkerd's policy lets in only paths that begin with a slash" + unless)
	}
	return world.Spared
}
