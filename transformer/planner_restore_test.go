package transformer_test

import (
	"strings"
	"testing"
)

// What marks say decides who is rewritten. It does not decide who gets its originals back: they are
// in the pod, and the annotations of every mesh are known. So a pod that somebody has since marked for
// two meshes cannot be rewritten, and can be restored.
func TestRestore_marksOfTwoMeshes(t *testing.T) {
	const none = "labels: {a: b}"
	const two = "labels: {a: b, kuma.io/sidecar-injection: enabled, sidecar.istio.io/inject: \"true\"}"
	before := podOf(none+"\n", app(httpProbe))
	for _, mesh := range []string{"istio", "linkerd", "kuma", "consul", "osm", "fsm"} {
		rewritten := plan(t, before, inMesh(mesh))
		if len(rewritten.Edits) == 0 {
			t.Errorf("%s: nothing is rewritten", mesh)
		}
		marked := strings.Replace(rewritten.text, none, two, 1)
		wantReason(t, plan(t, marked), "two-meshes")
		wantText(t, restore(t, marked), strings.Replace(before, none, two, 1))
	}
}
