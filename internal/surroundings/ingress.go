package surroundings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// An Ingress leads to Services. The controllers of two clouds take the health check of
// their load balancer from a probe of the pods, if that goes to the port of the Service:
//
//   - GKE's from the readinessProbe (kubernetes/ingress-gce, commit acbcf5d66dd9 of August
//     2026, pkg/controller/translator/translator.go, getHTTPProbe), unless a BackendConfig
//     says it;
//   - Azure's Application Gateway Ingress Controller from the readiness- or livenessProbe
//     (https://azure.github.io/application-gateway-kubernetes-ingress/features/probes),
//     unless an annotation says it.
//
// Otherwise they ask for /.
type Ingress struct {
	Neighbour
	IngressClassName string         `json:"ingressClassName"`
	DefaultBackend   IngressBackend `json:"defaultBackend"`
	Rules            []IngressRule  `json:"rules"`
}

// An IngressRule has the paths of a host.
type IngressRule struct {
	HTTP struct {
		Paths []struct {
			Backend IngressBackend `json:"backend"`
		} `json:"paths"`
	} `json:"http"`
}

// An IngressBackend is a port, by name or number, of a Service; the zero value is none.
type IngressBackend struct {
	Service struct {
		Name string `json:"name"`
		Port struct {
			Name   string `json:"name"`
			Number int    `json:"number"`
		} `json:"port"`
	} `json:"service"`
}

const (
	gkeBackendConfig = "cloud.google.com/backend-config"
	azureProbePath   = "appgw.ingress.kubernetes.io/health-probe-path"
)

// isGKE reports whether the Ingress is certainly one of GKE's. There, one without a class
// is too.
func (v *Ingress) isGKE() bool {
	switch v.class() {
	case "gce", "gce-internal":
		return true
	case "":
		return slices.ContainsFunc(v.Annotations, isGKEs)
	}
	return false
}

// isGKEs reports whether only GKE's controller reads an annotation.
func isGKEs(a field.KeyValue) bool {
	return a.Key == "kubernetes.io/ingress.global-static-ip-name" ||
		strings.HasPrefix(a.Key, "networking.gke.io/") ||
		strings.HasPrefix(a.Key, "ingress.gcp.kubernetes.io/")
}

func (v *Ingress) isAzure() bool {
	return v.class() == "azure/application-gateway" || v.class() == "azure-application-gateway"
}

// class returns the class by the annotation or the spec; "" if there is none.
func (v *Ingress) class() string {
	return cmp.Or(v.Annotations.Get("kubernetes.io/ingress.class"), v.IngressClassName)
}

// leadsTo reports whether the Ingress leads to a port of a Service.
func (v *Ingress) leadsTo(service *Service, p *ServicePort) bool {
	if v.DefaultBackend.leadsTo(service, p) {
		return true
	}
	for _, r := range v.Rules {
		for _, path := range r.HTTP.Paths {
			if path.Backend.leadsTo(service, p) {
				return true
			}
		}
	}
	return false
}

func (k *IngressBackend) leadsTo(v *Service, p *ServicePort) bool {
	if k.Service.Name != v.Name || v.isEntry() {
		return false
	}
	port := k.Service.Port
	return port.Name != "" && port.Name == p.Name || port.Number == p.Port
}

// takesPath reports whether the controller of the Ingress takes the health check of its load
// balancer from a readinessProbe or, if it is Azure's, also from a livenessProbe.
func (v *Ingress) takesPath(readiness bool) bool {
	_, set := v.Annotations.Lookup(azureProbePath)
	return v.isGKE() && readiness || v.isAzure() && !set
}

// HealthCheckBy returns an Ingress whose load balancer takes the path of a pod's probe of a
// port, and how to declare the path instead; nil if there is none.
func (s *Surroundings) HealthCheckBy(pods *Pods, port int, path string, readiness bool) (v *Ingress, fix string) {
	for _, v := range Ingresses.near(s) {
		if !v.takesPath(readiness) {
			continue
		}
		gke := v.isGKE() && readiness
		service := s.behind(&v, pods, port)
		switch {
		case service == nil, gke && service.hasBackendConfig():
		case gke:
			return &v, "Write the path into a BackendConfig under `healthCheck`, and name it in the Service's annotation `" + gkeBackendConfig + "`"
		default:
			return &v, fmt.Sprintf("Set the annotation `%s: %s` on the Ingress", azureProbePath, path)
		}
	}
	return nil, ""
}

// Words names the Ingress.
func (v *Ingress) Words() string {
	return v.words("Ingress")
}

// behind returns a Service that certainly selects the pods and by which an Ingress leads to
// a port of theirs; nil if there is none.
func (s *Surroundings) behind(v *Ingress, pods *Pods, port int) *Service {
	return leading(Services.near(s), certain.Always, pods, port, v.leadsTo)
}
