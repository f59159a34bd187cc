package transformer

import (
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// isCurrent reports whether a pod with some labels was certainly made from the template as it is now, by what the
// controller says of it in the object's status. While a rollout of a Deployment goes on, that is not known.
func (t *template) isCurrent(labels field.KeyValues) bool {
	if t.in.Source == nil {
		return false
	}
	of := func(keys ...string) field.Value {
		v, _ := t.in.Source(field.NewPath(keys...))
		return v
	}
	isObserved := of("metadata", "generation") != nil &&
		of("metadata", "generation") == of("status", "observedGeneration")
	hasHash := func(label string, status ...string) bool {
		hash := labels.Get(label)
		current, _ := of(status...).(string)
		return hash != "" && (hash == current || strings.HasSuffix(current, "-"+hash))
	}
	switch t.in.Kind {
	case "Deployment":
		updated := of("status", "updatedReplicas")
		return isObserved && updated != nil && updated == of("status", "replicas")
	case "DaemonSet":
		updated := of("status", "updatedNumberScheduled")
		return isObserved && updated != nil && updated == of("status", "currentNumberScheduled")
	case "StatefulSet", "CloneSet":
		return isObserved && hasHash("controller-revision-hash", "status", "updateRevision")
	case "Rollout":
		return hasHash("rollouts-pod-template-hash", "status", "currentPodHash")
	case "Job": // nobody can change its template
		return true
	}
	return false
}
