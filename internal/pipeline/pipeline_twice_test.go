package pipeline_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
)

// A second manifest of a Namespace that says the same of the mesh changes nothing, whatever else it says. One that says
// something else makes the mesh unknown, also if the functionConfig, the pod or a declared istio-proxy says that Istio injects:
// then nothing is written that needs the injection.
func TestANamespaceThatIsThereTwice(t *testing.T) {
	same, other := 0, 0
	for seed := range uint64(600) {
		d := drawer{rand.New(rand.NewPCG(seed, 59))}
		labels := []string{"", "istio-injection: enabled", "istio-injection: disabled", "istio-injection: 'yes'", "istio.io/rev: x", "istio.io/dataplane-mode: ambient", "kuma.io/sidecar-injection: enabled", "openservicemesh.io/ignore: a"}
		annotations := []string{"", "linkerd.io/inject: enabled", "config.linkerd.io/default-inbound-policy: deny", "rewrite-probes.io/rewrite: 'false'", "openservicemesh.io/sidecar-injection: enabled"}
		unrelated := []string{"team: a", "config.kubernetes.io/index: '1'", "kpt.dev/x: y", "pod-security.kubernetes.io/enforce: restricted"}
		label, annotation := d.pick(labels...), d.pick(annotations...)
		label2, annotation2 := label, annotation
		if d.IntN(2) == 0 {
			label2, annotation2 = d.pick(labels...), d.pick(annotations...)
		}
		namespace := func(label, annotation string) string {
			return "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {" + label + "}, annotations: {" + annotation + "}}\n---\n"
		}
		workload := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec:\n  selector: {matchLabels: {app: web}}\n  template:\n" +
			"    metadata: {labels: {app: web" + d.pick("", "", ", sidecar.istio.io/inject: 'true'") + "}}\n" +
			"    spec: {containers: [{name: web, image: web, readinessProbe: {httpGet: {port: 80}}}" + d.pick("", "", ", {name: istio-proxy, image: auto}") + "]}\n"
		c := configOf(t, d.pick("", "istio: {injectedNamespaces: [shop], nativeSidecars: true}", "istio: {injectedNamespaces: ['*'], injectorRewrites: false, nativeSidecars: true}"))
		once := namespace(label, annotation) + workload
		off := []string{"istio-injection: disabled", "istio-injection: 'yes'"}
		if annotation == annotation2 && (label == label2 || slices.Contains(off, label) && slices.Contains(off, label2)) {
			same++
			first := namespace(label, strings.Trim(annotation+", "+d.pick(unrelated...), ", "))
			second := namespace(strings.Trim(label2+", "+d.pick(unrelated...), ", "), annotation2)
			want, refused := runText(t, once, c, pipeline.Rewrite)
			got, alsoRefused := runText(t, first+second+workload, c, pipeline.Rewrite)
			if want, got = want[len(once)-len(workload):], got[len(first+second):]; want != got || refused != alsoRefused {
				t.Errorf("twice it is\n%s\ninstead of\n%s", got, want)
			}
			continue
		}
		other++
		out, _ := runText(t, namespace(label, annotation)+namespace(label2, annotation2)+workload, c, pipeline.Rewrite)
		if strings.Count(out, "image: auto") > strings.Count(workload, "image: auto") {
			t.Errorf("an istio-proxy that may never come, beside %q and %q:\n%s", label, label2, out)
		}
	}
	if same < 100 || other < 100 {
		t.Errorf("%d say the same, %d do not", same, other)
	}
}
