package yaml

import (
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/yamljudge"
)

func FuzzScannerAgreesWithYAML(f *testing.F) {
	for _, in := range yamljudge.Seeds() {
		f.Add(in)
	}
	f.Fuzz(agreeOnText)
}

// TestMutatedFormsAreReadAsTheFullParserReadsThem reads what chance would find in a minute.
func TestMutatedFormsAreReadAsTheFullParserReadsThem(t *testing.T) {
	for _, s := range slices.Concat(yamljudge.Forms, yamljudge.Numbered) {
		for seed := range uint64(100) {
			agreeOnText(t, testutil.Mutated([]byte(s), yamljudge.Pieces, seed))
		}
	}
}

func agreeOnText(t *testing.T, in []byte) {
	text, err := Check(in, nil)
	if err != nil || len(in) == 0 || yamljudge.Surrogate.Match(in) {
		return
	}
	if in, ok := yamljudge.OneDocument(in[text.Start:]); ok { // FuzzRead takes several apart
		agreeOnTree(t, in)
	}
}

// agreeOnTree checks that a text which the scanner accepts has the tree that
// the full parser sees.
func agreeOnTree(t *testing.T, in []byte) {
	var tr Parser
	ok := tr.Parse(in, 0)
	saidOf(&tr)
	if !ok || tr.ReadOnly.Why == NotKey {
		return
	}
	root, err := yamljudge.Value(in, 0)
	if err != nil || root == nil {
		t.Fatalf("the scanner accepts what the full parser refuses: %v\n%q", err, in)
	}
	if !equalYAML(&tr.Tree, 1, root) {
		b, _ := yaml.Marshal(root)
		t.Fatalf("the trees differ for %q: the full parser reads\n%s\nthe scanner %#v", in, b, tr.Raw(1))
	}
	for i := 1; i < len(tr.Nodes) && !tr.Special; i++ {
		v := tr.Nodes[i]
		if v.Key > v.KeyEnd || v.KeyEnd > v.Start || v.Start > v.End || int(v.End) > len(in) {
			t.Fatalf("node %d of %q is out of order: %+v", i, in, v)
		}
	}
}

// equalYAML reports whether the node has the same value as the parser's node.
func equalYAML(t *Tree, n int32, y *yaml.Node) bool {
	v := &t.Nodes[n]
	c := v.Child
	switch y.Kind {
	case yaml.MappingNode:
		if v.Kind != Mapping {
			return false
		}
		for i := 0; i+1 < len(y.Content); i += 2 {
			if c == 0 || y.Content[i].Kind != yaml.ScalarNode || t.KeyOf(c) != y.Content[i].Value || !equalYAML(t, c, y.Content[i+1]) {
				return false
			}
			c = t.Nodes[c].Next
		}
		return c == 0
	case yaml.SequenceNode:
		if v.Kind != Sequence {
			return false
		}
		for _, k := range y.Content {
			if c == 0 || !equalYAML(t, c, k) {
				return false
			}
			c = t.Nodes[c].Next
		}
		return c == 0
	case yaml.ScalarNode:
		const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
		if y.Style&quoted == 0 && yamljudge.IsNull(y.Value) {
			return t.IsNull(n)
		}
		if v.Kind != Scalar || t.Str(n) != y.Value {
			return false
		}
		// Quotes may differ if the type does not.
		_, isString := t.Value(n).(string)
		return isString == (ReadsAsString(y.Value) || y.Style&quoted != 0)
	}
	return false
}
