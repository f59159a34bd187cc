package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

var byEnvoy = []option{inOSM, answeredBy("envoy")}

// envoyData returns the static resources of a plan.
func envoyData(t *testing.T, r result) string {
	t.Helper()
	if r.Companion == nil || r.Companion.Value == nil {
		t.Fatalf("the workload has no companion: %+v", r.Plan)
	}
	data, _ := r.Companion.Value.Get("data")
	text, _ := data.(field.Map).Get("envoy.json")
	return text.(string)
}

func TestEnvoyIsToldByAConfigMapAndTheTemplateKeepsTheOriginals(t *testing.T) {
	before := pod("", app("livenessProbe:\n  httpGet:\n    path: /liveness\n    port: 14001\n  timeoutSeconds: 7\n"))
	r := plan(t, before, byEnvoy...)
	wantText(t, r, `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    metadata:
      annotations:
        rewrite-probes.io/osm-probers: '{"/osm-liveness-probe":{"httpGet":{"path":"/liveness","port":14001,"scheme":"HTTP"},"timeoutSeconds":7}}'
    spec:
      containers:
      - name: app
        image: app
        livenessProbe:
          httpGet:
            path: /osm-liveness-probe
            port: 15901
          timeoutSeconds: 7
`)
	want := `{"static_resources":{"listeners":[{"name":"liveness_listener","address":{"socket_address":{"address":"0.0.0.0","port_value":15901}},` +
		`"filter_chains":[{"filters":[{"name":"envoy.filters.network.http_connection_manager","typed_config":{"@type":"type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",` +
		`"stat_prefix":"health_probes_http","route_config":{"name":"local_route","virtual_hosts":[{"name":"local_service","domains":["*"],"routes":[{"match":{"path":"/osm-liveness-probe"},` +
		`"route":{"cluster":"liveness_cluster","prefix_rewrite":"/liveness","timeout":"7s"}}]}]},"http_filters":[{"name":"envoy.filters.http.router","typed_config":{"@type":"type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}]}}]}]}],` +
		`"clusters":[{"name":"liveness_cluster","type":"STATIC","connect_timeout":"1s","load_assignment":{"cluster_name":"liveness_cluster","endpoints":[{"lb_endpoints":[{"endpoint":{"address":{"socket_address":{"address":"127.0.0.1","port_value":14001}}}}]}]}}]}}`
	if got := envoyData(t, r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if r.Companion.Kind != "ConfigMap" || r.Companion.Name != "deployment-web-envoy-probes" {
		t.Errorf("companion %+v", r.Companion)
	}
	again := plan(t, r.text, byEnvoy...)
	if len(again.Edits) != 0 || envoyData(t, again) != want {
		t.Errorf("a second run edits %v", again.Edits)
	}
	back := restore(t, r.text)
	wantText(t, back, before)
	if back.Companion == nil || back.Companion.Value != nil || back.Companion.Name != "deployment-web-envoy-probes" {
		t.Errorf("the ConfigMap must go: %+v", back.Companion)
	}
}

func TestHTTPSGoesThroughEnvoyAsTCP(t *testing.T) {
	data := envoyData(t, plan(t, pod("", app("livenessProbe: {httpGet: {path: /x, port: 8443, scheme: HTTPS}}")), byEnvoy...))
	if !strings.Contains(data, `"filter_chains":[{"filters":[{"name":"envoy.filters.network.tcp_proxy","typed_config":{"@type":"type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy","stat_prefix":"health_probes","cluster":"liveness_cluster"}}]}]`) || strings.Contains(data, "listener_filters") {
		t.Errorf("got %s", data)
	}
}

func TestHTTPAndHTTPSOfOneTypeAreToldApartByEnvoy(t *testing.T) {
	data := envoyData(t, plan(t, pod("", app("livenessProbe: {httpGet: {path: /x, port: 8443, scheme: HTTPS}}")+"- name: b\n  image: b\n  livenessProbe: {httpGet: {path: /b, port: 80}}\n"), byEnvoy...))
	wantParts(t, data, "tls_inspector", `"filter_chain_match":{"transport_protocol":"tls"}`, `"cluster":"liveness_cluster_8443"`, `"cluster":"liveness_cluster_80"`, `"path":"/osm-liveness-probe"`)
}

func TestTCPProbesAreAnsweredByOSMHealthcheckBesideEnvoy(t *testing.T) {
	r := plan(t, pod("", app("livenessProbe: {tcpSocket: {port: 14001}}")), byEnvoy...)
	if r.Companion != nil || !strings.Contains(r.text, "- name: osm-healthcheck\n") || strings.Contains(r.text, "annotations:") ||
		osmEnv(r) != `{"/osm-liveness-probe/app":{"tcpSocket":{"port":14001},"timeoutSeconds":1}}` {
		t.Errorf("companion %v in\n%s", r.Companion, r.text)
	}
	both := plan(t, pod("", app("livenessProbe: {tcpSocket: {port: 14001}}\nreadinessProbe: {httpGet: {port: 80}}")), byEnvoy...)
	if both.Companion == nil || osmEnv(both) != osmEnv(r) {
		t.Errorf("env %s in\n%s", osmEnv(both), both.text)
	}
}

func TestTheProxyThatAnswersMayDeclareItsPorts(t *testing.T) {
	spec := app("livenessProbe: {httpGet: {port: 80}}") + "- name: envoy\n  image: envoy\n  ports: [{containerPort: 15901}]\n"
	if r := plan(t, pod("", spec), byEnvoy...); len(r.Findings) != 0 || r.Companion == nil {
		t.Errorf("findings %v", r.Findings)
	}
	wantReason(t, plan(t, pod("", spec), inOSM), "port-taken")
}

func TestASidecarThatStartsBeforeEnvoyIsLeftAlone(t *testing.T) {
	r := plan(t, pod("", "initContainers:\n- name: i\n  image: i\n  restartPolicy: Always\n  livenessProbe: {httpGet: {port: 80}}\n  startupProbe: {tcpSocket: {port: 81}}\n"+app("")), byEnvoy...)
	f := wantReason(t, r, "starts-before-answerer")
	if !strings.Contains(f.Message, "answeredBy: probe-proxy") || !strings.Contains(r.text, "/osm-healthcheck") {
		t.Errorf("%s in\n%s", f.Message, r.text)
	}
}

func TestAnAnnotationOfOriginalsThatCannotBeReadIsAnError(t *testing.T) {
	for _, v := range []string{"[", `{"/x": {"httpGet": {"port": 1}}}`} {
		r := plan(t, pod("annotations: {rewrite-probes.io/osm-probers: '"+v+"'}", app(httpProbe)))
		wantReason(t, r, "env-unreadable")
		if r.Companion != nil {
			t.Errorf("companion %+v", r.Companion)
		}
	}
}

func TestWhatNoLongerNeedsEnvoyTakesItsConfigMapAway(t *testing.T) {
	r := plan(t, pod("", app(httpProbe)), byEnvoy...)
	for name, opts := range map[string][]option{"istio": nil, "probe-proxy": {inOSM}} {
		if b := plan(t, r.text, opts...).Companion; b == nil || b.Value != nil {
			t.Errorf("%s: companion %+v", name, b)
		}
	}
	var none *transformer.Companion
	if b := plan(t, pod("", app(httpProbe))).Companion; b != none {
		t.Errorf("companion %+v", b)
	}
}

// TestEnvoyAnswersByPathWhateverSortsBefore: a probe that is passed through may
// have a key before or after those that are told apart by path.
func TestEnvoyAnswersByPathWhateverSortsBefore(t *testing.T) {
	for _, tls := range []string{"a", "b", "c"} {
		spec := "containers:\n"
		for _, name := range []string{"a", "b", "c"} {
			scheme := ""
			if name == tls {
				scheme = ", scheme: HTTPS"
			}
			spec += "- name: " + name + "\n  image: x\n  livenessProbe: {httpGet: {path: /of-" + name + ", port: 8080" + scheme + "}}\n"
		}
		data := envoyData(t, plan(t, pod("", spec), byEnvoy...))
		for _, name := range []string{"a", "b", "c"} {
			route := `{"match":{"path":"/osm-liveness-probe/` + name + `"},"route":{"cluster":"liveness_cluster","prefix_rewrite":"/of-` + name + `","timeout":"1s"}}`
			if strings.Contains(data, route) == (name == tls) {
				t.Errorf("TLS for %s: the route of %s is there: %t in\n%s", tls, name, name == tls, data)
			}
		}
		if !strings.Contains(data, `"filter_chain_match":{"transport_protocol":"tls"}`) {
			t.Errorf("TLS for %s is not passed through:\n%s", tls, data)
		}
	}
}

func TestABareSpecHasNoPlaceForWhatEnvoysOriginalsNeed(t *testing.T) {
	bare := "apiVersion: example.com/v1\nkind: Bare\nmetadata:\n  name: b\nspec:\n" + indent("pod:", app(httpProbe), 2)
	r := plan(t, bare, byEnvoy...)
	if f := wantReason(t, r, "annotations-unknown"); !strings.Contains(f.Message, "rewrite-probes.io/osm-probers") || r.text != bare {
		t.Errorf("%s in\n%s", f.Message, r.text)
	}
	if r := plan(t, bare, inOSM); len(r.Findings) > 0 || len(r.Edits) == 0 {
		t.Errorf("probe-proxy needs no annotation: findings %v", r.Findings)
	}
}

func TestOptingOutRestoresWhatOnlyAnAnnotationHolds(t *testing.T) {
	const optOut = "  annotations: {rewrite-probes.io/rewrite: \"false\"}\n"
	before := pod("", app(httpProbe))
	r := plan(t, before, byEnvoy...)
	off := func(text string) string { return strings.Replace(text, "  name: web\n", "  name: web\n"+optOut, 1) }
	got := plan(t, off(r.text), byEnvoy...)
	wantText(t, got, off(before))
	if f := wantReason(t, got, "opt-out"); !strings.Contains(f.Message, "its probes are restored") {
		t.Errorf("%q", f.Message)
	}
}
