package transformer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func TestAPortNameThatIsNoneIsShownWithThoseThatAre(t *testing.T) {
	const probe = "livenessProbe: {httpGet: {port: web}}\n"
	for ports, want := range map[string]string{
		"": `container "app" has no port "web". Write a number, or declare "web" under ` + "`ports`.",
		"ports: [{name: http, containerPort: 1}, {containerPort: 2}, {name: grpc, containerPort: 3}]": "container \"app\" has no port \"web\". Write `http`, `grpc` or a number, or declare \"web\" under `ports`.",
	} {
		if f := wantReason(t, plan(t, podOf("", app(ports+"\n"+probe))), "port-unresolved"); !strings.Contains(textOf(f), want) {
			t.Errorf("with %q: got %q, want %q", ports, textOf(f), want)
		}
	}
}

func TestEveryPortMayBeIncludedAndNotExcluded(t *testing.T) {
	for annotation, wrong := range map[string]bool{"includeInboundPorts": false, "excludeInboundPorts": true} {
		r := plan(t, podOf("annotations: {traffic.sidecar.istio.io/"+annotation+": \" * \"}", app(httpProbe)))
		if _, got := r.has("port-list-invalid"); got != wrong {
			t.Errorf("%s: \"*\" is warned of: %v, want %v", annotation, got, wrong)
		}
	}
}

// A message says all that is wrong, and nothing more.
func TestWhatIsWrongWithAProbeIsSaidInFull(t *testing.T) {
	const at = "`spec.template.spec.containers[0]."
	for _, c := range []struct {
		name, metadata, spec string
		opts                 []option
		want                 []string
	}{
		{"a port of a grpc probe by a name that is no port", "", app("ports: [{name: web, containerPort: 70000}]\nlivenessProbe: {grpc: {port: web}}"), nil,
			[]string{at + "livenessProbe.grpc.port`: Not rewritten: the port 70000 is not from 1 to 65535. Write the app's port."}},
		{"a port in quotes", "", app(`livenessProbe: {httpGet: {port: "80"}}`), nil,
			[]string{at + "livenessProbe.httpGet.port`: Not rewritten: the API server refuses the string \"80\" as a port. Write the number without quotes."}},
		{"a namespace that Istio never injects, whoever answers", "", "", []option{answeredBy("probe-proxy")},
			[]string{"Istio never injects into namespace \"kube-system\", so the mesh does not capture this pod. Probes not rewritten"}},
		{"a key of the mesh's configuration that only ends like another", injected + "\nannotations: {proxy.istio.io/config: 'QstatusPort: 15099'}", app(httpProbe), []option{answeredBy("probe-proxy")}, nil},
		{"a field that is not known", "", app("livenessProbe: {tcpSocket: {port: 80, novel: 1}}"), nil,
			[]string{at + "livenessProbe.tcpSocket.novel`: Not rewritten: this version does not know the field `novel`. It knows port, host. Correct or remove the field, or use a newer version."}},
		{"containers that are skipped", `annotations: {rewrite-probes.io/skip-containers: "ghost,, app"}`, app(httpProbe), nil, []string{
			"`spec.template.metadata.annotations[rewrite-probes.io/skip-containers]`: \"ghost,, app\" names the container \"ghost\", but the pod has only app. Correct the name.",
			at + "livenessProbe`: The annotation `rewrite-probes.io/skip-containers` names container \"app\". Remove the name from the annotation to rewrite the probes."}},
		{"a status port that is wrong, and captured", injected + "\nannotations: {status.sidecar.istio.io/port: x, traffic.sidecar.istio.io/includeInboundPorts: \"15020,8001\"}", app(httpProbe), []option{answeredBy("istio-proxy")},
			[]string{"`spec.template.metadata.annotations[status.sidecar.istio.io/port]`: \"x\" is not a port where istio-proxy can answer. The port must be from 1 to 65535, and none of 15000, 15001, 15004, 15006, 15008, 15021, 15053, 15090. Write a free port, or remove the annotation."}},
		{"two meshes", "labels: {istio.io/dataplane-mode: ambient}\nannotations: {linkerd.io/inject: enabled}", app(httpProbe), nil,
			[]string{"The pod is in Istio (the label `istio.io/dataplane-mode: ambient`) and in Linkerd (the annotation `linkerd.io/inject: enabled`). Remove one of the two."}},
		{"no more than the default LimitRange for the user's own istio-proxy", injected, app(httpProbe) + "- name: istio-proxy\n  image: auto\n", []option{answeredBy("istio-proxy")}, nil},
	} {
		around := ""
		if strings.Contains(c.name, "LimitRange") {
			around = limitRange("{type: Container, default: {cpu: 1}}")
		}
		manifest := podOf(c.metadata, c.spec)
		if c.spec == "" {
			manifest = strings.Replace(podOf("", app(httpProbe)), "  name: web\n", "  name: web\n  namespace: kube-system\n", 1)
		}
		var got []string
		for _, f := range plan(t, around+manifest, c.opts...).Findings {
			got = append(got, textOf(f))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
		}
	}
}

// Each mesh says its own ports where one of them is chosen.
func TestThePortsOfAMeshsOwnProxyAreRefused(t *testing.T) {
	for mesh, want := range map[string]string{
		"istio":   `port: "15021" is one of Istio's own ports (15000, 15001, 15004, 15006, 15008, 15021, 15053, 15090) and must be another`,
		"linkerd": `port: "4143" is one of Linkerd's own ports (4140, 4143, 4190, 4191) and must be another`,
		"consul":  `port: "20200" is one of Consul's own ports (8600, 15001, 19000, 20000, 20200, 20600, 21000) and must be another`,
	} {
		var n int
		fmt.Sscanf(want, "port: \"%d", &n)
		if _, err := transformer.New(options(inMesh(mesh), port(n))); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", mesh, err, want)
		}
	}
}
