package pipeline_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
)

// Istio's rewriter is never turned off in a pod that may get a container with probes from somebody else, told by an annotation or
// an object, and in every other pod it is.
func TestTheRewriterStaysOnForContainersThatOthersAdd(t *testing.T) {
	refusals := 0
	for seed := range uint64(600) {
		d := drawer{rand.New(rand.NewPCG(seed, 58))}
		kind := d.pick("Deployment", "StatefulSet", "DaemonSet")
		rewriter := d.pick("", "", "istio: {injectorRewrites: false}")
		annotation := d.pick("", "", "sidecar.opentelemetry.io/inject: 'true'", "sidecar.opentelemetry.io/inject: 'false'", "sidecar.opentelemetry.io/inject: otel", "sidecar.opentelemetry.io/inject: other/otel", "dapr.io/enabled: 'true'")
		proxied := d.pick("", "", "name: web, kind: "+kind, "name: other, kind: "+kind, "kind: "+kind+", selector: {matchLabels: {a: b}}", "kind: Job, selector: {matchLabels: {a: b}}", "name: web, kind: Job")
		of := d.pick("shop", "shop", "other")
		mode := d.pick("sidecar", "sidecar", "deployment")
		probe := d.pick("config: {extensions: {health_check: {}}}", "config: 'extensions: {health_check: {}}'", "config: {receivers: {}}", "config: {}, livenessProbe: {initialDelaySeconds: 1}")
		collector := d.pick("", "", "yes")

		text := "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n---\n" +
			"apiVersion: apps/v1\nkind: " + kind + "\nmetadata: {name: web, namespace: shop}\nspec:\n  selector: {matchLabels: {app: web}}\n  template:\n" +
			"    metadata: {labels: {app: web}, annotations: {" + annotation + "}}\n    spec: {containers: [{name: web, image: web, readinessProbe: {httpGet: {port: 80}}}]}\n"
		if proxied != "" {
			text += "---\napiVersion: cloudsql.cloud.google.com/v1\nkind: AuthProxyWorkload\nmetadata: {name: db, namespace: " + of + "}\nspec: {workloadSelector: {" + proxied + "}, instances: []}\n"
		}
		if collector != "" {
			text += "---\napiVersion: opentelemetry.io/v1beta1\nkind: OpenTelemetryCollector\nmetadata: {name: otel, namespace: shop}\nspec: {mode: " + mode + ", " + probe + "}\n"
		}
		byObject := proxied != "" && of == "shop" && strings.Contains(proxied, "kind: "+kind) && !strings.Contains(proxied, "name: other")
		silent := collector != "" && mode == "sidecar" && probe == "config: {receivers: {}}" && !strings.Contains(annotation, "/otel")
		byAnnotation := annotation != "" && !strings.Contains(annotation, "false") && (strings.Contains(annotation, "dapr") || !silent)
		want := rewriter == "" && (byObject || byAnnotation)
		out, refused := runText(t, text, configOf(t, rewriter), pipeline.Rewrite)
		if refused != want || !refused && !strings.Contains(out, "rewriteAppHTTPProbers: \"false\"") {
			t.Errorf("refused: %t, want %t, with %q:\n%s", refused, want, rewriter, out)
		}
		if refused {
			refusals++
			if told := messagesOf(t, text, configOf(t, rewriter)); !strings.Contains(told, "[rewriter-needed]") {
				t.Errorf("%s\n%s", told, text)
			}
		}
	}
	if refusals < 100 || refusals > 500 {
		t.Errorf("%d of 600 are refused", refusals)
	}
}
