package surroundings

import (
	"cmp"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// A Service leads to the pods that its selector selects. In what kustomize is still to
// build it may have none: kustomize writes its labels into it (`includeSelectors`,
// `commonLabels`). A ServiceEntry of Istio's that selects pods is one too.
type Service struct {
	Neighbour
	Type             string          `json:"type"`
	Selector         field.KeyValues `json:"selector"`
	WorkloadSelector struct {        // of a ServiceEntry
		Labels field.KeyValues `json:"labels"`
	} `json:"workloadSelector"`
	Ports []ServicePort `json:"ports"`
}

func (v *Service) isEntry() bool { return v.Kind == "ServiceEntry" }

// isExternal reports whether the Service is a name for another one, and leads to no pod. Istio takes the
// protocols of the pods' ports from it all the same, if it has a selector.
func (v *Service) isExternal() bool { return v.Type == "ExternalName" }

// complete makes a ServiceEntry a Service: Istio takes the protocols of the pods' ports from it in the
// same way. One that selects no pods does not count.
func (v *Service) complete() bool {
	if !v.isEntry() {
		return !v.isExternal() || len(v.Selector) > 0
	}
	v.Selector = v.WorkloadSelector.Labels
	for i, p := range v.Ports {
		target := p.TargetPort
		if target.Int == 0 {
			target.Int = int64(p.Number)
		}
		v.Ports[i] = ServicePort{AppProtocol: p.Protocol, Port: p.Number, TargetPort: target}
	}
	return len(v.Selector) > 0
}

// A ServicePort is one port of a Service.
type ServicePort struct {
	Name        string            `json:"name"`
	Protocol    string            `json:"protocol"` // "" is TCP
	AppProtocol string            `json:"appProtocol"`
	Port        int               `json:"port"`
	TargetPort  field.IntOrString `json:"targetPort"` // the zero value stands for Port
	Number      int               `json:"number"`     // of a ServiceEntry, until it is read
}

func (v *Service) hasBackendConfig() bool {
	return v.Annotations.Get(gkeBackendConfig) != "" ||
		v.Annotations.Get("beta."+gkeBackendConfig) != ""
}

func (v *Service) selects(p *Pods) certain.Certainty {
	if len(v.Selector) == 0 {
		return certain.Maybe
	}
	return p.selects(v.Selector)
}

// HasServices reports whether Services of the namespace are among the manifests.
func (s *Surroundings) HasServices() bool {
	services := Services.near(s)
	for i := range services {
		if !services[i].isEntry() && !services[i].isExternal() {
			return true
		}
	}
	return false
}

// Exposed returns a Service that leads to a port of the pods, or may do so; "" if there is
// none. If the labels are not known, every Service of the namespace counts.
func (s *Surroundings) Exposed(pods *Pods, port int) (service string) {
	anyPort := func(*Service, *ServicePort) bool { return true }
	if v := leading(Services.near(s), certain.Maybe, pods, port, anyPort); v != nil {
		return v.words("")
	}
	if v := leading(Services.unplaced(s), certain.Maybe, pods, port, anyPort); v != nil {
		return v.words(" (if it goes to the pod's namespace)")
	}
	return ""
}

// ExposedElsewhere returns, in the same way, a Service that is far.
func (s *Surroundings) ExposedElsewhere(pods *Pods, port int) (service string) {
	anyPort := func(*Service, *ServicePort) bool { return true }
	if v := leading(Services.far(s), certain.Maybe, pods, port, anyPort); v != nil {
		return v.words("")
	}
	return ""
}

// leading returns a Service that selects the pods, as far as is demanded, and one of whose
// ports that count leads to a port of the pods; nil if there is none.
func leading(
	services []Service, demanded certain.Certainty, pods *Pods, port int,
	counts func(*Service, *ServicePort) bool,
) *Service {
	for i := range services {
		v := &services[i]
		leads := func(p ServicePort) bool {
			return p.leadsTo(pods.Spec, port) && counts(v, &p)
		}
		if !v.isExternal() && v.selects(pods) >= demanded && slices.ContainsFunc(v.Ports, leads) {
			return v
		}
	}
	return nil
}

// words names the Service, and says on what it depends that it leads to the pod.
func (v *Service) words(condition string) string {
	if len(v.Selector) == 0 {
		condition = " (if kustomize gives it a selector)"
	}
	return v.Neighbour.words(cmp.Or(v.Kind, "Service")) + condition
}

// leadsTo reports whether calls by TCP lead to a port of a pod.
func (p *ServicePort) leadsTo(spec *pod.Spec, port int) bool {
	return p.protocol() == "TCP" && p.target(spec) == port
}

func (p *ServicePort) protocol() string { return cmp.Or(p.Protocol, "TCP") }

// target returns the port of a pod to which the port leads; 0 if there is none. Of several containers with a
// port of that name the first counts, and native sidecars come last (FindPort in Kubernetes' pkg/api/v1/pod/util.go).
func (p *ServicePort) target(spec *pod.Spec) int {
	switch {
	case p.TargetPort == field.IntOrString{}, p.TargetPort == field.IntOrString{IsString: true}:
		return p.Port
	case !p.TargetPort.IsString:
		return int(p.TargetPort.Int)
	}
	for i := range spec.Containers {
		if port := p.named(&spec.Containers[i]); port != 0 {
			return port
		}
	}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if port := p.named(c); port != 0 && pod.IsSidecar(pod.Ref{Init: true, Index: i}, c) {
			return port
		}
	}
	return 0
}

// named returns the first port of a container that has the name; 0 if none has.
func (p *ServicePort) named(c *pod.Container) int {
	for _, x := range c.Ports {
		if x.Name == p.TargetPort.Str && cmp.Or(x.Protocol, "TCP") == p.protocol() {
			return int(x.ContainerPort)
		}
	}
	return 0
}
