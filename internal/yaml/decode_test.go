package yaml

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

type Embedded struct {
	Inline string `json:"inline"`
}

type decoded struct {
	Embedded
	Named  Embedded `json:",omitempty"`
	Text   string   `json:"text"`
	Hidden string   `json:"-"`
	//lint:ignore U1000 the decoder must not look at it
	private string
	Flag    *bool             `json:"flag"`
	Port    field.IntOrString `json:"port"`
	Labels  field.KeyValues   `json:"labels"`
	Any     any               `json:"any"`
	Map     field.Map         `json:"map"`
	Strings map[string]string `json:"strings"`
	Small   []int8            `json:"small"`
	Items   []Embedded        `json:"items"`
}

// manyKeys is a mapping in braces of so many keys, and of one more at its end.
func manyKeys(n int, last string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: v, ", i)
	}
	return "{" + b.String() + last + ": w}"
}

// All errors of a value are found if it is read strictly, and else the first, with the path of each.
func TestEachErrorOfAValueSaysWhereItIs(t *testing.T) {
	const allowed = "Named, any, flag, inline, items, labels, map, port, small, strings, text"
	for _, tt := range []struct {
		in   string
		path field.Path
		want string
	}{
		{"text: a\nlabels: {a: b}\nmap: {a: 1}\nany: [a]\nitems:\n- inline: x\nNamed: {inline: y}\ninline: z\n", nil, ""},
		{"text: a\nText: b\n", nil, "Text: unknown field \"Text\": did you mean text?"},
		{"Embedded: {inline: x}\nHidden: x\nprivate: x\n-: x\n\"\": x\n", nil, "Embedded: unknown field \"Embedded\": allowed are " + allowed + "\nHidden: unknown field \"Hidden\": allowed are " + allowed +
			"\nprivate: unknown field \"private\": allowed are " + allowed + "\n-: unknown field \"-\": allowed are " + allowed + "\n: unknown field \"\": allowed are " + allowed},
		{"text: 1\nflag: 2\nport: [a]\nitems:\n- inline: 3\n- inline: 4\nx: y\n", nil,
			"text: must be a string, not the number 1: write \"1\" in quotes\nflag: must be true or false, not the number 2\nport: must be a number or a string, not a list\n" +
				"items[0].inline: must be a string, not the number 3: write \"3\" in quotes\nx: unknown field \"x\": allowed are " + allowed},
		{"flag: 2\ntext: a\n", nil, "flag: must be true or false, not the number 2"},
		{"Named: {inline: 1}\ntext: a\nitems: [{inline: 2}]\n", nil, "Named.inline: must be a string, not the number 1: write \"1\" in quotes\nitems[0].inline: must be a string, not the number 2: write \"2\" in quotes"},
		{"labels: [a]\n", nil, "labels: must be a mapping, not a list"},
		{"labels: {a: b, c: {d: e}, f: 1}\n", nil, "labels.c: must be a string, not a mapping"},
		{"labels: {a: b, a: c}\n", nil, "labels.a: key \"a\" must stand only once in its mapping, and is here again"},
		{"strings: {a: b, c: [d]}\n", nil, "strings.c: must be a string, not a list"},
		{"strings: {a: b, a: d}\n", nil, "strings.a: key \"a\" must stand only once in its mapping, and is here again"},
		{"small: [127, -128]\n", nil, ""},
		{"small: [1, 128]\n", nil, "small[1]: must be a whole number, not the number 128"},
		{"small: [-129.0]\n", nil, "small[0]: must be a whole number, not the number -129.0"},
		{"small: {a: b}\n", nil, "small: must be a list, not a mapping"},
		{"flag: 'yes'\n", nil, "flag: must be true or false, not the string \"yes\""},
		{"any: {a: {b: c, b: d}}\n", nil, "any.a.b: key \"b\" must stand only once in its mapping, and is here again"},
		{"any: [a, {b: c, b: d}, {e: f, e: g}]\n", nil, "any[1].b: key \"b\" must stand only once in its mapping, and is here again"},
		{"map: [a]\n", nil, "map: must be a mapping, not a list"},
		{"map: {a: b, c: d, a: e}\n", nil, "map.a: key \"a\" must stand only once in its mapping, and is here again"},
		{"text: a\ntext: b\n", nil, "text: key \"text\" must stand only once in its mapping, and is here again"},
		{"any: " + manyKeys(15, "k14") + "\n", nil, "any.k14: key \"k14\" must stand only once in its mapping, and is here again"},
		{"any: " + manyKeys(30, "k0") + "\n", nil, "any.k0: key \"k0\" must stand only once in its mapping, and is here again"},
		{"any: " + manyKeys(30, "k30") + "\n", nil, ""},
		{"a: {b: [{text: 1}]}\n", field.NewPath("a", "b").Index(0), "a.b[0].text: must be a string, not the number 1: write \"1\" in quotes"},
		{"a: {b: [{text: a}]}\n", field.NewPath("a", "b").Index(1), ""},
		{"a: {b: ~}\n", field.NewPath("a", "b").Index(1), ""},
		{"a: [b]\n", field.NewPath("a", "b"), "a: must be a mapping, not a list"},
		{"a: {b: c}\n", field.NewPath("a").Index(0), "a: must be a list, not a mapping"},
		{"a: b\n", field.NewPath("a", "b", "c"), "a: must be a mapping, not the string \"b\""},
		{"a: {b: {text: c}, b: {text: d}}\n", field.NewPath("a", "b"), "a.b: key \"b\" must stand only once in its mapping, and is here again"},
		{"text: " + strings.Repeat("x", 61) + "\nflag: " + strings.Repeat("é", 31) + "\nport: {}\n", nil, "flag: must be true or false, not the string \"" + strings.Repeat("é", 28) + "\\xc3...\"\nport: must be a number or a string, not a mapping"},
		{"flag: " + strings.Repeat("x", 60) + "\n", nil, "flag: must be true or false, not the string \"" + strings.Repeat("x", 60) + "\""},
	} {
		for _, strict := range []bool{true, false} {
			var tr Parser
			if !tr.Parse([]byte(tt.in), 0) {
				t.Fatalf("%q: %v", tt.in, tr.Refused)
			}
			var into decoded
			want := tt.want
			if !strict {
				want = ""
				for line := range strings.Lines(tt.want) {
					if want == "" && !strings.Contains(line, "unknown field") {
						want = strings.TrimSuffix(line, "\n")
					}
				}
			}
			var got []string
			found, errs := tr.Decode(tt.path, &into, strict)
			if found && errs != nil {
				t.Errorf("%q, strict %v: it is found, and %v", tt.in, strict, errs)
			}
			for _, e := range errs {
				got = append(got, tr.Path(e.Node).String()+": "+e.Msg)
			}
			if s := strings.Join(got, "\n"); s != want {
				t.Errorf("%q, strict %v:\n%s\nwant\n%s", tt.in, strict, s, want)
			}
		}
	}
}

func TestDecode_otherTypes(t *testing.T) {
	defer func() {
		if p := recover(); p != "yaml: cannot decode into a float64" {
			t.Errorf("panic: %v", p)
		}
	}()
	var tr Parser
	tr.Parse([]byte("a: 1\n"), 0)
	tr.Decode(field.NewPath("a"), new(float64), false)
}
