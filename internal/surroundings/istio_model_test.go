package surroundings

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// configOf returns a ConfigMap of a control plane, as a Source has it.
func configOf(t *testing.T, o Neighbour, key, text string) any {
	t.Helper()
	v, ok := istioConfigs.Read(o, func(_ field.Path, into any) (bool, error) {
		c := into.(*istioConfig)
		switch key {
		case "values":
			c.Values = text
		case "mesh":
			c.Mesh = text
		}
		return true, nil
	})
	if !ok {
		t.Fatalf("%s does not count", o.Name)
	}
	return v
}

// An installation in another folder is named as the one that rewrites only if nothing near is of any installation, whatever that says.
func TestAnInstallationElsewhereIsNamedIfThereIsNoneHere(t *testing.T) {
	rnd := rand.New(rand.NewPCG(61, 81))
	seen := map[bool]int{}
	for range 3000 {
		var objects []any
		hasOwn, known, rewriting := false, 0, ""
		for i := range rnd.IntN(4) {
			o := Neighbour{Kind: "ConfigMap", Namespace: fmt.Sprintf("mesh%d", i), Far: rnd.IntN(3) > 0}
			switch kind := rnd.IntN(4); kind {
			case 0:
				o.Name = "istio"
				objects = append(objects, configOf(t, o, "mesh", "rootNamespace: x"))
			default:
				o.Name = "istio-sidecar-injector"
				word := []string{"true", "false", "'${X}'"}[kind-1]
				objects = append(objects, configOf(t, o, "values", "sidecarInjectorWebhook: {rewriteAppHTTPProbe: "+word+"}"))
				if o.Far && kind < 3 {
					known++
				}
				if o.Far && kind == 1 {
					rewriting = o.Namespace
				}
			}
			hasOwn = hasOwn || !o.Far
		}
		want := ""
		if !hasOwn && known == 1 {
			want = rewriting
		}
		s := New(given{objects: objects})
		got := s.Istio(&Pods{Namespace: "shop", Kind: "Deployment", Labels: field.KeyValues{}}, "", nil, false).FarRewrites
		if (got != "") != (want != "") || !strings.Contains(got, want) {
			t.Fatalf("%+v: %q, want that of %q", objects, got, want)
		}
		seen[want != ""]++
	}
	if seen[true] < 200 {
		t.Errorf("named only %d times", seen[true])
	}
}
