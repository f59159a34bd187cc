package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// notebook is a kubeflow Notebook with the given lines of metadata.
func notebook(metadata, spec string) string {
	return "apiVersion: kubeflow.org/v1\nkind: Notebook\nmetadata:\n  name: n\n" + metadata + "spec:\n  template:\n" + indent("spec:", spec, 4)
}

func TestANotebooksPodsGetTheMetadataOfTheNotebook(t *testing.T) {
	before := notebook("  labels: {sidecar.istio.io/inject: \"true\"}\n", app(httpProbe))
	r := plan(t, before)
	wantParts(t, r.text,
		"metadata:\n  name: n\n  labels: {sidecar.istio.io/inject: \"true\"}\n  annotations:\n    sidecar.istio.io/rewriteAppHTTPProbers: \"false\"\nspec:\n  template:\n    spec:\n",
		"- name: istio-proxy\n        image: auto\n",
	)
	wantNoEdits(t, plan(t, r.text))
	wantText(t, restore(t, r.text), before)
	for reason, metadata := range map[string]string{
		"opt-out":       "  annotations: {rewrite-probes.io/rewrite: \"false\"}\n",
		"istio-opt-out": "  annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"false\"}\n",
		"injection-off": "  labels: {sidecar.istio.io/inject: \"false\"}\n",
	} {
		r := plan(t, notebook(metadata, app(httpProbe)))
		if f := wantReason(t, r, reason); len(r.Edits) > 0 || len(r.Findings) > 1 || f.Field[0].Key != "metadata" {
			t.Errorf("%s: edits %v, findings %v", reason, r.Edits, r.Findings)
		}
	}
}

// The CRD has no restartPolicy for init containers, and the controller takes
// the first container for the notebook.
func TestShape_notebook(t *testing.T) {
	before := notebook("", app(httpProbe+"\nlifecycle: {postStart: {httpGet: {port: 8001}}, preStop: {httpGet: {port: 8001}}}"))
	// Istio's rewriter may serve the hook, which probe-proxy cannot.
	refused := plan(t, before)
	if f := wantReason(t, refused, "rewriter-needed"); !strings.Contains(f.Field.String(), "postStart") || refused.text != before {
		t.Errorf("%+v in\n%s", f, refused.text)
	}
	r := plan(t, before, injectorRewritesNothing)
	if strings.Contains(r.text, "initContainers") || strings.Contains(r.text, "restartPolicy") || strings.Contains(r.text, "native") {
		t.Errorf("a native sidecar in\n%s", r.text)
	}
	if app, proxy := strings.Index(r.text, "name: app"), strings.Index(r.text, "name: probe-proxy"); proxy < app {
		t.Errorf("probe-proxy must come after the notebook:\n%s", r.text)
	}
	if strings.Contains(r.text, "      metadata:") {
		t.Errorf("the template must have no metadata:\n%s", r.text)
	}
	wantReason(t, r, "starts-before-answerer") // the postStart hook
	wantNoEdits(t, plan(t, r.text, injectorRewritesNothing))
}

func TestKnativesProbesAreLeftToIstiosInjector(t *testing.T) {
	knative := func(metadata, spec string) string {
		return strings.NewReplacer("apps/v1", "serving.knative.dev/v1", "Deployment", "Service").Replace(podOf(metadata, spec))
	}
	nameless := "containers:\n- image: app\n  readinessProbe: {httpGet: {path: /}}\n  livenessProbe: {initialDelaySeconds: 1}\n"
	for _, in := range []string{knative("", nameless), knative(injected, nameless), knative(injected, app(httpProbe))} {
		r := plan(t, in)
		if f := wantReason(t, r, "probes-made-elsewhere"); len(r.Edits) > 0 || len(r.Findings) > 1 || !strings.Contains(textOf(f), "Knative Serving") {
			t.Errorf("edits %v, findings %v of\n%s", r.Edits, r.Findings, in)
		}
	}
	// One that was rewritten, which breaks it, gets its originals back.
	broken := strings.NewReplacer("apps/v1", "serving.knative.dev/v1", "Deployment", "Service").Replace(plan(t, podOf(injected, app(httpProbe))).text)
	r := plan(t, broken)
	wantText(t, r, knative(injected, app(httpProbe)))
	if r.Probes[0].State != transformer.WouldRestore {
		t.Errorf("the probe's state is %q", r.Probes[0].State)
	}
}

func TestShape_bareSpec(t *testing.T) {
	bare := func(spec string) string {
		return "apiVersion: example.com/v1\nkind: Bare\nmetadata:\n  name: b\n  annotations:\n    a: b\nspec:\n" + indent("pod:", spec, 2)
	}
	none := []option{answeredBy("probe-proxy"), port(15020), injects()}
	r := plan(t, bare(app(httpProbe)), none...)
	if !strings.Contains(r.text, "spec:\n  pod:\n    initContainers:\n    - name: probe-proxy\n") || strings.Contains(r.text, "sidecar.istio.io") {
		t.Errorf("rewritten to\n%s", r.text)
	}
	wantNoEdits(t, plan(t, r.text, none...))
	wantText(t, restore(t, r.text), bare(app(httpProbe)))
	for _, who := range []string{"auto", "probe-proxy", "istio-proxy", "app"} {
		r = plan(t, bare(app(httpProbe)), answeredBy(who))
		if wantReason(t, r, "annotations-unknown"); len(r.Edits) > 0 {
			t.Errorf("%s: edits %v", who, r.Edits)
		}
	}
	out := strings.Replace(bare(app(httpProbe)), "a: b", "rewrite-probes.io/rewrite: \"false\"", 1)
	wantReason(t, plan(t, out), "opt-out")
}

func TestAnUnknownInjectionTemplateDeclaresNoProxy(t *testing.T) {
	const custom = "\nannotations: {inject.istio.io/templates: \"ours\"}"
	r := plan(t, podOf(injected+custom, app(httpProbe)))
	if wantReason(t, r, "unknown-template"); len(r.Edits) > 0 {
		t.Errorf("edits %v", r.Edits)
	}
	// A probe-proxy on a port of its own needs no istio-proxy.
	if r := plan(t, podOf(injected+custom, app(httpProbe)), answeredBy("probe-proxy")); len(r.Edits) == 0 || strings.Contains(r.text, "name: istio-proxy") {
		t.Errorf("findings %v, written\n%s", r.Findings, r.text)
	}
	for _, in := range []string{
		podOf(injected+"\nannotations: {inject.istio.io/templates: \"sidecar,ours\"}", app(httpProbe)),
		podOf(injected+"\nannotations: {inject.istio.io/templates: \"ours,sidecar\"}", app(httpProbe)),
		podOf(injected+"\nannotations: {inject.istio.io/templates: \" gateway , sidecar , ours\"}", app(httpProbe)),
		podOf(injected+custom, app(httpProbe)+"- name: istio-proxy\n  image: auto\n"),
	} {
		if r := plan(t, in); len(r.Edits) == 0 || strings.Count(r.text, "name: istio-proxy") != 1 {
			t.Errorf("findings %v of\n%s", r.Findings, in)
		}
	}
}
