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

func TestWordsAreEnumeratedAsInASentence(t *testing.T) {
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := field.Enumerate(words, "or"); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}
