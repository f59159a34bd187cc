package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func istioVersion(v string) option { return func(o *transformer.Options) { o.Istio.Version = v } }

// An agent of Istio before 1.25 ends if its env var has the path of a hook.
func TestAnAgentThatKnowsNoHooksAnswersNoPodWithHooks(t *testing.T) {
	const native = "labels: {sidecar.istio.io/inject: \"true\"}\nannotations: {sidecar.istio.io/nativeSidecar: \"true\"%s}\n"
	const hook = "lifecycle: {preStop: {httpGet: {port: 80}}}\n"
	for _, c := range []struct {
		name, annotation, containers string
		version                      string
		by                           string
	}{
		{"nothing is declared", "", app(hook), "", "istio-proxy"},
		{"it knows hooks", "", app(hook), "1.25", "istio-proxy"},
		{"it is newer", "", app(hook), "1.31.2", "istio-proxy"},
		{"it knows none", "", app(hook), "1.24.6", "probe-proxy"},
		{"it is much older", "", app(hook), "1.9", "probe-proxy"},
		{"there is no hook", "", app(httpProbe), "1.24", "istio-proxy"},
		{"the hook is no call", "", app(httpProbe + "lifecycle: {preStop: {exec: {command: [a]}}}\n"), "1.24", "istio-proxy"},
		{"the image of its annotation knows none", ", sidecar.istio.io/proxyImage: \"docker.io:443/istio/proxyv2:1.24.6-distroless\"", app(hook), "1.30", "probe-proxy"},
		{"the image of its annotation knows hooks", ", sidecar.istio.io/proxyImage: \"istio/proxyv2:1.27.0@sha256:0\"", app(hook), "1.24", "istio-proxy"},
		{"the image of its annotation has no version", ", sidecar.istio.io/proxyImage: \"localhost:5000/proxyv2\"", app(hook), "1.24", "probe-proxy"},
		{"its own image knows none", "", app(hook) + "- name: istio-proxy\n  image: istio/proxyv2:1.23.0\n", "", "probe-proxy"},
		{"its own image is drawn", "", app(hook) + "- name: istio-proxy\n  image: auto\n", "", "istio-proxy"},
	} {
		r := plan(t, podOf(strings.Replace(native, "%s", c.annotation, 1), c.containers), istioVersion(c.version))
		if r.Answer.By != c.by || (c.by == "probe-proxy") != strings.Contains(r.Answer.Because, "knows no hooks") {
			t.Errorf("%s: %+v, findings %v", c.name, r.Answer, r.Findings)
		}
	}
	r := plan(t, podOf(strings.Replace(native, "%s", "", 1), app(httpProbe+hook)), answeredBy("istio-proxy"), istioVersion("1.24"))
	f := wantReason(t, r, "proxy-cannot-answer")
	if !strings.Contains(textOf(f), "istio-proxy of Istio 1.24 knows no hooks") || strings.Contains(r.env(), "prestopz") || !strings.Contains(r.env(), "livez") {
		t.Errorf("%s\n%s", textOf(f), r.text)
	}
	// What an earlier run wrote fails as a whole.
	done := plan(t, podOf(strings.Replace(native, "%s", "", 1), app(httpProbe+hook))).text
	for version, want := range map[string]world.Outcome{"1.24": world.Fails, "1.25": world.Unaffected} {
		for _, v := range plan(t, done, istioVersion(version)).Probes {
			if v.StrictTLS != want || v.If != "" || want == world.Fails && !strings.Contains(v.Why, "istio-proxy of Istio 1.24 ends, since it knows no hooks") {
				t.Errorf("%s: %+v", version, v)
			}
		}
	}
}

// Istio's injector leaves hooks as they are before 1.25, and from then on makes httpGet hooks of those with a tcpSocket.
func TestWhatIstiosInjectorMakesOfHooks(t *testing.T) {
	hook := func(name, handler string) string { return "lifecycle: {" + name + ": {" + handler + ": {port: 80}}}\n" }
	sidecar := "initContainers:\n- name: db\n  image: db\n  restartPolicy: Always\n  " + hook("postStart", "tcpSocket") + "containers: [{name: app, image: app}]\n"
	for _, c := range []struct {
		name, spec string
		opts       []option
		want       world.Outcome
		unless     string
	}{
		{"an httpGet hook", app(hook("preStop", "httpGet")), []option{istioVersion("1.25")}, world.Unaffected, ""},
		{"an httpGet hook that stays", app(hook("preStop", "httpGet")), []option{istioVersion("1.24")}, world.Fails, ""},
		{"a tcpSocket hook", app(hook("preStop", "tcpSocket")), nil, world.Unaffected, ""},
		{"a tcpSocket hook that stays fails in no mesh either", app(hook("preStop", "tcpSocket")), []option{istioVersion("1.24")}, world.Unaffected, ""},
		{"a tcpSocket hook at the start, which comes after istio-proxy", app(hook("postStart", "tcpSocket")), []option{nativeSidecars(true)}, world.Unaffected, ""},
		{"a tcpSocket hook at the start, which may come before", app(hook("postStart", "tcpSocket")), nil, world.Fails, "Istio's sidecar is not native, and other containers do not wait for istio-proxy"},
		{"a tcpSocket hook for which the pod waits, before istio-proxy", sidecar, []option{nativeSidecars(false)}, world.Fails, ""},
		{"a tcpSocket hook for which the pod waits, after istio-proxy", sidecar, []option{nativeSidecars(true)}, world.Unaffected, ""},
	} {
		r := plan(t, podOf(injected, c.spec), append(c.opts, injectorRewrites)...)
		if v := r.Probes[0]; v.StrictTLS != c.want || !strings.HasPrefix(v.If, c.unless) || (v.If == "") != (c.unless == "") {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
	r := plan(t, podOf(injected, app(hook("preStop", "tcpSocket"))), istioVersion("1.24"))
	if f := wantReason(t, r, "hook-never-works"); !strings.Contains(textOf(f), "always fails") {
		t.Errorf("got %s", textOf(f))
	}
}

// Istio's injector does not escape what Kubernetes replaces in the values of env vars.
func TestIstiosInjectorWritesAPathThatKubernetesMayChange(t *testing.T) {
	for handler, changes := range map[string]bool{
		"httpGet: {port: 80, path: /a$$b}": true, "httpGet: {port: 80, path: /$(POD_NAME)}": true, "grpc: {port: 80, service: a$$b}": true,
		"httpGet: {port: 80, path: /a$b}": false, "httpGet: {port: 80, path: /a$(b}": false, "grpc: {port: 80}": false, "tcpSocket: {port: 80}": false,
	} {
		v := plan(t, podOf(injected, app("livenessProbe: {"+handler+"}")), injectorRewrites).Probes[0]
		if (v.StrictTLS == world.Fails) != changes || changes && (v.If != "the app answers something else then (unknown: look at the app)" || !strings.Contains(v.Why, "into an env var")) {
			t.Errorf("%s: %+v", handler, v)
		}
		for _, by := range []string{"istio-proxy", "probe-proxy"} { // which both get it escaped
			if r := plan(t, plan(t, podOf(injected, app("livenessProbe: {"+handler+"}")), answeredBy(by)).text, answeredBy(by)); r.Probes[0].StrictTLS != world.Unaffected {
				t.Errorf("%s, answered by %s: %+v", handler, by, r.Probes[0])
			}
		}
	}
}

// In an injected pod no app can listen on the port of Istio's agent.
func TestAProbeOfTheAgentsPortGetsItsAnswers(t *testing.T) {
	const moved = "labels: {sidecar.istio.io/inject: \"true\"}\nannotations: {status.sidecar.istio.io/port: \"15030\"}\n"
	const agent = "istio-proxy's agent listens there"
	for _, c := range []struct {
		name, metadata, probe string
		opts                  []option
		want                  world.Outcome
		unless                string
		warned                bool
	}{
		{"it asks the app", injected, "livenessProbe: {httpGet: {path: /app, port: 15020}}", nil, world.Fails, "", true},
		{"it asks whether the sidecar is ready", injected, "startupProbe: {httpGet: {path: /healthz/ready, port: 15020}}", nil, world.Unaffected, "", false},
		{"it asks for statistics", injected, "livenessProbe: {httpGet: {path: \"/stats/prometheus?a=b\", port: 15020}}", nil, world.Unaffected, "", false},
		{"it asks so with TLS", injected, "livenessProbe: {httpGet: {path: /healthz/ready, scheme: HTTPS, port: 15020}}", nil, world.Fails, "", true},
		{"it asks by gRPC", injected, "livenessProbe: {grpc: {port: 15020}}", nil, world.Fails, "", true},
		{"it connects", injected, "livenessProbe: {tcpSocket: {port: 15020}}", nil, world.FalselyPasses, "", true},
		{"it is a hook", injected, "lifecycle: {preStop: {httpGet: {path: /drain-it, port: 15020}}}", nil, world.FalselyPasses, "", true},
		{"it asks another host", injected, "livenessProbe: {httpGet: {host: a, path: /app, port: 15020}}", nil, world.Unaffected, "", false},
		{"the agent is elsewhere", moved, "livenessProbe: {httpGet: {path: /app, port: 15030}}", nil, world.Fails, "", true},
		{"the agent may be there", "", "livenessProbe: {httpGet: {path: /app, port: 15020}}", nil, world.Fails, "Istio injects its sidecar", true},
		{"no agent is there", "", "livenessProbe: {httpGet: {path: /app, port: 15020}}", []option{injects()}, world.Unaffected, "", false},
	} {
		r := plan(t, podOf(c.metadata, app(c.probe)), append(c.opts, injectorRewritesNothing, answeredBy("probe-proxy"))...)
		v := r.Probes[0]
		_, warned := r.has("aims-at-probe-port")
		if v.StrictTLS != c.want || warned != c.warned || !strings.HasPrefix(v.If, c.unless) || (v.If == "") != (c.unless == "") || (c.want != world.Unaffected) != strings.Contains(v.Why, agent) {
			t.Errorf("%s: %+v, %v", c.name, v, r.Findings)
		}
		if v.State != transformer.LeftAlone {
			t.Errorf("%s: it is %s", c.name, v.State)
		}
	}
}

// Istio's injector does not see by a name that the port is the agent's, which then asks itself.
func TestTheInjectorHasTheAgentAskItselfByName(t *testing.T) {
	const named = "ports: [{name: own, containerPort: 15020}]\nlivenessProbe: {httpGet: {path: "
	for path, want := range map[string]world.Outcome{"/app": world.Fails, "/healthz/ready": world.Unaffected} {
		if v := plan(t, podOf(injected, app(named+path+", port: own}}")), injectorRewrites).Probes[0]; v.StrictTLS != want || v.If != "" {
			t.Errorf("%s: %+v", path, v)
		}
	}
}
