package transformer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func ingress(metadata, spec string) string {
	return "---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: shop, namespace: shop" + metadata + "}\nspec: {" + spec + "}\n"
}

func TestIngress_healthCheckFromProbe(t *testing.T) {
	const (
		gce     = ", annotations: {kubernetes.io/ingress.class: gce}"
		azure   = ", annotations: {kubernetes.io/ingress.class: azure/application-gateway}"
		toWeb   = "defaultBackend: {service: {name: web, port: {number: 80}}}"
		byName  = "rules: [{http: {paths: [{path: /a, backend: {service: {name: other, port: {number: 80}}}}, {path: /, backend: {service: {name: web, port: {name: http}}}}]}}]"
		service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop%s}\nspec: {selector: {app: %s}, ports: [{name: http, port: 80, targetPort: %s}]}\n"
	)
	web := fmt.Sprintf(service, "", "web", "8080")
	probe := func(fields string) string { return "ports: [{name: web, containerPort: 8080}]\n" + fields }
	ready := probe("readinessProbe: {httpGet: {path: /ready, port: 8080}}")
	for _, c := range []struct {
		name, app, around string
		fix               string // "" if nothing is said
	}{
		{"GKE by its class", ready, web + ingress(gce, toWeb), "BackendConfig"},
		{"GKE's internal one", ready, web + ingress(", annotations: {kubernetes.io/ingress.class: gce-internal}", byName), "BackendConfig"},
		{"GKE by an annotation", ready, web + ingress(", annotations: {networking.gke.io/managed-certificates: shop}", toWeb), "BackendConfig"},
		{"GKE by its address", ready, web + ingress(", annotations: {kubernetes.io/ingress.global-static-ip-name: shop}", toWeb), "BackendConfig"},
		{"GKE by an annotation of its newer group", ready, web + ingress(", annotations: {ingress.gcp.kubernetes.io/pre-shared-cert: shop}", toWeb), "BackendConfig"},
		{"an annotation like GKE's", ready, web + ingress(", annotations: {gke.io/a: shop, kubernetes.io/ingress.allow-http: shop}", toWeb), ""},
		{"an annotation of GKE's at another class", ready, web + ingress(", annotations: {networking.gke.io/managed-certificates: shop}", "ingressClassName: nginx, "+toWeb), ""},
		{"no class", ready, web + ingress("", toWeb), ""},
		{"another class", ready, web + ingress("", "ingressClassName: nginx, "+toWeb), ""},
		{"Azure by its class", ready, web + ingress("", "ingressClassName: azure-application-gateway, "+toWeb), "`appgw.ingress.kubernetes.io/health-probe-path: /ready`"},
		{"Azure by an annotation", ready, web + ingress(azure, byName), "health-probe-path: /ready`"},
		{"Azure, and the path is said", ready, web + ingress(strings.TrimSuffix(azure, "}")+", appgw.ingress.kubernetes.io/health-probe-path: /ready}", toWeb), ""},
		{"GKE, and a BackendConfig says it", ready, fmt.Sprintf(service, ", annotations: {cloud.google.com/backend-config: '{\"default\": \"web\"}'}", "web", "8080") + ingress(gce, toWeb), ""},
		{"GKE, and an older annotation says it", ready, fmt.Sprintf(service, ", annotations: {beta.cloud.google.com/backend-config: '{\"default\": \"web\"}'}", "web", "8080") + ingress(gce, toWeb), ""},
		{"Azure, and a BackendConfig of GKE's", ready, fmt.Sprintf(service, ", annotations: {cloud.google.com/backend-config: '{\"default\": \"web\"}'}", "web", "8080") + ingress(azure, toWeb), "health-probe-path: /ready`"},
		{"the second Ingress is GKE's", ready, web + strings.Replace(ingress("", "ingressClassName: nginx, "+toWeb), "name: shop", "name: other", 1) + ingress(gce, toWeb), "BackendConfig"},
		{"the second Ingress leads to the Service", ready, web + strings.Replace(ingress(gce, strings.Replace(toWeb, "web", "other", 1)), "name: shop", "name: other", 1) + ingress(gce, toWeb), "BackendConfig"},
		{"the second Service leads to the pod", ready, strings.Replace(fmt.Sprintf(service, "", "db", "8080"), "name: web", "name: db", 1) + web + ingress(gce, toWeb), "BackendConfig"},
		{"another Service", ready, web + ingress(gce, strings.Replace(toWeb, "web", "other", 1)), ""},
		{"another port of the Service", ready, web + ingress(gce, strings.Replace(toWeb, "80", "81", 1)), ""},
		{"another port's name", ready, web + ingress(gce, strings.Replace(byName, "http}", "https}", 1)), ""},
		{"the Service selects other pods", ready, fmt.Sprintf(service, "", "db", "8080") + ingress(gce, toWeb), ""},
		{"the Service leads to another port", ready, fmt.Sprintf(service, "", "web", "9090") + ingress(gce, toWeb), ""},
		{"the Service leads to a named port", ready, fmt.Sprintf(service, "", "web", "web") + ingress(gce, toWeb), "BackendConfig"},
		{"no Ingress", ready, web, ""},
		{"no Service", ready, ingress(gce, toWeb), ""},
		{"an Ingress of another kind", ready, web + strings.Replace(ingress(gce, toWeb), "networking.k8s.io", "example.com", 1), ""},
		{"/ is asked for without the probe too", probe("readinessProbe: {httpGet: {path: /, port: 8080}}"), web + ingress(gce, toWeb), ""},
		{"no path", probe("readinessProbe: {httpGet: {port: web}}"), web + ingress(gce, toWeb), ""},
		{"by the port's name", probe("readinessProbe: {httpGet: {path: /ready, port: web}}"), web + ingress(gce, toWeb), "BackendConfig"},
		{"with a Host", probe("readinessProbe: {httpGet: {path: /ready, port: 8080, httpHeaders: [{name: Host, value: a.b}]}}"), web + ingress(gce, toWeb), "BackendConfig"},
		{"a header that they cannot send", probe("readinessProbe: {httpGet: {path: /ready, port: 8080, httpHeaders: [{name: X, value: y}]}}"), web + ingress(gce, toWeb), ""},
		{"a port that the container does not declare", "readinessProbe: {httpGet: {path: /ready, port: 8080}}", web + ingress(gce, toWeb), ""},
		{"another port", probe("readinessProbe: {httpGet: {path: /ready, port: 9090}}"), web + ingress(gce, toWeb), ""},
		{"a tcpSocket probe", probe("readinessProbe: {tcpSocket: {port: 8080}}"), web + ingress(gce, toWeb), ""},
		{"GKE does not look at the livenessProbe", probe("livenessProbe: {httpGet: {path: /ready, port: 8080}}"), web + ingress(gce, toWeb), ""},
		{"Azure does", probe("livenessProbe: {httpGet: {path: /ready, port: 8080}}"), web + ingress(azure, toWeb), "health-probe-path: /ready`"},
		{"the second probe is asked", probe("readinessProbe: {httpGet: {path: /ready, port: 9090}}\nlivenessProbe: {httpGet: {path: /live, port: 8080}}"), web + ingress(azure, toWeb), "health-probe-path: /live`"},
		{"only the first probe is named", probe("readinessProbe: {httpGet: {path: /ready, port: 8080}}\nlivenessProbe: {httpGet: {path: /live, port: 8080}}"), web + ingress(azure, toWeb), "health-probe-path: /ready`"},
		{"nobody at the startupProbe", probe("startupProbe: {httpGet: {path: /ready, port: 8080}}"), web + ingress(azure, toWeb), ""},
		{"a probe that is left alone", probe("readinessProbe: {httpGet: {path: /ready, port: 8080, host: 10.0.0.1}}\nlivenessProbe: {tcpSocket: {port: 8080}}"), web + ingress(azure, toWeb), ""},
	} {
		text := strings.Replace(podOf("labels: {app: web}", app(c.app)), "  name: web\n", "  name: web\n  namespace: shop\n", 1)
		plan := planNear(t, text+c.around)
		var found []transformer.Finding
		for _, f := range plan.Findings {
			if f.Reason.String() == "ingress-health-check" {
				found = append(found, f)
			}
		}
		switch {
		case c.fix == "" && len(found) > 0, c.fix != "" && len(found) != 1:
			t.Errorf("%s: %+v", c.name, plan.Findings)
		case c.fix != "" && (found[0].Severity != transformer.Warning || !strings.Contains(textOf(found[0]), c.fix) || !strings.Contains(textOf(found[0]), "Ingress shop/shop at mesh.yaml:") || len(plan.Edits) == 0):
			t.Errorf("%s: %+v", c.name, found[0])
		}
	}
}

// A load balancer takes no probe of an init container, and every other one at each place of the list.
func TestIngress_healthCheckOfNoInitContainer(t *testing.T) {
	const around = "---\napiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}\n"
	const probed = "- name: %s\n  image: a\n%s  ports: [{containerPort: 8080}]\n  readinessProbe: {httpGet: {path: /ready, port: 8080}}\n"
	gke := ingress(", annotations: {kubernetes.io/ingress.class: gce}", "defaultBackend: {service: {name: web, port: {number: 80}}}")
	const plain = "- name: plain\n  image: a\n"
	for spec, want := range map[string]bool{
		"containers:\n" + fmt.Sprintf(probed, "a", ""):                                                                               true,
		"containers:\n" + plain + fmt.Sprintf(probed, "b", ""):                                                                       true,
		"initContainers:\n" + fmt.Sprintf(probed, "n", "  restartPolicy: Always\n") + "containers:\n" + plain:                        false,
		"initContainers:\n" + fmt.Sprintf(probed, "n", "  restartPolicy: Always\n") + "containers:\n" + fmt.Sprintf(probed, "b", ""): true,
	} {
		text := strings.Replace(podOf("labels: {app: web}", spec), "  name: web\n", "  name: web\n  namespace: shop\n", 1)
		if _, got := (result{Plan: planNear(t, text+around+gke)}).has("ingress-health-check"); got != want {
			t.Errorf("%s: %t", spec, got)
		}
	}
}
