package surroundings

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

func TestALoadBalancerTakesItsPathFromAProbe(t *testing.T) {
	const class = "kubernetes.io/ingress.class"
	labels := field.KeyValues{{Key: "app", Value: "web"}}
	web := Service{Neighbour: named("", "web"), Selector: labels, Ports: []ServicePort{{Name: "http", Port: 80, TargetPort: field.IntOrString{Int: 8080}}}}
	with := func(key, value string) Service {
		v := web
		v.Annotations = field.KeyValues{{Key: key, Value: value}}
		return v
	}
	entry, other := web, web
	entry.Kind = "ServiceEntry"
	nameless := web
	nameless.Ports = []ServicePort{{Port: 80, TargetPort: field.IntOrString{Int: 8080}}}
	other.Selector = field.KeyValues{{Key: "app", Value: "other"}}
	backend := func(service, name string, number int) IngressBackend {
		var k IngressBackend
		k.Service.Name, k.Service.Port.Name, k.Service.Port.Number = service, name, number
		return k
	}
	toWeb := backend("web", "", 80)
	annotated := func(key string) Ingress {
		return Ingress{Neighbour: Neighbour{Annotations: field.KeyValues{{Key: key, Value: "x"}}}, DefaultBackend: toWeb}
	}
	azure := Ingress{IngressClassName: "azure-application-gateway", DefaultBackend: toWeb}
	for name, c := range map[string]struct {
		ingress             Ingress
		service             Service
		readiness, liveness string // a part of the fix; "" if the path is not taken
	}{
		"GKE's":                             {Ingress{IngressClassName: "gce", DefaultBackend: toWeb}, web, "BackendConfig", ""},
		"GKE's, inside":                     {Ingress{IngressClassName: "gce-internal", DefaultBackend: toWeb}, web, "BackendConfig", ""},
		"another's":                         {Ingress{IngressClassName: "nginx", DefaultBackend: toWeb}, web, "", ""},
		"nobody's":                          {Ingress{DefaultBackend: toWeb}, web, "", ""},
		"another's with an annotation":      {Ingress{Neighbour: Neighbour{Annotations: annotated("networking.gke.io/x").Annotations}, IngressClassName: "nginx", DefaultBackend: toWeb}, web, "", ""},
		"a static address":                  {annotated("kubernetes.io/ingress.global-static-ip-name"), web, "BackendConfig", ""},
		"a certificate":                     {annotated("networking.gke.io/managed-certificates"), web, "BackendConfig", ""},
		"another certificate":               {annotated("ingress.gcp.kubernetes.io/pre-shared-cert"), web, "BackendConfig", ""},
		"another annotation of GKE's":       {annotated("ingress.gcp.kubernetes.io/x"), web, "BackendConfig", ""},
		"what is no controller's":           {annotated(class), web, "", ""},
		"a BackendConfig":                   {Ingress{IngressClassName: "gce", DefaultBackend: toWeb}, with("cloud.google.com/backend-config", "{}"), "", ""},
		"a BackendConfig by its older name": {Ingress{IngressClassName: "gce", DefaultBackend: toWeb}, with("beta.cloud.google.com/backend-config", "{}"), "", ""},
		"Azure's":                           {azure, web, azureProbePath, azureProbePath},
		"Azure's by its older class":        {Ingress{IngressClassName: "azure/application-gateway", DefaultBackend: toWeb}, web, azureProbePath, azureProbePath},
		"Azure's, and a BackendConfig":      {azure, with("cloud.google.com/backend-config", "{}"), azureProbePath, azureProbePath},
		"Azure's with the path":             {Ingress{Neighbour: Neighbour{Annotations: annotated(azureProbePath).Annotations}, IngressClassName: azure.IngressClassName, DefaultBackend: toWeb}, web, "", ""},
		"the port by its name":              {Ingress{IngressClassName: "gce", DefaultBackend: backend("web", "http", 0)}, web, "BackendConfig", ""},
		"another port":                      {Ingress{IngressClassName: "gce", DefaultBackend: backend("web", "", 8080)}, web, "", ""},
		"another port by its name":          {Ingress{IngressClassName: "gce", DefaultBackend: backend("web", "admin", 0)}, web, "", ""},
		"another port, and none has a name": {Ingress{IngressClassName: "gce", DefaultBackend: backend("web", "", 8080)}, nameless, "", ""},
		"another Service":                   {Ingress{IngressClassName: "gce", DefaultBackend: backend("api", "", 80)}, web, "", ""},
		"a ServiceEntry":                    {Ingress{IngressClassName: "gce", DefaultBackend: toWeb}, entry, "", ""},
		"a Service of other pods":           {Ingress{IngressClassName: "gce", DefaultBackend: toWeb}, other, "", ""},
		"a Service without a selector":      {Ingress{IngressClassName: "gce", DefaultBackend: toWeb}, Service{Neighbour: named("", "web"), Ports: web.Ports}, "", ""},
	} {
		s := New(given{objects: []any{&c.service, &Ingress{IngressClassName: "nginx", DefaultBackend: toWeb}, &c.ingress}})
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
