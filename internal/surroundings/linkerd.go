package surroundings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A LinkerdServer is Linkerd's name for a port of pods (policy.linkerd.io).
type LinkerdServer struct {
	Name, Namespace string
	PodSelector     LabelSelector
	Port            field.IntOrString
	At              fmt.Stringer // "file:line"
}

// An HTTPRoute is attached to Servers of its namespace (policy.linkerd.io, or
// gateway.networking.k8s.io with such a parent).
type HTTPRoute struct {
	Name, Namespace string
	Servers         []string
	Matches         []PathMatch // of all rules; one without a path has the zero value
	At              fmt.Stringer
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
	for _, server := range listed(s, LinkerdPolicies, s.LinkerdServers) {
		named := ServicePort{Port: port, TargetPort: server.Port}
		if server.PodSelector.selects(pods) < certain.Always ||
			!named.leadsTo(pods.Spec, port) {
			continue
		}
		for _, r := range listed(s, LinkerdPolicies, s.HTTPRoutes) {
			if slices.Contains(r.Servers, server.Name) {
				route = cmp.Or(route, objectAt("HTTPRoute", r.Namespace, r.Name, r.At))
				may = may ||
					slices.ContainsFunc(r.Matches, func(m PathMatch) bool {
						return m.mayMatch(path)
					})
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
