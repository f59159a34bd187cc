package manifest

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

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
	"{kind: Pod, # c\n apiVersion: v1, it's: [a,],}\n", "{kind: List, items: [ # c\n {kind: it's, # d\n a: b}, {kind: B}, ]}\n", "{kind: A\n B, c: d}\n", "{kind: , items: , a: }\n",
}

// surrogate matches escapes that JSON allows and the full parser may refuse.
var surrogate = regexp.MustCompile(`\\[uU/]`)

func FuzzFastAgreesWithTheFullParser(f *testing.F) {
	for _, s := range forms {
		f.Add([]byte(s))
		f.Add([]byte("kind: X\nitems:\n- " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n  ") + "\n"))
	}
	f.Add([]byte("k: [a\n\tb, c]\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		info, _, err := checkText(in)
		if err != nil || len(in) == 0 || surrogate.Match(in) {
			return
		}
		in = in[info.start:]
		if bytes.Contains(in, []byte("\n---")) || bytes.Contains(in, []byte("\n...")) {
			return // several documents: FuzzRead takes them apart
		}
		if len(info.odd) == 0 {
			agreeOnTree(t, in)
		}
		agreeOnItems(t, in)
	})
}

// agreeOnTree checks that a text which the scanner accepts has the tree that
// the full parser sees.
func agreeOnTree(t *testing.T, in []byte) {
	var tr tree
	if !tr.parse(in, 0) {
		return
	}
	var doc, more yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(in))
	if err := dec.Decode(&doc); err != nil {
		t.Fatalf("the scanner accepts what the full parser refuses: %v\n%q", err, in)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		t.Fatalf("the scanner sees one document, the full parser more: %v\n%q", err, in)
	}
	if !tr.equalYAML(1, doc.Content[0]) {
		b, _ := yaml.Marshal(&doc)
		t.Fatalf("the trees differ for %q: the full parser reads\n%s\nthe scanner %#v", in, b, tr.raw(1))
	}
	for i := 1; i < len(tr.nodes); i++ {
		v := tr.nodes[i]
		if v.key > v.keyEnd || v.keyEnd > v.start || v.start > v.end || int(v.end) > len(in) {
			t.Fatalf("node %d of %q is out of order: %+v", i, in, v)
		}
	}
}

// agreeOnItems checks that indexing finds the items that the full parser
// sees, where they start, and what they are.
func agreeOnItems(t *testing.T, in []byte) {
	info, _, _ := checkText(in)
	s := &Stream{in: in, lineNo: 1, info: info}
	start, ok := s.nextDocument(0)
	if !ok {
		return
	}
	scanned, parsed := newDocInfo(), newDocInfo()
	sc := &scanner{in: in}
	end, ok := s.index(sc, start, &scanned)
	if !ok || end != len(in) {
		return
	}
	empty, err := s.parsedDocument(start, len(in), &parsed)
	if err != nil || empty {
		t.Fatalf("the scanner indexes what the full parser refuses (empty %v): %v\n%q", empty, err, in)
	}
	agreeOnList(t, s, &scanned, &parsed)
}

// agreeOnList compares what the scanner has found out about a document, or about
// an item that has items itself, with what the full parser has.
func agreeOnList(t *testing.T, s *Stream, scanned, parsed *docInfo) {
	t.Helper()
	in := s.in
	if s.kindOf(scanned) != s.kindOf(parsed) || s.apiOf(scanned) != s.apiOf(parsed) || scanned.start != parsed.start || scanned.flow != parsed.flow {
		t.Fatalf("indexing %q: %+v, want %+v", in, scanned, parsed)
	}
	for _, e := range []struct {
		name      string
		have, get entry
	}{{"items", scanned.items, parsed.items}, {"results", scanned.results, parsed.results}, {"functionConfig", scanned.functionConfig, parsed.functionConfig}} {
		if e.have.key != e.get.key || e.have.keyEnd != e.get.keyEnd || e.have.start != e.get.start || e.have.start != 0 && e.have.col != e.get.col {
			t.Fatalf("indexing %q: %s is at %+v, want %+v", in, e.name, e.have, e.get)
		}
	}
	if len(scanned.list) != len(parsed.list) {
		t.Fatalf("indexing %q: %d items, want %d", in, len(scanned.list), len(parsed.list))
	}
	for i := range scanned.list {
		a, b := &scanned.list[i], &parsed.list[i]
		if a.notMapping != b.notMapping {
			t.Fatalf("indexing %q: item %d: %+v, want %+v", in, i, a, b)
		}
		if a.notMapping {
			continue
		}
		if a.start != b.start || a.flow != b.flow || !a.flow && a.col != b.col || s.kindOf(a) != s.kindOf(b) || s.apiOf(a) != s.apiOf(b) {
			t.Fatalf("indexing %q: item %d: %+v, want %+v", in, i, a, b)
		}
		if a.end != b.end {
			t.Fatalf("indexing %q: item %d ends at %d, want %d", in, i, a.end, b.end)
		}
		if a.rootInfo == nil {
			continue
		}
		inner := newDocInfo()
		if err := s.indexParsed(b.start, b.end, b.col, &inner); err != nil {
			t.Fatalf("indexing %q: the full parser refuses item %d: %v", in, i, err)
		}
		agreeOnList(t, s, a, &inner)
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
