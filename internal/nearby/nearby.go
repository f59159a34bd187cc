// Package nearby finds what the manifests near an object say about its
// cluster, namespace and mesh: the objects of the kinds that package surroundings lists.
//
// Certain is only what an object hears: what is in the same stream, in its own folder and in
// the folders above. Of that the nearest wins. What another branch says may be about another
// cluster, so that it is kept apart: it can make a fact open, and never decides one. A
// kustomization that joins two branches changes nothing about that; what it builds is one stream.
// The package knows nothing of what the planner makes of it.
package nearby

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// An Index has the objects that can be surroundings.
type Index struct {
	rootNamespace string
	streams       map[*manifest.Stream]bool // those that have such an object
	kinds         []*objects                // by index of the kind
	complete      *manifest.Stream          // the one that has all of a cluster; nil if none does
	found         map[question]surroundings.Surroundings
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
	return collect(streams, rootNamespace, surroundings.Rows())
}

func collect(streams []*manifest.Stream, rootNamespace string, rows []*surroundings.Kind) *Index {
	x := &Index{
		rootNamespace: rootNamespace,
		streams:       make(map[*manifest.Stream]bool),
		found:         make(map[question]surroundings.Surroundings),
	}
	byKind := make(map[string][]*objects)
	for _, k := range rows {
		l := newObjects(k)
		x.kinds = append(x.kinds, l)
		for _, n := range k.Names {
			if !slices.Contains(byKind[n.Kind], l) {
				byKind[n.Kind] = append(byKind[n.Kind], l)
			}
		}
	}
	for _, s := range streams {
		if s.All != nil {
			x.complete = s
		}
		for _, o := range s.Objects() {
			for _, l := range byKind[o.Kind()] {
				if !l.kind.Is(o.APIVersion(), o.Kind()) || !l.mayCount(o) {
					continue
				}
				l.unread = append(l.unread, o)
				x.streams[s] = x.streams[s] || l.kind.Scope != surroundings.Mark
			}
		}
	}
	return x
}

// Of returns the surroundings of an object that goes to the namespace, "" if that is not
// known.
func (x *Index) Of(o *manifest.Object, namespace string) surroundings.Surroundings {
	q := question{placeOf(o), namespace}
	if !x.streams[o.Stream()] {
		q.file = ""
	}
	found, again := x.found[q]
	if !again {
		found = surroundings.New(source{x, q})
		x.found[q] = found
	}
	return found
}

// Cluster returns what is known of the cluster as a whole, and of no object.
func (x *Index) Cluster() surroundings.Surroundings {
	return surroundings.New(source{x, question{place: inCluster}})
}

// A source answers one question.
type source struct {
	*Index
	question
}

var _ surroundings.Source = source{}

func (s source) Find(k *surroundings.Kind, unplaced bool) []surroundings.Found {
	l := s.kinds[k.Index()]
	if l.read(); len(l.all) == 0 {
		return nil
	}
	q := s.question
	if unplaced {
		if q.namespace == "" {
			return nil
		}
		q.namespace = ""
	}
	var all []located
	switch k.Scope {
	case surroundings.OfNamespaceAndRoot:
		for _, namespace := range slices.Compact([]string{s.rootNamespace, q.namespace}) {
			all = append(all, l.find(question{q.place, namespace})...)
		}
	case surroundings.Anywhere:
		all = l.find(question{place: q.place})
	default:
		all = l.find(q)
	}
	all = nearest(all, q.place, func(o located) string { return k.Same(o.value) })
	return s.seen(all)
}

// seen returns the objects as they lie, seen from the question's place.
func (s source) seen(all []located) []surroundings.Found {
	count := make(map[string]int)
	for _, o := range all {
		count[o.name]++
	}
	found := make([]surroundings.Found, len(all))
	for i, o := range all {
		isDisputed := count[o.name] > 1
		found[i] = surroundings.Found{Value: o.value, Far: !s.hears(o.place), Disputed: isDisputed}
	}
	return found
}

func (s source) Hears(k *surroundings.Kind, is func(v any) bool) bool {
	l := s.kinds[k.Index()]
	if is == nil {
		return slices.ContainsFunc(l.unread, func(o *manifest.Object) bool { return s.hears(placeOf(o)) })
	}
	l.read()
	for _, all := range l.all {
		if slices.ContainsFunc(all, func(o located) bool { return is(o.value) && s.hears(o.place) }) {
			return true
		}
	}
	return false
}

func (s source) Complete(k *surroundings.Kind) bool {
	isMissing := func(n surroundings.GroupKind) bool { return !s.complete.All(n.Group, n.Kind) }
	return s.complete != nil && !slices.ContainsFunc(k.Names, isMissing)
}
