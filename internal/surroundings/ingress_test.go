package surroundings

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

func TestALoadBalancerTakesItsPathFromAProbe(t *testing.T) {
	const class = "kubernetes.io/ingress.class"
	labels := field.KeyValues{{Key: "app", Value: "web"}}
	web := Service{Name: "web", Selector: labels, Ports: []ServicePort{{Name: "http", Port: 80, TargetPort: field.IntOrString{Int: 8080}}}}
	with := func(key, value string) Service {
		v := web
		v.Annotations = field.KeyValues{{Key: key, Value: value}}
		return v
	}
	entry, other := web, web
	entry.IsEntry = true
	nameless := web
	nameless.Ports = []ServicePort{{Port: 80, TargetPort: field.IntOrString{Int: 8080}}}
	other.Selector = field.KeyValues{{Key: "app", Value: "other"}}
	backend := func(service, name string, number int) []IngressBackend {
		var k IngressBackend
		k.Service.Name, k.Service.Port.Name, k.Service.Port.Number = service, name, number
		return []IngressBackend{{}, k}
	}
	toWeb := backend("web", "", 80)
	annotated := func(key string) Ingress {
		return Ingress{Annotations: field.KeyValues{{Key: key, Value: "x"}}, Backends: toWeb}
	}
	azure := Ingress{Class: "azure-application-gateway", Backends: toWeb}
	for name, c := range map[string]struct {
		ingress             Ingress
		service             Service
		readiness, liveness string // a part of the fix; "" if the path is not taken
	}{
		"GKE's":                             {Ingress{Class: "gce", Backends: toWeb}, web, "BackendConfig", ""},
		"GKE's, inside":                     {Ingress{Class: "gce-internal", Backends: toWeb}, web, "BackendConfig", ""},
		"another's":                         {Ingress{Class: "nginx", Backends: toWeb}, web, "", ""},
		"nobody's":                          {Ingress{Backends: toWeb}, web, "", ""},
		"another's with an annotation":      {Ingress{Class: "nginx", Annotations: annotated("networking.gke.io/x").Annotations, Backends: toWeb}, web, "", ""},
		"a static address":                  {annotated("kubernetes.io/ingress.global-static-ip-name"), web, "BackendConfig", ""},
		"a certificate":                     {annotated("networking.gke.io/managed-certificates"), web, "BackendConfig", ""},
		"another certificate":               {annotated("ingress.gcp.kubernetes.io/pre-shared-cert"), web, "BackendConfig", ""},
		"another annotation of GKE's":       {annotated("ingress.gcp.kubernetes.io/x"), web, "BackendConfig", ""},
		"what is no controller's":           {annotated(class), web, "", ""},
		"a BackendConfig":                   {Ingress{Class: "gce", Backends: toWeb}, with("cloud.google.com/backend-config", "{}"), "", ""},
		"a BackendConfig by its older name": {Ingress{Class: "gce", Backends: toWeb}, with("beta.cloud.google.com/backend-config", "{}"), "", ""},
		"Azure's":                           {azure, web, azureProbePath, azureProbePath},
		"Azure's by its older class":        {Ingress{Class: "azure/application-gateway", Backends: toWeb}, web, azureProbePath, azureProbePath},
		"Azure's, and a BackendConfig":      {azure, with("cloud.google.com/backend-config", "{}"), azureProbePath, azureProbePath},
		"Azure's with the path":             {Ingress{Class: azure.Class, Annotations: annotated(azureProbePath).Annotations, Backends: toWeb}, web, "", ""},
		"the port by its name":              {Ingress{Class: "gce", Backends: backend("web", "http", 0)}, web, "BackendConfig", ""},
		"another port":                      {Ingress{Class: "gce", Backends: backend("web", "", 8080)}, web, "", ""},
		"another port by its name":          {Ingress{Class: "gce", Backends: backend("web", "admin", 0)}, web, "", ""},
		"another port, and none has a name": {Ingress{Class: "gce", Backends: backend("web", "", 8080)}, nameless, "", ""},
		"another Service":                   {Ingress{Class: "gce", Backends: backend("api", "", 80)}, web, "", ""},
		"a ServiceEntry":                    {Ingress{Class: "gce", Backends: toWeb}, entry, "", ""},
		"a Service of other pods":           {Ingress{Class: "gce", Backends: toWeb}, other, "", ""},
		"a Service without a selector":      {Ingress{Class: "gce", Backends: toWeb}, Service{Name: "web", Ports: web.Ports}, "", ""},
	} {
		s := Surroundings{
			Services:  func() []Service { return []Service{c.service} },
			Ingresses: func() []Ingress { return []Ingress{{Class: "nginx", Backends: toWeb}, c.ingress} },
		}
		for _, readiness := range []bool{true, false} {
			want := c.liveness
			if readiness {
				want = c.readiness
			}
			v, fix := s.HealthCheckBy(&Pods{Kind: "Deployment", Labels: labels}, 8080, "/ready", readiness)
			if (v != nil) != (want != "") || !strings.Contains(fix, want) || want == azureProbePath && !strings.Contains(fix, ": /ready`") {
				t.Errorf("%s, of a readinessProbe: %t: %v, %q", name, readiness, v, fix)
			}
			if v, _ := s.HealthCheckBy(&Pods{Kind: "Deployment", Labels: labels}, 80, "/ready", readiness); v != nil {
				t.Errorf("%s: the port of the Service is that of the pod", name)
			}
		}
	}
}
