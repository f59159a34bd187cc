package transformer

import (
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// A mark is a switch of injection that a mesh reads as a label or as an annotation, and not as the
// other.
type mark struct {
	title, key string
	on         string // where the mesh reads it, of pods and Namespaces: "labels" or "annotations"
}

// marks are those of meshes other than Istio. Sources are in the files of their profiles.
var marks = []mark{
	{"Kuma", kumaInject, "labels"},
	{"Linkerd", linkerdInject, "annotations"},
	{"Consul", consulInject, "annotations"},
}

// misplacedMark returns a finding if the pod or its Namespace has a label for an annotation of a
// mesh's, or the reverse, so that nothing is injected; nil if it has none.
func (v *view) misplacedMark() *Finding {
	for _, m := range marks {
		if f := m.misplacedIn(v, &v.ofPods, v.metadata); f != nil {
			return f
		}
		ns, _ := v.namespace()
		if f := m.misplacedIn(v, ns, nil); f != nil {
			return f
		}
	}
	return nil
}

// misplacedIn returns a finding if metadata has the mark in the wrong place; at is the path of the
// pods' metadata, nil of a Namespace.
func (m mark) misplacedIn(v *view, metadata *field.NotedMetadata, at field.Path) *Finding {
	wrong := otherThan(m.on)
	values := metadata.Annotations
	if wrong == "labels" {
		values = metadata.Labels
	}
	value := values.Get(m.key)
	if on, _ := isEnabled(value); !on && value != "ingress" {
		return nil
	}
	what := entryWords(wrong, m.key, value)
	if at == nil {
		what += " of " + v.namespaceWords()
	} else {
		at = at.Key(wrong, m.key)
	}
	f := NewFinding(reason.MarkMisplaced, at, "%s has no effect, so %s does not inject this pod", reason.Capital(what), m.title).
		Fix("Move it to the %s. If the pod is in Istio, set `mesh: istio`", m.on)
	return &f
}

// otherThan returns where a mark is that a mesh reads among the labels or the annotations, if it
// is in the wrong place.
func otherThan(right string) (wrong string) {
	if right == "annotations" {
		return "labels"
	}
	return "annotations"
}
