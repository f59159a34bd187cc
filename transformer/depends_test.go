package transformer

import (
	"slices"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// Of a container that is ours, or that an injector completes, any field may matter, so a plan reads it whole. Of a mesh's proxy it
// reads the image, and the names of the env vars.
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
	proxies := make(map[string]bool)
	for _, d := range serviceMeshes {
		if d.proxy != "" {
			c := cases[d.proxy]
			c.container.Name = d.proxy
			cases[d.proxy] = c
			proxies[d.proxy] = true
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
		reads := p.Reads(&in, new(Plan))
		if got := slices.ContainsFunc(reads.Fields, isWhole); got != c.whole {
			t.Errorf("%s: read whole: %t", name, got)
		}
		isImage := func(f field.Path) bool { return f.String() == whole.Key("image").String() }
		isEnv := func(f field.Path) bool { return f.String() == whole.Key("env").String() }
		if got := slices.ContainsFunc(reads.Fields, isImage) && slices.ContainsFunc(reads.Names, isEnv); got != proxies[name] {
			t.Errorf("%s: its image and its variables are read: %t", name, got)
		}
	}
}
