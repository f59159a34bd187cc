package yaml

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/yamljudge"
)

// treesOfForms yields the trees of all forms that are read.
func treesOfForms(t *testing.T, yield func(text string, tr *Parser)) {
	t.Helper()
	n := 0
	texts := append(slices.Concat(yamljudge.Forms, yamljudge.Numbered), "a: &a 'x'\nb: *a\nc: &c |\n  y\nd: [*c, *a]\n", "a  : 1\n'b' : 2\n\"c\"\t:\n  d : 3\n")
	for _, entry := range sharing {
		texts = append(texts, shared+"o:\n  f: g # c\n  # d\n  "+strings.ReplaceAll(entry, "\n", "\n  ")+"\n\n  z: 1\n", shared+"o: {"+entry+", z: 1}\n")
	}
	for _, text := range texts {
		var tr Parser
		if tr.Parse([]byte(text), 0) && tr.ReadOnly.Why != NotKey {
			yield(text, &tr)
			n++
		}
	}
	if n < 30 {
		t.Errorf("only %d forms are read", n)
	}
}

// A node is where its path leads, unless an earlier one has its key. A path that goes on leads to the deepest node on the way.
func TestANodeIsWhereItsPathLeads(t *testing.T) {
	treesOfForms(t, func(text string, tr *Parser) {
		var walk func(n int32)
		walk = func(n int32) {
			if len(tr.CheckKeys(nil)) > 0 {
				return // the first of two counts
			}
			path := tr.Path(n)
			if got, found := tr.At(path); got != n || !found {
				t.Errorf("%q: the path %s of node %d leads to %d, %t", text, path, n, got, found)
			}
			v := &tr.Nodes[n]
			wrong := []field.Path{{{Key: "no such key"}}, {{Index: 99, IsIndex: true}}, {{Key: "no such key"}, {Key: "x"}}, {{Index: int32(tr.Length(n)), IsIndex: true}}}
			if v.Kind != Sequence { // the first entry of a mapping is no item
				wrong = append(wrong, field.Path{{Index: 0, IsIndex: true}})
			}
			if v.Kind == Sequence && v.Child != 0 { // and an item has no key
				wrong = append(wrong, field.Path{{Key: tr.KeyOf(v.Child)}}, field.Path{{}})
			}
			for _, step := range wrong {
				if got, found := tr.At(path.Join(step)); got != n || found {
					t.Errorf("%q: %s leads to %d, %t, want %d", text, path.Join(step), got, found, n)
				}
			}
			for _, kind := range []Kind{Mapping, Sequence} {
				got, errs := tr.FindKind(path, kind)
				switch {
				case tr.IsNull(n):
					if got != 0 || errs != nil {
						t.Errorf("%q: the null at %s is found: %d %v", text, path, got, errs)
					}
				case v.Kind == kind:
					if got != n || errs != nil {
						t.Errorf("%q: %s is not found: %d %v", text, path, got, errs)
					}
				case got != 0 || len(errs) != 1 || errs[0].Node != n || errs[0].Msg != fmt.Sprintf("must be %s, not %s", kind, tr.Describe(n)):
					t.Errorf("%q: %s as %s: %d %v", text, path, kind, got, errs)
				}
			}
			for c := v.Child; c != 0; c = tr.Nodes[c].Next {
				walk(c)
			}
		}
		walk(1)
	})
}

// Between two entries of a block mapping there are comments and blanks only, and behind a key its colon.
func TestEntriesEndBeforeTheNextOnesBegin(t *testing.T) {
	entries, merged, aliases := 0, 0, 0
	treesOfForms(t, func(text string, tr *Parser) {
		for n := int32(1); int(n) < len(tr.Nodes); n++ {
			v := tr.Nodes[n]
			if w := tr.Written(n); v.Marks&IsAlias != 0 {
				aliases++
				if w.Kind != Scalar || w.Style != Plain || w.Child != 0 || w.Start != v.Start || w.End != v.End || tr.Text[w.Start] != '*' {
					t.Errorf("%q: the alias %d is written as %+v", text, n, w)
				}
			} else if w != v {
				t.Errorf("%q: node %d is written as %+v, and is %+v", text, n, w, v)
			}
			if first := tr.FirstOwn(v.Child); v.Child != 0 {
				for c := v.Child; c != first; c = tr.Nodes[c].Next {
					if tr.Nodes[c].Marks&IsMerged == 0 {
						t.Errorf("%q: the entry %d is none of its own", text, c)
					}
				}
				if first != 0 && tr.Nodes[first].Marks&IsMerged != 0 {
					t.Errorf("%q: the merged entry %d is one of its own", text, first)
				}
			}
			if v.Kind != Mapping || v.Style != Block || v.Marks&IsAlias != 0 || tr.ReadOnly.Why != "" {
				continue
			}
			for c := v.Child; c != 0; c = tr.Nodes[c].Next {
				k := &tr.Nodes[c]
				if k.Marks&IsMerged != 0 {
					merged++
					continue
				}
				entries++
				if colon := tr.BehindColon(k); strings.Trim(string(tr.Text[k.KeyEnd:colon]), " \t") != ":" {
					t.Errorf("%q: behind the key %s is %q", text, tr.KeyOf(c), tr.Text[k.KeyEnd:colon])
				}
				end := tr.EndBefore(n, c)
				for d := v.Child; d != c; d = tr.Nodes[d].Next {
					if own := &tr.Nodes[d]; own.Marks&IsMerged == 0 && int(own.End) > end {
						t.Errorf("%q: before the key %s all ends at %d, and %s at %d", text, tr.KeyOf(c), end, tr.KeyOf(d), own.End)
					}
				}
				if end > int(k.Key) || end < int(v.KeyEnd) {
					t.Errorf("%q: before the key %s at %d all ends at %d", text, tr.KeyOf(c), k.Key, end)
				}
				if v.Marks&HasMergeKey != 0 {
					continue // which may be between two
				}
				between := tr.Text[tr.EndBefore(n, c):k.Key]
				for i, line := range strings.Split(string(between), "\n") {
					line = strings.TrimSpace(line)
					isRest := i == 0 && (line == ":" || strings.HasPrefix(line, ": &") || strings.HasPrefix(line, ": !") || strings.HasPrefix(line, ": #") || line == "-" || strings.HasPrefix(line, "&") || strings.HasPrefix(line, "!"))
					if line != "" && line[0] != '#' && line != "---" && !isRest && !strings.HasPrefix(line, "&") {
						t.Errorf("%q: before the key %s is %q", text, tr.KeyOf(c), between)
					}
				}
			}
		}
	})
	if entries < 50 || merged < 3 || aliases < 5 {
		t.Errorf("%d entries, %d merged, %d aliases", entries, merged, aliases)
	}
}

// What an object says it is may be hidden in an alias, a merge key or a tag.
func TestWhatAnObjectIsMayBeHidden(t *testing.T) {
	const head = "x: &x {kind: A}\n"
	for text, want := range map[string]bool{
		"kind: A\n": false, "apiVersion: v1\nkind: 'A'\nb: &b 1\nc: *b\nd: !!str e\n": false,
		head + "<<: *x\n": true, "kind: !!str A\n": true, "kind: &a A\n": true, "apiVersion: &a v1\nkind: A\n": true, "a: &a A\nkind: *a\n": true, "a: &a v1\napiVersion: *a\n": true, "? kind\n: A\n": true, "&a kind: A\n": true, "!!str kind: A\n": true, "a: &a kind\n*a : A\n": true,
		head + "b: *x\n": false, "metadata: &m {name: a}\n": false,
	} {
		checked, err := Check([]byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		d := checked.Documents(nil)
		d.Next()
		if empty, err := d.Read(); empty || err != nil {
			t.Errorf("%q is refused: %v", text, err)
		} else if got := d.Tree().IsHidden(1); got != want {
			t.Errorf("%q is hidden: %t", text, got)
		}
	}
	var p Parser
	if !p.Parse([]byte("a: &a {kind: A}\nb: *a\nc: {d: e}\n"), 0) || !p.IsHidden(p.Get(1, "b")) || p.IsHidden(p.Get(1, "a")) || p.IsHidden(p.Get(1, "c")) {
		t.Error("an alias hides what it is, and nothing else does")
	}
}

func TestAListOfMappingsHasNothingElse(t *testing.T) {
	for value, want := range map[string]bool{"[]": false, "": false, "{}": false, "{a: {}}": false, "x": false, "[{}]": true, "[{a: b}, {c: d}]": true, "[{}, x]": false, "[x, {}]": false, "[[]]": false, "\n- a: b\n- c: d": true, "\n- a: b\n-": false} {
		var p Parser
		if !p.Parse([]byte("k: "+value+"\n"), 0) {
			t.Fatal(p.Refused)
		}
		if got := p.IsListOfMappings(p.Get(1, "k")); got != want {
			t.Errorf("%q: %t", value, got)
		}
	}
}

// What somebody wrote in an annotation is read if it has a usual form.
func TestParseUsual(t *testing.T) {
	for text, want := range map[string]bool{
		"a: b\n": true, "a: b": true, "{a: b}": true, "a: &x b\nc: *x\n": true, "a: {<<: {b: c}}\n": true, "a: !!str b\n": true, "# c\na: b\n": true,
		"": false, "a": false, "a: b\n---\nc: d\n": false, "? a\n: b\n": false, "[a]": false, "a: [b: c]\n": false, "{a}": false, "&x a: b\n": false, "a: *x\n": false, "a: b\x00": false, "a: '\u2028'\n": true, "a: b\rc: d\n": true, "{\"a\": \"b\u0085c\"}": false, "{a: \"b\u0085c\"}": true, "{\"a\": \"b\u2028c\"}": true, "a: b\r\n": true, "a: \xff\n": false,
	} {
		for _, lenient := range []bool{false, true} {
			p := Parser{Lenient: lenient}
			if got := p.ParseUsual([]byte(text)); got != (want || lenient && text == "a: *x\n") {
				t.Errorf("%q, lenient %t: %t %v %v", text, lenient, got, p.Refused, p.ReadOnly)
			}
		}
	}
}

// An alias that needs no anchor brings nothing, in a merge key too, and stays what it is in the next text.
func TestAliasesMayNeedNoAnchor(t *testing.T) {
	p := Parser{Lenient: true}
	for _, text := range []string{"a: *x\nb: c\n", "a: {<<: *x, b: c}\n", "a: {<<: [*x, {d: e}, *y], b: c}\n", "a: &y 1\nb: [*x, *y]\n"} {
		for range 2 {
			if !p.Parse([]byte(text), 0) || len(p.Uses) != strings.Count(text, "*") {
				t.Errorf("%q: %v, %d aliases", text, p.Refused, len(p.Uses))
			}
		}
		strict := Parser{}
		if strict.Parse([]byte(text), 0) || !strings.Contains(strict.Refused.Why, "the alias *x must be behind an anchor of this name") {
			t.Errorf("%q: %v", text, strict.Refused)
		}
	}
	for text, keys := range map[string]string{"{<<: *x, b: c}": "b", "{<<: [*x, {d: e}, *y], b: c}": "d b", "{<<: [{d: e}, {d: f, g: h}]}": "d g"} {
		if !p.Parse([]byte("a: "+text+"\n"), 0) {
			t.Fatal(p.Refused)
		}
		var got []string
		for c := p.Nodes[p.Get(1, "a")].Child; c != 0; c = p.Nodes[c].Next {
			got = append(got, p.KeyOf(c))
		}
		if s := strings.Join(got, " "); s != keys {
			t.Errorf("%s has %s", text, s)
		}
	}
	if p.Parse([]byte("a: {<<: 1}\n"), 0) || p.Parse([]byte("a: &x 1\nb: {<<: *x}\n"), 0) {
		t.Error("a number is merged")
	}
}

// A part of a text is read with the anchors of its document, and if that is refused, for its own reason.
func TestAPartOfATextIsReadWithItsDocument(t *testing.T) {
	const before, after = "x: 1\n---\n", "---\ny: 2\n"
	for _, c := range []struct{ document, part, want string }{
		{"a: &x {k: v}\nb:\n- c: *x\n- d: e\n", "c: *x\n", "c.k"},
		{"a: &x {k: v}\nb: [{c: *x}, {d: e}]\n", "{c: *x}", "c.k"},
		{"a: &x {c: {k: v}}\nb:\n- <<: *x\n  f: g\n", "<<: *x\n  f: g\n", "c.k"},
		{"b:\n- c: {k: v}\n- d: e\n", "c: {k: v}\n", "c.k"},
		{"a: 1\nb:\n- c: *x\n", "c: *x\n", "the alias *x must be behind an anchor of this name"},
		{"a: &x !y 1\nb:\n- c: !z 1\n", "c: !z 1\n", "must not have the tag !z"},
	} {
		text, err := Check([]byte(before+c.document+after), nil)
		if err != nil {
			t.Fatal(err)
		}
		start := len(before) + strings.Index(c.document, c.part)
		line := LineStart(text.Bytes, start)
		col := start - line
		if c.part[0] == '{' {
			col = 0
		}
		var p Parser
		at, ok := text.Parse(&p, start, start+len(c.part), col)
		if !ok {
			if !strings.Contains(p.Refused.Why, c.want) || at != start {
				t.Errorf("%q is refused at %d: %v, want %s", c.part, at, p.Refused, c.want)
			}
			continue
		}
		n, found := p.At(field.NewPath(strings.Split(c.want, ".")...))
		if !found || p.Str(n) != "v" || p.Nodes[1].Kind != Mapping {
			t.Errorf("%q has no %s: %q", c.part, c.want, p.Text)
		}
		if got := at + int(p.Nodes[1].Start); got != start {
			t.Errorf("%q starts at %d, want %d", c.part, got, start)
		}
	}
}

// The error of a part of a text is where it is in the whole, and so is the bracket that is open there.
func TestTheErrorOfAPartIsInTheWhole(t *testing.T) {
	for text, want := range map[string]string{"a: [b\nc: d\n": "106 103", "a: b\nc: }\n": "108 -1", "a: {b: [c, d}]\n": "112 107"} {
		var p Parser
		if p.Parse([]byte(text), 0) {
			t.Fatalf("%q is read", text)
		}
		e, ok := errors.AsType[*Refusal](p.Refused.From(100))
		if got := fmt.Sprint(e.At, e.Open); !ok || got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
