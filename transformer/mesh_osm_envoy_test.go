package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

const envoyContainer = "- name: envoy\n  image: envoyproxy/envoy:v1.40.0\n"

var byEnvoy = []option{inOSM, answeredBy("envoy")}

func init() {
	configurations["osm-envoy"] = byEnvoy
}

// The user's Envoy gets the requests of Open Service Mesh's documentation. No container comes, and
// the annotation has what undoes it.
func TestEnvoyAnswersWithoutAContainerOfOurs(t *testing.T) {
	const b = "- name: b\n  image: b\n"
	for name, c := range map[string]struct {
		spec string
		want []string
		left map[string]string // reasons, by field
	}{
		"an HTTP probe": {app("livenessProbe: {httpGet: {path: /liveness, port: 14001, scheme: HTTP}}"),
			[]string{"livenessProbe: {httpGet: {path: /osm-liveness-probe, port: 15901, scheme: HTTP}}"}, nil},
		"an HTTPS probe, with a named port": {app("ports: [{name: web, containerPort: 443}]\nreadinessProbe: {httpGet: {path: /r, port: web, scheme: HTTPS}}"),
			[]string{"readinessProbe: {httpGet: {path: /r, port: 15902, scheme: HTTPS}}"}, nil},
		"HTTP/2": {app("startupProbe: {httpGet: {path: /s, port: 80, protocol: HTTP2}}"),
			[]string{"startupProbe: {httpGet: {path: /osm-startup-probe, port: 15903}}"}, nil},
		"several containers": {app("livenessProbe: {httpGet: {port: 80}}") + b + "  livenessProbe: {httpGet: {path: /b, port: 81}}\n",
			[]string{"{path: /osm-liveness-probe/app, port: 15901}", "{path: /osm-liveness-probe/b, port: 15901}"}, nil},
		"what no listener answers": {app("livenessProbe: {grpc: {port: 9000}}\nreadinessProbe: {httpGet: {path: /a$b, port: 80}}\nstartupProbe: {tcpSocket: {port: 80}}\nlifecycle: {preStop: {httpGet: {path: /stop, port: 80}}}"),
			[]string{"{path: /osm-readiness-probe, port: 15902}"},
			map[string]string{"livenessProbe": "proxy-cannot-answer", "startupProbe": "proxy-cannot-answer", "preStop": "proxy-cannot-answer"}},
		"HTTPS at a second port": {app("readinessProbe: {httpGet: {path: /r, port: 1, scheme: HTTPS}}") + b + "  readinessProbe: {httpGet: {path: /b, port: 2, scheme: HTTPS}}\n",
			[]string{"{path: /r, port: 15902, scheme: HTTPS}", "{path: /b, port: 2, scheme: HTTPS}"}, map[string]string{"containers[1].readinessProbe": "proxy-cannot-answer"}},
	} {
		before := podOf("", c.spec+envoyContainer)
		r := plan(t, before, byEnvoy...)
		wantParts(t, r.text, append(c.want, "rewrite-probes.io/originals: ", `"envoy":{"/app-health/`)...)
		if strings.Contains(r.text, "probe-proxy") || strings.Contains(r.text, "ISTIO") || r.Answer.By != "envoy" || r.Answer.AddsContainer != "" || r.Answer.Port != 0 {
			t.Errorf("%s: %+v in\n%s", name, r.Answer, r.text)
		}
		again := plan(t, r.text, byEnvoy...)
		wantNoEdits(t, again)
		for _, v := range again.Probes {
			why := ""
			for at, reason := range c.left {
				if strings.Contains(v.Field.String(), at) {
					why = reason
				}
			}
			if v.Reason.String() != why || why == "" && (v.State != transformer.Rewritten || v.StrictTLS != world.Unaffected) {
				t.Errorf("%s: %+v, must be left alone because of %q", name, v, why)
			}
		}
		wantText(t, restore(t, r.text), before)
		// To a probe-proxy, to another mesh, and back.
		for _, opts := range [][]option{{inOSM, answeredBy("probe-proxy")}, {inMesh("linkerd")}} {
			there, elsewhere := plan(t, r.text, opts...), plan(t, before, opts...)
			if sortedLines(there.text) != sortedLines(elsewhere.text) {
				t.Errorf("%s: changed for another answerer\n%s\nand not\n%s", name, there.text, elsewhere.text)
			}
			if back := plan(t, elsewhere.text, byEnvoy...); sortedLines(back.text) != sortedLines(r.text) {
				t.Errorf("%s: and back\n%s", name, back.text)
			}
		}
	}
}

// Without the mesh in the options, check still sees that the pod's own Envoy answers.
func TestEnvoyAnswersAlsoWithoutOptions(t *testing.T) {
	r := plan(t, podOf("", app("livenessProbe: {httpGet: {path: /l, port: 80}}")+envoyContainer), byEnvoy...)
	if again := plan(t, r.text); again.Probes[0].StrictTLS != world.Unaffected || again.Answer.Mesh != "Open Service Mesh" {
		t.Errorf("%+v, %+v", again.Probes[0], again.Answer)
	}
}

// No original that only the annotation has is lost by an edit.
func TestEnvoyLosesNoOriginal(t *testing.T) {
	const probes = "livenessProbe: {httpGet: {path: /l, port: 80}}\nreadinessProbe: {httpGet: {path: /r, port: 443, scheme: HTTPS}}"
	for _, metadata := range []string{"", envoyContainer} {
		before := podOf("", app(probes)+metadata)
		rewritten := plan(t, before, byEnvoy...).text
		for _, c := range []struct{ was, is, reason string }{
			{"path: /osm-liveness-probe, port: 15901", "path: /osm-liveness-prob, port: 15901", "originals-ambiguous"},
			{"path: /osm-liveness-probe, port: 15901", "path: /osm-liveness-probe/other, port: 15901", "originals-ambiguous"},
			{"path: /r, port: 15902", "path: /new, port: 15902", "originals-ambiguous"},
			{"livenessProbe: {httpGet: {path: /osm-liveness-probe, port: 15901}}", "livenessProbe: {exec: {command: [x]}}", "original-replaced"},
			{`"envoy":{`, `"envoy":{"/x":{},`, "env-unreadable"},
			{`"envoy":{`, `"envoy":"x","y":{`, "env-unreadable"},
		} {
			text := strings.Replace(rewritten, c.was, c.is, 1)
			for _, r := range []result{restore(t, text), plan(t, text, byEnvoy...), plan(t, text)} {
				if r.text != text {
					t.Errorf("%s: changed to\n%s", c.is, r.text)
				}
				wantReason(t, r, c.reason)
			}
		}
		renamed := strings.Replace(rewritten, "- name: app", "- name: new", 1)
		wantText(t, restore(t, renamed), strings.Replace(before, "- name: app", "- name: new", 1))
	}
}

// A listener that somebody has configured by hand is not shared: what it does is not known.
func TestEnvoySharesNoListenerWithProbesByHand(t *testing.T) {
	const byHand = "- name: hand\n  image: hand\n  livenessProbe: {httpGet: {path: /osm-liveness-probe, port: 15901}}\n"
	before := podOf("", app("livenessProbe: {httpGet: {path: /l, port: 80}}")+byHand+envoyContainer)
	r := plan(t, before, byEnvoy...)
	wantReason(t, r, "port-taken")
	wantText(t, r, before)
	other := podOf("", app("readinessProbe: {httpGet: {path: /l, port: 80}}")+byHand+envoyContainer)
	r = plan(t, other, byEnvoy...)
	wantParts(t, r.text, "readinessProbe: {httpGet: {path: /osm-readiness-probe, port: 15902}}", "livenessProbe: {httpGet: {path: /osm-liveness-probe, port: 15901}}")
	wantNoEdits(t, plan(t, r.text, byEnvoy...))
	wantText(t, restore(t, r.text), other)
	// The app itself cannot listen there either, and a container that does must be the Envoy.
	wantReason(t, plan(t, podOf("", app("readinessProbe: {httpGet: {port: 80}}\nlivenessProbe: {tcpSocket: {port: 15902}}")), byEnvoy...), "port-taken")
	f := wantReason(t, plan(t, podOf("", app(httpProbe+"ports: [{containerPort: 15902}]")), byEnvoy...), "port-taken")
	if !strings.Contains(textOf(f), "`envoy`") {
		t.Error(textOf(f))
	}
	declared := "- name: envoy\n  image: e\n  ports: [{containerPort: 15901}]\n"
	if r := plan(t, podOf("", app(httpProbe)+declared), byEnvoy...); len(r.Findings) > 0 {
		t.Errorf("%v", r.Findings)
	}
}

// A probe that holds up the start of the pod is rewritten only if Envoy starts before it.
func TestEnvoyThatStartsLaterHoldsUpNoPod(t *testing.T) {
	const first = "- name: first\n  image: f\n  restartPolicy: Always\n  startupProbe: {httpGet: {path: /s, port: 80}}\n"
	const native = "- name: envoy\n  image: e\n  restartPolicy: Always\n"
	for _, late := range []string{
		"initContainers:\n" + first + "containers:\n" + envoyContainer,
		"initContainers:\n" + first + native + "containers:\n- {name: app, image: a}\n",
		"initContainers:\n" + first + "containers:\n- {name: app, image: a}\n", // whose Envoy is not known
	} {
		wantReason(t, plan(t, podOf("", late), byEnvoy...), "starts-before-answerer")
	}
	r := plan(t, podOf("", "initContainers:\n"+native+first+"containers:\n- {name: app, image: a}\n"), byEnvoy...)
	wantParts(t, r.text, "startupProbe: {httpGet: {path: /osm-startup-probe, port: 15903}}")
}

// An Envoy is an answerer of Open Service Mesh's form alone.
func TestEnvoyAnswersOnlyInOSM(t *testing.T) {
	for _, mesh := range []string{"auto", "istio", "linkerd", "kuma", "consul", "fsm"} {
		_, err := transformer.New(options(inMesh(mesh), answeredBy("envoy")))
		if err == nil || !strings.Contains(err.Error(), "an Envoy answers only with `mesh: osm`") {
			t.Errorf("%s: %v", mesh, err)
		}
	}
	// The template says that it is in another mesh.
	r := plan(t, podOf("annotations: {linkerd.io/inject: enabled}", app(httpProbe)), byEnvoy...)
	wantReason(t, r, "other-mesh")
	if r := plan(t, podOf("annotations: {openservicemesh.io/inbound-port-exclusion-list: \"8080\"}", app("livenessProbe: {httpGet: {port: 8080}}")), byEnvoy...); r.Probes[0].Reason.String() != "port-not-captured" {
		t.Errorf("%+v", r.Probes[0])
	}
}
