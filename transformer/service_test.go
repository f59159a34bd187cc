package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// service returns a Service with the lines of its spec.
func service(spec ...string) string {
	return "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  namespace: shop\nspec:\n  " + strings.Join(spec, "\n  ") + "\n"
}

// webSpec has a container port 8080 by three names, in a container, an init container and
// a native sidecar.
var webSpec = &pod.Spec{
	Containers: []pod.Container{
		{Ports: []pod.ContainerPort{{Name: "admin", ContainerPort: 9090}, {Name: "dns", ContainerPort: 8080, Protocol: "UDP"}}},
		{Ports: []pod.ContainerPort{{Name: "web", ContainerPort: 8080, Protocol: "TCP"}}},
	},
	InitContainers: []pod.Container{
		{Ports: []pod.ContainerPort{{Name: "setup", ContainerPort: 8080}}},
		{RestartPolicy: "Always", Ports: []pod.ContainerPort{{Name: "side", ContainerPort: 8080}}},
	},
}

func TestAServiceExposesThePortsItLeadsTo(t *testing.T) {
	const ofWeb = "selector: {app: web}"
	for _, c := range []struct {
		name, yaml string
		labels     field.KeyValues
		exposed    bool
	}{
		{"its target is the port", service(ofWeb, "ports: [{port: 80, targetPort: 8080}]"), webLabels, true},
		{"its target is another", service(ofWeb, "ports: [{port: 8080, targetPort: 80}]"), webLabels, false},
		{"one of its targets is the port", service(ofWeb, "ports: [{port: 80}, {port: 81, targetPort: 8080}]"), webLabels, true},
		{"it has no target", service(ofWeb, "ports: [{port: 8080}]"), webLabels, true},
		{"its target is 0", service(ofWeb, "ports: [{port: 8080, targetPort: 0}]"), webLabels, true},
		{"its target is empty", service(ofWeb, "ports: [{port: 8080, targetPort: ''}]"), webLabels, true},
		{"its target is the port's name", service(ofWeb, "ports: [{port: 80, targetPort: web}]"), webLabels, true},
		{"its target is a native sidecar's port", service(ofWeb, "ports: [{port: 80, targetPort: side}]"), webLabels, true},
		{"its target is an init container's port", service(ofWeb, "ports: [{port: 80, targetPort: setup}]"), webLabels, false},
		{"its target is another port's name", service(ofWeb, "ports: [{port: 80, targetPort: admin}]"), webLabels, false},
		{"its target is nobody's name", service(ofWeb, "ports: [{port: 8080, targetPort: http}]"), webLabels, false},
		{"its target has another protocol", service(ofWeb, "ports: [{port: 80, targetPort: dns}]"), webLabels, false},
		{"its port has another protocol", service(ofWeb, "ports: [{port: 8080, protocol: UDP}]"), webLabels, false},
		{"it is for another pod", service("selector: {app: web, tier: back}", "ports: [{port: 8080}]"), webLabels, false},
		{"it is a name of another host", service(ofWeb, "type: ExternalName", "externalName: x", "ports: [{port: 8080}]"), webLabels, false},
		{"it is invalid", service(ofWeb, "ports: {port: 8080}"), webLabels, false},
		{"the pod has no labels", service(ofWeb, "ports: [{port: 8080}]"), field.KeyValues{}, false},
		{"the pod's labels are not known", service(ofWeb, "ports: [{port: 8080}]"), nil, true},
	} {
		want := ""
		if c.exposed {
			want = "Service shop/web at mesh.yaml:1"
		}
		if got := near(t, "shop", c.yaml).Exposed(c.labels, webSpec, 8080); got != want {
			t.Errorf("%s: exposed by %q, want %q", c.name, got, want)
		}
	}
}

// The base of a kustomize tree has Services without a selector, and kustomize puts its labels there.
func TestAServiceWithoutASelectorMayExposeThePortsItLeadsTo(t *testing.T) {
	for _, selector := range []string{"type: ClusterIP", "selector: {}", "selector:"} {
		for _, labels := range []field.KeyValues{nil, {}, webLabels} {
			around := near(t, "shop", service(selector, "ports: [{port: 80, targetPort: web}]"))
			if got := around.Exposed(labels, webSpec, 8080); got != "Service shop/web at mesh.yaml:1 (if kustomize gives it a selector)" {
				t.Errorf("%s, labels %v: exposed by %q", selector, labels, got)
			}
			if got := around.Exposed(labels, webSpec, 9090); got != "" {
				t.Errorf("%s, labels %v: another port is exposed by %q", selector, labels, got)
			}
		}
	}
}

// A Service without a namespace may go to that of the pod, but certainly declares nothing there.
func TestAServiceWithoutANamespaceMayExposeThePortsItLeadsTo(t *testing.T) {
	unplaced := strings.Replace(service("selector: {app: web}", "ports: [{name: http, port: 8080}]"), "  namespace: shop\n", "", 1)
	around := near(t, "shop", unplaced)
	for _, c := range []struct {
		labels  field.KeyValues
		exposed bool
	}{{nil, true}, {webLabels, true}, {field.KeyValues{}, false}, {field.KeyValues{{Key: "app", Value: "other"}}, false}} {
		want := ""
		if c.exposed {
			want = "Service web at mesh.yaml:1 (if it goes to the pod's namespace)"
		}
		if got := around.Exposed(c.labels, webSpec, 8080); got != want {
			t.Errorf("labels %v: exposed by %q, want %q", c.labels, got, want)
		}
		if around.DeclaredHTTP(c.labels, webSpec, 8080) {
			t.Errorf("labels %v: declared HTTP", c.labels)
		}
	}
}

// Istio's rules: ConvertProtocol in pkg/config/kube/conversion.go.
func TestAPortIsDeclaredHTTPByItsAppProtocolOrName(t *testing.T) {
	for port, want := range map[string]bool{
		"name: http":                     true,
		"name: HTTP-web":                 true,
		"name: http2":                    true,
		"name: http_proxy":               true,
		"name: grpc-api":                 true,
		"name: grpc-web":                 true,
		"name: https":                    false,
		"name: httpx":                    false,
		"name: web-http":                 false,
		"name: tcp":                      false,
		"port: 8080":                     false,
		"appProtocol: http":              true,
		"appProtocol: grpc-web":          true,
		"appProtocol: https":             false,
		"appProtocol: kubernetes.io/h2c": true,
		"appProtocol: kubernetes.io/ws":  true,
		"appProtocol: kubernetes.io/wss": false,
		"name: http, appProtocol: tcp":   false,
		"name: tcp, appProtocol: http":   true,
		"name: http, protocol: UDP":      false,
		"name: http, targetPort: 80":     false,
	} {
		yaml := service("selector: {app: web}", "ports: [{"+strings.TrimPrefix(port+", port: 8080", "port: 8080, ")+"}]")
		if got := near(t, "shop", yaml).DeclaredHTTP(webLabels, webSpec, 8080); got != want {
			t.Errorf("{%s}: declared HTTP %t", port, got)
		}
	}
	for name, c := range map[string]struct {
		selector string
		labels   field.KeyValues
	}{
		"another pod":             {"selector: {app: other}", webLabels},
		"no pod":                  {"selector: {}", webLabels},
		"a pod without labels":    {"selector: {app: web}", field.KeyValues{}},
		"a pod of unknown labels": {"selector: {app: web}", nil},
	} {
		if near(t, "shop", service(c.selector, "ports: [{name: http, port: 8080}]")).DeclaredHTTP(c.labels, webSpec, 8080) {
			t.Errorf("the Service of %s declares HTTP", name)
		}
	}
}

func TestWithoutSurroundingsNothingIsKnown(t *testing.T) {
	var none surroundings.Surroundings
	modes := none.MTLS(rootNamespace, "shop", webLabels, 8080, surroundings.MTLSStrict)
	if len(modes) != 1 || modes[0] != (surroundings.MTLSMode{Mode: surroundings.MTLSStrict}) {
		t.Errorf("modes %q", modes)
	}
	if none.Denied(rootNamespace, "shop", webLabels, 8080) != "" || none.DeclaredHTTP(webLabels, webSpec, 8080) || none.Exposed(webLabels, webSpec, 8080) != "" {
		t.Error("a probe is denied, or a port declared or exposed")
	}
}
