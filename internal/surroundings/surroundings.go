// Package surroundings has what manifests near an object say of its cluster, namespace and mesh, and
// the questions that a planner asks of it: which mode of mutual TLS holds for a port, which
// Service leads to it. It reads no manifests (package nearby does) and knows no probes.
package surroundings

import (
	"fmt"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/resources"
)

// Surroundings are what the manifests near an object say about its namespace and
// its mesh; the zero value says nothing.
type Surroundings struct {
	// Namespace is the metadata of the object's Namespace; nil if it is not among
	// the manifests, or if those that are equally near contradict each other.
	Namespace   *field.Metadata
	NamespaceAt fmt.Stringer // where it is: "file:line"; nil if there is none
	// OthersInjected is set if another Namespace among the manifests has a label
	// that makes Istio inject its sidecar.
	OthersInjected bool
	// The policies are those of the object's namespace and of the root namespace; of one
	// name the nearest.
	PeerAuthentications   []PeerAuthentication
	AuthorizationPolicies []AuthorizationPolicy
	OpenShift             bool // an object is among the manifests that only OpenShift has
	LimitRanges           []resources.LimitRange
	Quotas                []resources.ResourceQuota
	// Services returns the Services of the object's namespace, of one name the nearest.
	// They are many and seldom needed, so that they are read when this is called.
	Services func() []Service
	// Unplaced returns, in the same way, the Services without a namespace near an object that
	// has one. They may go there: many charts write the namespace into some objects alone, and
	// kustomize writes one into all.
	Unplaced func() []Service
	// Ingresses returns, in the same way, those that lead to Services.
	Ingresses func() []Ingress
}

// Limits returns what limits the pods of the namespace.
func (s *Surroundings) Limits() resources.Limits {
	return resources.Limits{Ranges: s.LimitRanges, Quotas: s.Quotas}
}

// listed returns what a function of [Surroundings] returns; nil if there is none.
func listed[T any](f func() []T) []T {
	if f == nil {
		return nil
	}
	return f()
}

// selects returns whether a policy with these matchLabels, or none, is about a pod. Nil
// labels are unknown.
func selects(matchLabels, labels field.KeyValues) certain.Certainty {
	switch {
	case len(matchLabels) == 0:
		return certain.Always
	case labels == nil:
		return certain.Maybe
	}
	for _, m := range matchLabels {
		if v, set := labels.Lookup(m.Key); !set || v != m.Value {
			return certain.Never
		}
	}
	return certain.Always
}

func objectAt(kind, namespace, name string, at fmt.Stringer) string {
	words := string(field.AppendName(nil, kind, namespace, name))
	if at != nil {
		words += " at " + at.String()
	}
	return words
}
