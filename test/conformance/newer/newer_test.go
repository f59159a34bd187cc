// Package newer has no code: its test has the API server's own code drop the fields of probes that need a feature gate,
// where the gates are off, from pods as they are and as rewrite-probes writes them with `mesh: none`.
package newer

import (
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	core "k8s.io/kubernetes/pkg/apis/core"
	v1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
)

// stored returns the pod of a text as the API server stores it.
func stored(t *testing.T, text []byte) (before, after *core.Pod) {
	t.Helper()
	pod := new(corev1.Pod)
	if err := yaml.UnmarshalStrict(text, pod); err != nil {
		t.Fatal(err)
	}
	v1.SetObjectDefaults_Pod(pod)
	before, after = new(core.Pod), new(core.Pod)
	if err := v1.Convert_v1_Pod_To_core_Pod(pod.DeepCopy(), before, nil); err != nil {
		t.Fatal(err)
	}
	if err := v1.Convert_v1_Pod_To_core_Pod(pod, after, nil); err != nil {
		t.Fatal(err)
	}
	podutil.DropDisabledPodFields(after, nil)
	return before, after
}

func TestARewrittenProbeNeedsNoFeatureGate(t *testing.T) {
	const text = `apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers:
  - name: web
    image: web
    %s: {%s}
`
	for _, handler := range []string{"grpc: {port: 9090, mode: TLS}", "httpGet: {port: 8080, protocol: HTTP2}"} {
		for _, probe := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
			manifest := fmt.Appendf(nil, text, probe, handler)
			if before, after := stored(t, manifest); reflect.DeepEqual(before, after) {
				t.Errorf("%s: %s: the API server drops nothing, so it needs no `mesh: none`", probe, handler)
			}
			c, err := rewriting.Config(rewriting.Settings{"mesh": "none"})
			if err != nil {
				t.Fatal(err)
			}
			rewritten, r, err := rewriting.Run(manifest, c, pipeline.Rewrite)
			if err != nil || r.Failed() {
				t.Fatalf("%s: %s: %v %v", probe, handler, err, r)
			}
			before, after := stored(t, rewritten)
			if !reflect.DeepEqual(before, after) {
				t.Errorf("%s: %s: the API server drops a field of the rewritten pod:\n%s", probe, handler, rewritten)
			}
			if get := before.Spec.Containers[0]; get.LivenessProbe == nil && get.ReadinessProbe == nil && get.StartupProbe == nil {
				t.Errorf("%s: %s: the probe is gone", probe, handler)
			}
		}
	}
}
