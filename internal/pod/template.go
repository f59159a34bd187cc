// Package pod mirrors the part of the Kubernetes API that decides what happens to a pod template,
// under the names of the API, with what is known of it alone: where its containers and handlers
// are, what a handler dials, and the edits that make one of another. It knows no mesh.
package pod

import (
	"iter"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A Template is what pods are made from. A Pod is one too.
type Template struct {
	Metadata field.Metadata `json:"metadata"`
	Spec     Spec           `json:"spec"`
}

// A Spec is the pod's part of a pod template.
type Spec struct {
	HostNetwork      bool             `json:"hostNetwork"`
	RestartPolicy    string           `json:"restartPolicy"`
	RuntimeClassName string           `json:"runtimeClassName"`
	OS               *OS              `json:"os"`
	NodeSelector     field.KeyValues  `json:"nodeSelector"`
	Affinity         Affinity         `json:"affinity"`
	SecurityContext  *SecurityContext `json:"securityContext"`
	InitContainers   []Container      `json:"initContainers"`
	Containers       []Container      `json:"containers"`
}

// OS names the operating system of a pod.
type OS struct {
	Name string `json:"name"`
}

// An Affinity says which nodes a pod may run on.
type Affinity struct {
	NodeAffinity NodeAffinity `json:"nodeAffinity"`
}

// NodeAffinity holds what a node must have.
type NodeAffinity struct {
	RequiredDuringSchedulingIgnoredDuringExecution NodeSelector `json:"requiredDuringSchedulingIgnoredDuringExecution"`
}

// A NodeSelector matches nodes that match one of its terms.
type NodeSelector struct {
	NodeSelectorTerms []NodeSelectorTerm `json:"nodeSelectorTerms"`
}

// A NodeSelectorTerm matches nodes for which all expressions hold.
type NodeSelectorTerm struct {
	MatchExpressions []NodeSelectorRequirement `json:"matchExpressions"`
}

// A NodeSelectorRequirement compares a label of a node with values.
type NodeSelectorRequirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

// SecurityContext holds the uid and gid that containers inherit.
type SecurityContext struct {
	RunAsUser  *int64 `json:"runAsUser"`
	RunAsGroup *int64 `json:"runAsGroup"`
}

// A Container is a container or an init container.
type Container struct {
	Name            string           `json:"name"`
	Image           string           `json:"image"`
	RestartPolicy   string           `json:"restartPolicy"`
	Args            []string         `json:"args"`
	Ports           []ContainerPort  `json:"ports"`
	Env             []EnvVar         `json:"env"`
	SecurityContext *SecurityContext `json:"securityContext"`
	ReadinessProbe  *Probe           `json:"readinessProbe"`
	LivenessProbe   *Probe           `json:"livenessProbe"`
	StartupProbe    *Probe           `json:"startupProbe"`
	Lifecycle       *Lifecycle       `json:"lifecycle"`
}

// A ContainerPort names a port.
type ContainerPort struct {
	Name          string `json:"name"`
	ContainerPort int64  `json:"containerPort"`
	Protocol      string `json:"protocol"`
}

// An EnvVar is a variable with a value of its own; Value is nil if it
// has a valueFrom.
type EnvVar struct {
	Name  string  `json:"name"`
	Value *string `json:"value"`
}

// A Probe is a handler and its timing; only the timeout matters here.
type Probe struct {
	Handler
	TimeoutSeconds *int64 `json:"timeoutSeconds"`
}

// A Lifecycle holds a container's hooks.
type Lifecycle struct {
	PostStart *Handler `json:"postStart"`
	PreStop   *Handler `json:"preStop"`
}

// Declares reports whether the container declares a port.
func (c *Container) Declares(port int) bool {
	return slices.ContainsFunc(
		c.Ports,
		func(p ContainerPort) bool { return p.ContainerPort == int64(port) },
	)
}

// PortNames returns the names of ports that the container's probes and hooks have.
func (c *Container) PortNames() (names []string) {
	handlers := make([]*Handler, 0, 5)
	for _, p := range []*Probe{c.ReadinessProbe, c.LivenessProbe, c.StartupProbe} {
		if p != nil {
			handlers = append(handlers, &p.Handler)
		}
	}
	if c.Lifecycle != nil {
		handlers = append(handlers, c.Lifecycle.PostStart, c.Lifecycle.PreStop)
	}
	for _, h := range handlers {
		if h == nil {
			continue
		}
		if port, _ := h.Endpoint(); port != nil && port.IsString {
			names = append(names, port.Str)
		}
	}
	return names
}

// All returns every container and where it is, init containers first.
func (spec *Spec) All() iter.Seq2[Ref, *Container] {
	return func(yield func(Ref, *Container) bool) {
		for i := range spec.InitContainers {
			if !yield(Ref{true, i}, &spec.InitContainers[i]) {
				return
			}
		}
		for i := range spec.Containers {
			if !yield(Ref{false, i}, &spec.Containers[i]) {
				return
			}
		}
	}
}

// EnvVars returns the indexes of those of a name.
func (c *Container) EnvVars(name string) (at []int) {
	for i := range c.Env {
		if c.Env[i].Name == name {
			at = append(at, i)
		}
	}
	return at
}

// demands reports whether the pod runs on no other nodes than those where one of some labels has a value.
func (s *Spec) demands(labels []string, value string) bool {
	isOther := func(v string) bool { return v != value }
	demanded := func(x NodeSelectorRequirement) bool {
		return slices.Contains(labels, x.Key) &&
			x.Operator == "In" &&
			!slices.ContainsFunc(x.Values, isOther)
	}
	terms := s.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	allowsOthers := func(t NodeSelectorTerm) bool { return !slices.ContainsFunc(t.MatchExpressions, demanded) }
	return slices.ContainsFunc(labels, func(key string) bool { return s.NodeSelector.Get(key) == value }) ||
		len(terms) > 0 && !slices.ContainsFunc(terms, allowsOthers)
}
