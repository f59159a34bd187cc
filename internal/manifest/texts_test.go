package manifest

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/yamljudge"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// TestTexts has the texts that restore needs, and those that it does not.
func TestTexts(t *testing.T) {
	const gone = 0
	filled := field.Map{{Key: "y", Value: 1}}
	for _, c := range []struct {
		in      string
		instead field.Value
		want    string
	}{
		{"a: {x: 1}\nk: 8080 # c\n", 15020, ""},
		{"a: {x: 1}\nk: 0x50\n", 15020, "k: 0x50"},
		{"a: {x: 1}\nk: http\n", 15020, ""},
		{"a: {x: 1}\nk: 'http' # c\n", 15020, "k: 'http'"},
		{"a: {x: 1}\nk: '/a' # c\n", "/b", ""},
		{"a: {x: 1}\nk: \"\\u002fa\"\n", "/b", "k: \"\\u002fa\""},
		{"a: {x: 1}\nk: >-\n  /a\n", "/b", "k: >-\n  /a"},
		{"a: {x: 1}\nk: |-\n  /a\n", "/b", ""},
		{"a: {x: 1}\nk: | # c\n   x\n\n   y\n", "z\n", ""},
		{"a: {x: 1}\nk: |\n   x\n   \n   y\n", "z\n", "k: |\n   x\n   \n   y"},
		{"a: {x: 1}\nk:\n  http # c\n", 15020, "k:\n  http # c"},
		{"a: {x: 1}\nk: !!int \"80\"\n", 15020, "k: !!int \"80\""},
		{"a: &x {x: 1}\nk: *x\n", field.Map{}, "k: *x"},
		{"a: {x: 1}\nk: \"b,c\"\n", 15020, "k: \"b,c\""},
		{"{a: {x: 1}, k: \"b,c\"}\n", 15020, ""}, // in braces a comma needs the quotes
		{"a: &x {x: 1}\nk: *x\n", field.Map{{Key: "x", Value: 1}}, ""},
		{"a: {x: 1}\nk: ~\n", filled, "k: ~"},
		{"a: {x: 1}\nk:\n", field.List{}, "k:"},
		{"a: {x: 1}\nk: null\n", field.List{}, ""},
		{"a: {x: 1}\nk: { }\n", filled, "k: { }"},
		{"a: {x: 1}\nk: {}\n", filled, ""},
		{"a: {x: 1}\nk: {x: 1}\n", filled, ""},
		{"a: {x: 1}\nk: {x: 1}\n", field.Map{}, ""},
		{"a: {x: 1}\nk: { }\n", field.Map{}, ""},
		{"a: {x: 1}\nk: b.C\n", gone, ""},
		{"a: {x: 1}\nk: 'b.C'\n", gone, "k: 'b.C'"},
		{"a: {x: 1}\nk: b.C # c\n", gone, "k: b.C # c"},
		{"a: {x: 1}\n# one\n\nk: b.C\n", gone, "\n\nk: b.C"},
		{"a: {x: 1}\n\"k\":   b.C\r\n", gone, "\"k\":   b.C\r"},
		{"a: {x: 1}\r\nk: b.C\r\n", gone, ""},
		{"a: {x: 1}\r\nk: b.C\nz: 1\n", gone, "k: b.C\r"},
		{"a: {x: 1}\r\nk: b.C", gone, ""},
		{"{a: {x: 1}, k: b.C}\n", gone, ""},
		{"{a: {x: 1}, k: 'b.C'}\n", gone, "k: 'b.C'"},
		{"{\"a\":{\"x\":1},\"k\":\"b.C\"}\n", gone, ""},
		{"{\"a\":{\"x\":1},\"k\":\"http\"}\n", 15020, ""},
		{"a: {x: 1}\n", gone, ""},
	} {
		o := mustRead(t, []byte(c.in)).Objects()[0]
		e := set("k", c.instead)
		if c.instead == gone {
			e = remove("k")
		}
		if got := textIn(o.Texts([]field.Edit{e}), "k"); got != c.want {
			t.Errorf("%q with %v instead: %q, want %q", c.in, c.instead, got, c.want)
		}
	}
}

// textIn returns the text of an entry; "" if there is none.
func textIn(texts []field.WrittenText, key string) string {
	for _, t := range texts {
		if t.Path[len(t.Path)-1].Key == key {
			return t.Text
		}
	}
	return ""
}

// TestATextIsUsedOnlyWhereItReadsAsTheEntry: it comes from an annotation that anybody
// may have edited.
func TestATextIsUsedOnlyWhereItReadsAsTheEntry(t *testing.T) {
	const in = "m:\n  a: 1 # one\n  b: 'two'\n"
	for _, c := range []struct{ text, want string }{
		{"k: 'http'", "k: 'http'"},
		{"k: 'http' # c", "k: 'http' # c"},
		{"'k':  \"http\"", "'k':  \"http\""},
		{"k: !!str http", "k: !!str http"},
		{"k: >-\n  http", "k: >-\n    http"},
		{"k: 'https'", "k: http"},
		{"l: 'http'", "k: http"},
		{"k: http\nl: 1", "k: http"},
		{"k: *none", "k: http"},
		{"k: 'http", "k: http"},
		{"http", "k: http"},
		{"# k: http", "k: http"},
		{"k: http\n---\na: b", "k: http"},
	} {
		s := mustRead(t, []byte(in))
		o := s.Objects()[0]
		e := set("m.k", "http")
		e.Texts = field.KeyValues{{Key: "k", Value: c.text}}
		if err := o.Apply([]field.Edit{e}); err != nil {
			t.Fatal(err)
		}
		if got := string(output(t, s)); got != in+"  "+c.want+"\n" || len(o.Notices()) > 0 {
			t.Errorf("%q gives\n%s%v", c.text, got, o.Notices())
		}
	}
}

// TestATextThatMeansSomethingElseNowIsNotUsed has an alias whose anchor has another value now, and what was
// edited by hand: the other texts of the edits are used.
func TestATextThatMeansSomethingElseNowIsNotUsed(t *testing.T) {
	for _, text := range []string{"l: *x", "l: 3", "l: '2'", "l:", "l: '2", "l: {<<: *x}"} {
		s := mustRead(t, []byte("m:\n  a: &x 1\n  b: 2\n"))
		edits := []field.Edit{set("m.k", "http"), set("m.l", 2)}
		edits[0].Texts = field.KeyValues{{Key: "k", Value: "k: 'http' # c"}}
		edits[1].Texts = field.KeyValues{{Key: "l", Value: text}}
		if err := s.Objects()[0].Apply(edits); err != nil {
			t.Fatal(err)
		}
		const want = "m:\n  a: &x 1\n  b: 2\n  k: 'http' # c\n  l: 2\n"
		if got := string(output(t, s)); got != want {
			t.Errorf("%q: got\n%swant\n%s", text, got, want)
		}
	}
}

// A renamed mapping has the entries of its texts as their author wrote them, and others as they are.
func TestTheEntriesOfARenamedMappingHaveTheirTexts(t *testing.T) {
	const in = "m:\n  # above\n  tcp: # at tcp\n    port: 15020 # at port\n    host: h # at host\n"
	for _, c := range []struct {
		texts field.KeyValues
		want  string
	}{
		{nil, "m:\n  # above\n  http: # at tcp\n    port: 80 # at port\n    host: h # at host\n    path: /\n"},
		{field.KeyValues{{Key: "port", Value: "port: 0x50"}}, "m:\n  # above\n  http: # at tcp\n    port: 0x50 # at port\n    host: h # at host\n    path: /\n"},
		{field.KeyValues{{Key: "port", Value: "port: 81"}}, "m:\n  # above\n  http: # at tcp\n    port: 80 # at port\n    host: h # at host\n    path: /\n"},
		{field.KeyValues{{Key: "host", Value: "host: 'h'"}, {Key: "path", Value: "path: \"/\""}}, "m:\n  # above\n  http: # at tcp\n    port: 80 # at port\n    host: 'h' # at host\n    path: \"/\"\n"},
	} {
		s := mustRead(t, []byte(in))
		e := rename("m.tcp", "http", field.Map{{Key: "port", Value: 80}, {Key: "host", Value: "h"}, {Key: "path", Value: "/"}})
		e.Texts = c.texts
		if err := s.Objects()[0].Apply([]field.Edit{e}); err != nil {
			t.Fatal(err)
		}
		if got := string(output(t, s)); got != c.want {
			t.Errorf("%v gives\n%swant\n%s", c.texts, got, c.want)
		}
	}
}

// The line of an entry ends as its author ended it, whatever the other lines end with.
func TestTheLineOfAnEntryEndsAsItDid(t *testing.T) {
	for _, eol := range []string{"\n", "\r\n"} {
		other := map[string]string{"\n": "\r\n", "\r\n": "\n"}[eol]
		for _, own := range []string{eol, other} {
			in := "kind: A" + eol + "m:" + eol + "  a: 1" + eol + "  # c" + eol + "  b: '2'" + own + "  d: 3" + eol
			s := mustRead(t, []byte(in))
			o := s.Objects()[0]
			there := []field.Edit{remove("m.b")}
			texts := o.Texts(there)
			if err := o.Apply(there); err != nil {
				t.Fatal(err)
			}
			again := mustRead(t, bytes.Clone(output(t, s)))
			back := setBefore("m.b", "d", "2")
			back.Texts = field.KeyValues{{Key: "b", Value: textIn(texts, "b")}}
			if err := again.Objects()[0].Apply([]field.Edit{back}); err != nil {
				t.Fatal(err)
			}
			if got := string(output(t, again)); got != in {
				t.Errorf("%q comes back as %q, by the text %q", in, got, textIn(texts, "b"))
			}
		}
	}
}

// A mapping with merge keys may be a whole pod: its text is kept if it is short.
func TestOnlyAShortTextOfALinkedMappingIsKept(t *testing.T) {
	for length, want := range map[int]bool{1023: true, 1024: true, 1025: false} {
		m := "m:\n  <<: *x\n  b: "
		m += strings.Repeat("y", length-len(m))
		o := mustRead(t, []byte("x: &x {a: 1}\n"+m+"\n")).Objects()[0]
		texts := o.Texts([]field.Edit{set("m.a", 2)})
		if got := textIn(texts, "m"); (got != "") != want || want && got != m {
			t.Errorf("of %d bytes %d are kept", length, len(got))
		}
	}
}

// Each text that fits is used, beside the ones before it that it needs, wherever those that do not fit are.
func TestTheTextsThatFitAreUsed(t *testing.T) {
	texts := []struct{ text, written string }{
		{"k: &x 1", "k: &x 1"}, {"l: *x", "l: *x"}, {"m: *none", "m: 1"}, {"n: 1 # c", "n: 1 # c"}, {"o: 2", "o: 1"}, {"p: '1", "p: 1"}, {"q:   1", "q:   1"},
	}
	for seed := range uint64(60) {
		order := rand.New(rand.NewPCG(seed, 1)).Perm(len(texts))
		s := mustRead(t, []byte("a:\n  b: c\n"))
		want := "a:\n  b: c\n"
		var edits []field.Edit
		anchored := false
		for _, i := range order[:1+seed%uint64(len(texts))] {
			c := texts[i]
			e := set("a."+c.text[:1], 1)
			e.Texts = field.KeyValues{{Key: c.text[:1], Value: c.text}}
			edits = append(edits, e)
			if c.text == "l: *x" && !anchored {
				c.written = "l: 1"
			}
			anchored = anchored || c.text == "k: &x 1"
			want += "  " + c.written + "\n"
		}
		if err := s.Objects()[0].Apply(edits); err != nil {
			t.Fatal(err)
		}
		if got := string(output(t, s)); got != want {
			t.Errorf("%v gives\n%swant\n%s", order, got, want)
		}
	}
}

// An editBack is an edit of an entry and its opposite.
type editBack struct{ there, back field.Edit }

// randomEditBack returns an edit of an entry of a mapping that has a scalar or an
// empty collection, together with its opposite; ok is false if there is none.
func randomEditBack(r *rand.Rand, o *Object) (e editBack, ok bool) {
	t, err := o.load()
	// An entry that an alias stands for has no text of its own.
	if err != nil || o.stream.parser.Special && bytes.ContainsAny(o.source(), "*<") || o.CheckKeys(nil) != nil {
		return e, false
	}
	var p field.Path
	n := int32(1)
	for t.Nodes[n].Child != 0 {
		children := []int32{}
		for c := t.Nodes[n].Child; c != 0; c = t.Nodes[c].Next {
			children = append(children, c)
		}
		i := r.IntN(len(children))
		if t.Nodes[n].Kind == yaml.Sequence {
			p = p.Index(i)
		} else {
			p = p.Key(strings.Clone(t.KeyOf(children[i])))
		}
		parent := n
		n = children[i]
		isEntry := t.Nodes[parent].Kind == yaml.Mapping && len(children) > 1 && len(p) > 1
		if t.Nodes[n].Child != 0 || !isEntry {
			continue
		}
		value, _ := o.Value(p)
		if s, _ := value.(string); t.Nodes[n].Style == yaml.Plain && isOldBool(s) {
			return e, false // it is quoted, for readers of YAML 1.1
		}
		e.back = field.Edit{Op: field.Set, Path: p, Value: value}
		// What is between two entries on a line goes with one of them.
		ownLine := len(bytes.TrimLeft(t.Text[bytes.LastIndexByte(t.Text[:t.Nodes[n].Key], '\n')+1:t.Nodes[n].Key], " ")) == 0
		if r.IntN(2) == 0 && ownLine && t.Nodes[parent].Style == yaml.Block {
			e.there = field.Edit{Op: field.Delete, Path: p}
			if i+1 < len(children) {
				e.back.Before = strings.Clone(t.KeyOf(children[i+1]))
			}
		} else {
			e.there = field.Edit{Op: field.Set, Path: p, Value: []field.Value{15020, "/app-health/a/livez", field.List{"a"}}[r.IntN(3)]}
		}
		for _, text := range o.Texts([]field.Edit{e.there}) {
			e.back.Texts = e.back.Texts.With(text.Path[len(text.Path)-1].Key, text.Text)
		}
		return e, true
	}
	return e, false
}

func isOldBool(s string) bool {
	_, ok := yaml.OldBool(s)
	return ok
}

// checkEditsBack edits entries of the objects of a text and edits them back: that must
// give the text byte for byte. It returns how many entries it edited, and for how
// many of them a text was needed.
func checkEditsBack(tb testing.TB, in []byte, seed uint64) (edited, withText int) {
	tb.Helper()
	if n := bytes.Count(in, []byte("\r")); n > 0 && n != bytes.Count(in, []byte("\n")) {
		return 0, 0 // new lines end like the others
	}
	s, err := Read("<stdin>", in)
	if err != nil {
		return 0, 0
	}
	r := rand.New(rand.NewPCG(seed, 2))
	edits := make([]*editBack, len(s.Objects()))
	for i, o := range s.Objects() {
		e, ok := randomEditBack(r, o)
		if !ok || o.stream.shared[o] != "" || o.Apply([]field.Edit{e.there}) != nil || len(o.Notices()) > 0 {
			continue
		}
		edits[i] = &e
	}
	out, err := s.Text()
	if err != nil {
		tb.Fatal(err)
	}
	again := mustRead(tb, bytes.Clone(out))
	whole := true
	for i, o := range again.Objects() {
		if e := edits[i]; e != nil {
			edited++
			if e.back.Texts != nil {
				withText++
			}
			if err := o.Apply([]field.Edit{e.back}); err != nil {
				tb.Fatal(err)
			}
			// What is too unusual to be edited twice says so.
			if len(o.Notices()) > 0 {
				tb.Logf("%+v: %v", e.back, o.Notices())
				return 0, 0
			}
		} else if s.Objects()[i].Changed() {
			whole = false
		}
	}
	if back := output(tb, again); whole && !bytes.Equal(back, in) {
		for i, o := range again.Objects() {
			if before := mustRead(tb, in).Objects()[i]; edits[i] != nil && !bytes.Equal(o.source(), before.source()) {
				tb.Fatalf("%+v gives\n%s\nand %+v\n%s\nwant\n%s", edits[i].there, s.Objects()[i].source(), edits[i].back, o.source(), before.source())
			}
		}
		tb.Fatalf("%q became %q", in, back)
	}
	return edited, withText
}

// TestWhatIsEditedBackIsAsItsAuthorWroteIt, byte for byte, in every form of YAML and
// in real manifests.
func TestWhatIsEditedBackIsAsItsAuthorWroteIt(t *testing.T) {
	var texts [][]byte
	for _, f := range yamljudge.Forms {
		for range 100 {
			texts = append(texts, []byte(f))
		}
	}
	for _, f := range testutil.Manifests(t, root) {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, slices.Repeat([][]byte{text}, 20)...)
	}
	edited, withText := 0, 0
	for i, text := range texts {
		n, m := checkEditsBack(t, text, uint64(i))
		edited, withText = edited+n, withText+m
	}
	t.Logf("%d entries edited and edited back, %d of them with their text", edited, withText)
	if edited < 500 || withText < 100 {
		t.Errorf("%d entries edited and edited back, %d of them with their text: too few", edited, withText)
	}
}

// What cannot be edited, or not so, has no texts to keep.
func TestWhatIsRefusedHasNoTexts(t *testing.T) {
	for in, edits := range map[string][]field.Edit{
		"kind: A\na: 'b'\n":          {remove("a"), remove("a")},
		"kind: A\n? {a: b}\n: 'b'\n": {set("a", 1)},
		"kind: A\na: 'b'\nb: c\n":    {set("b", 1)},
	} {
		if texts := mustRead(t, []byte(in)).Objects()[0].Texts(edits); texts != nil {
			t.Errorf("%q: %v", in, texts)
		}
	}
}

// A mapping whose merge key is written out comes back with it, unless its text is longer than a small pod.
func TestTheTextOfAMappingWithAMergeKeyIsKept(t *testing.T) {
	for _, size := range []int{100, 200, 500, 900, 1024, 1025, 2000} {
		const start = "c:\n  <<: *d\n  pad: \""
		const end = "\""
		pad := strings.Repeat("p", size-len(start)-len(end))
		linked := start + pad + end
		in := "d: &d\n  image: x\n  probe: {path: /a}\n" + linked + "\nz: 1\n"
		path := field.NewPath("c", "probe", "path")
		s := mustRead(t, []byte(in))
		o := s.Objects()[0]
		edits := []field.Edit{{Op: field.Set, Path: path, Value: "/b"}}
		texts := o.Texts(edits)
		has := slices.ContainsFunc(texts, func(x field.WrittenText) bool { return x.Text == linked })
		if want := size <= 1024; has != want {
			t.Errorf("%d bytes: the text is kept: %t, want %t: %q", size, has, want, texts)
		}
	}
}

// What the text of an entry ends with tells the line break that its author wrote, of all that YAML has.
func TestTheMarkOfALineBreakTellsWhichOneItWas(t *testing.T) {
	for _, eol := range []string{"\n", "\r\n"} {
		for _, end := range []string{"\r", "\n", "\r\n", "\u0085", "\u2028", "\u2029"} {
			k := editNode{text: "a: b" + markOf(end, eol)}
			if got := k.lineBreak(eol); got != end {
				t.Errorf("%q among lines with %q: %q", end, eol, got)
			}
		}
	}
}
