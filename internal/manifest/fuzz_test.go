package manifest

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// forms are the ways of writing YAML that have broken line-based readers, and
// the forms in which tools hand over their lists.
var forms = []string{
	"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n",
	"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n- apiVersion: v1\n  kind: Service\n",
	"kind: List\napiVersion: v1\nitems:\n  - apiVersion: v1\n    kind: Pod\n  -   kind: A\n      apiVersion: b\n",
	"items:\n- # comment\n  kind: Pod\n-\n  kind: A\n# c\n- {kind: B, apiVersion: c}\nkind: List\n",
	"kind: List\nitems:\n- {a: b}\n- c: d\n- {e: f} # g\n# h\n- {i: j}\n-",
	"kind: List\nitems:\n- |\n  - kind: Pod\n  kind: a\n- a: |-\n    - b\n    kind: c\n\n   # d\n  e: f\n",
	"a: |\n  text\n  # no comment\n # comment\nb: >-\n  folded\n  text\n\n    more\n  end\nc: |+\n  keep\n\n\nd: |2\n    two\n",
	"a: \"x\n  y\\\n  z\"\nb: 'it''s\n  long'\nc: plain\n  goes\n\n  on\nd: {a: b, c: [d, \"e\"]}\ne: [\n  a,\n  b\n]\n",
	"- a\n- b\n", "a\n", "{}\n", "[]\n", "---\n", "", "# c\n", "--- a\n", "...\n---\na: b\n...\n",
	"a: &x\n  b: c\nd: *x\ne:\n  <<: *x\n", "? a\n: b\n", "%YAML 1.1\n---\na: b\n", "a: !!str 1\nb: !x y\n", "!!map {a: b}\n",
	"a:\n\tb: c\n", "a:\tb\n", "a: b\t# c\n", "a: b #c\n", "a: b#c\n", "a: #c\n  b\n", "a:\n  b\n", "a:\n  'b'\n", "a:\n  b: c\n d: e\n",
	"a: b: c\n", "a: - b\n", "a: -b\n", "a: ?b\n", "a: :b\n", "a:b\n", "a:b: c\n", "\"a\": b\n'c': d\n\"e f\" : g\n", "a b: c\n", "a : b\n",
	"a: 'b' c\n", "a: \"b\"c\n", "a: {b: c} d\n", "a: {}\nb: []\nc: {} # d\n", "a: {b}\n", "a: {b: }\n", "a: [b,]\n", "a: [,b]\n", "a: [b c, d]\n",
	"a:\n- b\n- c:\n  - d\n  - - e\n    - f\n  g: h\nz: y\n", "a:\n  - b\n   - c\n", "a:\n- b\n c: d\n", "- - a: b\n    c: d\n",
	"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"kind\":\"Pod\",\"apiVersion\":\"v1\"},{\"a\":1}]}\n",
	"{\n\t\"kind\": \"Pod\",\n\t\"a\": [\n\t\t1,\n\t\t-2.5e3,\n\t\ttrue,\n\t\tnull,\n\t\t\"\\u00e9\\/\\n\"\n\t]\n}\n{\"kind\": \"A\"}\n",
	"a: http://b:80/c#d\nb: ~\nc: null\nd: 0x1F\ne: 1_000\nf: 1e3\ng: yes\nh: 2001-01-01\n",
	"a:\r\n- b: |\r\n    c\r\n    d\r\n  e: \"f\"\r\n", "a: b\rc: d\n", "\ufeffa: b\n", "a: \u0085b\n", "a: \u2028b\n",
	"kind: Pod\nkind: Pod\n", "kind:\n  Pod\n", "kind: Po\n  d\n", "kind: |\n  Pod\n", "kind: [Pod]\n", "kind: \"Po\\u0064\"\n",
	"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: a\nfunctionConfig:\n  apiVersion: a/v1\n  kind: B\nresults:\n- message: m\n",
	"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n", "kind: ResourceList\napiVersion: config.kubernetes.io/v1\nitems: [{kind: A, b: c}, {kind: D}]\n",
	"kind: List\nitems:\n- kind: List\n  items:\n  - kind: Pod\n- kind: PodList\n  items: [{a: b}]\n",
	"kind: List\nitems:\n- items:\n    - kind: A\n      b: c\n       d\n    # c\n    - {e: f}\n  # g\n  kind: B\n  results: h\n# i\n- kind: List\n  items:\n  - items:\n    - j: |\n        k\n  -\n    l: m\nn: o\n",
	"kind: List\nitems:\n- kind: A\n  items: &a\n  - b: c\n- items:\n  d: e\n- items:\n  - f\n g: h\n", "kind: List\nitems:\n- items: 'a\n  b'\n- items: a\n   b\n  kind: c\n- kind: a\n  items:\n  - b: c\n   d: e\n- f: g\n",
	"a: 1\n  \n   \nb: 2\n", "a: |\n\n\n  b\n\nc: d\n", "a: |\n   \n  b\n", "a: |-\n\n", "a: |", "a: |1\n  b\n", "a: b\n---\nc: d\n--- # x\ne: f\n",
	"a: b\n\n# c\n  # d\ne: f\n", "a: 'b\n---\nc'\n", "a:\n- b: c\n  # x\n- d\n", "a:\n  - \n  - b\n  -\n", "- a: b\n- c", "a: b\n c\n d: e\n",
	"\"a\\\"b\": c\n", "a: \"b\\\"c\" # d\n", "a: \"\\x41\\q\"\n", "~: a\nnull: b\n1: c\ntrue: d\n", "=: a\n<<: b\n", "a: @b\n", "a: `b\n", "a: %b\n", "%a: b\n",
	"a: [\"b\":c]\n", "a: {\"b\":c}\n", "a: {b:c}\n", "a: {b: c:d}\n", "a: {? b}\n", "a: [-]\n", "a: [- b]\n", "a: [-1]\n", "a: [#b]\n", "a: [b #c\n]\n", "a: {b: |\n c}\n",
	"a: [it's, a#b, --sel=\"x\", a\"b'c, x=y]\n", "a: [b, # c\n  d # e\n  # f\n  ]\n", "{# c\n a: b}\n", "{ # c\n a: b # d\n, c: d,\n}\n",
	"a: [b\n  c, \"d\n\n  e\", 'f\n  g']\n", "a: {b: , c:\n, d: }\n", "a: {it's: b, c d: e, f#g: h}\n", "a: {<<: b}\n", "a: [a:b, c:, d: e]\n", "a: [<<, =, a?b]\n", "a: {\"b\":, 'c': }\n",
	"&a\n&b\n", "&a\n&b c: d\n", "&a\n!!map\nc: d\n", "!!map\n!!map\nc: d\n", "--- &a\n&b\nc: d\n",
	"{kind: Pod, # c\n apiVersion: v1, it's: [a,],}\n", "{kind: List, items: [ # c\n {kind: it's, # d\n a: b}, {kind: B}, ]}\n", "{kind: A\n B, c: d}\n", "{kind: , items: , a: }\n",
}

// surrogate matches the escapes that JSON allows and the full parser refuses: halves of pairs, and of a slash.
var surrogate = regexp.MustCompile(`\\(u[dD][89a-fA-F]|/)`)

// numbered are texts with characters by their numbers.
var numbered = []string{
	"kind: Pod\na: \"\\u00e9\\U0001f600\"\n", "\"\\u0061\": \"\\U0000006b\"\nb: \"\\u0020\"\n", "a: \"\\u0000\"\n", "a: \"\\u00\"\n", "a: \"\\U00110000\"\n", "a: \"\\U0000d800\"\n", "a: \"\\Uffffffff\"\n",
	"{\"\\u006bind\": \"\\u0050od\", \"a\\u002fb\": [\"\\u2028\", \"\\ufeff\"]}\n",
}

func FuzzScannerAgreesWithYAML(f *testing.F) {
	for _, s := range forms {
		f.Add([]byte(s))
		f.Add([]byte("kind: X\nitems:\n- " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n  ") + "\n"))
	}
	f.Add([]byte("k: [a\n\tb, c]\n"))
	for _, key := range []string{"!0 a", "!!str 1", "!!int a", "&b c", "*x ", "<<", "'<<'", "!!str <<"} { // of a pair in brackets
		f.Add([]byte("k: &x {a: 1}\nl: [0, " + key + ": *x, 2]\n"))
		f.Add([]byte("k: &x a\nl: [" + key + ": *x]\n"))
	}
	for _, s := range numbered {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		text, err := Check(in, nil)
		if err != nil || len(in) == 0 || surrogate.Match(in) {
			return
		}
		in = in[text.Start:]
		if bytes.Contains(in, []byte("\n---")) || bytes.Contains(in, []byte("\n...")) || bytes.HasPrefix(in, []byte("...")) {
			return // several documents: FuzzRead takes them apart
		}
		if len(text.Odd) > 0 {
			return // read as LF: TestOtherLineBreaks has what differs
		}
		if !bytes.HasSuffix(in, []byte("\n")) { // as Read has it
			in = append(bytes.Clone(in), '\n')
		}
		agreeOnTree(t, in)
		agreeOnItems(t, in)
	})
}

// agreeOnTree checks that a text which the scanner accepts has the tree that
// the full parser sees.
func agreeOnTree(t *testing.T, in []byte) {
	var tr tree
	if !tr.parse(in, 0) || tr.fixed.why == notKey {
		return
	}
	root, err := judgedValue(in, 0)
	if err != nil || root == nil {
		t.Fatalf("the scanner accepts what the full parser refuses: %v\n%q", err, in)
	}
	if !equalYAML(&tr, 1, root) {
		b, _ := yamlv3.Marshal(root)
		t.Fatalf("the trees differ for %q: the full parser reads\n%s\nthe scanner %#v", in, b, tr.raw(1))
	}
	for i := 1; i < len(tr.nodes) && !tr.special; i++ {
		v := tr.nodes[i]
		if v.key > v.keyEnd || v.keyEnd > v.start || v.start > v.end || int(v.end) > len(in) {
			t.Fatalf("node %d of %q is out of order: %+v", i, in, v)
		}
	}
}

// agreeOnItems checks that indexing finds the items that the full parser
// sees, where they start and end, and what they are.
func agreeOnItems(t *testing.T, in []byte) {
	s := &Stream{in: in}
	s.text, _ = Check(in, nil)
	d := s.text.Documents(nil)
	if !d.Next() {
		return
	}
	empty, err := d.Read()
	if err != nil || d.End != len(in) {
		return
	}
	root, err := judged(in, 0)
	if err != nil || (root == nil) != empty {
		t.Fatalf("the scanner indexes what the full parser refuses (empty %v): %v\n%q", empty, err, in)
	}
	if empty {
		return
	}
	if root.Kind != yamlv3.MappingNode {
		t.Fatalf("%q is indexed, and is no mapping", in)
	}
	agreeOnList(t, s, &d.Tree, 1, d.End, d.Tree.fixed.why != "", root)
}

// agreeOnList compares what the scanner has found out about a document, or about
// an item that has items itself, with what the full parser has.
func agreeOnList(t *testing.T, s *Stream, tr *tree, n int32, end int, isOdd bool, root *yamlv3.Node) {
	t.Helper()
	in, p := s.in, newPlacer(s.in, 0, 0)
	id, _, err := s.identify(tr, n, end)
	if err != nil {
		return
	}
	agreeOnKind(t, s, &id, root)
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		c, known := map[string]int32{"items": id.items, "functionConfig": id.functionConfig, "results": id.results}[key.Value]
		if !known || n != 1 && id.items == 0 || key.Kind != yamlv3.ScalarNode || key.Anchor != "" || key.Style&yamlv3.TaggedStyle != 0 || isOdd {
			continue
		}
		v := &tr.nodes[c]
		isAbsent := value.ShortTag() == "!!null" && value.Value == "" && !hasProps(value)
		if isAbsent && v.style != absent && in[v.start] == '!' {
			continue // a tag without a name and nothing else, which the full parser does not tell
		}
		if c == 0 || int(v.key) != p.offset(key) || (v.style == absent) != isAbsent || !isAbsent && int(v.start) != p.offset(value) || in[tr.behindColon(v)-1] != ':' {
			t.Fatalf("indexing %q: %s is %d, %+v", in, key.Value, c, v)
		}
		if key.Value != "items" || value.Kind != yamlv3.SequenceNode {
			continue
		}
		if tr.length(c) != len(value.Content) {
			t.Fatalf("indexing %q: %d items, want %d", in, tr.length(c), len(value.Content))
		}
		if v.next != 0 {
			end = lineStart(in, int(tr.nodes[v.next].key))
		}
		for i, x := range value.Content {
			item := tr.item(c, i)
			it := &tr.nodes[item]
			isMap := x.Kind == yamlv3.MappingNode
			if x.Kind == yamlv3.AliasNode {
				continue
			}
			if (it.kind == mapping) != isMap {
				t.Fatalf("indexing %q: item %d: %+v", in, i, it)
			}
			if !isMap {
				continue
			}
			if int(it.start) != p.offset(x) || in[it.start] != '{' && s.text.columnOf(it) != x.Column-1 {
				t.Fatalf("indexing %q: item %d starts at %d in column %d, want %d in %d", in, i, it.start, s.text.columnOf(it), p.offset(x), x.Column-1)
			}
			end := s.itemEnd(tr, item, end)
			agreeOnEnd(t, in, int(it.start), end, s.text.columnOf(it), x)
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
		if v, _ := lookup(root, key); v != nil && v.Kind == yamlv3.ScalarNode && v.ShortTag() != "!!null" {
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
	left := maxExpanded
	want, err := expand(n, &left, 0)
	if err != nil {
		return
	}
	root, err := judgedValue(in[start:end], col)
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
	for i, s := range forms {
		f.Add([]byte(s))
		f.Add([]byte(forms[(i*7+3)%len(forms)] + "---\n" + s))
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
