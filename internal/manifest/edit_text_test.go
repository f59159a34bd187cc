package manifest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

// linkedTexts have anchors, aliases, merge keys, tags and forms that are only read.
var linkedTexts = []string{
	"x: &x {a: 1, b: 2}\nm:\n  <<: *x\n  a: 3\n  c: 4\n",
	"x: &x {a: 1, b: 2}\nm:\n  c: 4\n  a: 3\n  <<: *x\n  d: 5\n",
	"x: &x {a: 1, b: 2}\nm: {c: 4, <<: *x, b: 2}\n",
	"x: &x {a: 1}\ny: &y {b: 2, a: 3}\nm:\n  c: 4\n  <<: [*x, *y]\n",
	"x: &x\n  a: &y {b: 1}\nm: *y\nn: *x\no:\n  <<: *x\n  p: *y\n",
	"x: &x\n- 1\n- &y {a: 2}\nm: *x\nn: [*y, *x]\n",
	"x: &x 1\nm: &x [*x]\nn: *x\n",
	"x: &x {a: 1}\nm:\n  <<: *x\n  o: &z p\nq: *z\n",
	"m:\n  <<: {a: 1, b: 2}\n  c: &c 3\nn: *c\n",
	"m:\n- <<: &x {a: 1}\n  b: 2\n- <<: *x\n- *x\n",
	"a: &k b\n*k : c\n&l d: e\nm: *k\n",
	"a: 1\n? b\n: c\nd: [x: y]\n",
	"d: {? f : g}\nk: {l}\n",
	"a: !!str 1\nb: !!int \"2\"\nc: !!map {d: e}\n",
	"a: &x |\n  one\nb: *x\nc: !!str |\n  two\nd: |\n  three\n",
	"x: &x {a: 1}\nm:\n  <<: *x\n  b: 1\n  b: 2\n",
}

// pathsIn appends the paths to all that is in a value.
func pathsIn(to []field.Path, at field.Path, v field.Value) []field.Path {
	switch v := v.(type) {
	case field.Map:
		for _, e := range v {
			to = pathsIn(append(to, at.Key(e.Key)), at.Key(e.Key), e.Value)
		}
	case field.List:
		for i, e := range v {
			to = pathsIn(append(to, at.Index(i)), at.Index(i), e)
		}
	}
	return to
}

// What becomes of a text in which much hangs together, for each edit that it may have, is in testdata/linked.txt:
// what is written out and why, or why it is refused and where, also after a second edit.
func TestWhatHangsTogetherIsWrittenOut(t *testing.T) {
	golden.Compare(t, "testdata/linked.txt", everyEdit(t, linkedTexts))
}

// commentedTexts have comments and blank lines above, beside, below and between entries of every form.
var commentedTexts = []string{
	"# top\n\n# of a\na: 1 # beside a\n# of b\n# too\nb: 2\n\n# of c\n\nc: 3\n# end\n",
	"a: |\n  x\n# of b\nb: >-\n  y\n\n# of c\nc: |+\n  z\n\n# of d\nd: 1\n",
	"a: \"x\n  y\" # beside\n# of b\nb: x\n  y\n# of c\nc: {d: 1, # beside d\n  # of e\n  e: 2\n  # last\n  }\n",
	"m:\n  # of a\n  a: 1\n  # of b\n  b:\n    # of c\n    c: 2\n    # below c\n  # below b\n# below m\nn: 3\n",
	"l:\n# of 1\n- 1 # beside\n# of 2\n- a: 2\n  # of b\n  b: 3\n  # below b\n# of 3\n-\n  # in 3\n  c: |\n    x\n  # of d\n  d: 4\n# below\n",
	"l:\n  - |\n    x\n  # of 2\n  - >\n    y\n  # of 3\n  - [1, # one\n    2]\n  # end\nm: # beside m\n  # of a\n  a: # beside a\n    - 1\n    # of 2\n    - 2\n",
}

// A comment stays with its entry: with what is below it, or before it on its line. What each edit makes of every form is in
// testdata/commented.txt.
func TestCommentsStayWithTheirEntries(t *testing.T) {
	golden.Compare(t, "testdata/commented.txt", everyEdit(t, commentedTexts))
}

// everyEdit returns what becomes of the texts by each edit that they may have.
func everyEdit(t *testing.T, texts []string) []byte {
	var out bytes.Buffer
	for _, text := range texts {
		in := "kind: Z\n---\n" + text
		fmt.Fprintf(&out, "%s\n", text)
		v, _ := mustRead(t, []byte(in)).Objects()[1].Value(nil)
		for _, p := range pathsIn(nil, nil, v) {
			edits := []field.Edit{
				{Op: field.Set, Path: p, Value: 7},
				{Op: field.Set, Path: p, Value: "several\nlines\n"},
				{Op: field.Delete, Path: p},
				{Op: field.Set, Path: p.Key("new"), Value: 8},
			}
			if p[len(p)-1].IsIndex {
				edits = append(edits, field.Edit{Op: field.Insert, Path: p, Value: 9})
			} else {
				edits = append(edits, field.Edit{Op: field.Rename, Path: p, NewKey: "renamed", Value: 10})
			}
			for _, e := range edits {
				s := mustRead(t, []byte(in))
				o := s.Objects()[1]
				fmt.Fprintf(&out, "  %s %s: ", []string{"set", "rename", "insert at", "delete"}[e.Op], e.Path)
				if err := o.Apply([]field.Edit{e}); err != nil {
					fmt.Fprintf(&out, "%v\n", err)
					continue
				}
				fmt.Fprintf(&out, "%q", o.source())
				if err := o.Apply([]field.Edit{set("second", 11)}); err != nil {
					fmt.Fprintf(&out, ", then %v", err)
				}
				if err := o.Apply([]field.Edit{{Op: field.Delete, Path: pathsIn(nil, nil, v)[0]}}); err != nil {
					fmt.Fprintf(&out, ", without the first %v", err)
				}
				for _, n := range o.Notices() {
					fmt.Fprintf(&out, "\n    %d-%d %s", n.Line, n.End, n.Text)
				}
				out.WriteString("\n")
				output(t, s)
			}
		}
	}
	return out.Bytes()
}
