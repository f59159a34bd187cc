package surroundings

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A LinkerdServer is Linkerd's name for a port of pods (policy.linkerd.io).
type LinkerdServer struct {
	Neighbour
	PodSelector   *LabelSelector    `json:"podSelector"` // or it has an externalWorkloadSelector
	Port          field.IntOrString `json:"port"`
	ProxyProtocol string            `json:"proxyProtocol"` // "" is unknown: Linkerd detects it
	AccessPolicy  string            `json:"accessPolicy"`  // "" is deny
}

func (v *LinkerdServer) complete() bool { return v.PodSelector != nil }

// An HTTPRoute is attached to Servers of its namespace (policy.linkerd.io, or
// gateway.networking.k8s.io with such a parent).
type HTTPRoute struct {
	Neighbour
	ParentRefs []ParentRef `json:"parentRefs"`
	Rules      []RouteRule `json:"rules"`
}

// A ParentRef names what a route is attached to.
type ParentRef struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// A RouteRule is about the requests that one of its matches matches; about all if it has none.
type RouteRule struct {
	Matches []struct {
		Path PathMatch `json:"path"`
	} `json:"matches"`
}

// complete reports whether the route is attached to a Server.
func (r *HTTPRoute) complete() bool {
	return slices.ContainsFunc(r.ParentRefs, func(p ParentRef) bool { return p.Kind == "Server" })
}

func (r *HTTPRoute) mayMatch(path string) bool {
	for _, rule := range r.Rules {
		for _, m := range rule.Matches {
			if m.Path.mayMatch(path) {
				return true
			}
		}
		if len(rule.Matches) == 0 {
			return true
		}
	}
	return false
}

// A PathMatch is the path of a route's match.
type PathMatch struct {
	Type  string `json:"type"` // Exact, RegularExpression, or PathPrefix, which is the default
	Value string `json:"value"`
}

// RoutedBy returns an HTTPRoute that is attached to a Server of a port of pods; "" if there is
// none. By itself Linkerd lets in the paths of probes only where no route is attached
// (http_routes in policy-controller/k8s/index/src/inbound/index.rs). may is set if a route may
// match the path, and a policy may then let it in.
func (s *Surroundings) RoutedBy(pods *Pods, port int, path string) (route string, may bool) {
	for _, server := range LinkerdServers.near(s) {
		named := ServicePort{Port: port, TargetPort: server.Port}
		if server.PodSelector.selects(pods) < certain.Always ||
			!named.leadsTo(pods.Spec, port) {
			continue
		}
		for _, r := range HTTPRoutes.near(s) {
			if slices.Contains(r.ParentRefs, ParentRef{"Server", server.Name}) {
				route = cmp.Or(route, r.words("HTTPRoute"))
				may = may || r.mayMatch(path)
			}
		}
	}
	return route, may
}

func (m *PathMatch) mayMatch(path string) bool {
	switch m.Type {
	case "Exact":
		return m.Value == path
	case "", "PathPrefix":
		prefix := strings.TrimSuffix(m.Value, "/")
		return path == prefix || strings.HasPrefix(path, prefix+"/")
	}
	return true
}
