package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

var inOSM = inMesh("osm")

func init() {
	configurations["osm"] = []option{inOSM}
}

// What a pod becomes in Open Service Mesh. The first three are the examples of its documentation.
func TestProbesGetTheFormOfOpenServiceMesh(t *testing.T) {
	const b = "- name: b\n  image: b\n"
	for _, c := range []struct {
		name, spec string
		want       []string
	}{
		{"an HTTP probe", app("livenessProbe: {httpGet: {path: /liveness, port: 14001, scheme: HTTP}}"),
			[]string{"livenessProbe: {httpGet: {path: /osm-liveness-probe, port: 15901, scheme: HTTP}}"}},
		{"an HTTPS probe", app("livenessProbe: {httpGet: {path: /liveness, port: 14001, scheme: HTTPS}}"),
			[]string{"livenessProbe: {httpGet: {path: /liveness, port: 15901, scheme: HTTPS}}"}},
		{"a tcpSocket probe", app("livenessProbe: {tcpSocket: {port: 14001}}"),
			[]string{`livenessProbe: {httpGet: {path: /osm-healthcheck, port: 15904, scheme: HTTP, httpHeaders: [{name: Original-Tcp-Port, value: "14001"}]}}`}},
		{"each type has a port", app("ports: [{name: web, containerPort: 80}]\nreadinessProbe: {httpGet: {path: /r, port: web, httpHeaders: [{name: A, value: b}]}, timeoutSeconds: 3}\nstartupProbe: {httpGet: {port: 443, scheme: HTTPS}}"),
			[]string{"readinessProbe: {httpGet: {path: /osm-readiness-probe, port: 15902, httpHeaders: [{name: A, value: b}]}, timeoutSeconds: 3}", "startupProbe: {httpGet: {port: 15903, scheme: HTTPS}}"}},
		{"several containers", app("livenessProbe: {httpGet: {path: /l, port: 80}}\nreadinessProbe: {httpGet: {path: /r, port: 80}}") + b + "  livenessProbe: {httpGet: {path: /b, port: 81}}\n",
			[]string{"{path: /osm-liveness-probe/app, port: 15901}", "{path: /osm-liveness-probe/b, port: 15901}", "{path: /osm-readiness-probe, port: 15902}"}},
		{"two tcpSocket probes of one port", app("livenessProbe: {tcpSocket: {port: 80}, timeoutSeconds: 2}\nreadinessProbe: {tcpSocket: {port: 80}}") + b + "  livenessProbe: {tcpSocket: {port: 80}}\n  startupProbe: {tcpSocket: {port: 81}}\n",
			[]string{`value: "80"}]}, timeoutSeconds: 2`, `value: "81"}]}`}},
		{"HTTPS at two ports", app("readinessProbe: {httpGet: {path: /r, port: 14443, scheme: HTTPS}}") + b + "  readinessProbe: {httpGet: {path: /b, port: 8443, scheme: HTTPS}}\n",
			[]string{"{path: /r, port: 15902, scheme: HTTPS}", "{path: /app-health/b/readyz, port: 15904, scheme: HTTP}"}},
		{"HTTP and HTTPS", app("readinessProbe: {httpGet: {path: /r, port: 80}}") + b + "  readinessProbe: {httpGet: {path: /b, port: 8443, scheme: HTTPS}}\n",
			[]string{"{path: /osm-readiness-probe, port: 15902}", "{path: /b, port: 15902, scheme: HTTPS}"}},
		{"what the form has nothing for", app("livenessProbe: {grpc: {port: 9000}}\nlifecycle: {preStop: {httpGet: {path: /stop, port: 14001}}}"),
			[]string{"livenessProbe: {httpGet: {path: /app-health/app/livez, port: 15904}}", "preStop: {httpGet: {path: /app-lifecycle/app/prestopz, port: 15904}}"}},
		{"HTTP/2", app("livenessProbe: {httpGet: {path: /l, port: 80, protocol: HTTP2}}"), []string{"{path: /osm-liveness-probe, port: 15901}"}},
	} {
		before := podOf("", c.spec)
		r := plan(t, before, inOSM)
		wantParts(t, r.text, append(c.want, "- \"--port=15904\"\n", "- \"--form=osm\"\n", "- wait\n              - \"--port=15904\"\n")...)
		if r.env() != plan(t, before).env() || strings.Contains(r.text, " annotations:") && !strings.Contains(r.text, "rewrite-probes.io/originals") {
			t.Errorf("%s: env %s in\n%s", c.name, r.env(), r.text)
		}
		if len(r.Findings) > 0 || r.Answer.Port != 15904 || r.Answer.Mesh != "Open Service Mesh" {
			t.Errorf("%s: findings %v, answer %+v", c.name, r.Findings, r.Answer)
		}
		again := plan(t, r.text, inOSM)
		wantNoEdits(t, again)
		for _, v := range again.Probes {
			if v.State != transformer.Rewritten || v.StrictTLS != world.Unaffected {
				t.Errorf("%s: %+v", c.name, v)
			}
		}
		wantText(t, restore(t, r.text), before)
		elsewhere := plan(t, before, inMesh("linkerd")).text
		if there, back := plan(t, r.text, inMesh("linkerd")).text, plan(t, elsewhere, inOSM).text; sortedLines(there) != sortedLines(elsewhere) || sortedLines(back) != sortedLines(r.text) {
			t.Errorf("%s: from this mesh to another\n%s\nand back\n%s", c.name, there, back)
		}
	}
}

// The flag may have its value in the next argument, and its other value is Istio's form.
func TestTheFormOfOSMIsKnownByItsFlag(t *testing.T) {
	before := podOf("", app("livenessProbe: {httpGet: {path: /l, port: 80}}\nreadinessProbe: {tcpSocket: {port: 81}}"))
	rewritten := plan(t, before, inOSM).text
	for args, known := range map[string]bool{"\"--form=osm\"": true, "--form\n        - osm": true, "--form\n        - istio": false, "\"--form=istio\"": false, "--form": false} {
		text := strings.Replace(rewritten, "\"--form=osm\"", args, 1)
		r := restore(t, text)
		if known {
			wantText(t, r, before)
		} else if r.text != text || len(r.Findings) == 0 {
			t.Errorf("%q: %v in\n%s", args, r.Findings, r.text)
		}
	}
}

// In Flomesh nothing but probe-proxy reads the form.
func TestInFlomeshEverythingIsRewrittenToOnePort(t *testing.T) {
	before := podOf("", app("readinessProbe: {httpGet: {path: /r, port: 14443, scheme: HTTPS}}\nlivenessProbe: {httpGet: {path: /l, port: 14001}}\nstartupProbe: {tcpSocket: {port: 14001}}"))
	r := plan(t, before, inMesh("fsm"))
	wantParts(t, r.text,
		"readinessProbe: {httpGet: {path: /app-health/app/readyz, port: 15904, scheme: HTTP}}",
		"livenessProbe: {httpGet: {path: /app-health/app/livez, port: 15904}}",
		"startupProbe: {httpGet: {path: /app-health/app/startupz, port: 15904}}",
		"- \"--port=15904\"\n",
	)
	if strings.Contains(r.text, "--form") || len(r.Findings) > 0 {
		t.Errorf("%v in\n%s", r.Findings, r.text)
	}
}

// What was edited since is refused, or is a probe whose original is the edited one: no original is
// lost.
func TestNoOriginalOfTheFormOfOSMIsLost(t *testing.T) {
	const probes = "livenessProbe: {httpGet: {path: /l, port: 80}}\nreadinessProbe: {httpGet: {path: /r, port: 443, scheme: HTTPS}}\nstartupProbe: {tcpSocket: {port: 81}}"
	rewritten := plan(t, podOf("", app(probes)), inOSM).text
	for _, c := range []struct{ was, is, reason string }{
		{"path: /osm-liveness-probe, port: 15901", "path: /osm-liveness-prob, port: 15901", "originals-ambiguous"},
		{"path: /osm-liveness-probe, port: 15901", "path: /osm-liveness-probe, port: 80", "originals-ambiguous"},
		{"path: /osm-liveness-probe, port: 15901", "path: /osm-liveness-probe/other, port: 15901", "originals-ambiguous"},
		{"path: /osm-liveness-probe, port: 15901", "path: /osm-readiness-probe, port: 15901", "originals-ambiguous"},
		{"path: /r, port: 15902", "path: /new, port: 15902", "originals-ambiguous"},
		{`value: "81"`, `value: "82"`, "originals-ambiguous"},
		{"livenessProbe: {httpGet: {path: /osm-liveness-probe, port: 15901}}", "livenessProbe: {exec: {command: [x]}}", "original-replaced"},
	} {
		text := strings.Replace(rewritten, c.was, c.is, 1)
		for _, r := range []result{restore(t, text), plan(t, text, inOSM), plan(t, text)} {
			if r.text != text {
				t.Errorf("%s: changed to\n%s", c.is, r.text)
			}
			wantReason(t, r, c.reason)
		}
	}
	// A renamed container keeps what its old name has, and the header's name is of any case.
	for _, edited := range []string{
		strings.Replace(rewritten, "- name: app", "- name: new", 1), strings.Replace(rewritten, "Original-Tcp-Port", "ORIGINAL-TCP-PORT", 1),
		strings.Replace(rewritten, "/osm-liveness-probe,", "/osm-liveness-probe/app,", 1),
	} {
		want := podOf("", app(probes))
		if strings.Contains(edited, "name: new") {
			want = strings.Replace(want, "- name: app", "- name: new", 1)
		}
		wantText(t, restore(t, edited), want)
	}
}

// What the mesh's injector or its author left to an Envoy in the pod works, and is left alone.
func TestWhatAnEnvoyInThePodAnswersIsLeftAlone(t *testing.T) {
	const envoy = "- name: envoy\n  image: envoyproxy/envoy:v1.25\n"
	probes := app("livenessProbe: {httpGet: {path: /osm-liveness-probe/app, port: 15901, scheme: HTTP}}\nreadinessProbe: {httpGet: {path: /osm-healthcheck, port: 15904, httpHeaders: [{name: Original-TCP-Port, value: \"14001\"}]}}\nstartupProbe: {httpGet: {path: /s, port: 15903, scheme: HTTPS}}")
	for _, metadata := range []string{"", "annotations: {openservicemesh.io/sidecar-injection: enabled}"} {
		for _, opts := range [][]option{nil, {inOSM}} {
			before := podOf(metadata, probes+envoy)
			r := plan(t, before, opts...)
			wantText(t, r, before)
			for _, v := range r.Probes {
				if v.State != transformer.LeftAlone || v.Reason != reason.PortNotCaptured || v.StrictTLS != world.Unaffected {
					t.Errorf("%+v, %v", v, r.Findings)
				}
			}
		}
	}
	// Nothing answers where there is no Envoy.
	if r := plan(t, podOf("", probes), inOSM); r.Probes[1].Reason != reason.Dangling || r.Probes[1].StrictTLS != world.Fails {
		t.Errorf("%+v", r.Probes)
	}
	// Envoy and probe-proxy cannot both listen there.
	r := plan(t, podOf("", probes+envoy+"- name: b\n  image: b\n  livenessProbe: {grpc: {port: 9000}}\n"), inOSM)
	wantReason(t, r, "port-taken")
}

func TestWhatOSMDoesNotCaptureIsLeftAlone(t *testing.T) {
	for name, yaml := range map[string]string{
		"excluded":  podOf("annotations: {openservicemesh.io/inbound-port-exclusion-list: \"70, 80\"}", app("livenessProbe: {httpGet: {port: 80}}")),
		"metrics":   podOf("", app("livenessProbe: {httpGet: {port: 15010}}")),
		"disabled":  podOf("annotations: {openservicemesh.io/sidecar-injection: disabled}", app("livenessProbe: {httpGet: {port: 80}}")),
		"namespace": namespace("", "openservicemesh.io/sidecar-injection: \"no\"") + inNamespace(podOf("", app("livenessProbe: {httpGet: {port: 80}}"))),
	} {
		if r := plan(t, yaml, inOSM); r.text != yaml || r.Probes[0].StrictTLS != world.Unaffected {
			t.Errorf("%s: %+v in\n%s", name, r.Probes[0], r.text)
		}
	}
}

func TestTheInjectorOfOSMIsWarnedOf(t *testing.T) {
	const on = "openservicemesh.io/sidecar-injection: enabled"
	wantReason(t, plan(t, podOf("annotations: {"+on+"}", app(httpProbe)), inOSM), "osm-injector")
	wantReason(t, plan(t, namespace("", on)+inNamespace(podOf("", app(httpProbe))), inOSM), "osm-injector")
	if r := plan(t, podOf("annotations: {"+on+"}", app("")), inOSM); len(r.Findings) != 0 {
		t.Errorf("nothing to rewrite, and %v", r.Findings)
	}
	// A container of ours is not OSM's proxy, whatever its name.
	ours := plan(t, podOf("annotations: {x: y}", app(httpProbe)), func(o *transformer.Options) { o.ProbeProxy.Name = "envoy" })
	marked := strings.Replace(ours.text, "{x: y", "{"+on, 1)
	wantText(t, plan(t, marked, inOSM), podOf("annotations: {"+on+"}", app(httpProbe)))
	wantReason(t, plan(t, podOf("annotations: {openservicemesh.io/inbound-port-exclusion-list: x}", app(httpProbe)), inOSM), "port-list-invalid")
}

func TestAPortOfOSMThatTheAppHasIsAnError(t *testing.T) {
	f := wantReason(t, plan(t, podOf("", app(httpProbe+"ports: [{containerPort: 15904}]")), inOSM), "port-taken")
	if strings.Contains(textOf(f), "functionConfig") {
		t.Errorf("%s, but the port cannot be configured", textOf(f))
	}
	wantReason(t, plan(t, podOf("", app(httpProbe+"ports: [{containerPort: 15902}]")), inOSM), "port-taken")
	wantReason(t, plan(t, podOf("", app(httpProbe+"readinessProbe: {tcpSocket: {port: 15902}}")), inOSM), "port-taken")
	if r := plan(t, podOf("", app(httpProbe+"ports: [{containerPort: 15902}]")), inMesh("fsm")); len(r.Findings) > 0 || len(r.Edits) == 0 {
		t.Errorf("findings %v", r.Findings)
	}
}

func TestOptionsThatOSMCannotHaveAreRefused(t *testing.T) {
	for want, opt := range map[string]option{
		"in this mesh it is always 15904":                                port(15098),
		"must be auto, probe-proxy, envoy or app with `mesh: osm`":       answeredBy("istio-proxy"),
		"\"1500\" must not be the id of Open Service Mesh's own proxy":   func(o *transformer.Options) { o.ProbeProxy.SecurityContext = mapOf("runAsUser", 1500) },
		"\"ISTIO_KUBE_APP_PROBERS\" is written by rewrite-probes itself": func(o *transformer.Options) { o.ProbeProxy.Env = listOf(mapOf("name", "ISTIO_KUBE_APP_PROBERS")) },
		"\"envoy\" is the name of Open Service Mesh's own sidecar":       func(o *transformer.Options) { o.ProbeProxy.Name = "envoy" },
	} {
		if _, err := transformer.New(options(inOSM, opt)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v must have %q", err, want)
		}
	}
}

// The tests below are named for mistakes of Open Service Mesh's own injector.

func TestAnUnresolvedPortNameDoesNotBecomePortZero(t *testing.T) {
	before := podOf("", app("livenessProbe: {httpGet: {port: web}}\nreadinessProbe: {tcpSocket: {port: web}}"))
	r := plan(t, before, inOSM)
	wantReason(t, r, "port-unresolved")
	wantText(t, r, before)
}

func TestTimeoutsAreNotClampedToASecond(t *testing.T) {
	r := plan(t, podOf("", app("livenessProbe: {httpGet: {port: 80}, timeoutSeconds: 30}\nreadinessProbe: {tcpSocket: {port: 80}, timeoutSeconds: 20}")), inOSM)
	if env := r.env(); !strings.Contains(env, `"timeoutSeconds":30`) || !strings.Contains(env, `"timeoutSeconds":20`) || strings.Count(r.text, "timeoutSeconds: ") != 2 {
		t.Errorf("env %s in\n%s", env, r.text)
	}
}

func TestAHostIsNotLeftInAProbeThatOSMRewrites(t *testing.T) {
	before := podOf("", app("livenessProbe: {httpGet: {host: example.com, port: 80}}\nreadinessProbe: {tcpSocket: {host: example.com, port: 80}}"))
	wantText(t, plan(t, before, inOSM), before)
}

func mapOf(key string, value field.Value) field.Map { return field.Map{{Key: key, Value: value}} }

func listOf(values ...field.Value) field.List { return values }

// The proxy in the template shows that its injection is over, but where the injector is certainly on: it would rewrite the rewritten
// probes, so the pod is left alone, in each mesh of the family.
func TestOSM_proxyWhateverTheSwitch(t *testing.T) {
	for domain, mesh := range map[string]option{"openservicemesh.io": inOSM, "flomesh.io": inMesh("fsm")} {
		for _, on := range []string{"enabled", "disabled", "maybe"} {
			proxy := map[string]string{"openservicemesh.io": "envoy", "flomesh.io": "sidecar"}[domain]
			before := podOf("annotations: {"+domain+"/sidecar-injection: "+on+"}", app(httpProbe)+"- name: "+proxy+"\n  image: flomesh/pipy:1\n")
			r := plan(t, before, mesh)
			_, named := r.has(map[string]string{"openservicemesh.io": "osm-injector", "flomesh.io": "fsm-injector"}[domain])
			if want := map[bool]transformer.State{true: transformer.LeftAlone, false: transformer.WouldRewrite}[on == "enabled"]; r.Probes[0].State != want || named != (on == "enabled") {
				t.Errorf("%s %s: %+v, %v", domain, on, r.Probes[0], r.Findings)
			}
			if on == "enabled" {
				wantNoEdits(t, r)
			}
		}
	}
}
