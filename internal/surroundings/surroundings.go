// Package surroundings finds what the manifests near an object say about its
// cluster, namespace and mesh: Namespaces, their limits, Istio's policies, Services and Ingresses.
//
// What is nearer wins: what is in the same file, then in the same folder or below,
// then in the folder above. It knows nothing of what the planner makes of it.
package surroundings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// An Index has the objects that can be surroundings.
type Index struct {
	rootNamespace string
	streams       map[*manifest.Stream]bool // those that have such an object
	namespaces    lazy[namespace]
	peers         lazy[transformer.PeerAuthentication]
	policies      lazy[transformer.AuthorizationPolicy]
	limitRanges   lazy[transformer.LimitRange]
	quotas        lazy[transformer.ResourceQuota]
	services      lazy[transformer.Service]
	networks      lazy[transformer.NetworkPolicy]
	ingresses     lazy[transformer.Ingress]
	openShift     bool     // an object is among them that only OpenShift has
	injected      []string // the names of Namespaces into which Istio injects, once namespaces are read
	found         map[question]*transformer.Surroundings
}

type namespace struct {
	*transformer.Metadata
	at *origin
}

// A question is what surroundings depend on. Its place has no file if nothing in its
// stream can be surroundings.
type question struct {
	place
	namespace string
}

// Collect finds the objects that can be surroundings; rootNamespace is Istio's. An object
// that is invalid, or local to its package, is none.
func Collect(streams []*manifest.Stream, rootNamespace string) *Index {
	x := &Index{
		rootNamespace: rootNamespace,
		streams:       make(map[*manifest.Stream]bool),
		peers:         lazy[transformer.PeerAuthentication]{read: withSpec(peerAuthentication)},
		policies:      lazy[transformer.AuthorizationPolicy]{read: withSpec(authorizationPolicy)},
		limitRanges:   lazy[transformer.LimitRange]{read: withSpec(limitRange)},
		quotas:        lazy[transformer.ResourceQuota]{read: withSpec(quota)},
		services:      lazy[transformer.Service]{read: withSpec(service)},
		networks:      lazy[transformer.NetworkPolicy]{read: withSpec(networkPolicy)},
		ingresses:     lazy[transformer.Ingress]{read: withSpec(ingress)},
		found:         make(map[question]*transformer.Surroundings),
	}
	x.namespaces.read = x.readNamespace
	for _, s := range streams {
		for _, o := range s.Objects() {
			x.openShift = x.openShift || transformer.IsOpenShift(o.APIVersion(), o.Kind())
			if list := x.listOf(o); list != nil {
				*list = append(*list, o)
				x.streams[s] = true
			}
		}
	}
	return x
}

// Of returns the surroundings of an object that goes to the namespace, "" if that is not
// known. They must not be changed.
func (x *Index) Of(o *manifest.Object, namespace string) *transformer.Surroundings {
	q := question{placeOf(o), namespace}
	if !x.streams[o.Stream()] {
		q.file = ""
	}
	found := x.found[q]
	if found == nil {
		found = x.find(q)
		x.found[q] = found
	}
	return found
}

func (x *Index) find(q question) *transformer.Surroundings {
	namespace, at := x.namespaceOf(q)
	return &transformer.Surroundings{
		Namespace:             namespace,
		NamespaceAt:           at,
		OthersInjected:        slices.ContainsFunc(x.injected, func(name string) bool { return name != q.namespace }),
		PeerAuthentications:   x.peersOf(q),
		AuthorizationPolicies: x.policiesOf(q),
		Cluster: transformer.Cluster{
			OpenShift:   x.openShift,
			LimitRanges: x.limitRanges.near(q),
			Quotas:      x.quotas.near(q),
		},
		Services: func() []transformer.Service { return x.services.near(q) },
		Unplaced: func() []transformer.Service {
			if q.namespace == "" {
				return nil
			}
			return x.services.near(question{place: q.place})
		},
		NetworkPolicies: func() []transformer.NetworkPolicy { return x.networks.near(q) },
		Ingresses:       func() []transformer.Ingress { return x.ingresses.near(q) },
	}
}

// namespaceOf returns the Namespace, unless those that are equally near contradict each
// other.
func (x *Index) namespaceOf(q question) (m *transformer.Metadata, at fmt.Stringer) {
	o := x.namespaces.in(q.namespace)
	if o == nil {
		return nil, nil
	}
	all := o.nearest(q.place).values
	for _, n := range all[1:] {
		if !sameEntries(all[0].Labels, n.Labels) || !sameEntries(all[0].Annotations, n.Annotations) {
			return nil, nil
		}
	}
	return all[0].Metadata, all[0].at
}

// sameEntries reports whether two mappings are equal but for their order.
func sameEntries(a, b field.KeyValues) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(e field.KeyValue) bool {
		v, set := b.Lookup(e.Key)
		return !set || v != e.Value
	})
}

// policyNamespaces returns the namespaces whose policies are about an object.
func (x *Index) policyNamespaces(q question) []string {
	return slices.Compact([]string{x.rootNamespace, q.namespace})
}

// peersOf returns the PeerAuthentications. Of one name, and of one scope, only the nearest
// count: others are about other clusters.
func (x *Index) peersOf(q question) []transformer.PeerAuthentication {
	var all []transformer.PeerAuthentication
	for _, name := range x.policyNamespaces(q) {
		o := x.peers.find(question{q.place, name})
		all = append(all, o.nearestOf(scopes(o.values), q.place).values...)
	}
	return all
}

// scopes returns the matchLabels of each policy as a text.
func scopes(policies []transformer.PeerAuthentication) []string {
	var all []string
	for _, p := range policies {
		var entries []string
		for _, m := range p.MatchLabels {
			entries = append(entries, m.Key+"="+m.Value+"\n")
		}
		slices.Sort(entries)
		all = append(all, strings.Join(entries, ""))
	}
	return all
}

// policiesOf returns the AuthorizationPolicies, of one name the nearest.
func (x *Index) policiesOf(q question) []transformer.AuthorizationPolicy {
	var all []transformer.AuthorizationPolicy
	for _, namespace := range x.policyNamespaces(q) {
		all = append(all, x.policies.find(question{q.place, namespace}).values...)
	}
	seen := make(map[[2]string]int)
	for i := range all {
		id := [2]string{all[i].Namespace, all[i].Name}
		if first, again := seen[id]; again {
			all[i].Disputed, all[first].Disputed = true, true
			continue
		}
		seen[id] = i
	}
	return all
}
