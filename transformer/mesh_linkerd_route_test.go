package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// By itself Linkerd lets in the paths of probes only where no route is attached to the Server.
func TestARouteOnTheServerOfAProbeKeepsTheProbeOut(t *testing.T) {
	server := func(spec string) string {
		return "---\napiVersion: policy.linkerd.io/v1beta3\nkind: Server\nmetadata: {name: web, namespace: shop}\nspec: {" + spec + "}\n"
	}
	route := func(parent, rules string) string {
		return "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r, namespace: shop}\nspec: {parentRefs: [{name: web, kind: " + parent + "}], rules: [" + rules + "]}\n"
	}
	const ofWeb, api = "podSelector: {matchLabels: {app: web}}, port: 8080", "{matches: [{path: {value: /api}}]}"
	deployment := goesTo("shop", podOf("labels: {app: web}\nannotations: {linkerd.io/inject: enabled, config.linkerd.io/default-inbound-policy: all-unauthenticated}", app("livenessProbe: {httpGet: {path: /live, port: 8080}}")))
	for _, c := range []struct {
		name, beside string
		fails, may   bool
	}{
		{"nothing is beside it", "", false, false},
		{"a Server without a route", server(ofWeb), false, false},
		{"a route of another path", server(ofWeb) + route("Server", api), true, false},
		{"a route of its path", server(ofWeb) + route("Server", "{matches: [{path: {type: Exact, value: /live}}]}"), true, true},
		{"a route of a prefix", server(ofWeb) + route("Server", "{matches: [{path: {value: /}}]}"), true, true},
		{"a route of all paths", server(ofWeb) + route("Server", "{}"), true, true},
		{"a route of a Service", server(ofWeb) + route("Service", api), false, false},
		{"a route of a Server of another port", server("podSelector: {}, port: 9090") + route("Server", api), false, false},
		{"a route of a Server of other pods", server("podSelector: {matchLabels: {app: other}}, port: 8080") + route("Server", api), false, false},
		{"a route of a Server of no pods", server("externalWorkloadSelector: {}, port: 8080") + route("Server", api), false, false},
	} {
		v := planNear(t, deployment+c.beside).Probes[0]
		if v.State != transformer.WouldRewrite || (v.StrictTLS == world.Fails) != c.fails || (v.If != "") != c.may || c.fails && !strings.Contains(v.Why, "HTTPRoute shop/r at mesh.yaml:") {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}
