package transformer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
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
	Name, Namespace string
	Class           string // of its annotation or its spec; "" if it has none
	Annotations     field.KeyValues
	Backends        []IngressBackend
	At              fmt.Stringer // "file:line"
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

func (v *Service) hasBackendConfig() bool {
	return v.Annotations.Get(gkeBackendConfig) != "" || v.Annotations.Get("beta."+gkeBackendConfig) != ""
}

// isGKE reports whether the Ingress is certainly one of GKE's. There, one without a class
// is too.
func (v *Ingress) isGKE() bool {
	return v.Class == "gce" || v.Class == "gce-internal" || v.Class == "" && slices.ContainsFunc(v.Annotations, func(a field.KeyValue) bool {
		return a.Key == "kubernetes.io/ingress.global-static-ip-name" || strings.HasPrefix(a.Key, "networking.gke.io/") || strings.HasPrefix(a.Key, "ingress.gcp.kubernetes.io/")
	})
}

func (v *Ingress) isAzure() bool {
	return v.Class == "azure/application-gateway" || v.Class == "azure-application-gateway"
}

func (k *IngressBackend) leadsTo(v *Service, p *ServicePort) bool {
	port := k.Service.Port
	return k.Service.Name == v.Name && (port.Name != "" && port.Name == p.Name || port.Number == p.Port)
}

// checkIngresses warns of the first probe from which a load balancer takes its health
// check only as long as it is not rewritten.
func (b *planBuilder) checkIngresses(toRewrite []*handlerSite) {
	for _, s := range toRewrite {
		path := healthPath(s)
		if path == "" {
			continue
		}
		for _, v := range listed(b.in.Around.Ingresses) {
			gke := v.isGKE() && s.name == prober.Readiness
			if _, set := v.Annotations.Lookup(azureProbePath); !gke && (!v.isAzure() || set) {
				continue
			}
			service := b.behind(&v, s.port)
			if service == nil || gke && service.hasBackendConfig() {
				continue
			}
			cure := "a BackendConfig must have the path under `healthCheck`, and the Service the annotation `" + gkeBackendConfig + "` that names the BackendConfig"
			if !gke {
				cure = fmt.Sprintf("the Ingress must have the annotation `%s: %s`", azureProbePath, path)
			}
			b.addFinding(containerFinding("ingress-health-check", s.path, s.container.Name,
				"%s has its load balancer ask for the path of this probe as long as it goes to port %d; of the rewritten one it does not, and asks for / instead of %s: %s",
				objectAt("Ingress", v.Namespace, v.Name, v.At), s.port, path, cure))
			return
		}
	}
}

// healthPath returns the path that a load balancer takes from a probe for its health check
// in place of /; "" if it takes none.
func healthPath(s *handlerSite) string {
	h := s.original.HTTPGet
	switch {
	case h == nil, s.at.init, s.name != prober.Readiness && s.name != prober.Liveness,
		!s.container.declares(s.port), slices.ContainsFunc(h.HTTPHeaders, func(x HTTPHeader) bool { return x.Name != "Host" }), h.Path == "/":
		return ""
	}
	return h.Path
}

// behind returns a Service that certainly selects the pod and by which an Ingress leads to
// a port of the pod; nil if there is none.
func (b *planBuilder) behind(v *Ingress, port int) *Service {
	t := &b.in.Template
	return leading(listed(b.in.Around.Services), always, t.Metadata.Labels, &t.Spec, port, func(service *Service, p *ServicePort) bool {
		return slices.ContainsFunc(v.Backends, func(k IngressBackend) bool { return k.leadsTo(service, p) })
	})
}
