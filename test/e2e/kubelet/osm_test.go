package kubelet

import "testing"

// osmPorts are not captured by Open Service Mesh. The stand-in has Istio's
// rules, so an annotation excludes them.
const osmPorts = "15901,15902,15903,15904"

// osmPods are the expectations in Open Service Mesh. That has no
// form for grpc and hooks; those pods fare in it as they do without rewriting.
var osmPods = []struct {
	name string
	want verdict
}{
	{"http", ready},
	{"named-port", ready},
	{"https", ready},
	{"tcp", ready},
	{"tcp-dead", neverReady},
	{"tcp-dead-liveness", restarted},
	{"failing", neverReady},
	{"request", ready},
	{"redirect", ready},
	{"slow-start", ready},
	{"job", succeeded},
	{"grpc", neverReadyAndRestarted},
}

func TestPodsFareAsExpectedInTheMeshOSM(t *testing.T) {
	t.Parallel()
	for _, p := range osmPods {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			manifest := pod(t, p.name, "osm")
			metadata := manifest["metadata"].(map[string]any)
			annotations, ok := metadata["annotations"].(map[string]any)
			if !ok {
				annotations = make(map[string]any)
				metadata["annotations"] = annotations
			}
			annotations[istio.Annotation] = osmPorts
			runAndCompare(t, p.name+"-osm", p.want, manifest)
		})
	}
}
