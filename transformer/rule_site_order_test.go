package transformer_test

import (
	"strings"
	"testing"
)

// Of several reasons to leave a probe alone the first one counts, which says more than the next.
func TestTheFirstReasonOfSeveralIsReported(t *testing.T) {
	const name = "${NAME}"
	of := func(fields string) string { return app("livenessProbe: {" + fields + "}") }
	for _, c := range []struct{ spec, reasons, want string }{
		{of("httpGet: {port: 80, host: a.example, path: '/${PATH}'}"), "host-set variable", "host-set"},
		{of("httpGet: {port: 80, host: a.example, scheme: ftp}"), "host-set scheme-invalid", "host-set"},
		{of("httpGet: {port: 80, scheme: ftp}, timeoutSeconds: -1"), "scheme-invalid timeout-invalid", "scheme-invalid"},
		{of("httpGet: {port: nowhere}, timeoutSeconds: -1"), "timeout-invalid port-unresolved", "timeout-invalid"},
		{of("httpGet: {port: 80, new: 1}, exec: {command: [x]}"), "handler-unknown not-one-handler", "handler-unknown"},
		{strings.ReplaceAll(of("httpGet: {port: 80, host: a.example}"), "name: app", "name: '"+name+"'"), "variable host-set", "variable"},
		{strings.ReplaceAll(of("exec: {command: [x]}, grpc: {port: 80}"), "name: app", "name: istio-proxy"), "not-one-handler proxy-container", "not-one-handler"},
		{strings.ReplaceAll(of("httpGet: {path: /app-health/x/livez, port: 15020}"), "name: app", "name: istio-proxy"), "proxy-container dangling", "proxy-container"},
	} {
		r := plan(t, podOf("", c.spec), answeredBy("probe-proxy"))
		if got := r.Probes[0].Reason.String(); got != c.want {
			t.Errorf("%s: %s, of %s", c.spec, got, c.reasons)
		}
		for _, other := range strings.Fields(c.reasons) {
			if _, told := r.has(other); told && other != c.want {
				t.Errorf("%s: %s is reported too", c.spec, other)
			}
		}
	}
	// A template that is refused anyway is not judged further.
	r := plan(t, podOf("annotations: {rewrite-probes.io/rewrite: maybe}", app(httpProbe)+"- name: probe-proxy\n  image: x\n  ports: [{containerPort: 15099}]\n"), answeredBy("probe-proxy"))
	if got := strings.Join(r.reasons(), " "); got != "annotation-invalid" {
		t.Errorf("%s", got)
	}
}
