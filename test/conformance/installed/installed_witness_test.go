package installed

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	source "github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/istio"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/kubernetes"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
)

const statefulSet = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: shop, generation: 1}
spec:
  template:
    metadata: {labels: {app: web, %s}}
    spec:
      containers:
      - name: web
        image: shop/web:1.0
        livenessProbe: {httpGet: {path: /live, port: 8080}, initialDelaySeconds: 30}
        readinessProbe: {tcpSocket: {port: 8080}}
status: {observedGeneration: 1, updateRevision: web-1}
---
`

// A running pod alone shows what Istio's injector makes of the next one.
func TestAPodShowsWhatTheInjectorDoes(t *testing.T) {
	shown := 0
	for _, s := range settings {
		if len(s.planes) > 1 {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			planes, _ := install(t, s)
			for _, mode := range planes[0].native {
				input := kubernetes.Default(read[corev1.Pod](t, podWith("sidecar.istio.io/inject: 'true'", "")))
				pod, err := istio.New(t, s.planes[0]...).Inject(input, mode)
				if err != nil {
					t.Fatal(err)
				}
				e := endOf(pod)
				running := pod.DeepCopy()
				running.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
				running.Name, running.Namespace = "web-0", "shop"
				running.CreationTimestamp = metav1.NewTime(time.Date(2026, 11, 29, 1, 0, 0, 0, time.UTC))
				running.Labels["controller-revision-hash"] = "web-1"
				running.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", Controller: new(true)}}
				running.Status.Phase = corev1.PodRunning
				witness, err := yaml.Marshal(running)
				if err != nil {
					t.Fatal(err)
				}
				own, err := source.Read("all.yaml", []byte(fmt.Sprintf(statefulSet, "sidecar.istio.io/inject: 'true'")+string(witness)))
				if err != nil {
					t.Fatal(err)
				}
				c, err := rewriting.Config(rewriting.Settings{})
				if err != nil {
					t.Fatal(err)
				}
				known := pipeline.Run([]*source.Stream{own}, c, pipeline.Inspect).Templates[0].Known
				for _, fact := range []struct {
					is      bool
					yes, no string
				}{
					{e.native, "; native sidecar: Pod ", "; not a native sidecar: Pod "},
					{e.rewrites, "; the injector rewrites probes: Pod ", "; the injector rewrites no probes: Pod "},
					{e.holds, "; starts first: Pod ", "; does not start first: Pod "},
				} {
					want := fact.no
					if fact.is {
						want = fact.yes
					}
					if e.native && strings.Contains(want, "first") || !e.injected {
						continue // a native sidecar always starts first
					}
					shown++
					if !strings.Contains(known, want) {
						t.Errorf("%v: %+v, and we say: %s", mode, e, known)
					}
				}
			}
		})
	}
	if shown < 40 {
		t.Errorf("%d facts were shown", shown)
	}
}
