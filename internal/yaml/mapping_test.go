package yaml

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

func TestMappingInReadsATextInAText(t *testing.T) {
	one := field.Map{{Key: "a", Value: 1}}
	for text, want := range map[string]field.Map{
		"":                    nil,
		"# nothing":           nil,
		"a: 1":                one,
		"{\"a\": 1}":          one,
		"---\na: 1\n":         one,
		"# c\n---\na: 1\n...": one,
		"---\na: 1\n---\nb":   one,
		"{a: 1, a: 2}":        {{Key: "a", Value: 1}, {Key: "a", Value: 2}},
		"x: &v {a: 1}\ny: *v": {{Key: "x", Value: one}, {Key: "y", Value: one}},
		"a: |\n  b\n":         {{Key: "a", Value: "b\n"}},
		"kind: x\nspec: {a: [{b: null}, c]}\nmetadata: {a: 1}": {
			{Key: "kind", Value: "x"},
			{Key: "spec", Value: field.Map{{Key: "a", Value: field.List{field.Map{{Key: "b", Value: nil}}, "c"}}}},
			{Key: "metadata", Value: one},
		},
	} {
		got, err := MappingIn(text)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%q: %v, -want +got\n%s", text, err, d)
		}
	}
	for _, bad := range []string{"- a", "text", "a: *b", "a: {", "\ta: 1", "\xff"} {
		if got, err := MappingIn(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
