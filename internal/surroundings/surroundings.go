// Package surroundings has what manifests near an object say of its cluster, namespace and mesh, and
// the questions that a planner asks of it: which mode of mutual TLS holds for a port, which
// Service leads to it. It reads no manifests (package nearby does) and knows no probes.
//
// A kind of object is a row in kinds.go, and a type with the kind's own spec and the questions about
// it. Each question asks by that row, so that it is noted.
package surroundings

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/resources"
)

// Surroundings are what the manifests say about an object's namespace and its mesh; the zero
// value says nothing. What is not marked as far is near: in the same stream, in the object's
// folder or in a folder above. Only that decides what is written. What is far is in another
// branch of the folders, which may be about another cluster: it can turn a certain failure of a
// probe into a possible one, and nothing else.
type Surroundings struct {
	*facts
	asked *Asked // notes what the methods are asked about; nil notes nothing
}

// Asked is what surroundings were asked about.
type Asked struct {
	Kinds     Kinds
	Namespace field.MetadataKeys // the labels and annotations of the object's Namespace
}

// A Source finds the objects around one object.
type Source interface {
	// Find returns the objects of a kind that count by its scope, near and far; of one name the nearest.
	// It returns nil quickly if the input has none of the kind. With
	// unplaced they are those without a namespace near an object that has one. They may go there:
	// many charts write the namespace into some objects alone, and kustomize writes one into all.
	Find(k *Kind, unplaced bool) []Found
	// Hears reports whether an object of the kind is near, of any namespace, for which is holds; without
	// is, whether one is near at all.
	Hears(k *Kind, is func(v any) bool) bool
	// Complete reports whether the objects of a kind that are near are all that the cluster has.
	Complete(k *Kind) bool
}

// facts are what was found, so that each is found once for all plans that share it.
type facts struct {
	source Source
	found  []list
	others certainty
	shown  *testimony            // by running pods; nil if nobody has asked
	counts func(key string) bool // see CountKeys; nil if all do
}

// A list has the objects of a kind that lie in one way; values is a []T.
type list struct {
	kind   *Kind
	lie    lie
	values any
}

// A lie is where objects are.
type lie int

const (
	near     lie = iota // in the same stream, in the folder or above
	far                 // in another branch of the folders
	anyhow              // near or far
	unplaced            // near, but for one without a namespace
)

// A certainty is the answer to a question that may not have been asked.
type certainty int

const (
	notAsked certainty = iota
	no
	yes
)

// New returns the surroundings that a source finds.
func New(source Source) Surroundings { return Surroundings{facts: &facts{source: source}} }

// Note returns the surroundings that note in asked what they are asked about.
func (s Surroundings) Note(asked *Asked) Surroundings {
	s.asked = asked
	return s
}

// CountKeys sets which labels and annotations of a Namespace say something of a mesh: manifests of it that differ
// in no other agree. Without, all count.
func (f *facts) CountKeys(counts func(key string) bool) {
	if f != nil {
		f.counts = counts
	}
}

func (s *Surroundings) ask(k *Kind) {
	if s.asked != nil {
		s.asked.Kinds |= k.Set()
	}
}

func (k Of[T]) near(s *Surroundings) []T     { return k.in(s, near) }
func (k Of[T]) far(s *Surroundings) []T      { return k.in(s, far) }
func (k Of[T]) all(s *Surroundings) []T      { return k.in(s, anyhow) }
func (k Of[T]) unplaced(s *Surroundings) []T { return k.in(s, unplaced) }

// in returns the objects of a kind, and notes the question.
func (k Of[T]) in(s *Surroundings, where lie) []T {
	s.ask(k.Kind)
	if s.facts == nil {
		return nil
	}
	values, _ := s.facts.list(k.Kind, where).([]T)
	return values
}

func (f *facts) list(k *Kind, where lie) any {
	for _, l := range f.found {
		if l.kind == k && l.lie == where {
			return l.values
		}
	}
	all := f.source.Find(k, where == unplaced)
	if all == nil {
		return nil
	}
	if where != anyhow {
		all = slices.DeleteFunc(slices.Clone(all), func(o Found) bool { return o.Far != (where == far) })
	}
	values := k.list(all)
	f.found = append(f.found, list{k, where, values})
	return values
}

// complete reports whether all objects of a kind are near that there are.
func (s *Surroundings) complete(k *Kind) bool {
	return s.facts != nil && s.source.Complete(k)
}

// limitRange and quota are the specs of the kinds whose content package resources reads.
type limitRange struct {
	Neighbour
	Limits field.Value `json:"limits"`
	read   resources.LimitRange
}

func (l *limitRange) complete() bool {
	l.read = resources.NewLimitRange(l.Name, field.Map{{Key: "limits", Value: l.Limits}})
	return true
}

type quota struct {
	Neighbour
	Hard field.Value `json:"hard"`
}

// Ranges returns the LimitRanges of the namespace.
func (s *Surroundings) Ranges() (all []resources.LimitRange) {
	for _, l := range LimitRanges.near(s) {
		all = append(all, l.read)
	}
	return all
}

// Limits returns what limits the pods of the namespace.
func (s *Surroundings) Limits() resources.Limits {
	limits := resources.Limits{Ranges: s.Ranges()}
	for _, q := range Quotas.near(s) {
		hard, _ := q.Hard.(field.Map)
		limits.Quotas = append(limits.Quotas, resources.ResourceQuota{Name: q.Name, Hard: hard})
	}
	return limits
}

// IsOpenShift reports whether an object is near that only OpenShift has.
func (s *Surroundings) IsOpenShift() bool {
	s.ask(OpenShift.Kind)
	return s.facts != nil && s.source.Hears(OpenShift.Kind, nil)
}
