package surroundings

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
)

// A Chain is the filter chain that Envoy's inbound listener may have for a port.
type Chain struct {
	Protocol Protocol
	// What declares it; nil if nothing does.
	sidecar *Sidecar
	service *Service
}

// By names the object that declares the chain; "" if none does.
func (c *Chain) By() string {
	switch {
	case c.sidecar != nil:
		return c.sidecar.words()
	case c.service != nil:
		return c.service.words("")
	}
	return ""
}

// Kind returns the kind of the object that declares the chain: Service, ServiceEntry or Sidecar.
func (c *Chain) Kind() string {
	switch {
	case c.sidecar != nil:
		return "Sidecar"
	case c.service != nil && c.service.isEntry():
		return "ServiceEntry"
	}
	return "Service"
}

// Chains returns the chains of which one is that of a port of the pods, each protocol once. There are several
// if what decides is not known: which Service or Sidecar is the oldest, or whether it is about the pods.
//
// The rules are those of buildInboundChainConfigs in Istio's pilot/pkg/networking/core/listener_inbound.go. If
// the pods' Sidecar has an ingress, that alone counts. Else it is the oldest Service that leads to
// the port, and its first such port.
func (s *Surroundings) Chains(rootNamespace string, pods *Pods, port int) (all []Chain) {
	sidecars, isSure := s.sidecarsOf(rootNamespace, pods)
	byServices := !isSure
	for i := range sidecars {
		c := sidecars[i]
		if len(c.Ingress) == 0 {
			byServices = true
		} else {
			all = addChain(all, c.chain(port))
		}
	}
	if byServices {
		all = addServices(s, all, pods, port)
	}
	return all
}

func addChain(all []Chain, c Chain) []Chain {
	if slices.ContainsFunc(all, func(x Chain) bool { return x.Protocol == c.Protocol }) {
		return all
	}
	return append(all, c)
}

// chain returns the chain of a port, which is that of its first listener.
func (c *Sidecar) chain(port int) Chain {
	for _, l := range c.Ingress {
		if l.Port.Number == port {
			return Chain{Protocol: protocolOf(l.Port.Protocol), sidecar: c}
		}
	}
	return Chain{sidecar: c}
}

// addServices adds the chains that Services declare: first those that certainly select the pods.
func addServices(s *Surroundings, all []Chain, pods *Pods, port int) []Chain {
	services := Services.near(s)
	var leading []AboutPods[Service]
	for i := range services {
		v := &services[i]
		if len(v.Selector) == 0 || pods.Labels == nil {
			continue
		}
		selects := v.selects(pods)
		if v.isEntry() {
			selects = min(selects, readBy(s, pods, &v.Neighbour))
		}
		if _, leads := v.chain(pods, port); leads && selects > certain.Never {
			leading = append(leading, about(v, selects))
		}
	}
	isSure := false
	leading = oldest(leading)
	for _, demanded := range [...]certain.Certainty{certain.Always, certain.Maybe} {
		for _, a := range leading {
			if a.Is == demanded {
				c, _ := a.Object.chain(pods, port)
				all = addChain(all, c)
				isSure = isSure || demanded == certain.Always
			}
		}
	}
	if !isSure {
		all = addChain(all, Chain{})
	}
	return all
}

// chain returns the chain that the Service declares for a port of the pods, if it leads there.
func (v *Service) chain(pods *Pods, port int) (c Chain, leads bool) {
	for i := range v.Ports {
		if p := &v.Ports[i]; p.target(pods.Spec) == port {
			return Chain{Protocol: v.declared(p), service: v}, true
		}
	}
	return c, false
}

// A Protocol is what Istio takes a port for, as far as it matters to a probe.
type Protocol int

const (
	Sniffed Protocol = iota // Envoy looks at what is sent
	HTTP1
	HTTP2 // gRPC too
	TCP   // and TLS, and UDP
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
// dash of the name (ConvertProtocol in Istio's pkg/config/kube/conversion.go). Istio makes a chain for UDP
// too, which takes connections for TCP. The protocol of a ServiceEntry is its appProtocol.
func (p *ServicePort) declared() Protocol {
	switch {
	case p.Protocol == "UDP":
		return TCP
	case p.AppProtocol == "kubernetes.io/h2c":
		return HTTP2
	case p.AppProtocol == "kubernetes.io/ws":
		return HTTP1
	case p.AppProtocol == "kubernetes.io/wss":
		return TCP
	}
	name, _, _ := strings.Cut(cmp.Or(p.AppProtocol, p.Name), "-")
	return protocolOf(name)
}

// protocolOf returns what a name of a protocol stands for (Parse in Istio's pkg/config/protocol/instance.go).
func protocolOf(name string) Protocol {
	switch strings.ToLower(name) {
	case "http", "http_proxy":
		return HTTP1
	case "http2", "grpc", "grpc-web":
		return HTTP2
	case "tcp", "udp", "tls", "https", "mongo", "redis", "mysql":
		return TCP
	}
	return Sniffed
}
