package transformer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// service returns a Service with the lines of its spec.
func service(spec ...string) string {
	return "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  namespace: shop\nspec:\n  " + strings.Join(spec, "\n  ") + "\n"
}

// webSpec has a container port 8080 by five names, in a container, an init container and
// a native sidecar.
var webSpec = &pod.Spec{
	Containers: []pod.Container{
		{Ports: []pod.ContainerPort{{Name: "admin", ContainerPort: 9090}, {Name: "dns", ContainerPort: 8080, Protocol: "UDP"}, {Name: "m3ua", ContainerPort: 8080, Protocol: "SCTP"}}},
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
		{"its target has the third protocol", service(ofWeb, "ports: [{port: 80, targetPort: m3ua}]"), webLabels, false},
		{"its port has another protocol", service(ofWeb, "ports: [{port: 8080, protocol: UDP}]"), webLabels, false},
		{"its port has the third protocol", service(ofWeb, "ports: [{port: 8080, protocol: SCTP}]"), webLabels, false},
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
		if got := near(t, "shop", c.yaml).Exposed(pods("shop", c.labels), 8080); got != want {
			t.Errorf("%s: exposed by %q, want %q", c.name, got, want)
		}
	}
}

// The base of a kustomize tree has Services without a selector, and kustomize puts its labels there.
func TestService_withoutSelector(t *testing.T) {
	for _, selector := range []string{"type: ClusterIP", "selector: {}", "selector:"} {
		for _, labels := range []field.KeyValues{nil, {}, webLabels} {
			around := near(t, "shop", service(selector, "ports: [{port: 80, targetPort: web}]"))
			if got := around.Exposed(pods("shop", labels), 8080); got != "Service shop/web at mesh.yaml:1 (if kustomize gives it a selector)" {
				t.Errorf("%s, labels %v: exposed by %q", selector, labels, got)
			}
			if got := around.Exposed(pods("shop", labels), 9090); got != "" {
				t.Errorf("%s, labels %v: another port is exposed by %q", selector, labels, got)
			}
		}
	}
}

// A Service without a namespace may go to that of the pod, but certainly declares nothing there.
func TestService_withoutNamespace(t *testing.T) {
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
		if got := around.Exposed(pods("shop", c.labels), 8080); got != want {
			t.Errorf("labels %v: exposed by %q, want %q", c.labels, got, want)
		}
		if got := declared(around, pods("shop", c.labels), 8080); got != nil {
			t.Errorf("labels %v: declared %v", c.labels, got)
		}
	}
}

// declared returns the protocols that objects may declare for a port; nil if none does.
func declared(s *surroundings.Surroundings, pods *surroundings.Pods, port int) (all []surroundings.Protocol) {
	for _, c := range s.Chains(rootNamespace, pods, port) {
		if c.By() != "" {
			all = append(all, c.Protocol)
		}
	}
	return all
}

// Istio's rules: ConvertProtocol in pkg/config/kube/conversion.go.
func TestAPortIsDeclaredByItsAppProtocolOrName(t *testing.T) {
	one := func(p surroundings.Protocol) []surroundings.Protocol { return []surroundings.Protocol{p} }
	http1, http2, tcp, sniffed := one(surroundings.HTTP1), one(surroundings.HTTP2), one(surroundings.TCP), one(surroundings.Sniffed)
	for port, want := range map[string][]surroundings.Protocol{
		"name: http":                     http1,
		"name: HTTP-web":                 http1,
		"name: http2":                    http2,
		"name: http_proxy":               http1,
		"name: grpc-api":                 http2,
		"name: grpc-web":                 http2,
		"name: https":                    tcp,
		"name: httpx":                    sniffed,
		"name: web-http":                 sniffed,
		"name: tcp":                      tcp,
		"name: tls-x":                    tcp,
		"name: redis":                    tcp,
		"port: 8080":                     sniffed,
		"appProtocol: http":              http1,
		"appProtocol: grpc-web":          http2,
		"appProtocol: https":             tcp,
		"appProtocol: kubernetes.io/h2c": http2,
		"appProtocol: kubernetes.io/ws":  http1,
		"appProtocol: kubernetes.io/wss": tcp,
		"name: http, appProtocol: tcp":   tcp,
		"name: tcp, appProtocol: http":   http1,
		"name: http, protocol: UDP":      tcp,
		"name: http, targetPort: 80":     nil,
	} {
		yaml := service("selector: {app: web}", "ports: [{"+strings.TrimPrefix(port+", port: 8080", "port: 8080, ")+"}]")
		if got := declared(near(t, "shop", yaml), pods("shop", webLabels), 8080); !slices.Equal(got, want) {
			t.Errorf("{%s}: declared %v", port, got)
		}
	}
	entry := "apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: web, namespace: shop}\n" +
		"spec: {workloadSelector: {labels: {app: web}}, ports: [{number: 80, protocol: HTTP, targetPort: 8080}, {number: 9090, protocol: TCP}]}\n"
	around := near(t, "shop", entry)
	if a, b := declared(around, pods("shop", webLabels), 8080), declared(around, pods("shop", webLabels), 9090); !slices.Equal(a, http1) || !slices.Equal(b, tcp) {
		t.Errorf("a ServiceEntry declares %v and %v", a, b)
	}
	if got := around.Exposed(pods("shop", webLabels), 8080); got != "ServiceEntry shop/web at mesh.yaml:1" || around.HasServices() {
		t.Errorf("a ServiceEntry exposes %q", got)
	}
	if s := near(t, "shop", strings.Replace(entry, "workloadSelector: {labels: {app: web}}, ", "", 1)); s.Exposed(pods("shop", webLabels), 8080) != "" {
		t.Errorf("a ServiceEntry that selects nothing counts")
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
		around := near(t, "shop", service(c.selector, "ports: [{name: http, port: 8080}]"))
		if got := declared(around, pods("shop", c.labels), 8080); got != nil {
			t.Errorf("the Service of %s declares %v", name, got)
		}
	}
}

func TestWithoutSurroundingsNothingIsKnown(t *testing.T) {
	var none surroundings.Surroundings
	modes := none.MTLS(rootNamespace, pods("shop", webLabels), 8080, surroundings.MTLSStrict)
	if len(modes) != 1 || modes[0] != (surroundings.MTLSMode{Mode: surroundings.MTLSStrict}) {
		t.Errorf("modes %v", modes)
	}
	web := pods("shop", webLabels)
	if none.Refuses(rootNamespace, web, probeOf(8080)).Is != certain.Never || declared(&none, web, 8080) != nil || none.Exposed(web, 8080) != "" {
		t.Error("a probe is refused, or a port declared or exposed")
	}
}
