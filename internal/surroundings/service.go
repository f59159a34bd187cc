package surroundings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// A Service leads to the pods that its selector selects. In what kustomize is still to
// build it may have none: kustomize writes its labels into it (`includeSelectors`,
// `commonLabels`).
type Service struct {
	Name, Namespace string
	Selector        field.KeyValues
	Ports           []ServicePort
	Annotations     field.KeyValues
	At              fmt.Stringer // "file:line"
}

// A ServicePort is one port of a Service.
type ServicePort struct {
	Name        string            `json:"name"`
	Protocol    string            `json:"protocol"` // "" is TCP
	AppProtocol string            `json:"appProtocol"`
	Port        int               `json:"port"`
	TargetPort  field.IntOrString `json:"targetPort"` // the zero value stands for Port
}

func (v *Service) hasBackendConfig() bool {
	return v.Annotations.Get(gkeBackendConfig) != "" || v.Annotations.Get("beta."+gkeBackendConfig) != ""
}

func (v *Service) selects(labels field.KeyValues) certain.Certainty {
	if len(v.Selector) == 0 {
		return certain.Maybe
	}
	return selects(v.Selector, labels)
}

// DeclaredHTTP reports whether a Service that certainly selects the pod declares a port
// of the pod as HTTP, by Istio's rules. Nil labels are unknown.
func (s *Surroundings) DeclaredHTTP(labels field.KeyValues, spec *pod.Spec, port int) bool {
	isHTTP := func(_ *Service, p *ServicePort) bool { return p.isHTTP() }
	return leading(listed(s.Services), certain.Always, labels, spec, port, isHTTP) != nil
}

// HasServices reports whether Services of the namespace are among the manifests.
func (s *Surroundings) HasServices() bool { return len(listed(s.Services)) > 0 }

// Exposed returns a Service that leads to a port of the pod, or may do so; "" if there is
// none. Nil labels are unknown: then every Service of the namespace counts.
func (s *Surroundings) Exposed(labels field.KeyValues, spec *pod.Spec, port int) (service string) {
	anyPort := func(*Service, *ServicePort) bool { return true }
	if v := leading(listed(s.Services), certain.Maybe, labels, spec, port, anyPort); v != nil {
		return v.words("")
	}
	if v := leading(listed(s.Unplaced), certain.Maybe, labels, spec, port, anyPort); v != nil {
		return v.words(" (if it goes to the pod's namespace)")
	}
	return ""
}

// leading returns a Service that selects the pod, as far as is demanded, and one of whose
// ports that count leads to a port of the pod; nil if there is none.
func leading(services []Service, demanded certain.Certainty, labels field.KeyValues, spec *pod.Spec, port int, counts func(*Service, *ServicePort) bool) *Service {
	for i := range services {
		v := &services[i]
		if v.selects(labels) >= demanded && slices.ContainsFunc(v.Ports, func(p ServicePort) bool { return p.leadsTo(spec, port) && counts(v, &p) }) {
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
	return objectAt("Service", v.Namespace, v.Name, v.At) + condition
}

func (p *ServicePort) leadsTo(spec *pod.Spec, port int) bool {
	protocol := cmp.Or(p.Protocol, "TCP")
	switch {
	case protocol != "TCP":
		return false
	case p.TargetPort == field.IntOrString{}, p.TargetPort == field.IntOrString{IsString: true}:
		return p.Port == port
	case !p.TargetPort.IsString:
		return p.TargetPort.Int == int64(port)
	}
	named := func(x pod.ContainerPort) bool {
		return x.Name == p.TargetPort.Str && x.ContainerPort == int64(port) && cmp.Or(x.Protocol, "TCP") == protocol
	}
	for at, c := range spec.All() {
		if (!at.Init || pod.IsSidecar(at, c)) && slices.ContainsFunc(c.Ports, named) {
			return true
		}
	}
	return false
}

// isHTTP reports whether Istio takes the port for HTTP in plain text: by appProtocol, or
// else by what precedes the first dash of the name (ConvertProtocol in Istio's
// pkg/config/kube/conversion.go).
func (p *ServicePort) isHTTP() bool {
	prefix, _, _ := strings.Cut(strings.ToLower(cmp.Or(p.AppProtocol, p.Name)), "-")
	return slices.Contains([]string{"kubernetes.io/h2c", "kubernetes.io/ws"}, p.AppProtocol) ||
		slices.Contains([]string{"http", "http2", "http_proxy", "grpc"}, prefix)
}
