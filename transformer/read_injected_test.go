package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// What Kuma's injector makes of probes (v2.14.3): it notes the port of its probe
// proxy, and has the original in the path and in headers.
const kumaInjected = `livenessProbe:
  timeoutSeconds: 3
  httpGet:
    path: /8443/alive?full=1
    port: 9001
    httpHeaders:
    - name: X-Probe
      value: "1"
    - name: X-Kuma-Probes-Host
      value: shop
    - name: X-Kuma-Probes-Scheme
      value: HTTPS
    - name: X-Kuma-Probes-Timeout
      value: "3"
readinessProbe:
  httpGet:
    path: /tcp/9090
    port: 9001
startupProbe:
  httpGet:
    path: /grpc/9000
    port: 9001
    httpHeaders:
    - name: X-Kuma-Probes-GRPC-Service
      value: shop.Cart
`

func TestWhatKumaInjectedIsUnderstood(t *testing.T) {
	const metadata = "labels:\n  kuma.io/sidecar-injection: enabled\nannotations:\n  kuma.io/application-probe-proxy-port: \"9001\"\n"
	in := podOf(metadata, app(kumaInjected)+"- name: kuma-sidecar\n  image: kuma/kuma-dp\n  readinessProbe: {httpGet: {path: /ready, port: 9901}}\n")
	r := plan(t, in)
	wantReason(t, r, "kuma-host") // of the header that Kuma has put aside
	if len(r.Findings) > 1 || !strings.Contains(r.text, "kuma.io/application-probe-proxy-port: \"0\"") || strings.Contains(r.text, "X-Kuma") || strings.Contains(r.text, "port: 9001") {
		t.Errorf("findings %v in\n%s", r.Findings, r.text)
	}
	const want = `{"/app-health/app/livez":{"httpGet":{"path":"/alive?full=1","port":8443,"scheme":"HTTPS"},"timeoutSeconds":3},"/app-health/app/readyz":{"tcpSocket":{"port":9090},"timeoutSeconds":1},"/app-health/app/startupz":{"grpc":{"port":9000,"service":"shop.Cart"},"timeoutSeconds":1}}`
	if r.env() != want {
		t.Errorf("env %s", r.env())
	}
	wantNoEdits(t, plan(t, r.text))
	for _, text := range []string{in, r.text} {
		back := restore(t, text)
		wantParts(t, back.text, "path: /alive?full=1", "scheme: HTTPS", "name: Host\n              value: shop", "name: X-Probe", "tcpSocket:\n            port: 9090", "grpc:\n            port: 9000\n            service: shop.Cart")
		if strings.Contains(back.text, "X-Kuma") || strings.Contains(back.text, "probe-proxy\n") {
			t.Errorf("restored:\n%s", back.text)
		}
	}
	// What goes to the port and is of no form of Kuma's is not guessed at.
	r = plan(t, podOf(metadata, app("livenessProbe: {httpGet: {path: /healthz, port: 9001}}")))
	wantReason(t, r, "dangling")
	if len(r.Edits) > 0 {
		t.Errorf("edits %v", r.Edits)
	}
	// Kuma before 3 may have virtual probes.
	r = plan(t, podOf("annotations: {kuma.io/virtual-probes: enabled, kuma.io/virtual-probes-port: \"9000\"}", app("livenessProbe: {httpGet: {path: /8080/healthz, port: 9000}}")))
	if !strings.Contains(r.env(), `"path":"/healthz","port":8080`) {
		t.Errorf("env %s", r.env())
	}
	// An app's own port 9001 is the app's.
	for _, metadata := range []string{"", "annotations: {kuma.io/application-probe-proxy-port: \"0\"}", "annotations: {kuma.io/application-probe-proxy-port: \"9002\"}",
		"annotations: {kuma.io/virtual-probes-port: \"9001\"}", "annotations: {kuma.io/virtual-probes: enabled, kuma.io/virtual-probes-port: \"9000\"}"} {
		r := plan(t, podOf(metadata, app("livenessProbe: {httpGet: {path: /8080/healthz, port: 9001}}")))
		if !strings.Contains(r.env(), `"path":"/8080/healthz","port":9001`) {
			t.Errorf("%s: env %s", metadata, r.env())
		}
	}
}

func TestWhatConsulInjectedIsUnderstood(t *testing.T) {
	const probes = "ports: [{name: web, containerPort: 8080}]\nlivenessProbe: {httpGet: {path: /a, port: 20300}}\nreadinessProbe: {httpGet: {path: /b, port: 20400}}\nstartupProbe: {tcpSocket: {port: 9090}}"
	metadata := func(original string) string {
		return "annotations:\n  consul.hashicorp.com/connect-inject: \"true\"\n  consul.hashicorp.com/connect-inject-status: injected\n" + original
	}
	in := podOf(metadata(`  consul.hashicorp.com/original-pod: '{"spec":{"containers":[{"name":"other"},{"name":"app","livenessProbe":{"httpGet":{"path":"/a","port":"web"}},"readinessProbe":{"httpGet":{"path":"/b","port":8081}}}]}}'`+"\n"), app(probes))
	r := plan(t, in)
	const want = `{"/app-health/app/livez":{"httpGet":{"path":"/a","port":8080,"scheme":"HTTP"},"timeoutSeconds":1},"/app-health/app/readyz":{"httpGet":{"path":"/b","port":8081,"scheme":"HTTP"},"timeoutSeconds":1},"/app-health/app/startupz":{"tcpSocket":{"port":9090},"timeoutSeconds":1}}`
	if len(r.Findings) > 0 || r.env() != want {
		t.Errorf("findings %v, env %s", r.Findings, r.env())
	}
	wantNoEdits(t, plan(t, r.text))
	wantText(t, restore(t, r.text), strings.NewReplacer("port: 20300", "port: web", "port: 20400", "port: 8081").Replace(in))
	// Without the original, or with one that is not there or cannot be read.
	for _, original := range []string{"", "  consul.hashicorp.com/original-pod: '{'\n", "  consul.hashicorp.com/original-pod: '{\"spec\":{\"containers\":[{\"name\":\"app\"}]}}'\n"} {
		r := plan(t, podOf(metadata(original), app("livenessProbe: {httpGet: {path: /a, port: 20300}}")))
		wantReason(t, r, "dangling")
		if len(r.Edits) > 0 || r.Probes[0].StrictTLS != world.Fails {
			t.Errorf("%+v, edits %v", r.Probes, r.Edits)
		}
		wantReason(t, restore(t, podOf(metadata(original), app("livenessProbe: {httpGet: {path: /a, port: 20300}}"))), "dangling")
	}
	// Each type of probe has 100 ports, one for each container.
	for port, theirs := range map[string]bool{"20299": false, "20300": true, "20399": true, "20400": false} {
		r := plan(t, podOf(metadata("  consul.hashicorp.com/original-pod: '{\"spec\":{\"containers\":[{\"name\":\"app\",\"livenessProbe\":{\"httpGet\":{\"port\":8080}}}]}}'\n"), app("livenessProbe: {httpGet: {path: /a, port: "+port+"}}")))
		want := port
		if theirs {
			want = "8080"
		}
		if !strings.Contains(r.env(), `"port":`+want+`,`) {
			t.Errorf("port %s: env %s", port, r.env())
		}
	}
	// An app's own port is the app's.
	if r := plan(t, podOf("", app("livenessProbe: {httpGet: {path: /a, port: 20300}}"))); !strings.Contains(r.env(), `"port":20300`) {
		t.Errorf("env %s", r.env())
	}
}

// OpenKruise Agents (commit 0b72c83a, pkg/utils/sidecarutils/traffic-proxy) has
// Istio's form, with the originals in the env of istio-proxy.
func TestWhatOpenKruiseAgentsInjectedIsUnderstood(t *testing.T) {
	in := podOf("annotations:\n  networking.agents.kruise.io/health-probe-rewrite: \"true\"\n", app("readinessProbe:\n  httpGet:\n    path: /app-health/app/readyz\n    port: 15020\n")+
		"- name: istio-proxy\n  image: proxyv2\n  env:\n  - name: ISTIO_KUBE_APP_PROBERS\n    value: '{\"/app-health/app/readyz\":{\"grpc\":{\"port\":9000,\"service\":null},\"timeoutSeconds\":2}}'\n")
	if r := plan(t, in); r.Probes[0].Before != "grpc :9000" || r.Probes[0].State != transformer.Rewritten || len(r.Findings) > 0 {
		t.Errorf("%+v, findings %v", r.Probes, r.Findings)
	}
	if back := restore(t, in); !strings.Contains(back.text, "grpc:\n            port: 9000") || !strings.Contains(back.text, "health-probe-rewrite: \"true\"") {
		t.Errorf("got\n%s", back.text)
	}
}
