// Package surroundings has what manifests near an object say of its cluster, namespace and mesh, and
// the questions that a planner asks of it: which mode of mutual TLS holds for a port, which
// Service leads to it. It reads no manifests (package nearby does) and knows no probes.
package surroundings

import (
	"fmt"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/resources"
)

// Surroundings are what the manifests say about an object's namespace and its mesh; the zero
// value says nothing. What is not marked as far is near: in the same stream, in the object's
// folder or in a folder above. Only that decides what is written. What is far is in another
// branch of the folders, which may be about another cluster: it can turn a certain failure of a
// probe into a possible one, and nothing else.
type Surroundings struct {
	// Namespace is the metadata of the object's Namespace; nil if none is near, or if those
	// that are equally near contradict each other.
	Namespace   *field.Metadata
	NamespaceAt fmt.Stringer // where it is: "file:line"; nil if there is none
	// NamespaceElsewhere has the far ones of its name, if none is near.
	NamespaceElsewhere []Elsewhere
	// OthersInjected is set if another Namespace that is near has a label that makes Istio
	// inject its sidecar.
	OthersInjected bool
	// The policies are those of the object's namespace and of the root namespace; of one
	// name the nearest.
	PeerAuthentications   []PeerAuthentication
	AuthorizationPolicies []AuthorizationPolicy
	OpenShift             bool // an object is near that only OpenShift has
	LimitRanges           []resources.LimitRange
	Quotas                []resources.ResourceQuota
	// Services returns the Services of the object's namespace, of one name the nearest.
	// They are many and seldom needed, so that they are read when this is called.
	Services func() []Service
	// Elsewhere returns, in the same way, the far Services of the object's namespace.
	Elsewhere func() []Service
	// Unplaced returns, in the same way, the Services without a namespace near an object that
	// has one. They may go there: many charts write the namespace into some objects alone, and
	// kustomize writes one into all.
	Unplaced func() []Service
	// NetworkPolicies returns, in the same way, those about what comes in.
	NetworkPolicies func() []NetworkPolicy
	// LinkerdServers and HTTPRoutes return, in the same way, Linkerd's names for ports, and what is
	// attached to them.
	LinkerdServers func() []LinkerdServer
	HTTPRoutes     func() []HTTPRoute
	// Sidecars returns, in the same way, those of Istio's, also of the root namespace.
	Sidecars func() []Sidecar
	// SidecarSets returns those of OpenKruise's that are near and add an istio-proxy.
	SidecarSets func() []SidecarSet
	// Ingresses returns, in the same way, those that lead to Services.
	Ingresses func() []Ingress
	// Asked notes what the methods are asked about; nil notes nothing.
	Asked *Kinds
}

// Namespaced returns the metadata of the object's Namespace, and whether it is known. What is asked
// of it goes into keys, which may be nil.
func (s *Surroundings) Namespaced(keys *field.MetadataKeys) (m field.NotedMetadata, known bool) {
	s.ask(Namespaces)
	if s.Namespace == nil {
		return unknown.Note(keys), false
	}
	return s.Namespace.Note(keys), true
}

var unknown field.Metadata

// Ranges returns the LimitRanges of the namespace.
func (s *Surroundings) Ranges() []resources.LimitRange {
	s.ask(LimitRanges)
	return s.LimitRanges
}

// IsOpenShift reports whether an object is near that only OpenShift has.
func (s *Surroundings) IsOpenShift() bool {
	s.ask(OpenShift)
	return s.OpenShift
}

// An Elsewhere is a Namespace that is far.
type Elsewhere struct {
	Namespace *field.Metadata
	At        fmt.Stringer // "file:line"
}

// Words names the Namespace, and where it is.
func (e *Elsewhere) Words() string {
	return objectAt("Namespace", "", e.Namespace.Name, e.At)
}

// Limits returns what limits the pods of the namespace.
func (s *Surroundings) Limits() resources.Limits {
	s.ask(LimitRanges | Quotas)
	return resources.Limits{Ranges: s.LimitRanges, Quotas: s.Quotas}
}

// listed returns what a function of [Surroundings] returns about a kind; nil if there is none.
func listed[T any](s *Surroundings, k Kinds, f func() []T) []T {
	s.ask(k)
	if f == nil {
		return nil
	}
	return f()
}

// objectAt names an object and where it is.
func objectAt(kind, namespace, name string, at fmt.Stringer) string {
	words := string(field.AppendName(nil, kind, namespace, name))
	if at != nil {
		words += " at " + at.String()
	}
	return words
}
