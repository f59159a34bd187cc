package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

const webInIstio = "labels: {app: web, sidecar.istio.io/inject: \"true\"}"

// A policy sees of each probe and hook what the kubelet sends for it, and nothing where that is not known yet.
func TestAPolicySeesWhatTheKubeletSends(t *testing.T) {
	agent := func(name string) string {
		return "when: [{key: 'request.headers[user-agent]', values: ['" + name + "*']}]"
	}
	of := func(attribute, value string) string {
		return "to: [{operation: {" + attribute + ": ['" + value + "']}}]"
	}
	const never, maybe, always = certain.Never, certain.Maybe, certain.Always
	get := func(path, more string) string { return "{httpGet: {path: " + path + ", port: 8001" + more + "}}" }
	for _, c := range []struct {
		site, rule string
		fails      certain.Certainty // if only the rule lets requests in
	}{
		{"readinessProbe: " + get("/foo", ""), agent("kube-probe/1."), never},
		{"readinessProbe: " + get("/foo", ""), agent("kube-lifecycle/1."), always},
		{"lifecycle: {preStop: " + get("/foo", "") + "}", agent("kube-lifecycle/1."), never},
		{"lifecycle: {preStop: " + get("/foo", "") + "}", agent("kube-probe/1."), always},
		{"readinessProbe: {grpc: {port: 8001}}", agent("kube-probe/1."), never},
		{"readinessProbe: {grpc: {port: 8001}}", of("methods", "POST"), never},
		{"readinessProbe: {grpc: {port: 8001}}", of("methods", "GET"), always},
		{"readinessProbe: {grpc: {port: 8001}}", of("paths", "/grpc.health.v1.Health/Check"), never},
		{"readinessProbe: {grpc: {port: 8001}}", of("hosts", "*:8001"), never},
		{"readinessProbe: {grpc: {port: 8001}}", of("ports", "8001"), never},
		{"readinessProbe: {grpc: {port: 8001}}", "when: [{key: 'request.headers[content-type]', values: [application/grpc]}, {key: 'request.headers[te]', values: [trailers]}]", never},
		{"readinessProbe: {grpc: {port: 8001, mode: TLS}}", of("methods", "POST"), always}, // of TLS Envoy sees nothing
		{"readinessProbe: " + get("/foo", ", scheme: HTTPS"), of("methods", "GET"), always},
		{"readinessProbe: " + get("/foo", ", scheme: HTTPS"), of("ports", "8001"), never},
		{"readinessProbe: " + get("/foo", ""), of("hosts", "*:8001"), never},
		{"readinessProbe: " + get("/foo", ""), of("hosts", "*:8002"), always},
		{"readinessProbe: " + get("/foo", ""), of("ports", "8002"), always},
		{"readinessProbe: " + get("foo", ""), of("paths", "/foo"), never},
		{"readinessProbe: " + get("''", ""), of("paths", "/"), never},
		{"readinessProbe: " + get("'/foo?a=b'", ""), of("paths", "/foo"), never},
		{"readinessProbe: " + get("'/a b'", ""), of("paths", "/a%20b"), never},
		{"readinessProbe: " + get("'/foo/${ID}'", ""), of("paths", "/foo/1"), maybe},
		{"readinessProbe: " + get("'/foo/${ID}'", ""), of("paths", "/*"), never},
		{"readinessProbe: " + get("'${PATH}'", ""), of("paths", "/foo"), maybe},
		{"readinessProbe: " + get("/foo", ", httpHeaders: [{name: X-A, value: '${A}'}]"), "when: [{key: 'request.headers[x-a]', values: [b]}]", maybe},
		{"readinessProbe: " + get("/foo", ", httpHeaders: [{name: X-A, value: b}]"), "when: [{key: 'request.headers[x-a]', values: [b]}]", never},
		{"readinessProbe: " + get("/foo", ", httpHeaders: [{name: Host, value: '${HOST}'}]"), of("hosts", "a.example"), maybe},
		{"readinessProbe: {tcpSocket: {port: 8001}}", of("ports", "8002"), always}, // passes falsely
	} {
		own := goesTo("shop", podOf(webInIstio, app(c.site)))
		v := planNear(t, own+authorization("shop/a", "rules: [{"+c.rule+"}]"), mtls("PERMISSIVE"), injectorRewritesNothing).Probes[0]
		is := certain.Of(v.StrictTLS != world.Unaffected)
		if v.If != "" {
			is = certain.Maybe
		}
		if is != c.fails {
			t.Errorf("%s, %s: %+v", c.site, c.rule, v)
		}
		if strings.Contains(v.Why, "?") {
			t.Errorf("%s: a query is in %s", c.site, v.Why)
		}
	}
}

// The injector sends a probe of the port of the mesh's own configuration nowhere else, whatever the pod says. One of the
// port that the pod says is recorded, and the agent asks itself.
func TestAProbeOfTheAgentsPortIsNotRecorded(t *testing.T) {
	for _, c := range []struct {
		status, port string
		fails        bool
	}{{"15020", "15020", true}, {"15031", "15020", true}, {"15031", "15031", true}, {"15020", "15031", false}} {
		metadata := strings.TrimSuffix(webInIstio, "\n") + "\nannotations: {status.sidecar.istio.io/port: \"" + c.status + "\"}"
		v := plan(t, podOf(metadata, app("livenessProbe: {httpGet: {path: /x, port: "+c.port+"}}")), injectorRewrites).Probes[0]
		if (v.StrictTLS == world.Fails) != c.fails || c.port == "15020" && !strings.Contains(v.Why, "it asks port 15020 already") {
			t.Errorf("%+v: %+v", c, v)
		}
	}
}

// A gRPC probe over TLS is as one of HTTPS: where a Service declares HTTP of any version, Envoy expects no TLS.
func TestAGRPCProbeOverTLSFailsOnAPortThatIsHTTP(t *testing.T) {
	for name, fails := range map[string]bool{"http": true, "http2": true, "grpc-x": true, "tls": false, "tcp": false, "any": false} {
		for _, probe := range []string{"grpc: {port: 80, mode: TLS}", "httpGet: {port: 80, scheme: HTTPS}"} {
			yaml := goesTo("shop", podOf(webInIstio, app("livenessProbe: {"+probe+"}"))) + "---\n" + service("selector: {app: web}", "ports: [{name: "+name+", port: 80}]")
			v := planNear(t, yaml, mtls("PERMISSIVE"), injectorRewritesNothing).Probes[0]
			if (v.StrictTLS == world.Fails) != fails || fails && !strings.Contains(v.Why, "which istio-proxy then expects instead of TLS") {
				t.Errorf("%s, %s: %+v", name, probe, v)
			}
		}
	}
}

// Of two labels that put a pod into the mesh, that of a revision is named, and a hook with a Host header is no probe.
func TestTheLabelThatDecidesIsNamed(t *testing.T) {
	for labels, want := range map[string]string{
		"{sidecar.istio.io/inject: \"true\", istio.io/rev: a}": "the label `istio.io/rev: a`", "{sidecar.istio.io/inject: \"true\"}": "the label `sidecar.istio.io/inject: true`",
		"{istio.io/rev: \"\", sidecar.istio.io/inject: \"true\"}": "the label `sidecar.istio.io/inject: true`",
	} {
		if r := plan(t, podOf("labels: "+labels, app(httpProbe))); !strings.Contains(r.Known, want) {
			t.Errorf("%s: %s", labels, r.Known)
		}
	}
	r := plan(t, podOf("labels: {kuma.io/sidecar-injection: enabled}", app("lifecycle: {preStop: {httpGet: {port: 80, httpHeaders: [{name: Host, value: shop}]}}}")))
	if _, warned := r.has("kuma-host"); warned || len(r.Edits) == 0 {
		t.Errorf("%v, %+v", r.Findings, r.Probes)
	}
}
