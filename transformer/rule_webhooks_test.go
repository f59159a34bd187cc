package transformer_test

import (
	"fmt"
	"strings"
	"testing"
)

// Dapr's injector reads a few words in any case (utils.IsTruthy in dapr/kit).
func TestDaprIsAskedForByWordsInAnyCase(t *testing.T) {
	for value, on := range map[string]bool{
		"true": true, "True": true, "TRUE": true, "yes": true, "Y": true, "on": true, "1": true, "t": true,
		"": false, "false": false, "no": false, "off": false, "0": false, "enabled": false,
	} {
		before := podOf("annotations: {dapr.io/enabled: \""+value+"\"}\nlabels: {sidecar.istio.io/inject: \"true\"}", app(httpProbe))
		r := plan(t, before)
		if _, needed := r.has("rewriter-needed"); needed != on || (r.text == before) != on {
			t.Errorf("%q: %v in\n%s", value, r.Findings, r.text)
		}
	}
}

// Dapr's container has probes that Istio's rewriter serves, where Istio may inject: in a pod that opts out of Istio nothing is turned off.
func TestDaprMattersWhereIstioMayInject(t *testing.T) {
	const dapr = "annotations: {dapr.io/enabled: \"true\"}\n"
	for _, c := range []struct {
		metadata string
		needed   bool
	}{
		{"", true}, {"labels: {sidecar.istio.io/inject: \"true\"}\n", true}, {"labels: {sidecar.istio.io/inject: \"false\"}\n", false},
	} {
		for _, opts := range [][]option{{inMesh("istio")}, {inMesh("istio"), answeredBy("probe-proxy")}} {
			before := podOf(dapr+c.metadata, app(httpProbe))
			if _, needed := plan(t, before, opts...).has("rewriter-needed"); needed != c.needed {
				t.Errorf("%q, %d options: %t", c.metadata, len(opts), needed)
			}
		}
	}
}

// A pod's own annotation for a collector wins over that of its Namespace, in both directions.
func TestThePodsAnnotationForACollectorWins(t *testing.T) {
	const collector = "---\napiVersion: opentelemetry.io/v1beta1\nkind: OpenTelemetryCollector\nmetadata: {name: side, namespace: shop}\nspec: {mode: sidecar, livenessProbe: {}, config: {extensions: {health_check: {}}, service: {extensions: [health_check]}}}\n"
	annotate := func(value string) string {
		if value == "" {
			return "annotations: {a: b}\n"
		}
		return fmt.Sprintf("annotations: {sidecar.opentelemetry.io/inject: %q}\n", value)
	}
	seen := map[bool]int{}
	for _, ofPod := range []string{"", "false", "true", "side"} {
		for _, ofNamespace := range []string{"", "false", "true", "side"} {
			text := strings.Replace(podOf("labels: {sidecar.istio.io/inject: \"true\"}\n"+annotate(ofPod), app(httpProbe)), "  name: web\n", "  name: web\n  namespace: shop\n", 1)
			ns := "---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n  " + annotate(ofNamespace)
			value := ofPod
			if value == "" {
				value = ofNamespace
			}
			want := value != "" && value != "false"
			_, got := result{Plan: planNear(t, text+ns+collector)}.has("rewriter-needed")
			if got != want {
				t.Errorf("the pod says %q, and its Namespace %q: %t", ofPod, ofNamespace, got)
			}
			seen[got]++
		}
	}
	if len(seen) != 2 {
		t.Errorf("%v", seen)
	}
}
