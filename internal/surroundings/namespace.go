package surroundings

import (
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// A Namespace says by its labels and annotations what is injected into its pods.
type Namespace struct{ Neighbour }

// complete reports whether the name is known: one that is still to be filled in may be any.
func (n *Namespace) complete() bool { return n.Name != "" && !pod.IsPlaceholder(n.Name) }

// Namespaced returns the metadata of the object's Namespace, and whether it is known: if one is near,
// unless those that are equally near contradict each other. What is asked of it is noted.
func (s *Surroundings) Namespaced() (m field.NotedMetadata, known bool) {
	var keys *field.MetadataKeys
	if s.asked != nil {
		keys = &s.asked.Namespace
	}
	if n := s.namespace(); n != nil {
		return n.note(keys), true
	}
	return unknown.note(keys), false
}

var unknown Neighbour

// NamespaceAt returns where the object's Namespace is; nil if that is not known.
func (s *Surroundings) NamespaceAt() fmt.Stringer {
	if n := s.namespace(); n != nil {
		return n.At
	}
	return nil
}

func (s *Surroundings) namespace() *Namespace {
	all := Namespaces.near(s)
	if len(all) == 0 || s.disagree(all) {
		return nil
	}
	return &all[0]
}

// NamespacesDisagree reports whether several manifests of the object's Namespace are near that differ in what
// they say of a mesh: which of them counts is not known.
func (s *Surroundings) NamespacesDisagree() bool { return s.disagree(Namespaces.near(s)) }

func (f *facts) disagree(all []Namespace) bool {
	return len(all) > 1 && slices.ContainsFunc(all[1:], func(n Namespace) bool {
		return !f.agree(all[0].Labels, n.Labels) || !f.agree(all[0].Annotations, n.Annotations)
	})
}

// agree reports whether two mappings say the same of a mesh.
func (f *facts) agree(a, b field.KeyValues) bool {
	return f.covers(a, b) && f.covers(b, a)
}

func (f *facts) covers(a, b field.KeyValues) bool {
	return !slices.ContainsFunc(a, func(e field.KeyValue) bool {
		v, set := b.Lookup(e.Key)
		isSame := set && meaning(e.Key, v) == meaning(e.Key, e.Value)
		return !isSame && (f.counts == nil || f.counts(e.Key))
	})
}

// meaning returns what a value stands for: Istio injects only for one.
func meaning(key, value string) string {
	if key == "istio-injection" && value != "enabled" && !pod.IsVariable(value) {
		return "disabled"
	}
	return value
}

// NamespaceElsewhere returns the first far Namespace of the object's whose labels are as asked; nil if
// there is none, or one is near.
func (s *Surroundings) NamespaceElsewhere(is func(labels field.KeyValues) bool) *Namespace {
	all := Namespaces.far(s)
	if i := slices.IndexFunc(all, func(n Namespace) bool { return is(n.Labels) }); i >= 0 {
		return &all[i]
	}
	return nil
}

// OthersInjected reports whether a Namespace is near that has another name than the object's, and labels
// by which a mesh injects. The answer is kept, so that injects must always be the same.
func (s *Surroundings) OthersInjected(namespace string, injects func(labels field.KeyValues) bool) bool {
	s.ask(Namespaces.Kind)
	if s.facts == nil {
		return false
	}
	if s.others == notAsked {
		s.others = no
		if s.source.Hears(Namespaces.Kind, func(v any) bool {
			n := v.(*Namespace)
			return n.Name != namespace && injects(n.Labels)
		}) {
			s.others = yes
		}
	}
	return s.others == yes
}

// Words names the Namespace, and where it is.
func (n *Namespace) Words() string { return n.words("Namespace") }
