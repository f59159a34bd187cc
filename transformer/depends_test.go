package transformer

import (
	"slices"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// Of a container that is a mesh's or ours any field may matter, so a plan reads it whole.
func TestASpecialContainerIsReadWhole(t *testing.T) {
	const ours = "our-proxy"
	env := func(name string) []pod.EnvVar { return []pod.EnvVar{{Name: name}} }
	cases := map[string]struct {
		container pod.Container
		whole     bool
	}{
		"Istio's init container": {pod.Container{Name: istioInitName}, true},
		"probe-proxy":            {pod.Container{Name: ours}, true},
		"one that is injected":   {pod.Container{Name: "web", Image: autoImage}, true},
		"one with originals":     {pod.Container{Name: "web", Env: env(prober.EnvName)}, true},
		"an app":                 {pod.Container{Name: "web", Env: env("OTHER")}, false},
	}
	for _, d := range serviceMeshes {
		if d.proxy != "" {
			c := cases[d.proxy]
			c.container.Name, c.whole = d.proxy, true
			cases[d.proxy] = c
		}
	}
	o := Defaults()
	o.ProbeProxy.Name = ours
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	whole := field.NewPath("spec").Item("containers", 1)
	for name, c := range cases {
		in := Input{Kind: "Pod", APIVersion: "v1"}
		in.Note(new(Notes))
		in.Template.Spec.Containers = []pod.Container{{Name: "app"}, c.container}
		isWhole := func(f field.Path) bool { return f.String() == whole.String() }
		if got := slices.ContainsFunc(p.Reads(&in, new(Plan)).Fields, isWhole); got != c.whole {
			t.Errorf("%s: read whole: %t", name, got)
		}
	}
}
