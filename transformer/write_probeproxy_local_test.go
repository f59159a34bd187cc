package transformer_test

import (
	"fmt"
	"strings"
	"testing"
)

// Istio's Sidecar may say that the app listens on 127.0.0.1 alone, where Envoy reaches it and
// istio-proxy's agent does not.
func TestProbeProxy_asksWhereTheAppListens(t *testing.T) {
	const native = "labels: {app: web, sidecar.istio.io/inject: \"true\"}\nannotations: {sidecar.istio.io/nativeSidecar: \"true\"}\n"
	sidecar := func(namespace, selector, port, endpoint string) string {
		return "apiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {name: s, namespace: " + namespace + "}\nspec:\n" + selector +
			"  ingress:\n  - port: {number: " + port + ", protocol: HTTP, name: http}\n    defaultEndpoint: " + endpoint + "\n---\n"
	}
	const web, other = "  workloadSelector: {labels: {app: web}}\n", "  workloadSelector: {labels: {app: other}}\n"
	for name, c := range map[string]struct {
		sidecar string
		local   bool
	}{
		"the probe's port":       {sidecar("n", web, "8001", "127.0.0.1:8001"), true},
		"of the whole namespace": {sidecar("n", "", "8001", "127.0.0.1:8001"), true},
		"labels that are added":  {sidecar("n", "  workloadSelector: {labels: {pod-template-hash: x}}\n", "8001", "127.0.0.1:8001"), true},
		"another port":           {sidecar("n", web, "9", "127.0.0.1:9"), false},
		"other pods":             {sidecar("n", other, "8001", "127.0.0.1:8001"), false},
		"another namespace":      {sidecar("m", web, "8001", "127.0.0.1:8001"), false},
		"the pod's own address":  {sidecar("n", web, "8001", "0.0.0.0:8001"), false},
		"a socket":               {sidecar("n", web, "8001", "unix:///x"), false},
		"none":                   {"", false},
	} {
		around := "\n---\n" + namespace("istio-injection: enabled", "") + strings.TrimSuffix(c.sidecar, "---\n")
		p := planNear(t, inNamespace(podOf(native, app(httpProbe)))+around)
		by := map[bool]string{true: "probe-proxy", false: "istio-proxy"}[c.local]
		if p.Answer.By != by || strings.Contains(p.Answer.Because, "Sidecar n/s") != c.local || len(p.Findings) > 0 {
			t.Errorf("%s: %+v, %v", name, p.Answer, p.Findings)
		}
		if edits := fmt.Sprint(p.Edits); strings.Contains(edits, "127.0.0.1") != c.local {
			t.Errorf("%s: %s", name, edits)
		}
	}
}
