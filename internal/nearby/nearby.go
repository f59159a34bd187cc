// Package nearby finds what the manifests near an object say about its
// cluster, namespace and mesh: Namespaces, their limits, Istio's policies, Services and Ingresses.
//
// Certain is only what an object hears: what is in the same stream, in its own folder and in
// the folders above. Of that the nearest wins. What another branch says may be about another
// cluster, so that it is kept apart: it can make a fact open, and never decides one. A
// kustomization that joins two branches changes nothing about that; what it builds is one stream.
// The package knows nothing of what the planner makes of it.
package nearby

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/resources"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// An Index has the objects that can be surroundings.
type Index struct {
	rootNamespace string
	streams       map[*manifest.Stream]bool // those that have such an object
	namespaces    lazy[namespace]
	peers         lazy[surroundings.PeerAuthentication]
	policies      lazy[surroundings.AuthorizationPolicy]
	limitRanges   lazy[resources.LimitRange]
	quotas        lazy[resources.ResourceQuota]
	services      lazy[surroundings.Service]
	ingresses     lazy[surroundings.Ingress]
	networks      lazy[surroundings.NetworkPolicy]
	sidecars      lazy[surroundings.Sidecar]
	sidecarSets   lazy[surroundings.SidecarSet]
	servers       lazy[surroundings.LinkerdServer]
	routes        lazy[surroundings.HTTPRoute]
	openShift     []place // of objects that only OpenShift has
	found         map[question]*surroundings.Surroundings
}

type namespace struct {
	*field.Metadata
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
		namespaces:    newLazy(readNamespace),
		peers:         newLazy(withSpec(peerAuthentication)),
		policies:      newLazy(withSpec(authorizationPolicy)),
		limitRanges:   newLazy(withSpec(limitRange)),
		quotas:        newLazy(withSpec(quota)),
		services:      newLazy(readService),
		ingresses:     newLazy(withSpec(ingress)),
		networks:      newLazy(withSpec(networkPolicy)),
		sidecars:      newLazy(withSpec(sidecar)),
		sidecarSets:   newLazy(withSpec(sidecarSet)),
		servers:       newLazy(withSpec(linkerdServer)),
		routes:        newLazy(withSpec(httpRoute)),
		found:         make(map[question]*surroundings.Surroundings),
	}
	kinds := []struct {
		group, kind string // or the apiVersion of the core group
		unread      *[]*manifest.Object
	}{
		{"v1", "Namespace", &x.namespaces.unread},
		{"v1", "Service", &x.services.unread},
		{"v1", "LimitRange", &x.limitRanges.unread},
		{"v1", "ResourceQuota", &x.quotas.unread},
		{"security.istio.io", "PeerAuthentication", &x.peers.unread},
		{"security.istio.io", "AuthorizationPolicy", &x.policies.unread},
		{"networking.istio.io", "ServiceEntry", &x.services.unread},
		{"networking.istio.io", "Sidecar", &x.sidecars.unread},
		{"apps.kruise.io", "SidecarSet", &x.sidecarSets.unread},
		{"networking.k8s.io", "Ingress", &x.ingresses.unread},
		{"networking.k8s.io", "NetworkPolicy", &x.networks.unread},
		{"policy.linkerd.io", "Server", &x.servers.unread},
		{"policy.linkerd.io", "HTTPRoute", &x.routes.unread},
		{"gateway.networking.k8s.io", "HTTPRoute", &x.routes.unread},
	}
	for _, s := range streams {
		for _, o := range s.Objects() {
			if surroundings.IsOpenShift(o.APIVersion(), o.Kind()) {
				x.openShift = append(x.openShift, placeOf(o))
			}
			for _, k := range kinds {
				if o.Kind() == k.kind &&
					(o.Group() == k.group || o.APIVersion() == k.group) {
					*k.unread = append(*k.unread, o)
					x.streams[s] = true
				}
			}
		}
	}
	return x
}

// Of returns the surroundings of an object that goes to the namespace, "" if that is not
// known. They must not be changed.
func (x *Index) Of(o *manifest.Object, namespace string) *surroundings.Surroundings {
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

func (x *Index) find(q question) *surroundings.Surroundings {
	namespace, at := x.namespaceOf(q)
	return &surroundings.Surroundings{
		Namespace:             namespace,
		NamespaceAt:           at,
		NamespaceElsewhere:    x.namespaceElsewhere(q),
		OthersInjected:        x.othersInjected(q),
		PeerAuthentications:   x.peersOf(q),
		AuthorizationPolicies: x.policiesOf(q),
		OpenShift:             slices.ContainsFunc(x.openShift, q.hears),
		LimitRanges:           x.limitRanges.near(q),
		Quotas:                x.quotas.near(q),
		Services: sync.OnceValue(func() []surroundings.Service {
			return x.services.near(q)
		}),
		Elsewhere: sync.OnceValue(func() []surroundings.Service {
			return x.services.far(q)
		}),
		Unplaced: sync.OnceValue(func() []surroundings.Service {
			if q.namespace == "" {
				return nil
			}
			return x.services.near(question{place: q.place})
		}),
		Sidecars: sync.OnceValue(func() []surroundings.Sidecar {
			return x.sidecarsOf(q)
		}),
		SidecarSets: sync.OnceValue(func() []surroundings.SidecarSet {
			return x.sidecarSetsOf(q)
		}),
		LinkerdServers: sync.OnceValue(func() []surroundings.LinkerdServer {
			return x.servers.near(q)
		}),
		HTTPRoutes: sync.OnceValue(func() []surroundings.HTTPRoute {
			return x.routes.near(q)
		}),
		NetworkPolicies: sync.OnceValue(func() []surroundings.NetworkPolicy {
			return x.networks.near(q)
		}),
		Ingresses: sync.OnceValue(func() []surroundings.Ingress {
			return x.ingresses.near(q)
		}),
	}
}

// namespaceOf returns the Namespace, unless those that are equally near contradict each
// other.
func (x *Index) namespaceOf(q question) (m *field.Metadata, at fmt.Stringer) {
	all := x.namespaces.near(q)
	if len(all) == 0 || slices.ContainsFunc(all, func(n namespace) bool {
		return !sameEntries(all[0].Labels, n.Labels) ||
			!sameEntries(all[0].Annotations, n.Annotations)
	}) {
		return nil, nil
	}
	return all[0].Metadata, all[0].at
}

// namespaceElsewhere returns the Namespaces of this name in other branches, if none is heard.
func (x *Index) namespaceElsewhere(q question) (all []surroundings.Elsewhere) {
	for _, n := range x.namespaces.far(q) {
		all = append(all, surroundings.Elsewhere{Namespace: n.Metadata, At: n.at})
	}
	return all
}

// othersInjected reports whether a Namespace is heard that is another than the object's, and into
// which Istio injects.
func (x *Index) othersInjected(q question) bool {
	injects := func(n located[namespace]) bool {
		return n.value.isInjected() && q.hears(n.place)
	}
	for other, all := range x.namespaces.all {
		if other != q.namespace && slices.ContainsFunc(all, injects) {
			return true
		}
	}
	return false
}

// sameEntries reports whether two mappings are equal but for their order.
func sameEntries(a, b field.KeyValues) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(e field.KeyValue) bool {
		v, set := b.Lookup(e.Key)
		return !set || v != e.Value
	})
}

// policiesFor returns the policies of the root namespace and of that of an object, of one
// name the nearest.
func policiesFor[T any](q question, rootNamespace string, l *lazy[T]) (all []located[T]) {
	for _, namespace := range slices.Compact([]string{rootNamespace, q.namespace}) {
		all = append(all, l.find(question{q.place, namespace})...)
	}
	return all
}

// peersOf returns the PeerAuthentications. Of one name, and of one scope, only the nearest
// count: others are about other clusters.
func (x *Index) peersOf(q question) (all []surroundings.PeerAuthentication) {
	for _, p := range nearest(policiesFor(q, x.rootNamespace, &x.peers), q.place, scope) {
		p.value.Far = !q.hears(p.place)
		all = append(all, p.value)
	}
	return all
}

// sidecarsOf returns the Sidecars that are heard, of the root namespace and of that of an object.
func (x *Index) sidecarsOf(q question) (all []surroundings.Sidecar) {
	for _, c := range policiesFor(q, x.rootNamespace, &x.sidecars) {
		if q.hears(c.place) {
			all = append(all, c.value)
		}
	}
	return all
}

// sidecarSetsOf returns the SidecarSets that are heard. They have no namespace.
func (x *Index) sidecarSetsOf(q question) (all []surroundings.SidecarSet) {
	for _, s := range x.sidecarSets.in("") {
		if q.hears(s.place) {
			all = append(all, s.value)
		}
	}
	return all
}

// scope returns the namespace and the matchLabels of a policy as a text.
func scope(p located[surroundings.PeerAuthentication]) string {
	var entries []string
	for _, m := range p.value.MatchLabels {
		entries = append(entries, m.Key+"="+m.Value+"\n")
	}
	slices.Sort(entries)
	return p.value.Namespace + "\n" + strings.Join(entries, "")
}

// policiesOf returns the AuthorizationPolicies. Two of one name that are equally near are
// disputed.
func (x *Index) policiesOf(q question) (all []surroundings.AuthorizationPolicy) {
	for _, p := range policiesFor(q, x.rootNamespace, &x.policies) {
		p.value.Far = !q.hears(p.place)
		all = append(all, p.value)
	}
	seen := make(map[[2]string]int)
	for i := range all {
		id := [2]string{all[i].Namespace, all[i].Name}
		if other, again := seen[id]; again {
			all[i].Disputed, all[other].Disputed = true, true
		}
		seen[id] = i
	}
	return all
}
