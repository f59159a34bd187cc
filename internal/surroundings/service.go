package surroundings

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// A Service leads to the pods that its selector selects. In what kustomize is still to
// build it may have none: kustomize writes its labels into it (`includeSelectors`,
// `commonLabels`). A ServiceEntry of Istio's that selects pods is one too.
type Service struct {
	Object
	Type             string          `json:"type"`
	Selector         field.KeyValues `json:"selector"`
	WorkloadSelector struct {        // of a ServiceEntry
		Labels field.KeyValues `json:"labels"`
	} `json:"workloadSelector"`
	Ports []ServicePort `json:"ports"`
}

func (v *Service) isEntry() bool { return v.Kind == "ServiceEntry" }

// complete makes a ServiceEntry a Service: Istio takes the protocols of the pods' ports from it in the
// same way. One that selects no pods does not count.
func (v *Service) complete() bool {
	if !v.isEntry() {
		return v.Type != "ExternalName"
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

// Declared returns the protocols as which Services that certainly select the pods declare a port
// of theirs, by Istio's rules; none if no Service does, so that Envoy looks at what is sent.
func (s *Surroundings) Declared(pods *Pods, port int) (all []Protocol) {
	services := Services.near(s)
	for i := range services {
		v := &services[i]
		if v.selects(pods) < certain.Always {
			continue
		}
		for _, p := range v.Ports {
			declared := v.declared(&p)
			if p.leadsTo(pods.Spec, port) &&
				!slices.Contains(all, declared) {
				all = append(all, declared)
			}
		}
	}
	return all
}

// HasServices reports whether Services of the namespace are among the manifests.
func (s *Surroundings) HasServices() bool {
	services := Services.near(s)
	for i := range services {
		if !services[i].isEntry() {
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
		if v.selects(pods) >= demanded && slices.ContainsFunc(v.Ports, leads) {
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
	return v.Object.words(cmp.Or(v.Kind, "Service")) + condition
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
		return x.Name == p.TargetPort.Str &&
			x.ContainerPort == int64(port) &&
			cmp.Or(x.Protocol, "TCP") == protocol
	}
	for at, c := range spec.All() {
		if (!at.Init || pod.IsSidecar(at, c)) &&
			slices.ContainsFunc(c.Ports, named) {
			return true
		}
	}
	return false
}

// A Protocol is what Istio takes a port of a Service for, as far as it matters to a probe.
type Protocol int

const (
	Sniffed Protocol = iota // Envoy looks at what is sent
	HTTP1
	HTTP2 // gRPC too
	TCP   // and TLS
)

// serverSpeaksFirst are the ports of SMTP, DNS, MySQL and MongoDB. If a Service declares nothing of
// them, Istio does not have Envoy wait for what the client sends.
var serverSpeaksFirst = []int{25, 53, 3306, 27017}

// declared returns the protocol of one of the Service's ports.
func (v *Service) declared(p *ServicePort) Protocol {
	declared := p.declared()
	if declared == Sniffed &&
		!v.isEntry() &&
		slices.Contains(serverSpeaksFirst, p.Port) {
		return TCP
	}
	return declared
}

// declared returns the protocol of the port, by appProtocol, or else by what precedes the first
// dash of the name (ConvertProtocol in Istio's pkg/config/kube/conversion.go, Parse in
// pkg/config/protocol/instance.go). The protocol of a ServiceEntry is its appProtocol.
func (p *ServicePort) declared() Protocol {
	switch p.AppProtocol {
	case "kubernetes.io/h2c":
		return HTTP2
	case "kubernetes.io/ws":
		return HTTP1
	case "kubernetes.io/wss":
		return TCP
	}
	name := strings.ToLower(cmp.Or(p.AppProtocol, p.Name))
	prefix, _, _ := strings.Cut(name, "-")
	switch prefix {
	case "http", "http_proxy":
		return HTTP1
	case "http2", "grpc":
		return HTTP2
	case "tcp", "tls", "https", "mongo", "redis", "mysql":
		return TCP
	}
	return Sniffed
}
