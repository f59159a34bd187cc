package pipeline_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
)

// installations returns objects of meshes' installations, drawn.
func installations(rnd *rand.Rand) string {
	pick := drawer{rnd}.pick
	revision := pick("", "", "-canary")
	label := strings.TrimPrefix(revision, "-")
	if label == "" {
		label = "default"
	}
	var all []string
	for _, text := range []string{
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio-sidecar-injector" + revision + ", namespace: istio-system, labels: {istio.io/rev: " + label + "}}\ndata:\n" +
			"  config: 'policy: " + pick("enabled", "disabled") + "'\n" +
			"  values: '{\"sidecarInjectorWebhook\": {\"rewriteAppHTTPProbe\": " + pick("true", "false") + "}, \"global\": {\"proxy\": {\"statusPort\": " + pick("15020", "15030", "8080") + "}}}'\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio" + revision + ", namespace: istio-system}\ndata:\n  mesh: '{defaultConfig: {holdApplicationUntilProxyStarts: " + pick("true", "false") + ", statusPort: " + pick("15020", "15030") + "}}'\n",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: istiod" + revision + ", namespace: istio-system}\nspec:\n  template:\n    spec:\n      containers:\n      - name: discovery\n        image: istio/pilot:" +
			pick("1.24.0", "1.31.0") + "\n        env: [{name: ENABLE_NATIVE_SIDECARS, value: '" + pick("true", "false", "auto") + "'}]\n",
		"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: istiod, namespace: istio-system}\nspec:\n  chart: {spec: {chart: istiod, version: " + pick("1.24.0", "1.31.0") + "}}\n" +
			"  values: {sidecarInjectorWebhook: {rewriteAppHTTPProbe: " + pick("true", "false") + "}, revision: '" + strings.TrimPrefix(revision, "-") + "'}\n",
		"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: mesh}\nspec: {source: {chart: " + pick("kuma", "consul", "linkerd-control-plane", "osm") + ", targetRevision: " + pick("2.12.0", "2.14.3") + ", helm: {valuesObject: {" +
			"controlPlane: {envVars: {KUMA_RUNTIME_KUBERNETES_APPLICATION_PROBE_PROXY_PORT: " + pick("0", "9001") + "}}, connectInject: {transparentProxy: {defaultOverwriteProbes: " + pick("true", "false") + "}}, " +
			"proxy: {defaultInboundPolicy: " + pick("deny", "all-authenticated") + "}, osm: {inboundPortExclusionList: [8080]}}}}}\n",
		"apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: hooks" + revision + ", labels: {istio.io/rev: " + label + "}}\nwebhooks:\n- name: x.sidecar-injector.istio.io\n  namespaceSelector: {" +
			pick("", "matchLabels: {istio-injection: enabled}", "matchLabels: {a: b}") + "}\n",
		"apiVersion: v1\nkind: Pod\nmetadata:\n  name: seen-0\n  namespace: " + pick("shop", "pay") + "\n  creationTimestamp: '2026-11-29T01:00:00Z'\n  annotations: {rewrite-probes.io/rewrite: 'false', sidecar.istio.io/status: '{\"revision\": \"" + label + "\"}'}\n" +
			"  ownerReferences: [{kind: StatefulSet, name: seen, controller: true}]\nspec:\n  containers:\n  - {name: istio-proxy, image: x}\n  - {name: app, image: y, livenessProbe: {httpGet: {" +
			pick("path: /app-health/app/livez, port: 15020", "path: /live, port: 8080", "path: /app-health/app/livez, port: 15030") + "}}}\nstatus: {phase: Running}\n",
	} {
		if rnd.IntN(3) > 0 {
			all = append(all, text)
		}
	}
	return strings.Join(all, "---\n") + "---\n"
}

// What is written is a function of annotations, Namespaces, policies and the functionConfig: a control plane in the
// same stream decides verdicts, and changes no byte.
func TestAnInstallationChangesNothingThatIsWritten(t *testing.T) {
	changed, judged := 0, 0
	for seed := range uint64(400) {
		rnd := rand.New(rand.NewPCG(seed, 55))
		own, _ := randomTree(rnd)
		pick := drawer{rnd}.pick
		c := config.Default()
		c.Spec.AnsweredBy = pick("auto", "auto", "probe-proxy", "app")
		c.Spec.Mesh = pick("auto", "auto", "istio", "istio", "kuma", "consul", "linkerd", "osm")
		installed := installations(rnd)
		if installed == "---\n" {
			continue
		}
		alone, beside := lookAt(t, c, own), lookAt(t, c, own, tree{"installed.yaml": installed})
		if beside.text != alone.text {
			t.Fatalf("seed %d: beside\n%s\nit writes\n%s\ninstead of\n%s", seed, installed, beside.text, alone.text)
		}
		if alone.text != own["a/app/web.yaml"] {
			changed++
		}
		if alone.verdict.StrictTLS != beside.verdict.StrictTLS || alone.verdict.If != beside.verdict.If {
			judged++
		}
		inOne, err := manifest.Read("x.yaml", []byte(installed+own["a/app/web.yaml"]))
		if err != nil {
			t.Fatal(err)
		}
		single, err := manifest.Read("x.yaml", []byte(own["a/app/web.yaml"]))
		if err != nil {
			t.Fatal(err)
		}
		pipeline.Run([]*manifest.Stream{inOne}, c, pipeline.Rewrite)
		pipeline.Run([]*manifest.Stream{single}, c, pipeline.Rewrite)
		got, err := inOne.Text()
		if err != nil {
			t.Fatal(err)
		}
		want, err := single.Text()
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != installed+string(want) {
			t.Fatalf("seed %d: in one stream it writes\n%s\ninstead of\n%s", seed, got, installed+string(want))
		}
	}
	if changed < 100 || judged < 20 {
		t.Errorf("%d were rewritten, and of %d the verdict changed", changed, judged)
	}
}
