package manifest

import (
	"bytes"
	"strings"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/yamljudge"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

func FuzzObjectsAreWhatTheFullParserReads(f *testing.F) {
	for _, in := range yamljudge.Seeds() {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		text, err := yaml.Check(in, nil)
		if err != nil || len(in) == 0 || yamljudge.Surrogate.Match(in) {
			return
		}
		if text.OddBreak(0, len(text.Bytes)) >= 0 {
			return // read as LF: TestOtherLineBreaks has what differs
		}
		if in, ok := yamljudge.OneDocument(in[text.Start:]); ok { // FuzzRead takes several apart
			agreeOnItems(t, in)
		}
	})
}

// agreeOnItems checks that indexing finds the items that the full parser
// sees, where they start and end, and what they are.
func agreeOnItems(t *testing.T, in []byte) {
	s := &Stream{in: in}
	s.text, _ = yaml.Check(in, nil)
	d := s.text.Documents(nil)
	if !d.Next() {
		return
	}
	empty, err := d.Read()
	if err != nil || d.End != len(in) {
		return
	}
	root, err := yamljudge.Document(in, 0)
	if err != nil || (root == nil) != empty {
		t.Fatalf("the scanner indexes what the full parser refuses (empty %v): %v\n%q", empty, err, in)
	}
	if empty {
		return
	}
	if root.Kind != yamlv3.MappingNode {
		t.Fatalf("%q is indexed, and is no mapping", in)
	}
	agreeOnList(t, s, d.Tree(), 1, d.End, d.Tree().ReadOnly.Why != "", root)
}

// agreeOnList compares what the scanner has found out about a document, or about
// an item that has items itself, with what the full parser has.
func agreeOnList(t *testing.T, s *Stream, tr *yaml.Tree, n int32, end int, isOdd bool, root *yamlv3.Node) {
	t.Helper()
	in, p := s.in, yamljudge.NewPlacer(s.in, 0, 0)
	id, _, err := s.identify(tr, n, end)
	if err != nil {
		return
	}
	agreeOnKind(t, s, &id, root)
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		c, known := map[string]int32{"items": tr.Get(n, "items"), "functionConfig": tr.Get(n, "functionConfig"), "results": tr.Get(n, "results")}[key.Value]
		if !known || n != 1 && tr.Get(n, "items") == 0 || key.Kind != yamlv3.ScalarNode || key.Anchor != "" || key.Style&yamlv3.TaggedStyle != 0 || isOdd {
			continue
		}
		v := &tr.Nodes[c]
		isAbsent := value.ShortTag() == "!!null" && value.Value == "" && !hasProps(value)
		if isAbsent && v.Style != yaml.Absent && in[v.Start] == '!' {
			continue // a tag without a name and nothing else, which the full parser does not tell
		}
		if c == 0 || int(v.Key) != p.Offset(key) || (v.Style == yaml.Absent) != isAbsent || !isAbsent && int(v.Start) != p.Offset(value) || in[tr.BehindColon(v)-1] != ':' {
			t.Fatalf("indexing %q: %s is %d, %+v", in, key.Value, c, v)
		}
		if key.Value != "items" || value.Kind != yamlv3.SequenceNode {
			continue
		}
		if tr.Length(c) != len(value.Content) {
			t.Fatalf("indexing %q: %d items, want %d", in, tr.Length(c), len(value.Content))
		}
		if v.Next != 0 {
			end = yaml.LineStart(in, int(tr.Nodes[v.Next].Key))
		}
		for i, x := range value.Content {
			item := tr.Child(c, field.Step{Index: int32(i), IsIndex: true})
			it := &tr.Nodes[item]
			isMap := x.Kind == yamlv3.MappingNode
			if x.Kind == yamlv3.AliasNode {
				continue
			}
			if (it.Kind == yaml.Mapping) != isMap {
				t.Fatalf("indexing %q: item %d: %+v", in, i, it)
			}
			if !isMap {
				continue
			}
			if int(it.Start) != p.Offset(x) || in[it.Start] != '{' && s.text.ColumnOf(it) != x.Column-1 {
				t.Fatalf("indexing %q: item %d starts at %d in column %d, want %d in %d", in, i, it.Start, s.text.ColumnOf(it), p.Offset(x), x.Column-1)
			}
			end := s.itemEnd(tr, item, end)
			agreeOnEnd(t, in, int(it.Start), end, s.text.ColumnOf(it), x)
			agreeOnList(t, s, tr, item, end, isOdd, x)
		}
	}
}

func hasProps(n *yamlv3.Node) bool { return n.Anchor != "" || n.Style&yamlv3.TaggedStyle != 0 }

// agreeOnKind compares an apiVersion and kind.
func agreeOnKind(t *testing.T, s *Stream, id *identity, root *yamlv3.Node) {
	t.Helper()
	for key, have := range map[string]string{"apiVersion": id.apiVersion, "kind": id.kind} {
		want := ""
		if v, _ := yamljudge.Lookup(root, key); v != nil && v.Kind == yamlv3.ScalarNode && v.ShortTag() != "!!null" {
			want = v.Value
		}
		if have != want {
			t.Fatalf("indexing %q: %s is %q, want %q", s.in, key, have, want)
		}
	}
}

// agreeOnEnd checks that the text of an item, alone, has the value that it has in its list.
func agreeOnEnd(t *testing.T, in []byte, start, end, col int, n *yamlv3.Node) {
	t.Helper()
	left := yamljudge.MaxExpanded
	want, err := yamljudge.Expand(n, &left, 0)
	if err != nil {
		return
	}
	root, err := yamljudge.Value(in[start:end], col)
	if err != nil {
		if strings.Contains(err.Error(), "unknown anchor") {
			return
		}
		t.Fatalf("indexing %q: item %q: %v", in, in[start:end], err)
	}
	var a, b bytes.Buffer
	if root == nil {
		t.Fatalf("indexing %q: item %q is empty", in, in[start:end])
	}
	dropComments(want)
	dropComments(root)
	if yamlv3.NewEncoder(&a).Encode(want) != nil || yamlv3.NewEncoder(&b).Encode(root) != nil {
		t.Fatalf("indexing %q: item %q", in, in[start:end])
	}
	if a.String() != b.String() {
		t.Fatalf("indexing %q: item %q reads %q, want %q", in, in[start:end], b.String(), a.String())
	}
}

func dropComments(n *yamlv3.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, c := range n.Content {
		dropComments(c)
	}
}

func FuzzRead(f *testing.F) {
	for i, s := range yamljudge.Forms {
		f.Add([]byte(s))
		f.Add([]byte(yamljudge.Forms[(i*7+3)%len(yamljudge.Forms)] + "---\n" + s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := Read("<stdin>", in)
		if err != nil {
			if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "cannot be read") {
				t.Fatalf("%q: bad message: %v", in, err)
			}
			return
		}
		if out := output(t, s); !bytes.Equal(out, in) || s.Changed() {
			t.Fatalf("an unchanged stream came back different:\n%q\n%q", in, out)
		}
		for _, o := range s.Objects() {
			_, _ = o.Mapping(field.NewPath("spec", "template"))
			_, _ = o.List(field.NewPath("spec", "containers"))
			_ = o.String()
			_ = o.Line()
			var v any
			_, _ = o.Decode(nil, &v)
		}
	})
}
