package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

var inOSM = inMesh("osm")

func init() {
	configurations["osm"] = []option{inOSM}
}

// osmEnv returns the value of the env var of the mesh osm in the manifest.
func osmEnv(r result) string { return r.envVar("OSM_KUBE_APP_PROBERS") }

// osmExamples are those of Open Service Mesh's own documentation of health
// probes: an app on port 14001, and what its injector makes of each probe.
var osmExamples = []struct{ name, before, after, env string }{
	{"HTTP",
		"livenessProbe:\n  httpGet:\n    path: /liveness\n    port: 14001\n    scheme: HTTP\n  timeoutSeconds: 7\n",
		"livenessProbe:\n  httpGet:\n    path: /osm-liveness-probe\n    port: 15901\n    scheme: HTTP\n  timeoutSeconds: 7\n",
		`{"/osm-liveness-probe":{"httpGet":{"path":"/liveness","port":14001,"scheme":"HTTP"},"timeoutSeconds":7}}`},
	{"HTTPS",
		"livenessProbe:\n  httpGet:\n    path: /liveness\n    port: 14001\n    scheme: HTTPS\n",
		"livenessProbe:\n  httpGet:\n    path: /liveness\n    port: 15901\n    scheme: HTTPS\n",
		`{"/osm-liveness-probe/app":{"httpGet":{"path":"/liveness","port":14001,"scheme":"HTTPS"},"timeoutSeconds":1}}`},
	{"tcpSocket",
		"livenessProbe:\n  tcpSocket:\n    port: 14001\n  timeoutSeconds: 3\n",
		"livenessProbe:\n  httpGet:\n    path: /osm-healthcheck\n    port: 15904\n    scheme: HTTP\n    httpHeaders:\n    - name: Original-Tcp-Port\n      value: \"14001\"\n  timeoutSeconds: 3\n",
		`{"/osm-liveness-probe/app":{"tcpSocket":{"port":14001},"timeoutSeconds":3}}`},
}

func TestTheExamplesOfOpenServiceMeshComeOutExactly(t *testing.T) {
	for _, c := range osmExamples {
		t.Run(c.name, func(t *testing.T) {
			before := pod("", app(c.before))
			r := plan(t, before, inOSM)
			if _, want, _ := strings.Cut(pod("", app(c.after)), "containers:\n"); !strings.HasSuffix(r.text, want) {
				t.Errorf("got\n%s\nwant at its end\n%s", r.text, want)
			}
			if osmEnv(r) != c.env {
				t.Errorf("env %s, want %s", osmEnv(r), c.env)
			}
			if len(r.Findings) != 0 {
				t.Errorf("findings %v", r.Findings)
			}
			if again := plan(t, r.text, inOSM); len(again.Edits) != 0 || again.Probes[0].State != transformer.Rewritten {
				t.Errorf("a second run edits %v: %+v", again.Edits, again.Probes[0])
			}
			wantText(t, restore(t, r.text, inOSM), before)
		})
	}
}

func TestEachTypeOfProbeHasItsOwnPortInOSM(t *testing.T) {
	r := plan(t, pod("", app("readinessProbe: {httpGet: {path: /r, port: 80}}\nlivenessProbe: {httpGet: {path: /l, port: 80}}\nstartupProbe: {httpGet: {path: /s, port: 80}}")), inOSM)
	wantParts(t, r.text,
		"readinessProbe: {httpGet: {path: /osm-readiness-probe, port: 15902}}",
		"livenessProbe: {httpGet: {path: /osm-liveness-probe, port: 15901}}",
		"startupProbe: {httpGet: {path: /osm-startup-probe, port: 15903}}",
	)
}

func TestProbeProxyIsAskedOnThePortOfHealthchecksInOSM(t *testing.T) {
	r := plan(t, pod("", app(httpProbe)), inOSM)
	if !strings.Contains(r.text, "path: /healthz\n            port: 15904\n") || strings.Contains(r.text, "args:") || strings.Contains(r.text, "annotations:") {
		t.Errorf("got\n%s", r.text)
	}
}

func TestATCPProbeNeedsNoNameInThePathOfAnotherInOSM(t *testing.T) {
	r := plan(t, pod("", app("livenessProbe: {httpGet: {path: /a, port: 80}}")+"- name: b\n  image: b\n  livenessProbe: {tcpSocket: {port: 81}}\n"), inOSM)
	wantParts(t, r.text, "livenessProbe: {httpGet: {path: /osm-liveness-probe, port: 15901}}")
}

func TestSeveralContainersWithOneTypeHaveTheirNamesInThePathsInOSM(t *testing.T) {
	before := pod("", app("livenessProbe: {httpGet: {path: /a, port: 80}}\nreadinessProbe: {httpGet: {path: /r, port: 80}}")+"- name: b\n  image: b\n  livenessProbe: {httpGet: {path: /b, port: 81}}\n")
	r := plan(t, before, inOSM)
	wantParts(t, r.text,
		"livenessProbe: {httpGet: {path: /osm-liveness-probe/app, port: 15901}}",
		"livenessProbe: {httpGet: {path: /osm-liveness-probe/b, port: 15901}}",
		"readinessProbe: {httpGet: {path: /osm-readiness-probe, port: 15902}}",
	)
	want := `{"/osm-liveness-probe/app":{"httpGet":{"path":"/a","port":80,"scheme":"HTTP"},"timeoutSeconds":1},` +
		`"/osm-liveness-probe/b":{"httpGet":{"path":"/b","port":81,"scheme":"HTTP"},"timeoutSeconds":1},` +
		`"/osm-readiness-probe":{"httpGet":{"path":"/r","port":80,"scheme":"HTTP"},"timeoutSeconds":1}}`
	if osmEnv(r) != want {
		t.Errorf("env %s, want %s", osmEnv(r), want)
	}
	// When one of them goes, the other is alone again.
	gone, _, _ := strings.Cut(r.text, "      - name: b\n")
	if alone := plan(t, gone, inOSM); !strings.Contains(alone.text, "path: /osm-liveness-probe, port") || strings.Contains(osmEnv(alone), "/b") {
		t.Errorf("got\n%s", alone.text)
	}
	renamed := plan(t, strings.Replace(r.text, "- name: b\n", "- name: c\n", 1), inOSM)
	if !strings.Contains(osmEnv(renamed), `"/osm-liveness-probe/c":{"httpGet":{"path":"/b","port":81`) || strings.Contains(osmEnv(renamed), "probe/b") {
		t.Errorf("env %s", osmEnv(renamed))
	}
	wantText(t, restore(t, r.text), before)
}

func TestHTTPSProbesOfOneTypeShareAListenerWhereTheyShareAPort(t *testing.T) {
	const two = "- name: b\n  image: b\n  livenessProbe: {httpGet: {path: /b, port: 8443, scheme: HTTPS}}\n"
	before := pod("", app("livenessProbe: {httpGet: {path: /a, port: 8443, scheme: HTTPS}}")+two)
	r := plan(t, before, inOSM)
	if len(r.Findings) != 0 || strings.Count(r.text, "port: 15901, scheme: HTTPS") != 2 {
		t.Errorf("findings %v in\n%s", r.Findings, r.text)
	}
	wantText(t, restore(t, r.text, inOSM), before)
}

func TestHTTPSProbesOfOneTypeThatCannotBeToldApartAreRefused(t *testing.T) {
	before := pod("", app("livenessProbe: {httpGet: {path: /a, port: 8443, scheme: HTTPS}}")+
		"- name: b\n  image: b\n  livenessProbe: {httpGet: {path: /b, port: 9443, scheme: HTTPS}}\n  readinessProbe: {httpGet: {port: 9443, scheme: HTTPS}}\n")
	r := plan(t, before, inOSM)
	f := wantReason(t, r, "osm-one-https")
	if f.Container != "b" || !strings.Contains(f.Message, "8443") {
		t.Errorf("finding %+v", f)
	}
	if !strings.Contains(r.text, "{httpGet: {path: /b, port: 9443, scheme: HTTPS}}") || !strings.Contains(r.text, "{httpGet: {port: 15902, scheme: HTTPS}}") {
		t.Errorf("got\n%s", r.text)
	}
	wantNoEdits(t, plan(t, r.text, inOSM))
	wantText(t, restore(t, r.text, inOSM), before)
}

func TestAnHTTPAndAnHTTPSProbeOfOneTypeShareAListener(t *testing.T) {
	r := plan(t, pod("", app("livenessProbe: {httpGet: {path: /a, port: 80}}")+"- name: b\n  image: b\n  livenessProbe: {httpGet: {path: /b, port: 443, scheme: HTTPS}}\n"), inOSM)
	if len(r.Findings) != 0 || !strings.Contains(r.text, "{path: /osm-liveness-probe, port: 15901}") || !strings.Contains(r.text, "{path: /b, port: 15901, scheme: HTTPS}") {
		t.Errorf("findings %v in\n%s", r.Findings, r.text)
	}
}

func TestWhatOSMHasNoFormForStaysAndIsWarnedOf(t *testing.T) {
	before := pod("", app("livenessProbe: {grpc: {port: 9000}}\nreadinessProbe: {exec: {command: [\"true\"]}}\nlifecycle: {preStop: {httpGet: {path: /stop, port: 80}}}"))
	r := plan(t, before, inOSM)
	wantText(t, r, before)
	if got := strings.Join(r.reasons(), " "); got != "osm-no-form osm-no-form" {
		t.Errorf("reasons %s", got)
	}
	for _, v := range r.Probes {
		if want := map[bool]transformer.Outcome{true: transformer.Fails, false: transformer.Unaffected}[v.Reason == "osm-no-form"]; v.StrictTLS != want {
			t.Errorf("%s: %s", v.Field, v.StrictTLS)
		}
	}
}

func TestWhatOSMDoesNotCaptureIsLeftAlone(t *testing.T) {
	for name, yaml := range map[string]string{
		"excluded":  pod("annotations: {openservicemesh.io/inbound-port-exclusion-list: \"70, 80\"}", app("livenessProbe: {httpGet: {port: 80}}")),
		"metrics":   pod("", app("livenessProbe: {httpGet: {port: 15010}}")),
		"disabled":  pod("annotations: {openservicemesh.io/sidecar-injection: disabled}", app("livenessProbe: {httpGet: {port: 80}}")),
		"namespace": namespace("", "openservicemesh.io/sidecar-injection: \"no\"") + inNamespace(pod("", app("livenessProbe: {httpGet: {port: 80}}"))),
	} {
		if r := plan(t, yaml, inOSM); r.text != yaml || r.Probes[0].StrictTLS != transformer.Unaffected {
			t.Errorf("%s: %+v in\n%s", name, r.Probes[0], r.text)
		}
	}
}

func TestTheInjectorOfOSMIsWarnedOf(t *testing.T) {
	const on = "openservicemesh.io/sidecar-injection: enabled"
	wantReason(t, plan(t, pod("annotations: {"+on+"}", app(httpProbe)), inOSM), "osm-injector")
	wantReason(t, plan(t, namespace("", on)+inNamespace(pod("", app(httpProbe))), inOSM), "osm-injector")
	if r := plan(t, pod("annotations: {"+on+"}", app("")), inOSM); len(r.Findings) != 0 {
		t.Errorf("nothing to rewrite, and %v", r.Findings)
	}
	// A container of ours is not OSM's proxy, whatever its name.
	ours := plan(t, pod("annotations: {x: y}", app(httpProbe)), func(o *transformer.Options) { o.ProbeProxy.Name = "envoy" })
	marked := strings.Replace(ours.text, "{x: y", "{"+on, 1)
	wantText(t, plan(t, marked, inOSM), pod("annotations: {"+on+"}", app(httpProbe)))
	wantReason(t, plan(t, pod("annotations: {openservicemesh.io/inbound-port-exclusion-list: x}", app(httpProbe)), inOSM), "port-list-invalid")
}

func TestAPortOfOSMThatTheAppHasIsAnError(t *testing.T) {
	f := wantReason(t, plan(t, pod("", app(httpProbe+"ports: [{containerPort: 15902}]")), inOSM), "port-taken")
	if strings.Contains(f.Message, "functionConfig") {
		t.Errorf("%s, but the ports cannot be configured", f.Message)
	}
}

func TestOptionsThatOSMCannotHaveAreRefused(t *testing.T) {
	for want, opt := range map[string]option{
		"fixed: 15901 to 15904":                                        port(15098),
		"must be auto, probe-proxy or app with `mesh: osm`":            answeredBy("istio-proxy"),
		"\"1500\" must not be that of Open Service Mesh's own proxy":   func(o *transformer.Options) { o.ProbeProxy.SecurityContext = mapOf("runAsUser", 1500) },
		"\"OSM_KUBE_APP_PROBERS\" is written by rewrite-probes itself": func(o *transformer.Options) { o.ProbeProxy.Env = listOf(mapOf("name", "OSM_KUBE_APP_PROBERS")) },
		"\"envoy\" is the name of Open Service Mesh's own sidecar":     func(o *transformer.Options) { o.ProbeProxy.Name = "envoy" },
	} {
		if _, err := transformer.New(options(inOSM, opt)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v must have %q", err, want)
		}
	}
}

// The tests below are named for mistakes of Open Service Mesh's own injector.

func TestASecondPassDoesNotBreakATCPProbe(t *testing.T) {
	r := plan(t, pod("", app("livenessProbe: {tcpSocket: {port: 14001}}\nreadinessProbe: {tcpSocket: {port: 14002}}")), inOSM)
	again := plan(t, r.text, inOSM)
	if len(again.Edits) != 0 || !strings.Contains(again.text, "\"14001\"") || !strings.Contains(again.text, "\"14002\"") {
		t.Errorf("edits %v of\n%s", again.Edits, r.text)
	}
}

func TestAnUnresolvedPortNameDoesNotBecomePortZero(t *testing.T) {
	before := pod("", app("livenessProbe: {httpGet: {port: web}}\nreadinessProbe: {tcpSocket: {port: web}}"))
	r := plan(t, before, inOSM)
	wantReason(t, r, "port-unresolved")
	wantText(t, r, before)
}

func TestTimeoutsAreNotClampedToASecond(t *testing.T) {
	r := plan(t, pod("", app("livenessProbe: {httpGet: {port: 80}, timeoutSeconds: 30}\nreadinessProbe: {tcpSocket: {port: 80}, timeoutSeconds: 20}")), inOSM)
	if env := osmEnv(r); !strings.Contains(env, `"timeoutSeconds":30`) || !strings.Contains(env, `"timeoutSeconds":20`) || strings.Count(r.text, "timeoutSeconds: ") != 2 {
		t.Errorf("env %s in\n%s", env, r.text)
	}
}

func TestHealthchecksNameTheirPortsInTheEnv(t *testing.T) {
	r := plan(t, pod("", app("livenessProbe: {tcpSocket: {port: web}}\nports: [{name: web, containerPort: 8080}]")), inOSM)
	if want := `{"/osm-liveness-probe/app":{"tcpSocket":{"port":8080},"timeoutSeconds":1}}`; osmEnv(r) != want || !strings.Contains(r.text, "\"8080\"") {
		t.Errorf("env %s in\n%s", osmEnv(r), r.text)
	}
}

func TestAProbeOfAnotherContainerIsNotLostInOSM(t *testing.T) {
	r := plan(t, pod("", app("livenessProbe: {httpGet: {port: 80}}\nreadinessProbe: {httpGet: {port: 80}}")+"- name: b\n  image: b\n  livenessProbe: {httpGet: {port: 81}}\n"), inOSM)
	if env := osmEnv(r); !strings.Contains(env, `"port":80`) || !strings.Contains(env, `"port":81`) {
		t.Errorf("env %s", env)
	}
}

func TestAHostIsNotLeftInAProbeThatOSMRewrites(t *testing.T) {
	before := pod("", app("livenessProbe: {httpGet: {host: example.com, port: 80}}\nreadinessProbe: {tcpSocket: {host: example.com, port: 80}}"))
	wantText(t, plan(t, before, inOSM), before)
}

func TestAChangeAfterTheRewritingWinsInOSM(t *testing.T) {
	r := plan(t, pod("", app("livenessProbe: {httpGet: {path: /a, port: 8443, scheme: HTTPS}}\nreadinessProbe: {tcpSocket: {port: 14001}}")), inOSM)
	r = plan(t, strings.NewReplacer("path: /a,", "path: /new,", "\"14001\"", "\"14009\"").Replace(r.text), inOSM)
	if want := `{"/osm-liveness-probe/app":{"httpGet":{"path":"/new","port":8443,"scheme":"HTTPS"},"timeoutSeconds":1},"/osm-readiness-probe/app":{"tcpSocket":{"port":14009},"timeoutSeconds":1}}`; osmEnv(r) != want {
		t.Errorf("env %s", osmEnv(r))
	}
	if len(r.Edits) != 1 {
		t.Errorf("edits %v", r.Edits)
	}
}

func TestARewrittenProbeWhoseEnvIsLostIsSaidToDangle(t *testing.T) {
	r := plan(t, pod("", app("livenessProbe: {httpGet: {path: /osm-liveness-probe, port: 15901}}")), inOSM)
	wantReason(t, r, "dangling")
	if r.Probes[0].StrictTLS != transformer.Fails || len(r.Edits) != 0 {
		t.Errorf("%+v", r.Probes[0])
	}
	for _, env := range []string{"[", `{"/osm-liveness-probe":{"tcpSocket":{"port":1}}}`, `{"/x":{}}`, `{"/osm-liveness-probe/a":{"grpc":{"port":1}}}`} {
		yaml := pod("", app(httpProbe)+"- name: probe-proxy\n  image: p\n  env: [{name: OSM_KUBE_APP_PROBERS, value: '"+env+"'}]\n")
		wantReason(t, plan(t, yaml, inOSM), "env-unreadable")
		wantReason(t, plan(t, yaml), "env-unreadable")
	}
}

func mapOf(key string, value field.Value) field.Map { return field.Map{{Key: key, Value: value}} }

func listOf(values ...field.Value) field.List { return values }

// The proxy in the template shows that its injection is over: the switch is only named.
func TestATemplateWithTheProxyOfOSMIsRewrittenWhateverItsSwitch(t *testing.T) {
	for _, on := range []string{"enabled", "disabled", "maybe"} {
		r := plan(t, pod("annotations: {openservicemesh.io/sidecar-injection: "+on+"}", app(httpProbe)+"- name: envoy\n  image: e\n"), inOSM)
		if _, named := r.has("osm-injector"); r.Probes[0].State != transformer.WouldRewrite || named != (on == "enabled") {
			t.Errorf("%s: %+v, %v", on, r.Probes[0], r.Findings)
		}
	}
}
