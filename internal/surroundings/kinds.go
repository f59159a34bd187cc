package surroundings

import (
	"cmp"
	"slices"
)

// Kinds are kinds of objects that a planner asks about, as a set. A new object of one that was
// asked about can change the plan, and so can a change in one that is there.
type Kinds uint16

// The kinds, each with its objects in [Kinds.All].
const (
	Namespaces Kinds = 1 << iota
	LimitRanges
	Quotas
	Services
	Sidecars
	SidecarSets
	Ingresses
	NetworkPolicies
	PeerAuthentications
	AuthorizationPolicies
	LinkerdPolicies
	OpenShift // any kind that only OpenShift has
)

// A GroupKind is a kind as the API server knows it.
type GroupKind struct{ Group, Kind string }

var groupKinds = []struct {
	of Kinds
	GroupKind
}{
	{Namespaces, GroupKind{"", "Namespace"}},
	{LimitRanges, GroupKind{"", "LimitRange"}},
	{Quotas, GroupKind{"", "ResourceQuota"}},
	{Services, GroupKind{"", "Service"}},
	{Services, GroupKind{"networking.istio.io", "ServiceEntry"}},
	{Sidecars, GroupKind{"networking.istio.io", "Sidecar"}},
	{SidecarSets, GroupKind{"apps.kruise.io", "SidecarSet"}},
	{Ingresses, GroupKind{"networking.k8s.io", "Ingress"}},
	{NetworkPolicies, GroupKind{"networking.k8s.io", "NetworkPolicy"}},
	{PeerAuthentications, GroupKind{"security.istio.io", "PeerAuthentication"}},
	{AuthorizationPolicies, GroupKind{"security.istio.io", "AuthorizationPolicy"}},
	{LinkerdPolicies, GroupKind{"policy.linkerd.io", "Server"}},
	{LinkerdPolicies, GroupKind{"policy.linkerd.io", "HTTPRoute"}},
	{LinkerdPolicies, GroupKind{"gateway.networking.k8s.io", "HTTPRoute"}},
}

// All returns the kinds of a set under their names.
func (k Kinds) All() (all []GroupKind) {
	for _, row := range groupKinds {
		if k&row.of != 0 {
			all = append(all, row.GroupKind)
		}
	}
	if k&OpenShift != 0 {
		for group, kinds := range openShiftKinds {
			for _, kind := range kinds {
				all = append(all, GroupKind{group, kind})
			}
		}
	}
	slices.SortFunc(all, func(a, b GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}

func (s *Surroundings) ask(k Kinds) {
	if s.Asked != nil {
		*s.Asked |= k
	}
}
