package yaml

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

// streams are texts of several documents, as tools and people write them.
var streams = []string{
	"apiVersion: v1\nkind: A\nmetadata:\n  name: b\n  labels: {c: d}\nspec:\n- e\n- f: g\n",
	"kind: List\napiVersion: v1\nitems:\n- kind: A\n  spec: {items: [a, {b: c}]}\n  more:\n  - d\n  items:\n  - e: f\n- {kind: B, spec: {c: d}, items: [e]}\n-\n  kind: C\nresults: [a]\nfunctionConfig: {a: b}\n",
	"{kind: List, items: [{kind: A, spec: {b: c}}, {kind: B, items: [{c: {d: e}}]}], results: ~}\n{\"kind\":\"A\"} # c\n\n# d\n{kind: B}\n---\n{}",
	"items:\n- a\n- b: c\n---\nitems: []\n---\nitems: {a: b}\n---\nitems:\n- {}\n- a: b\n---\nitems: a\n",
	"\ufeff# c\n\n--- # d\nkind: A\n...\n# e\n---\n\n---\nkind: B\n...\n...\n\n%YAML 1.2\n# f\n---\n# g\nkind: C\n--- !!map # h\n  kind: D\n...\n",
	"--- &a !!map\nkind: A\n---\n&b kind: B\n---\n!!map &c\n&d kind: &e C\n--- &f {kind: D}\n---\n!!str &g kind: E\n",
	"--- ~\n---\nnull # a\n---\n!!null ''\n", "--- !!null\n", "---\n!!null null\n# a\n---\na: b\n", "--- !!map\n---\na: b\n", "~\n# a\n\na: b\n", "--- !!str ~\n", "NULL", "Null\n...\n", "a b", "--- 'a'\n", "\"\"\n", "--- |\n  a\n", "---\n?\n", "--- a\n--- b\n",
	"a: |\n  b\n---\nc: |+\n  d\n\n", "a: b\n---\nc: |\n  d", "c: >\n  d\n# e\n", "a: |-\n  b\n", "a: |+\n", "a:\n- |\n  b\n\n\n", "a: |\n  b\nc: |-\n  d\n", "a: >+ # -\n  b\n",
	"kind: A\nkind: B\n", "kind: A\n\"kind\": B\napiVersion: a\nitems: b\nitems: c\nresults: d\nresults: e\nfunctionConfig: f\nfunctionConfig: g\napiVersion: h\n",
	"a: &x {kind: A}\n<<: *x\n", "? kind\n: A\n", "&a kind: A\n", "*a : A\n", "a: &k kind\n*k : A\n", "kind: A\nspec:\n  <<: &x {a: b}\n  c: *x\n  d: [{e: f}]\nitems:\n- g: {h: {i: j}}\n- k: *x\n",
	"kind: A\nspec: {? b : c, d}\nlist:\n- e: {f: [g: h]}\n", "kind: A\n? [b]\n: c\n", "kind: A\nb: {[c]: d}\n", "kind: A\nb: {? c\n: d, [e]: f}\n? {g: h}\n",
	"a: b\n  \n\t\nc: d\n", "\t\n", " \t# a\n", "a: b\n---\n\ta: b\n", "---\n\ta: b\n", "---\ta: b\n", "---\t# a\n---\n---\t\na: b\n", "{a: b}\n\t\n", "{a: b}\n\t# c\n", "{a: b}\t# c\n", "{a: b}# c\n", "{a: b}\n---\n{c: d}\n...\n", "{a: b}\n--- {c: d} {e: f}\n", "{a: b}]\n", "{a: b}\r\n\r\n{c: d}\r\n",
	"a: b\r\n---\r\nc: d\r\n...\r\n", "a: b\r---\rc: d\u2028e: f\u0085g: h\n", "a: b\r", "%YAML 1.2\r\n---\r\na: b\r\n", "%A\n", "%A\n...\n", "%A\n...\n---\na: b\n", "%A\n%B\n--- {}\n", "a: b\n%A\n", "a: b\n...\n%A\n--- c\n",
	"... # a\na: b\n", "...a: b\n", "---a: b\n", "----: b\n", "a: b\n ---\nc: d\n", "a: b\n---", "---", "a: b\n... c\n", "a: b\n...\nc: d\n", "-- \n", "[a]\n", "- a\n", "-\n", "-a: b\n", "--- - a\n", "--- [a\n", "!!map [a]\n", "!!seq\na: b\n", "!a\na: b\n", "! {a: b}\n", "&a\n&b {c: d}\n", "!a &b !c {}\n", "&a", "&a ", "!!map &a\n---\na: b\n", "&a b\n", "&a {b: c\n", "&a\n---\n", "  a: b\n  c: d\n# e\n  f: g\n", "  a: b\nc: d\n", " {a: b}\n",
}

// What the documents of streams are, where they are, and what is kept of them to tell their objects apart
// is in testdata/documents.txt.
func TestWhatIsKeptOfDocuments(t *testing.T) {
	var out strings.Builder
	for _, in := range streams {
		fmt.Fprintf(&out, "%q\n", in)
		text, err := Check([]byte(in), nil)
		for d := text.Documents(nil); err == nil && d.Next(); {
			var empty bool
			if empty, err = d.Read(); err == nil {
				writeDocument(&out, d, empty)
			}
		}
		if e := (*Refusal)(nil); errors.As(err, &e) {
			fmt.Fprintf(&out, "  %d: %v, not an object: %v\n", e.At, e, errors.Is(err, ErrNotObject))
		}
		if at := text.OddBreak(0, len(in)); at >= 0 {
			fmt.Fprintf(&out, "  odd line breaks: from %d on, behind it %d, before it %d\n", at, text.OddBreak(at+1, len(in)), text.OddBreak(0, at))
		}
	}
	golden.Compare(t, "testdata/documents.txt", []byte(out.String()))
}

// headingOf returns which entries say what a mapping is.
func headingOf(tr *Tree, n int32) (h string) {
	for _, key := range []string{"apiVersion", "kind", "items", "functionConfig", "results"} {
		if c := tr.Get(n, key); c != 0 {
			h += fmt.Sprintf(" %s: %d", key, c)
		}
		if c := tr.second(n, key); c != 0 {
			h += fmt.Sprintf(" and %d", c)
		}
	}
	return h
}

func writeDocument(out *strings.Builder, d *Documents, empty bool) {
	tr, text := d.Tree(), d.text
	fmt.Fprintf(out, "  document %d-%d", d.Start, d.End)
	if empty {
		out.WriteString(", empty")
	}
	if d.TextEnd() != 0 {
		fmt.Fprintf(out, ", its text ends at %d", d.TextEnd())
	}
	if d.Tree().Uses != nil {
		fmt.Fprintf(out, ", aliases %v", d.Tree().Uses)
	}
	if tr.ReadOnly.Why != "" {
		fmt.Fprintf(out, ", not edited: %d: %s", tr.ReadOnly.At, tr.ReadOnly.Why)
	}
	out.WriteString("\n")
	if empty {
		return
	}
	if h := headingOf(tr, 1); h != "" {
		fmt.Fprintf(out, "    hidden: %v,%s, items are mappings: %v\n", tr.IsHidden(1), h, tr.IsListOfMappings(tr.Get(1, "items")))
	}
	for n, v := range tr.Nodes {
		if n > 0 {
			fmt.Fprintf(out, "    %d: %q is %s in column %d and %d: %.40q, marks %b\n", n, text.Bytes[v.Key:v.KeyEnd], v.Kind, v.Col, text.ColumnOf(&v), text.Bytes[v.Start:v.End], v.Marks)
		}
	}
}

// A mapping is read alone as it is read in its document, whose anchors it may need.
func TestAPartIsReadAsItsDocumentIs(t *testing.T) {
	for _, in := range append(streams, "# &a\n---\na: &a {b: c}\nd:\n- e: *a\n  f: [{g: *a}]\n- <<: *a\n  h: i\n--- &b\nj: *c1\n", "\ufeffa: &a {b: c}\nd: {e: *a}\n", "--- &a {b: &b c, d: [{e: *b}, &c {f: *b}, {g: *c}]}\n", "a: &x b\nc:\n- d: *x\n  e: f\n---\na: &x g\nc:\n- d: *x\n  e: f\n---\nh:\n- i: *x\n") {
		text, err := Check([]byte(in), nil)
		if err != nil {
			t.Fatal(err)
		}
		for d := text.Documents(nil); d.Next(); {
			empty, err := d.Read()
			if err != nil {
				break
			}
			root, line, err := text.rootStart(d.Start)
			var whole, part Parser
			if empty || err != nil || d.TextEnd() != 0 || !whole.Parse(text.Bytes[root:d.End], root-line) || whole.ReadOnly.Why == NotKey {
				continue
			}
			for n := int32(1); int(n) < len(whole.Nodes); n++ {
				v := whole.Nodes[n]
				if v.Kind != Mapping || v.Marks&(IsAlias|IsMerged|HasProperties|HasMergeKey) != 0 || len(whole.Path(n)) == 0 && n > 1 || len(whole.Merges) > 0 {
					continue
				}
				v.Start, v.End = v.Start+int32(root), v.End+int32(root)
				at, ok := text.Parse(&part, int(v.Start), int(v.End), text.ColumnOf(&v))
				if !ok || !part.EqualValue(1, whole.Raw(n)) || at+int(part.Nodes[1].Start) != int(v.Start) {
					t.Errorf("%q: at %d: %v %v %#v, want %#v", in, v.Start, ok, part.Refused, part.Raw(1), whole.Raw(n))
				}
			}
		}
	}
}

// What is verified is stepped over, as a document or an item, and has no entries then. It is read if its place is
// not where a mapping in block style starts and ends.
func TestOnlyWhatIsKnownIsSteppedOver(t *testing.T) {
	const in = "kind: A\nitems:\n- kind: B\n  c: [d]\n-  kind: E\n   f:\n     g: h\n# i\n- {kind: J}\n- k\nresults: l\n---\nkind: M\n...\n"
	list, first, second, braces := strings.Index(in, "kind: A"), strings.Index(in, "kind: B"), strings.Index(in, "kind: E"), strings.Index(in, "{kind: J")
	firstEnd, secondEnd, bracesEnd, last, end := strings.Index(in, "-  kind"), strings.Index(in, "# i"), strings.Index(in, "- k\n"), strings.Index(in, "kind: M"), strings.Index(in, "...")
	listEnd := strings.Index(in, "---")
	const whole = "0-92:  kind items - kind c - kind f\"g: h\" - kind - results\n96-104:  kind"
	for _, tt := range []struct {
		verified []Verified
		want     string
	}{
		{nil, whole},
		{[]Verified{{At: first, End: firstEnd, Col: 2}}, `0-92:  kind items -"kind: B\n  c: [d]\n" - kind f"g: h" - kind - results` + "\n96-104:  kind"},
		{[]Verified{{At: second, End: secondEnd, Col: 3}}, `0-92:  kind items - kind c -"kind: E\n   f:\n     g: h\n" - kind - results` + "\n96-104:  kind"},
		{
			[]Verified{{At: first, End: firstEnd, Col: 2}, {At: second, End: secondEnd, Col: 3}, {At: last, End: end}},
			`0-92:  kind items -"kind: B\n  c: [d]\n" -"kind: E\n   f:\n     g: h\n" - kind - results` + "\n" + `96-104: "kind: M\n"`,
		},
		{[]Verified{{At: list, End: listEnd}, {At: last, End: end}}, fmt.Sprintf("0-92: %q\n96-104: %q", in[:listEnd], "kind: M\n")},
		{[]Verified{{At: 1, End: 2}, {At: first - 1, End: 20, Col: 1}, {At: first, End: firstEnd, Col: 2}}, `0-92:  kind items -"kind: B\n  c: [d]\n" - kind f"g: h" - kind - results` + "\n96-104:  kind"},
		{[]Verified{{At: list, End: firstEnd}}, whole},
		{[]Verified{{At: first, End: firstEnd, Col: 3}, {At: second, End: secondEnd, Col: 2}, {At: last, End: end, Col: 1}}, whole},
		{[]Verified{{At: first, End: firstEnd - 1, Col: 2}, {At: second + 1, End: secondEnd, Col: 4}, {At: last, End: len(in) + 1}}, whole},
		{[]Verified{{At: braces, End: bracesEnd, Col: 2}}, whole},
	} {
		text, err := Check([]byte(in), tt.verified)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for d := text.Documents(tt.verified); d.Next(); {
			if _, err := d.Read(); err != nil {
				t.Fatal(err)
			}
			line := fmt.Sprintf("%d-%d:", d.Start, d.End)
			for n, v := range d.Tree().Nodes {
				switch {
				case n == 0:
				case v.Kind == Mapping && v.Child == 0:
					line += fmt.Sprintf(" %s%q", d.Tree().KeyOf(int32(n)), in[v.Start:v.End])
				default:
					line += " " + d.Tree().KeyOf(int32(n))
				}
			}
			got = append(got, line)
		}
		if got := strings.Join(got, "\n"); got != tt.want {
			t.Errorf("%+v:\n%s\nwant\n%s", tt.verified, got, tt.want)
		}
	}
}
