package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// An Envoy in the template is no injector's, which would not get the pod.
func TestAnEnvoyInTheTemplateIsNoInjectors(t *testing.T) {
	byEnvoy := app("livenessProbe: {httpGet: {path: /osm-liveness-probe, port: 15901}}\nreadinessProbe: {httpGet: {path: /x, port: 80}}\n") + envoyContainer
	for metadata, warned := range map[string]bool{"": false, "annotations: {openservicemesh.io/sidecar-injection: disabled}": false} {
		for _, opts := range [][]option{{inOSM}, nil} {
			if _, got := plan(t, podOf(metadata, byEnvoy), opts...).has("osm-injector"); got != warned {
				t.Errorf("%q: warned %t", metadata, got)
			}
		}
	}
}

// With every mode but NONE connections are redirected, so that Envoy needs no listener for a port.
func TestOnlyWithoutRedirectionEnvoyListens(t *testing.T) {
	const sidecar = "---\napiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {name: s, namespace: shop}\nspec:\n  ingress: [{port: {number: 8001}, defaultEndpoint: '0.0.0.0:8001'}]\n"
	for mode, listens := range map[string]bool{"NONE": true, "TPROXY": false, "REDIRECT": false, "none": false} {
		own := goesTo("shop", podOf(webInIstio+"\nannotations: {sidecar.istio.io/interceptionMode: "+mode+", traffic.sidecar.istio.io/excludeInboundPorts: \"8001\"}", app(httpProbe)))
		v := planNear(t, own+sidecar).Probes[0]
		if (v.StrictTLS == world.Fails) != listens || listens && strings.Contains(v.If, "Sidecar") {
			t.Errorf("%s: %+v", mode, v)
		}
	}
}
