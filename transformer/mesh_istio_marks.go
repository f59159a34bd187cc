package transformer

import (
	"iter"
	"strconv"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// misplacedOfIstio warns of switches of Istio's injection that Istio does not read where they are.
// Source: Istio's "Installing the Sidecar". An injected pod has the annotation istio.io/rev, so that
// is no mistake.
func (v *view) misplacedOfIstio() (found []Finding) {
	const byLabel = "Istio reads it only as a label of a Namespace"
	ns, _ := v.namespace()
	ofPods := optOutSource{NotedMetadata: &v.ofPods, path: v.metadata}
	ofNamespace := optOutSource{NotedMetadata: ns}
	ofWorkload := optOutSource{NotedMetadata: &v.ofWorkload, path: field.NewPath("metadata")}
	add := func(at optOutSource, key, why, fix string) {
		for kind, values := range at.entries() {
			if value, set := values.Lookup(key); set {
				f := at.mistake(reason.AnnotationMisplaced, kind, field.KeyValue{Key: key, Value: value}, why)
				found = append(found, f.Fix("%s", fix))
			}
		}
	}
	if v.metadata != nil {
		add(ofPods, istioInjection, byLabel, "Write the label `"+istioInject+": \"true\"` or \"false\" instead, or label the Namespace")
	}
	annotations := field.NotedMetadata{Name: ns.Name, Annotations: ns.Annotations}
	for _, key := range []string{istioInjection, istioRevision} {
		add(optOutSource{NotedMetadata: &annotations}, key, "Istio reads it only as a label", "Make it a label")
	}
	add(ofNamespace, istioInject, "Istio reads it only on the pod template", "Set the label `"+istioInjection+"` of the Namespace")
	if v.hasOwnMetadata() && v.metadata != nil && !ofPods.has(istioInject) {
		add(ofWorkload, istioInject, "Istio reads it only on the pod template", "Move it to the pod template's labels")
	}
	return found
}

// entries yields the labels and the annotations, without noting that.
func (s optOutSource) entries() iter.Seq2[string, field.KeyValues] {
	return func(yield func(string, field.KeyValues) bool) {
		_ = yield("labels", s.Labels.Unnoted()) && yield("annotations", s.Annotations.Unnoted())
	}
}

// has reports whether there is a label or an annotation of a name, without noting that.
func (s optOutSource) has(key string) bool {
	for _, values := range s.entries() {
		if _, set := values.Lookup(key); set {
			return true
		}
	}
	return false
}

// mistake returns a finding about a label or annotation without effect.
func (s optOutSource) mistake(key reason.Key, kind string, e field.KeyValue, why string) Finding {
	if s.path == nil {
		what := entryWords(kind, e.Key, e.Value) + " of Namespace " + strconv.Quote(s.Name)
		return NewFinding(key, nil, "%s has no effect", reason.Capital(what)).Why("%s", why)
	}
	return metadataFinding(key, s.path.Key(kind, e.Key), e.Value, "has no effect here").Why("%s", why)
}
