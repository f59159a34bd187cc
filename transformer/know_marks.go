package transformer

import (
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// misplacedMark returns a finding if the pod or its Namespace has a label for an annotation of a
// mesh's, or the reverse, so that nothing is injected; nil if it has none.
func (v *view) misplacedMark() *Finding {
	ns, _ := v.namespace()
	for _, d := range serviceMeshes {
		for _, m := range d.inject {
			if m.on == "" {
				continue
			}
			if f := m.misplacedIn(v, d.title, &v.ofPods, v.metadata); f != nil {
				return f
			}
			if f := m.misplacedIn(v, d.title, ns, nil); f != nil {
				return f
			}
		}
	}
	return nil
}

// misplacedIn returns a finding if metadata has the mark of a mesh in the wrong place; at is the path of the
// pods' metadata, nil of a Namespace.
func (m mark) misplacedIn(v *view, title string, metadata *field.NotedMetadata, at field.Path) *Finding {
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
	f := NewFinding(reason.MarkMisplaced, at, "%s has no effect, so %s does not inject this pod", reason.Capital(what), title).
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
