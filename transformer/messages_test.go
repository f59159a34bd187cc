package transformer_test

import (
	"strings"
	"testing"
)

func TestAPortNameThatIsNoneIsShownWithThoseThatAre(t *testing.T) {
	const probe = "livenessProbe: {httpGet: {port: web}}\n"
	for ports, want := range map[string]string{
		"": `names the port "web", but container "app" has no named port; it must be a port's name or number`,
		"ports: [{name: http, containerPort: 1}, {containerPort: 2}, {name: grpc, containerPort: 3}]": `names the port "web", but container "app" names "http", "grpc"; it must be a port's name or number`,
	} {
		if f := wantReason(t, plan(t, pod("", app(ports+"\n"+probe))), "port-unresolved"); !strings.Contains(f.Message, want) {
			t.Errorf("with %q: got %q, want %q", ports, f.Message, want)
		}
	}
}

func TestEveryPortMayBeIncludedAndNotExcluded(t *testing.T) {
	for annotation, wrong := range map[string]bool{"includeInboundPorts": false, "excludeInboundPorts": true} {
		r := plan(t, pod("annotations: {traffic.sidecar.istio.io/"+annotation+": \" * \"}", app(httpProbe)))
		if _, got := r.has("port-list-invalid"); got != wrong {
			t.Errorf("%s: \"*\" is warned of: %v, want %v", annotation, got, wrong)
		}
	}
}
