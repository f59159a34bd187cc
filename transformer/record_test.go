package transformer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// twoProbes is a pod of two containers, each with a probe.
var twoProbes = podOf("", app(httpProbe)+"- name: b\n  image: b\n  readinessProbe:\n    tcpSocket:\n      port: 7\n")

// replaced returns the text with a part, which it must have, replaced.
func replaced(t *testing.T, text, old, with string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("%s\nis not in\n%s", old, text)
	}
	return strings.Replace(text, old, with, 1)
}

const (
	askedOfB   = "          httpGet:\n            path: /app-health/b/readyz\n            port: 15099\n"
	askedOfApp = "          httpGet:\n            path: /app-health/app/livez\n            port: 15099\n"
)

func TestOriginals_lostOneIsNamed(t *testing.T) {
	const lost = "error original-replaced %s: `spec.template.spec.containers[%d].%s`: It became exec after the rewriting. Its original, %s, would be lost. Delete `%s` from container `%s`, or write that path back."
	rewritten := plan(t, twoProbes).text
	second := replaced(t, rewritten, askedOfB, "          exec: {command: [x]}\n")
	first := replaced(t, rewritten, askedOfApp, "          exec: {command: [x]}\n")
	for _, do := range []func(testing.TB, string, ...option) result{plan, restore} {
		wantTold(t, do(t, second).Plan, fmt.Sprintf(lost, "b", 1, "readinessProbe", "tcpSocket :7", "/app-health/b/readyz", "probe-proxy"))
		wantTold(t, do(t, first).Plan, fmt.Sprintf(lost, "app", 0, "livenessProbe", "httpGet :8001/foo", "/app-health/app/livez", "probe-proxy"))
	}
	// Two that carry it are one finding.
	before, sidecar, after := sidecarOf(t, first)
	both := before + strings.Replace(sidecar, "name: probe-proxy", "name: other", 1) + sidecar + after
	wantTold(t, restore(t, both).Plan, fmt.Sprintf(lost, "app", 0, "livenessProbe", "httpGet :8001/foo", "/app-health/app/livez", "other"))
}

func TestAProbeThatHasItsOriginalBackNeedsNoRecord(t *testing.T) {
	original := podOf("labels: {a: b}", app("ports: [{name: web, containerPort: 8001}]\nlivenessProbe:\n  httpGet:\n    path: /foo\n    port: web\n"))
	back := replaced(t, plan(t, original).text, askedOfApp, "          httpGet:\n            path: /foo\n            port: web\n")
	r := restore(t, back)
	wantTold(t, r.Plan)
	wantText(t, r, original)
}

// The same request elsewhere is not the original of a probe with a mistake in its path.
func TestAnOriginalIsNotBackInAnotherProbe(t *testing.T) {
	yaml := replaced(t, plan(t, twoProbes).text, askedOfApp, strings.Replace(askedOfApp, "livez", "livex", 1))
	yaml = replaced(t, yaml, askedOfB, "          httpGet:\n            path: /foo\n            port: 8001\n")
	r := restore(t, yaml)
	f := wantReason(t, r, "originals-ambiguous")
	if f.Container != "app" || textOf(f) != "`spec.template.spec.containers[0].livenessProbe`: It looks rewritten, but its original is uncertain. Container `probe-proxy` has an original for `/app-health/app/livez`, perhaps of this probe. Write that path, or the original probe." {
		t.Errorf("%s: %s", f.Container, textOf(f))
	}
	wantText(t, r, yaml)
}

// A probe that has the path already needs another fix than to get it.
func TestOriginals_pathOfAnotherProbe(t *testing.T) {
	copied := strings.Replace(plan(t, podOf("", app(httpProbe))).text, "livenessProbe:", "readinessProbe:", 1)
	f := wantReason(t, plan(t, copied), "originals-ambiguous")
	if want := "perhaps of this probe. Write the original probe."; !strings.HasSuffix(textOf(f), want) {
		t.Errorf("%s, want %s", textOf(f), want)
	}
}

func TestOriginals_entryOfRemovedContainer(t *testing.T) {
	yaml := replaced(t, plan(t, podOf("", app(httpProbe))).text, "      - name: app\n", "      - name: new\n")
	yaml = replaced(t, yaml, askedOfApp, "          tcpSocket:\n            port: 9\n")
	r := restore(t, yaml)
	wantTold(t, r.Plan)
	wantText(t, r, podOf("", strings.Replace(app("livenessProbe:\n  tcpSocket:\n    port: 9\n"), "name: app", "name: new", 1)))
}

// Headers may be secrets.
func TestARecordOfAllFieldsHasNoHeader(t *testing.T) {
	r := plan(t, podOf("", app("livenessProbe: {httpGet: {protocol: HTTP2, path: /foo, httpHeaders: [{name: A, value: hunter2}], port: 80}}")))
	if want := `{"handlers":{"/app-health/app/livez":{"httpGet":{"protocol":"HTTP2","path":"/foo","httpHeaders":[],"port":80}}}}`; r.originals() != want {
		t.Errorf("%s, want %s", r.originals(), want)
	}
	if strings.Count(r.text, "hunter2") != 1 {
		t.Errorf("the header is there more than once:\n%s", r.text)
	}
}

func TestAnotherMeshsAnnotationIsNoneOfOurs(t *testing.T) {
	before := podOf("annotations:\n  traffic.sidecar.istio.io/excludeInboundPorts: \"15099\"\n  sidecar.istio.io/rewriteAppHTTPProbers: \"false\"\n", app("livenessProbe:\n  tcpSocket:\n    port: 80\n"))
	r := plan(t, before, inMesh("fsm"))
	if len(r.Edits) == 0 || !strings.Contains(r.text, "        traffic.sidecar.istio.io/excludeInboundPorts: \"15099\"\n        sidecar.istio.io/rewriteAppHTTPProbers: \"false\"\n") {
		t.Errorf("is\n%s", r.text)
	}
	wantText(t, restore(t, r.text, inMesh("fsm")), before)
}

// Each mesh keeps other fields of a request as they were written, and restore has to know
// the text of those that any of them has changed.
func TestRestore_afterSeveralMeshes(t *testing.T) {
	for _, probe := range []string{
		"httpGet:\n    path: \"/x\" # why\n    port: 443\n    scheme: \"HTTPS\"",
		"httpGet:\n    path: /x\n    port: \"web\" # why\n    scheme: HTTPS",
		"httpGet: {path: ~, port: 80, httpHeaders: []}",
		"httpGet: {path: '/x', port: web, httpHeaders: null, scheme: 'HTTP'}",
		"httpGet: {port: 80, httpHeaders: [{name: A, value: 'b'}], path: \"\"}",
		"tcpSocket:\n    port: \"web\" # why",
	} {
		before := podOf("labels: {a: b}\n", app("ports: [{name: web, containerPort: 8001}]\nlivenessProbe:\n  "+probe+"\n"))
		for _, first := range []string{"istio", "linkerd", "osm", "fsm"} {
			one := plan(t, before, inMesh(first)).text
			wantText(t, restore(t, one), before)
			for _, second := range []string{"istio", "linkerd", "osm", "fsm"} {
				two := plan(t, one, inMesh(second)).text
				wantText(t, restore(t, two), before)
				wantText(t, restore(t, plan(t, two, inMesh(first)).text), before)
			}
		}
	}
}

// A LimitRange gives a request to probe-proxy, which has none of its own here.
func TestThePodsOwnLimitMustHoldWhatALimitRangeGives(t *testing.T) {
	requestOnly := func(o *transformer.Options) { o.ProbeProxy.Resources = mapOf("limits", nil) }
	for requested, want := range map[string]bool{"400m": true, "500m": true, "600m": false} { // of 500m; a pod that asks for more is refused anyway
		r := plan(t, limitRange("{type: Container, default: {cpu: 500m}}")+podOf("", "resources: {limits: {cpu: 500m}}\n"+app(httpProbe+"resources: {requests: {cpu: "+requested+"}}\n")), requestOnly)
		f, found := r.has("namespace-limits")
		if found != want {
			t.Errorf("%s: %t: %s", requested, found, textOf(f))
		}
		if requested == "400m" && textOf(f) != "`spec.template.spec`: The namespace refuses the pod with probe-proxy. With a LimitRange's defaults for probe-proxy, the pod's own request of cpu becomes 900m, over its limit of 500m. Set `probeProxy: {resources: {requests: {cpu: 100m, memory: 32Mi}, limits: {cpu: 100m, memory: 32Mi}}}`." {
			t.Errorf("%s", textOf(f))
		}
	}
}
