package manifest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// An oddWriter writes random objects in forms of YAML that people really use,
// and that are hard to edit around.
type oddWriter struct {
	rnd      *rand.Rand
	anchors  int // how many there are; those of mappings are m0, m1, ...
	isAnchor map[int]bool
	tabs     bool // and forms that cannot be edited in place
}

func (w *oddWriter) entries(n, depth int) string {
	var b strings.Builder
	for i := range n {
		if w.rnd.IntN(5) == 0 {
			b.WriteString([]string{"# a comment\n", "\n", "  # indented\n"}[w.rnd.IntN(3)])
		}
		fmt.Fprintf(&b, "k%d:%s", i, w.value(depth))
	}
	return b.String()
}

func (w *oddWriter) value(depth int) string {
	forms := []string{
		" it's # c\n", " 'x''y'  # c\n", " \"a \\\" b\"\n", " a#b\n", " # c\n  v\n", "\n", " ~\n", " >-\n  folded\n\n  text\n", " |2+\n    keep\n\n",
		" [a, # about a\n  it's,\n  # above x\n  --x=\"y\",\n  ] # end\n", " {a: 1, # one\n  b: {c: [d, 'e']}, # two\n  'f':\n    g\n  }\n",
		" [a b, \"c\n  d\", e\n  f]\n", " {a: it's, b: , c: x#y}\n", " []\n", " {} # none\n", " !!str 12 # t\n", " !!int \"12\"\n", " plain\n  goes on\n",
		"\n- a # x\n# y\n- 'b'\n-\n  - c\n", "\n- &item # i\n  a: b\n  c: 'd'\n- *item\n", "\n- &first a: b\n  c: d\n",
	}
	if w.tabs {
		forms = append(forms, " 'tab'\t# c\n", "\n  ? complex # c\n  : v\n  x: 'y' # z\n", " \"\u2028\"\t# c\n")
	}
	n := w.rnd.IntN(len(forms) + 9)
	if n < len(forms) {
		if strings.Contains(forms[n], "&item") || strings.Contains(forms[n], "&first") {
			w.anchors++
			return strings.ReplaceAll(strings.ReplaceAll(forms[n], "item", fmt.Sprintf("m%d", w.anchors-1)), "first", fmt.Sprintf("f%d", w.anchors-1))
		}
		return forms[n]
	}
	switch n -= len(forms); {
	case n < 2 && depth < 3:
		return "\n" + indented(w.entries(1+w.rnd.IntN(4), depth+1))
	case n < 4 && depth < 3:
		inner := indented(w.entries(1+w.rnd.IntN(3), depth+1))
		w.anchors++
		w.isAnchor[w.anchors-1] = true
		return fmt.Sprintf(" &s%d # anchor\n", w.anchors-1) + inner
	case n < 7 && w.isAnchor[w.anchors-1]:
		known := fmt.Sprintf("s%d", w.anchors-1)
		if n == 4 {
			return fmt.Sprintf("\n  <<: *%s # merge\n  k1: 'own' # own\n", known)
		}
		return fmt.Sprintf(" *%s # alias\n", known)
	}
	return " v\n"
}

func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line != "\n" {
			b.WriteString("  ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// ownLines returns the first and the last line, counted from 1, of the field
// at a path: of its key and value, or of the alias that stands for it.
func ownLines(root *yamlv3.Node, p field.Path, lines []string) (first, last int) {
	n := root
	end := len(lines) // the last line that may belong to it
	first = 1
	for _, step := range p {
		var child *yamlv3.Node
		for i, c := range n.Content {
			isKey := n.Kind == yamlv3.MappingNode && i%2 == 0
			if child != nil && (isKey || n.Kind == yamlv3.SequenceNode) {
				end = c.Line
				if n.Style&yamlv3.FlowStyle == 0 {
					end--
				}
				break
			}
			if isKey && c.Value == step.Key {
				child, first = n.Content[i+1], c.Line
			}
			if n.Kind == yamlv3.SequenceNode && i == int(step.Index) {
				child, first = c, c.Line
			}
		}
		if child == nil { // merged
			break
		}
		if n = child; n.Kind == yamlv3.AliasNode {
			return min(first, n.Line), n.Line
		}
	}
	if n.Kind == yamlv3.ScalarNode && n.Style&(yamlv3.LiteralStyle|yamlv3.FoldedStyle) == 0 {
		if !strings.ContainsAny(n.Value, " \n") {
			return first, n.Line
		}
		for end > n.Line {
			if line := strings.TrimSpace(lines[end-1]); line != "" && line[0] != '#' {
				break
			}
			end--
		}
	}
	return first, max(first, end)
}

// missing returns the first line of a, counted from 1, that does not follow in
// b behind those before it; 0 if there is none. Lines that are excused are
// passed over.
func missing(a, b []string, excused func(line int) bool) int {
	for i, line := range a {
		if excused(i + 1) {
			continue
		}
		j := slices.Index(b, line)
		if j < 0 {
			return i + 1
		}
		b = b[j+1:]
	}
	return 0
}

// scalarPaths returns the paths of all scalars of an object.
func scalarPaths(t *yaml.Tree, n int32, p field.Path, all *[]field.Path) {
	i := 0
	for c := t.Nodes[n].Child; c != 0; c = t.Nodes[c].Next {
		q := p.Index(i)
		if t.Nodes[n].Kind == yaml.Mapping {
			q = p.Key(t.KeyOf(c))
		}
		if t.Nodes[c].Kind == yaml.Scalar {
			*all = append(*all, q)
		} else {
			scalarPaths(t, c, q, all)
		}
		i++
	}
}

var anyBreak = regexp.MustCompile("\r\n|[\r\n\u0085\u2028\u2029]")

// feedLine returns the line of a text, if line feeds alone are counted, in which the full parser's line starts.
func feedLine(in []byte, line int) int {
	at := 0
	for _, end := range anyBreak.FindAllIndex(in, line-1) {
		at = end[1]
	}
	return 1 + bytes.Count(in[:at], []byte("\n"))
}

// checkUntouched sets one scalar of the object after another, each in a copy,
// and returns how often, and how often a notice was needed.
func checkUntouched(t *testing.T, rnd *rand.Rand, in []byte, most int) (edits, noticed int) {
	t.Helper()
	var paths []field.Path
	o := mustRead(t, in).Objects()[0]
	tr, err := o.load()
	if err != nil {
		t.Fatalf("%v\n%s", err, in)
	}
	scalarPaths(tr, 1, nil, &paths)
	rnd.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	var doc yamlv3.Node
	if err := yamlv3.Unmarshal(in, &doc); err != nil {
		t.Fatal(err)
	}
	before := strings.SplitAfter(string(in), "\n")
	for _, p := range paths[:min(most, len(paths))] {
		s := mustRead(t, bytes.Clone(in))
		o := s.Objects()[0]
		if err := o.Apply([]field.Edit{{Path: p, Value: "new value"}}); err != nil {
			t.Fatalf("%s: %v\n%s", p, err, in)
		}
		edits++
		if len(o.Notices()) > 0 && testing.Verbose() {
			t.Logf("%s: %v in %.60q", p, o.Notices(), in)
		}
		if slices.ContainsFunc(o.Notices(), func(n Notice) bool { return !strings.Contains(n.Text, "its value is edited") }) {
			noticed++
		}
		judged := anyBreak.Split(string(in), -1)
		first, last := ownLines(doc.Content[0], p, judged)
		first, last = feedLine(in, first), feedLine(in, last)
		line := missing(before, strings.SplitAfter(string(output(t, s)), "\n"), func(line int) bool {
			return line >= first && line <= last || slices.ContainsFunc(o.Notices(), func(n Notice) bool { return line >= n.Line && line <= n.End })
		})
		if line > 0 {
			t.Fatalf("setting %s, lines %d to %d, changes line %d: %q, with the notices %+v\n%s\ngives\n%s", p, first, last, line, before[line-1], o.Notices(), in, output(t, s))
		}
	}
	return edits, noticed
}

func TestLinesThatNoEditNamesStayOrAreNamed(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	rounds := 600
	if testing.Short() {
		rounds = 100
	}
	var edits, noticed [2]int
	for i := range rounds {
		odd := i % 4 / 3
		w := oddWriter{rnd: rnd, isAnchor: map[int]bool{}, tabs: odd == 1}
		in := "kind: A # kind\n" + w.entries(6, 0)
		var v map[string]any
		if yamlv3.Unmarshal([]byte(in), &v) != nil {
			continue // an alias before its anchor
		}
		e, n := checkUntouched(t, rnd, []byte(in), 4)
		edits[odd] += e
		noticed[odd] += n
	}
	t.Logf("%d edits, %d with notices; with forms that cannot be kept %d and %d", edits[0], noticed[0], edits[1], noticed[1])
	if edits[0] < rounds || noticed[0] > edits[0]/10 || noticed[1] == 0 {
		t.Error("few edits must need a notice, and some must")
	}
}

func TestLinesOfRealManifestsStay(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	var texts [][]byte
	for _, f := range append(testutil.Manifests(t, root), root+"/testdata/manifests/objects.json") {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	edits, noticed := 0, 0
	for _, text := range texts {
		for _, o := range mustRead(t, text).Objects() {
			in := append(bytes.TrimRight(o.source(), "\n"), '\n')
			if o.col > 0 || bytes.Count(in, []byte("\n")) > 400 {
				continue
			}
			e, n := checkUntouched(t, rnd, in, 5)
			edits, noticed = edits+e, noticed+n
		}
	}
	if edits < 100 || noticed > edits/100+10 {
		t.Errorf("%d edits, %d with notices", edits, noticed)
	}
}
