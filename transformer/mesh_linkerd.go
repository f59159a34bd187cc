package transformer

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
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
		word: "linkerd", inject: []mark{{linkerdInject, "annotations"}}, control: "linkerd-destination",
		reserved: []int{4140, 4143, 4190, 4191},
		excluded: portList{key: "config.linkerd.io/skip-inbound-ports", ranges: true},
	},
	excludedAddresses:       "config.linkerd.io/skip-subnets",
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
		Fix("Write %s", linkerdValues)
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
	m.known = func() (words []string) {
		for _, key := range []string{linkerdPolicy, p.excluded.key, linkerdOpaque, linkerdStrict} {
			if x := surroundings.Linkerd(&v.in.Around, key); x.At != "" && x.Value != "" {
				words = append(words, "`"+key+": "+x.Value+"` by default: "+x.At)
			}
		}
		return words
	}
	m.outcome = m.capturedOutcome(v, func(s *site) (world.Fate, string) { return linkerdOutcome(p, v, s) })
}

// linkerdOutcome returns what becomes of a probe of a port that no annotation excludes.
func linkerdOutcome(p passiveProxy, v *view, s *site) (f world.Fate, captures string) {
	letsIn, unless := linkerdLetsIn(v)
	_, listed := linkerdSetting(v, p.excluded.key)
	switch {
	case listed && linkerdListed(v, p.excluded.key, s.dialed()):
		return world.Spared, ""
	case !listed && slices.Contains(linkerdSkipped, s.dialed()):
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
}

// linkerdSettled returns the fate of a probe that the default policy does not decide, as far as the port, a Server or a
// route does. unless words what would spare it.
func linkerdSettled(v *view, s *site, letsIn bool) (f world.Fate, unless string, isSettled bool) {
	route, may := v.routed(s)
	server, selects := surroundings.LinkerdServerOf(&v.in.Around, v.pods(), s.dialed())
	if selects != certain.Never {
		f, unless = linkerdServerFate(v, s, server, selects == certain.Always)
		if route == "" || f.Outcome == world.Fails {
			return f, unless, true
		}
	}
	policy, _ := linkerdSetting(v, linkerdPolicy)
	if letsIn && policy != "audit" && linkerdListed(v, linkerdStrict, s.dialed()) {
		return linkerdFate(v, s, false, " (its port is in `"+linkerdStrict+"`)"), "", true
	}
	if route == "" {
		return f, "", false
	}
	if may {
		unless = "no policy lets in the requests that the route matches (unknown: look in the cluster)"
	}
	return world.Failing(route + " is attached to the Server of its port, so Linkerd no longer lets in the paths of probes by itself"), unless, true
}

// routed returns an HTTPRoute that is attached to the Server of a probe's port; "" if there is none, or the probe has no
// path that Linkerd sees.
func (v *view) routed(s *site) (route string, may bool) {
	h := s.current.HTTPGet
	if h == nil || h.Scheme == "HTTPS" || s.name.IsHook() {
		return "", false
	}
	path, _, _ := strings.Cut(cmp.Or(h.Path, "/"), "?")
	return v.in.Around.RoutedBy(v.pods(), s.dialed(), path)
}

// linkerdServerFate returns what becomes of a probe at a Server, which replaces the default policy, and if that is not
// certain, what decides.
func linkerdServerFate(v *view, s *site, at *surroundings.LinkerdServer, isSure bool) (f world.Fate, unless string) {
	lets := at.LetsIn(&v.in.Around)
	if !isSure {
		lets = certain.Never
		unless = at.Words() + ", or another, keeps it out (unknown: look in the cluster)"
	}
	f = linkerdFate(v, s, lets == certain.Always, ", by "+at.Words())
	if f == world.Spared && lets != certain.Always && s.current.Kind() == pod.KindHTTPGet && !linkerdSeesPaths(at) {
		f = world.Failing("Linkerd's policy lets in no request from the kubelet, since it sees no path (`proxyProtocol: " + at.ProxyProtocol + "` of " + at.Words() + ")")
	}
	switch {
	case f.Outcome != world.Fails: // tcpSocket passes falsely under every policy
		return f, ""
	case lets == certain.Maybe:
		unless = "no authorization of " + at.Words() + " has the kubelet's address (unknown: look at the cluster's nodes)"
	}
	return f, unless
}

// linkerdSeesPaths reports whether the proxy reads the paths of requests in HTTP/1.1 to a Server.
func linkerdSeesPaths(server *surroundings.LinkerdServer) bool {
	return slices.Contains([]string{"", "unknown", "HTTP/1", "HTTP/2"}, server.ProxyProtocol)
}

// linkerdLetsIn reports whether the default policy for what comes in, that of the pod or else
// of its Namespace, certainly lets in the kubelet, which is in the cluster's network and
// has no certificate. If neither has one, unless words that it may not: by default Linkerd's lets in
// everybody, and the mesh can have another.
func linkerdLetsIn(v *view) (letsIn bool, unless string) {
	switch value, _ := linkerdSetting(v, linkerdPolicy); value {
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

// linkerdSetting is linkerdAnnotation with what the mesh's installation states instead. Only verdicts ask it.
func linkerdSetting(v *view, key string) (string, bool) {
	if value, set := linkerdAnnotation(v, key); set {
		return value, true
	}
	x := surroundings.Linkerd(&v.in.Around, key)
	return x.Value, x.At != ""
}

// linkerdListed reports whether a setting that lists ports has one.
func linkerdListed(v *view, key string, port int) bool {
	value, _ := linkerdSetting(v, key)
	return portList{key: key, ranges: true}.has(
		field.KeyValues{{Key: key, Value: value}}.Note(nil),
		port,
	)
}

func linkerdOpaqueTo(v *view, port int) bool {
	if _, set := linkerdAnnotation(v, linkerdOpaque); set {
		return linkerdListed(v, linkerdOpaque, port)
	}
	if _, set := linkerdSetting(v, linkerdOpaque); set {
		return linkerdListed(v, linkerdOpaque, port) && v.declares(port)
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
	case kind == pod.KindHTTPGet && !linkerdHasPath(s.current.HTTPGet.Path):
		return world.Failing("Linkerd's policy lets in only the path as it reads the field, and the kubelet asks another" + unless)
	}
	return world.Spared
}

// linkerdHasPath reports whether the policy lets in the path for which the kubelet asks: it takes that of the field
// as http::Uri reads it (container_http_probe_paths in policy-controller/k8s/index/src/inbound/workload.rs).
func linkerdHasPath(path string) bool {
	read, ok := rustPath(cmp.Or(path, "/"))
	return ok && read == askedPath(path)
}

// rustPath returns the path of a text that http::Uri can read: an absolute URL, a path, or "*".
func rustPath(text string) (path string, ok bool) {
	path = text
	if scheme, rest, isURL := strings.Cut(text, "://"); isURL && !strings.Contains(scheme, "/") {
		authority := rest[:max(strings.IndexAny(rest+"/", "/?#"), 0)]
		if scheme == "" || authority == "" {
			return "", false
		}
		path = rest[len(authority):]
		if path == "" || path[0] != '/' {
			path = "/" + path
		}
	}
	path, _, _ = strings.Cut(path, "#")
	path, _, _ = strings.Cut(path, "?")
	isBad := func(c rune) bool { return c <= ' ' || strings.ContainsRune("<>`", c) || c == 0x7f }
	return path, strings.HasPrefix(path, "/") && !strings.ContainsFunc(path, isBad)
}

// askedPath returns the path for which the kubelet asks (formatURL in pkg/probe/http/request.go, and net/http).
func askedPath(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		u = &url.URL{Path: text}
	}
	u.Scheme, u.Host = "http", "pod"
	if u, err = url.Parse(u.String()); err != nil {
		return ""
	}
	return cmp.Or(u.EscapedPath(), "/")
}
