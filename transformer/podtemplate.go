package transformer

import (
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// The types below mirror the part of the Kubernetes API that decides what happens
// to a pod template, under the API's names; a test compares them field by field
// with the real types. docs/design.md says why they are used instead of k8s.io/api.

// A PodTemplate is what pods are made from. A Pod is one too.
type PodTemplate struct {
	Metadata Metadata `json:"metadata"`
	Spec     PodSpec  `json:"spec"`
}

// Metadata is the part of a template's, workload's or Namespace's ObjectMeta that is
// read.
type Metadata = field.Metadata

// A PodSpec is the pod's part of a pod template.
type PodSpec struct {
	HostNetwork      bool                `json:"hostNetwork"`
	RestartPolicy    string              `json:"restartPolicy"`
	RuntimeClassName string              `json:"runtimeClassName"`
	OS               *PodOS              `json:"os"`
	NodeSelector     field.KeyValues     `json:"nodeSelector"`
	Affinity         Affinity            `json:"affinity"`
	SecurityContext  *PodSecurityContext `json:"securityContext"`
	InitContainers   []Container         `json:"initContainers"`
	Containers       []Container         `json:"containers"`
}

// PodOS names the operating system of a pod.
type PodOS struct {
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

// PodSecurityContext holds the uid and gid that containers inherit.
type PodSecurityContext struct {
	RunAsUser  *int64 `json:"runAsUser"`
	RunAsGroup *int64 `json:"runAsGroup"`
}

// A Container is a container or an init container.
type Container struct {
	Name            string              `json:"name"`
	Image           string              `json:"image"`
	RestartPolicy   string              `json:"restartPolicy"`
	Args            []string            `json:"args"`
	Ports           []ContainerPort     `json:"ports"`
	Env             []EnvVar            `json:"env"`
	SecurityContext *PodSecurityContext `json:"securityContext"`
	ReadinessProbe  *Probe              `json:"readinessProbe"`
	LivenessProbe   *Probe              `json:"livenessProbe"`
	StartupProbe    *Probe              `json:"startupProbe"`
	Lifecycle       *Lifecycle          `json:"lifecycle"`
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

// A Handler is what the kubelet does. In valid objects exactly one field is set.
type Handler struct {
	Exec      *Exec      `json:"exec"`
	HTTPGet   *HTTPGet   `json:"httpGet"`
	TCPSocket *TCPSocket `json:"tcpSocket"`
	GRPC      *GRPC      `json:"grpc"`
	Sleep     *Sleep     `json:"sleep"`
}

// Exec is a command that the kubelet runs in the container.
type Exec struct {
	Command []string `json:"command"`
}

// Sleep is a hook that waits.
type Sleep struct {
	Seconds int64 `json:"seconds"`
}

// The handlers that open a connection are those of the env var's entries.
type (
	HTTPGet    = prober.HTTPGet
	HTTPHeader = prober.HTTPHeader
	TCPSocket  = prober.TCPSocket
	GRPC       = prober.GRPC
)
