// Package nearby finds what the manifests near an object say about its
// cluster, namespace and mesh: Namespaces, their limits, Istio's policies, Services and Ingresses.
//
// What is nearer wins: what is in the same file, then in the same folder or below,
// then in the folder above. It knows nothing of what the planner makes of it.
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
	openShift     bool // an object is among them that only OpenShift has
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
		services:      newLazy(withSpec(service)),
		ingresses:     newLazy(withSpec(ingress)),
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
		{"networking.k8s.io", "Ingress", &x.ingresses.unread},
	}
	for _, s := range streams {
		for _, o := range s.Objects() {
			x.openShift = x.openShift || surroundings.IsOpenShift(o.APIVersion(), o.Kind())
			for _, k := range kinds {
				if o.Kind() == k.kind && (o.Group() == k.group || o.APIVersion() == k.group) {
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
		OthersInjected:        x.othersInjected(q.namespace),
		PeerAuthentications:   x.peersOf(q),
		AuthorizationPolicies: x.policiesOf(q),
		OpenShift:             x.openShift,
		LimitRanges:           x.limitRanges.near(q),
		Quotas:                x.quotas.near(q),
		Services:              sync.OnceValue(func() []surroundings.Service { return x.services.near(q) }),
		Unplaced: sync.OnceValue(func() []surroundings.Service {
			if q.namespace == "" {
				return nil
			}
			return x.services.near(question{place: q.place})
		}),
		Ingresses: sync.OnceValue(func() []surroundings.Ingress { return x.ingresses.near(q) }),
	}
}

// namespaceOf returns the Namespace, unless those that are equally near contradict each
// other.
func (x *Index) namespaceOf(q question) (m *field.Metadata, at fmt.Stringer) {
	all := x.namespaces.near(q)
	if len(all) == 0 || slices.ContainsFunc(all, func(n namespace) bool {
		return !sameEntries(all[0].Labels, n.Labels) || !sameEntries(all[0].Annotations, n.Annotations)
	}) {
		return nil, nil
	}
	return all[0].Metadata, all[0].at
}

// othersInjected reports whether Istio injects into another Namespace than that of the name.
func (x *Index) othersInjected(name string) bool {
	for other, all := range x.namespaces.all {
		if other != name && slices.ContainsFunc(all, func(n located[namespace]) bool { return n.value.isInjected() }) {
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
func (x *Index) peersOf(q question) []surroundings.PeerAuthentication {
	return valuesOf(nearest(policiesFor(q, x.rootNamespace, &x.peers), q.place, scope))
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
func (x *Index) policiesOf(q question) []surroundings.AuthorizationPolicy {
	all := valuesOf(policiesFor(q, x.rootNamespace, &x.policies))
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
