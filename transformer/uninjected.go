package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// An uninjected says into which namespaces a mesh injects nothing, whatever its
// switches of injection say there.
type uninjected struct {
	names []string
	// labels, each of which keeps a Namespace out; an empty value stands for any.
	labels field.KeyValues
}

// finding returns the finding about the namespace of a pod into which nothing is
// injected; nil if it is another.
func (u uninjected) finding(b *planBuilder) *Finding {
	const text = "the mesh injects nothing into %s, so it does not capture this pod"
	if slices.Contains(u.names, b.in.NamespaceName) {
		return new(NewFinding("namespace-not-injected", nil, text, "namespace \""+b.in.NamespaceName+"\""))
	}
	for _, l := range u.labels {
		if v, set := b.namespace().Labels.Lookup(l.Key); set && (l.Value == "" || l.Value == v) {
			return new(NewFinding("namespace-not-injected", nil, text, b.namespaceWords()+", which has "+entryWords("labels", l.Key, v)))
		}
	}
	return nil
}

// narrow returns the membership that a switch of injection makes in the pod's namespace: where
// nothing is injected, one that is on does nothing.
func (u uninjected) narrow(b *planBuilder, said membership) membership {
	if said.injected != always {
		return said
	}
	if f := u.finding(b); f != nil {
		said.injected, said.off = never, f
	}
	return said
}

// optOut returns why a pod without the mesh's proxy is not injected, for the mesh that
// the pod would be in; nil if it may be.
func (u uninjected) optOut(b *planBuilder, said membership) *Finding {
	if said.off != nil || said.injected == always {
		return said.off
	}
	return u.finding(b)
}
