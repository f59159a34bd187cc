package transformer_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func TestTheImageIsThatOfTheRegistryUnlessOneIsGiven(t *testing.T) {
	released := new(transformer.ProbeProxy).ImageToRun()
	name := released[strings.LastIndexByte(released, '/'):]
	for _, c := range []struct {
		p    transformer.ProbeProxy
		want string
	}{
		{transformer.ProbeProxy{}, released}, {transformer.ProbeProxy{Registry: "example.com/mesh"}, "example.com/mesh" + name}, {transformer.ProbeProxy{Image: "a/b:c"}, "a/b:c"}, {transformer.ProbeProxy{Image: "a/b:c", Registry: "example.com"}, "a/b:c"},
	} {
		if got := c.p.ImageToRun(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.p, got, c.want)
		}
	}
	if !strings.HasPrefix(name, "/probe-proxy:") {
		t.Errorf("the image is %s", released)
	}
}

// A pod that another mesh's injector gets would have two containers of one name, unless the name is one that
// anybody may use.
func TestTheContainerHasNoMeshsName(t *testing.T) {
	for name, of := range map[string]string{
		"probe-proxy": "", "istio-proxy": "Istio", "linkerd-proxy": "Linkerd", "kuma-sidecar": "Kuma", "consul-dataplane": "Consul", "envoy": "",
	} {
		for _, mesh := range []string{"auto", "istio", "linkerd", "kuma", "consul"} {
			o := transformer.Defaults()
			o.Mesh, o.ProbeProxy.Name = mesh, name
			var said []string
			for _, p := range transformer.Problems(&o) {
				said = append(said, p.Path.String()+": "+p.Text)
			}
			if got := strings.Join(said, ", "); (got != "") != (of != "") || of != "" && !strings.Contains(got, "is the name of "+of+"'s own sidecar") {
				t.Errorf("%s in %s: %q", name, mesh, got)
			}
		}
	}
}

func TestWordsAreEnumeratedAsInASentence(t *testing.T) {
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := field.Enumerate(words, "or"); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}
