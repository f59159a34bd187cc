package yaml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// Every escape is read as the full parser reads it, or refused with it, but for the halves of
// pairs and the slash, which JSON allows.
func TestEveryEscapeIsReadAsTheFullParserReadsIt(t *testing.T) {
	for c := range 128 {
		for _, digits := range []string{"", "4", "41", "004", "0041", "00000041", "0010ffff", "00110000", "2028"} {
			text := `"a\` + string(rune(c)) + digits + `b"`
			var want string
			refused := c == '\n' || c == '\r' || yaml.Unmarshal([]byte("k: "+text), &struct{ K *string }{&want}) != nil
			var tr Parser
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
		"&x\n{a: b}": true, "&x # c\n {a: b}": true, "&x {a: b, c: [*x]}": false, "&x &y {a: b}": false, "{a: b} c": false,
	} {
		var tr Parser
		if ok := tr.Parse([]byte(in), 0); ok != want || ok && (tr.Str(tr.Get(1, "a")) != "b" || tr.Nodes[1].Start != 0) {
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
					var x, y Parser
					if !x.Parse([]byte(a), 0) || !y.Parse([]byte(b), 0) {
						continue // the second indentation is none that the scanner takes
					}
					if got := x.Equal(1, &y.Tree, 1); got != (i == j) {
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
		`"abc`: -1, `'abc`: -1, `'abc''`: -1, `"abc\"`: -1, `"a\q"`: -1, `"a\x4"`: -1, "\"a\n---\nb\"": -1, "'a\n...\nb'": -1, "\"a\nb\n---\nc\"": -1, "'a\n\n--- b'": -1, "\"a\n---b\"": 8,
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
				var tr Parser
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
		var tr Parser
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
				if at = tr.Nodes[b].Child; tr.Nodes[at].Next != 0 {
					t.Errorf("%q: its list has an item more", in)
				}
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
		if value, ok := OldBool(s); value || ok {
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
		var tr Parser
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
		var tr Parser
		if !tr.Parse([]byte(in), 0) {
			t.Errorf("%q: %v", in, tr.Refused)
		} else if got := tr.Value(tr.Get(1, "a")); got != want["a"] {
			t.Errorf("%q is %q, want %q", in, got, want["a"])
		}
	}
}

// What is no printable ASCII is found wherever it is, and nothing else is.
func TestWhatIsUnusualIsFoundWhereverItIs(t *testing.T) {
	for c := range 256 {
		unusual := c != '\n' && (c < ' ' || c > '~')
		for _, around := range []byte{' ', '~', '\n', 'A'} {
			for at := range 48 {
				text := bytes.Repeat([]byte{around}, 56)
				text[at] = byte(c)
				got := skipUsual(text, 0)
				if unusual && got != at || !unusual && got != len(text) {
					t.Fatalf("%q at %d among %q: found at %d", byte(c), at, around, got)
				}
			}
		}
	}
}

// The refusal says how much is allowed.
func TestAliasesExpandToALimit(t *testing.T) {
	var in strings.Builder
	in.WriteString("a: &a [x, x, x, x, x, x, x, x, x, x]\n")
	for key := 'b'; key <= 'f'; key++ {
		fmt.Fprintf(&in, "%c: &%[1]c [%s]\n", key, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", key-1), 10), ", "))
	}
	var tree Parser
	if tree.Parse([]byte(in.String()), 0) || tree.Refused.Why != "aliases must expand to at most 200000 values, and expand to more: write the values out, or take fewer" {
		t.Errorf("refused: %q", tree.Refused.Why)
	}
}

// A tree that is used again has nothing of what it was.
func TestATreeIsUsedAgain(t *testing.T) {
	var tr Parser
	for _, in := range []string{"a: &x {b: 1}\nc: {<<: *x, d: *x}\n", "a: {b: 1}\nc: {b: 2, d: 3}\n"} {
		var fresh Parser
		if !tr.Parse([]byte(in), 0) || !fresh.Parse([]byte(in), 0) {
			t.Fatalf("%q: %v, %v", in, tr.Refused, fresh.Refused)
		}
		tr.stack, fresh.stack = nil, nil
		if !reflect.DeepEqual(tr, fresh) {
			t.Errorf("%q: %+v, want %+v", in, tr, fresh)
		}
	}
}

// Two escapes of JSON are one character, if both are halves of a pair.
func TestPairsAreReadAsJSONReadsThem(t *testing.T) {
	halves := []string{"0041", "d7ff", "d800", "dbff", "dc00", "dfff", "e000"}
	for _, high := range halves {
		for _, low := range halves {
			text := `"a\u` + high + `\u` + low + `b"`
			var want string
			if err := json.Unmarshal([]byte(text), &want); err != nil {
				t.Fatal(err)
			}
			var tr Parser
			if ok := tr.Parse([]byte(`{"k": `+text+"}\n"), 0); !ok || tr.Str(tr.Get(1, "k")) != want {
				t.Errorf("%s is read as %q (%t), want %q", text, tr.Str(tr.Get(1, "k")), ok, want)
			}
		}
	}
}

func TestAValueOfAnotherTypeIsRefused(t *testing.T) {
	for value, want := range map[string][]string{
		"text":       {"", `must be true or false, not the string "text"`, `must be a whole number, not the string "text"`, `must be a whole number, not the string "text"`, `must be a whole number, not the string "text"`, "must be a mapping, not the string \"text\"", "must be a list, not the string \"text\"", "must be a mapping, not the string \"text\"", ""},
		"true":       {"must be a string, not the boolean true: write \"true\" in quotes", "", "must be a whole number, not the boolean true", "must be a whole number, not the boolean true", "must be a whole number, not the boolean true", "must be a mapping, not the boolean true", "must be a list, not the boolean true", "must be a mapping, not the boolean true", "must be a number or a string, not the boolean true"},
		"2147483648": {"must be a string, not the number 2147483648: write \"2147483648\" in quotes", "must be true or false, not the number 2147483648", "", "must be a whole number, not the number 2147483648", "", "must be a mapping, not the number 2147483648", "must be a list, not the number 2147483648", "must be a mapping, not the number 2147483648", ""},
		"1.5":        {"must be a string, not the number 1.5: write \"1.5\" in quotes", "must be true or false, not the number 1.5", "must be a whole number, not the number 1.5", "must be a whole number, not the number 1.5", "must be a whole number, not the number 1.5", "must be a mapping, not the number 1.5", "must be a list, not the number 1.5", "must be a mapping, not the number 1.5", "must be a number or a string, not the number 1.5"},
		"1e3":        {"must be a string, not the number 1e3: write \"1e3\" in quotes", "must be true or false, not the number 1e3", "", "", "", "must be a mapping, not the number 1e3", "must be a list, not the number 1e3", "must be a mapping, not the number 1e3", ""},
		"{}":         {"must be a string, not a mapping", "must be true or false, not a mapping", "must be a whole number, not a mapping", "must be a whole number, not a mapping", "must be a whole number, not a mapping", "", "must be a list, not a mapping", "", "must be a number or a string, not a mapping"},
	} {
		var tr Parser
		if !tr.Parse([]byte("K: "+value+"\n"), 0) {
			t.Fatal(tr.Refused)
		}
		for i, into := range []any{
			&struct{ K string }{}, &struct{ K bool }{}, &struct{ K int }{}, &struct{ K int32 }{}, &struct{ K int64 }{}, &struct{ K struct{ X int } }{}, &struct{ K []string }{}, &struct{ K map[string]string }{}, &struct{ K field.IntOrString }{},
		} {
			got := ""
			if _, errs := tr.Decode(nil, into, true); errs != nil {
				got = errs[0].Msg
				said.Say("value", got)
			}
			if value == "2147483648" && i == 2 && strconv.IntSize == 32 {
				want[i] = want[3]
			}
			if got != want[i] {
				t.Errorf("%s into %T: %q, want %q", value, into, got, want[i])
			}
		}
	}
}

// No value is null, which is no text, and quotes make a text of anything.
func TestAValueIsComparedWithItsType(t *testing.T) {
	for in, want := range map[string][]bool{ // is it "", nil, "1", 1, "true", true?
		"":       {false, true, false, false, false, false},
		"~":      {false, true, false, false, false, false},
		"''":     {true, false, false, false, false, false},
		"1":      {false, false, false, true, false, false},
		"'1'":    {false, false, true, false, false, false},
		"true":   {false, false, false, false, false, true},
		"'true'": {false, false, false, false, true, false},
		"[]":     {false, false, false, false, false, false},
	} {
		var tr Parser
		if !tr.Parse([]byte("k: "+in+"\n"), 0) {
			t.Fatal(tr.Refused)
		}
		for i, v := range []field.Value{"", nil, "1", 1, "true", true} {
			if got := tr.EqualValue(tr.Get(1, "k"), v); got != want[i] {
				t.Errorf("%q is %#v: %t", in, v, got)
			}
		}
	}
}

// A line in quotes ends in a backslash: between single ones that is a character.
func TestQuotedLinesAreReadAsTheFullParserReadsThem(t *testing.T) {
	for _, quote := range []string{"'", "\""} {
		for _, end := range []string{"", " ", "\\", "\\\\", " \\", "\\ ", "\t", "\\\t"} {
			for _, between := range []string{"\n", "\n\n", "\n \n\n", "\n  \\\n"} {
				in := "k: " + quote + "a" + end + between + "  b" + quote + "\n"
				var want map[string]string
				err := yaml.Unmarshal([]byte(in), &want)
				var tr Parser
				if ok := tr.Parse([]byte(in), 0); ok != (err == nil) || ok && tr.Str(tr.Get(1, "k")) != want["k"] {
					t.Errorf("%q is read as %q (%t), want %q (%v)", in, tr.Str(tr.Get(1, "k")), ok, want["k"], err)
				}
			}
		}
	}
}

// A comment behind the indicators of a block scalar is none of them.
func TestBlockScalarsAreReadAsTheFullParserReadsThem(t *testing.T) {
	for _, style := range []string{"|", ">"} {
		for _, head := range []string{"", "-", "+", " # -", " # +", "- # +", "+ #-", "2-", "-2"} {
			for _, lines := range []string{"  a\n", "  a\n\n", "  a\n  b\n\n  c\n\n\n", "  a\n   b\n  c\n", "  \n\n"} {
				in := "k: " + style + head + "\n" + lines
				var want map[string]string
				err := yaml.Unmarshal([]byte(in), &want)
				var tr Parser
				if ok := tr.Parse([]byte(in), 0); ok != (err == nil) || ok && tr.Str(tr.Get(1, "k")) != want["k"] {
					t.Errorf("%q is read as %q (%t), want %q (%v)", in, tr.Str(tr.Get(1, "k")), ok, want["k"], err)
				}
			}
		}
	}
}
