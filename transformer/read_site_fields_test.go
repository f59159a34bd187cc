package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// TestFieldsOfNewerKubernetesGoThereAndBack: they are carried in the env var,
// and the rewritten request does not have them.
func TestFieldsOfNewerKubernetesGoThereAndBack(t *testing.T) {
	yaml := podOf("", app(`
livenessProbe:
  grpc:
    port: 8001
    mode: TLS
readinessProbe:
  httpGet:
    path: /ready
    port: 8002
    protocol: HTTP2
startupProbe:
  grpc:
    port: 8003
    service: a.B
    mode: Plaintext
lifecycle:
  preStop:
    httpGet:
      path: /stop
      port: 8004
      protocol: HTTP2
`))
	r := plan(t, yaml)
	const want = `{"/app-health/app/livez":{"grpc":{"port":8001,"service":"","mode":"TLS"},"timeoutSeconds":1},` +
		`"/app-health/app/readyz":{"httpGet":{"path":"/ready","port":8002,"scheme":"HTTP","protocol":"HTTP2"},"timeoutSeconds":1},` +
		`"/app-health/app/startupz":{"grpc":{"port":8003,"service":"a.B","mode":"Plaintext"},"timeoutSeconds":1},` +
		`"/app-lifecycle/app/prestopz":{"httpGet":{"path":"/stop","port":8004,"scheme":"HTTP","protocol":"HTTP2"}}}`
	if r.env() != want {
		t.Errorf("env %s\nwant %s", r.env(), want)
	}
	if strings.Contains(r.text, "protocol:") || strings.Contains(r.text, "mode:") {
		t.Errorf("a rewritten request asks for more than HTTP:\n%s", r.text)
	}
	wantText(t, restore(t, r.text), yaml)
	if again := plan(t, r.text); len(again.Edits)+len(again.Findings) != 0 {
		t.Errorf("again: %v %v", again.Edits, again.Findings)
	}
	// Istio's proxy makes neither; the kubelet itself ignores the
	// protocol of a hook.
	for name, c := range map[string]struct {
		opts []option
		left []string
	}{
		"istio-proxy": {[]option{answeredBy("istio-proxy"), injectorRewritesNothing}, []string{"readinessProbe", "livenessProbe"}},
	} {
		got := plan(t, r.text, c.opts...)
		var left []string
		for _, v := range got.Probes {
			if v.Reason.String() == "proxy-cannot-answer" {
				left = append(left, v.Field[len(v.Field)-1].Key)
			}
		}
		if strings.Join(left, " ") != strings.Join(c.left, " ") {
			t.Errorf("%s: left alone are %v, want %v", name, left, c.left)
		}
		wantText(t, restore(t, got.text, c.opts...), yaml)
	}
	// Istio's injector may rewrite those two, so it is not told to stop.
	refused := plan(t, yaml, answeredBy("istio-proxy"))
	if wantReason(t, refused, "rewriter-needed"); refused.text != yaml {
		t.Errorf("got\n%s", refused.text)
	}
	// In an injected pod probe-proxy answers, which makes both.
	auto := plan(t, namespace("istio-injection: enabled", "")+yaml)
	if auto.Answer.By != "probe-proxy" || !strings.Contains(auto.Answer.Because, "istio-proxy cannot make the readinessProbe") || len(auto.Findings) > 0 {
		t.Errorf("%+v, findings %v", auto.Answer, auto.Findings)
	}
}

// TestAHandlerWithWhatWeDoNotKnowIsLeftAlone: a field at any depth, or a value.
func TestAHandlerWithWhatWeDoNotKnowIsLeftAlone(t *testing.T) {
	for _, c := range []struct{ probe, field, reason string }{
		{"{httpGet: {port: 8001, novel: 1}}", "httpGet.novel", "handler-unknown"},
		{"{httpGet: {port: 8001, httpHeaders: [{name: A, value: b}, {name: A, valueFrom: {}}]}}", "httpGet.httpHeaders[1].valueFrom", "handler-unknown"},
		{"{tcpSocket: {port: 8001, novel: {}}}", "tcpSocket.novel", "handler-unknown"},
		{"{grpc: {port: 8001, novel: x}}", "grpc.novel", "handler-unknown"},
		{"{udpSocket: {port: 8001}}", "udpSocket", "handler-unknown"},
		{"{httpGet: {port: 8001}, novel: {}}", "novel", "handler-unknown"},
		{"{grpc: {port: 8001, mode: QUIC}}", "grpc.mode", "handler-unknown"},
		{"{httpGet: {port: 8001, protocol: HTTP3}}", "httpGet.protocol", "handler-unknown"},
		{"{httpGet: {port: 8001, scheme: HTTPS, protocol: HTTP2}}", "httpGet.protocol", "handler-unknown"},
		{"{httpGet: {port: 8001}, timeoutSeconds: 2147483648}", "timeoutSeconds", "timeout-invalid"},
		{"{httpGet: {port: 8001}, timeoutSeconds: -1}", "timeoutSeconds", "timeout-invalid"},
	} {
		yaml := podOf("", app("livenessProbe: "+c.probe))
		r := plan(t, yaml)
		if f := wantReason(t, r, c.reason); f.Field.String() != tmpl+"livenessProbe."+c.field || f.Severity != transformer.Warning {
			t.Errorf("%s: %s at %s", c.probe, f.Severity, f.Field)
		}
		if len(r.Edits) > 0 || r.Probes[0].State != transformer.LeftAlone {
			t.Errorf("%s: %v %+v", c.probe, r.Edits, r.Probes[0])
		}
	}
	for _, known := range []string{
		"{httpGet: {port: 8001, novel: null, httpHeaders: [{name: A, value: b}], scheme: HTTP, path: /, host: null, protocol: HTTP1}}",
		"{tcpSocket: {port: 8001}, udpSocket: null, initialDelaySeconds: 1, timeoutSeconds: 0, periodSeconds: 1, successThreshold: 1, failureThreshold: 1, terminationGracePeriodSeconds: 1}",
	} {
		if r := plan(t, podOf("", app("livenessProbe: "+known))); r.Probes[0].State != transformer.WouldRewrite {
			t.Errorf("%s: %+v", known, r.Probes[0])
		}
	}
}
