package yaml

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Every escape is read as the full parser reads it, or refused with it, but for the halves of
// pairs and the slash, which JSON allows.
func TestEveryEscapeIsReadAsTheFullParserReadsIt(t *testing.T) {
	for c := range 128 {
		for _, digits := range []string{"", "4", "41", "004", "0041", "00000041", "0010ffff", "00110000", "2028"} {
			text := `"a\` + string(rune(c)) + digits + `b"`
			var want string
			refused := c == '\n' || c == '\r' || yaml.Unmarshal([]byte("k: "+text), &struct{ K *string }{&want}) != nil
			var tr Tree
			switch ok := tr.Parse([]byte("k: "+text+"\n"), 0); {
			case c == '/' && ok && tr.Str(tr.Get(1, "k")) == "a/"+digits+"b", c == '\n', c == '\r', c < ' ' && c != '\t', c == 0x7f:
			case ok == refused || ok && tr.Str(tr.Get(1, "k")) != want:
				t.Errorf("%q is read as %q (%v), want %q (%v)", text, tr.Str(tr.Get(1, "k")), ok, want, !refused)
			}
		}
	}
}

func TestARootInBracesMayHaveAnAnchor(t *testing.T) {
	for in, want := range map[string]bool{
		"{a: b}": true, "&x {a: b}": true, "&x  !!map\t{a: b}": true, "!!map &x {a: b} # c\n": true,
		"&x\n{a: b}": true, "&x # c\n {a: b}": true, "&x &y {a: b}": false, "{a: b} c": false,
	} {
		var tr Tree
		if ok := tr.Parse([]byte(in), 0); ok != want || ok && tr.Str(tr.Get(1, "a")) != "b" {
			t.Errorf("%q: %v %v", in, ok, tr.Refused)
		}
	}
}

// The classes hold texts of equal value; those of different classes differ.
func TestTreesAreComparedByValue(t *testing.T) {
	classes := [][]string{
		{"a: b\n", "a:  b # c\n", "\"a\": b\n", "{a: b}\n", "a:\n  b\n"},
		{"a: \"b\"\n", "a: 'b'\n", "a: |-\n  b\n", "a: |-\n    b\n", "{'a': \"b\"}\n"},
		{"a: c\n"}, {"a: \"c\"\n"}, {"b: b\n"}, {"a: b\nc: d\n"}, {"c: d\na: b\n"}, {"a: b\nc:\n", "{a: b, c: }\n"}, {"a: b\nc: ''\n"}, {"a: b\nc: {}\n"}, {"a: b\nc: []\n"},
		{"a: [b]\n", "a:\n- b\n", "a:\n  - b # c\n"}, {"a: [b, c]\n", "a:\n- b\n- c\n"}, {"a: [c, b]\n"}, {"a: [[b]]\n"}, {"a: {b: c}\n", "a:\n  b: c\n", "a:\n    b: c\n"}, {"a: {c: c}\n"},
		{"a: |\n  b\n"}, {"a: |\n   b\n  c\n", "a: |2\n   b\n  c\n"}, {"a: |\n  b\n  c\n"}, {"a: >\n  b\n  c\n"},
		{"a:\n b: |2\n      x\n"}, {"a:\n  b: |2\n      x\n"}, // one text, and more or less of it is indentation
	}
	for i, class := range classes {
		for _, a := range class {
			for j, other := range classes {
				for _, b := range other {
					var x, y Tree
					if !x.Parse([]byte(a), 0) || !y.Parse([]byte(b), 0) {
						continue // the second indentation is none that the scanner takes
					}
					if got := x.Equal(1, &y, 1); got != (i == j) {
						t.Errorf("%q and %q are equal: %v", a, b, got)
					}
				}
			}
		}
	}
}

func TestAQuotedScalarEndsAtItsQuote(t *testing.T) {
	for text, want := range map[string]int{
		`"abc"`: 5, `'it''s' x`: 7, `"a\"b" `: 6, "\"a\nb\"": 5, `""`: 2, "''": 2,
		`"abc`: -1, `'abc`: -1, `'abc''`: -1, `"abc\"`: -1, `"a\q"`: -1, `"a\x4"`: -1, "\"a\n---\nb\"": -1, "'a\n...\nb'": -1,
	} {
		if end, ok := quotedEnd([]byte(text), 0); ok != (want > 0) || ok && end != want {
			t.Errorf("%q: ends at %d, %v; want %d", text, end, ok, want)
		}
	}
}

// A key is as long as YAML allows in characters, not in bytes.
func TestAKeyMayHave1024Characters(t *testing.T) {
	for _, letter := range []string{"a", "é", "'a", "\"é"} {
		quote := ""
		if letter[0] < 'A' {
			quote, letter = letter[:1], letter[1:]
		}
		for n, want := range map[int]bool{1023: true, 1024: true, 1025: false} {
			key := quote + strings.Repeat(letter, n-2*len(quote)) + quote
			for _, in := range []string{key + ": x\n", "{" + key + ": x}\n", "a: {" + key + ": x}\n", "- " + key + ": x\n"} {
				if in[0] == '-' {
					in = "k:\n" + in
				}
				var tr Tree
				if got := tr.Parse([]byte(in), 0); got != want || (yaml.Unmarshal([]byte(in), new(any)) == nil) != want {
					t.Errorf("%d characters %q in %.10q: %v", n, letter, in, got)
				}
			}
		}
	}
}

// A key may be an alias, or have an anchor or a tag, in both styles.
func TestKeysWithAnchorsAndTagsAreRead(t *testing.T) {
	for _, in := range []string{
		"a: &ab name\n*ab : v\n", "{a: &ab name, *ab : v}\n", "&ab name: v\n", "{&ab name: v}\n", "!!str name: v\n", "! \"name\": v\n", "a: {x: &ab 'name'}\n&c *ab : v\n", "{a: &ab 'name', !!str *ab : v}\n", "a: &ab 'name'\nb: [&c *ab : v]\n", "a: &ab 'name'\nb: [*ab : v]\n",
		"a: &ab name\nb:\n  *ab : v\n", "a: &ab name\nb: {*ab : v}\n", "a: &ab name\nb:\n- *ab : v\n",
	} {
		var tr Tree
		ok := tr.Parse([]byte(in), 0)
		var want map[string]any
		if err := yaml.Unmarshal([]byte(in), &want); (err == nil) != ok {
			t.Errorf("%q: %v %v, and the full parser: %v", in, ok, tr.Refused, err)
		}
		if !ok {
			continue
		}
		at := int32(1)
		if b := tr.Get(1, "b"); b != 0 {
			at = b
			if tr.Nodes[b].Kind == Sequence {
				at = tr.Item(b, 0)
			}
		}
		if v := tr.Get(at, "name"); v == 0 || tr.Str(v) != "v" {
			t.Errorf("%q has no name", in)
		}
	}
}

// What kubectl reads as a boolean, and YAML 1.2 as a string: https://yaml.org/type/bool.html.
func TestTheBooleansOfYAML11AreKnown(t *testing.T) {
	for word, want := range map[string]bool{"y": true, "yes": true, "on": true, "n": false, "no": false, "off": false} {
		for _, s := range []string{word, strings.ToUpper(word), strings.ToUpper(word[:1]) + word[1:]} {
			if got, ok := OldBool(s); got != want || !ok {
				t.Errorf("%s: %v %v", s, got, ok)
			}
		}
	}
	for _, s := range []string{"true", "yES", "oN", "none", "", "o"} {
		if _, ok := OldBool(s); ok {
			t.Errorf("%s is none", s)
		}
	}
}

func TestATreeIsOfOneDocument(t *testing.T) {
	for in, want := range map[string]string{
		"a: b\n---\nc: d\n": "5: invalid YAML: nothing must come here",
		"a: b\n...\n":       "5: invalid YAML: nothing must come here",
		"a: b\n# c\n\n":     "",
		"a:\n-":             "",
	} {
		got := ""
		var tr Tree
		if !tr.Parse([]byte(in), 0) {
			got = fmt.Sprintf("%d: %s", tr.Refused.At, tr.Refused.Why)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// A tag of strings changes neither the quotes nor the lines of a text.
func TestATextWithATagIsReadAsTheFullParserReadsIt(t *testing.T) {
	for _, value := range []string{"'it''s \\t'", "\"it's \\t\"", "it's \\t", "|\n  x\n  \\t\n", "|-\n  x\n", ">-\n  x\n  y\n", "12", "true", "~", "", "''", "a\n  b"} {
		in := "a: !!str " + value + "\n"
		var want map[string]string
		if err := yaml.Unmarshal([]byte(in), &want); err != nil {
			t.Fatal(err)
		}
		var tr Tree
		if !tr.Parse([]byte(in), 0) {
			t.Errorf("%q: %v", in, tr.Refused)
		} else if got := tr.Value(tr.Get(1, "a")); got != want["a"] {
			t.Errorf("%q is %q, want %q", in, got, want["a"])
		}
	}
}
