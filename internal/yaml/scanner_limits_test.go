package yaml

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// Each of these texts is decided by one condition: both parsers read it, as the same tree, or both
// refuse it, but for two.
func TestParse_limits(t *testing.T) {
	stricter := []string{"k: [? a]\n", "k: !!map\n- a\n"} // which no manifest has
	for _, in := range []string{
		"k: [a\n--- b]\n", "k: [a\n... b]\n", "k: {a\n--- b: c}\n", "k: [a\n ---\n b]\n", "k: [a\n---b]\n", "k: ['a\n--- b']\n", "k: ['a\n ---\n b']\n", "k: [ # a\n--- b]\n",
		"k: |\n  \n  a\n", "k: |\n \n  a\n", "k: |\n   \n  a\n", "k: |\n\n  a\n   \n  b\n", "k: |\n  a\n\n   \n\nl: b\n", "k: |2\n   \n  a\n", "k: >1\n  a\n b\n", "k:\n  l: |9\n           a\n", "k: |+\n\n\nl: a\n", "k: |+\n  a\n\n\nl: b\n", "k: |-\n\n  a\n\n", "k: >\n  a\n\n\n  b\n   c\n\n  d\n", "k: |\r\n  a\r\n\r\n  b\r\n", "k: |+\r\n  a\r\n\r\n", "k: |\n  a\n# b\n  c\n", "k: |\n  a\n # b\nl: c\n", "k: |\n  a\n  ---\nl: b\n", "k: |\n", "k: >-\n", "k: |2\n", "k: |20\n  a\n", "k: |+-\n  a\n", "k: |22\n  a\n", "k: |0\n  a\n",
		"k: 'a\n\n  '\n", "k: \"a\n\n  \"\n", "k: '\n\n  a'\n", "k: \"\n  a\n\"\n", "k: 'a\r\n\r\n  b'\r\n", "k: \"a\\\r\n  b\"\r\n", "k: \"a \\\n\n  b\"\n", "k: \"\\\n\"\n", "k: ''''\n", "k: 'a''\n  ''b'\n", "k: a\n\n\n  b\n \n  c\n", "k: a\r\n  b\r\n",
		"- a\n", "k:\n- a\n- b\nl: c\n", "k:\n  - a\n - b\n", "k:\n - a\n  - b\n", "k:\n- - a\n  - b\n-  - c\n", "k:\n- a: b\n  c:\n  - d\n  e: f\n", "k:\n- a: b\n   c: d\n", "k:\n- a:\n  - b\n - c\n", "k:\n  a: b\n c: d\n", "k:\n  a:\n    b: c\n   d: e\n", "k:\n-\n  a: b\n-\n- c\n", "k: \n\n\n  a: b\n", "k:\n- a\nb\n", "k: - a\n", "k: a: b\n", "k: 'a': b\n", "k: &x\n  a: b\nl: *x\n", "k: &x\n- a\nl: *x\n", "k: !!map\n  a: b\n", "k: !!seq\n- a\n", "k: !!map\n- a\n", "k: !!str\n  a\n  b\n", "k: &x # a\n  b\n", "k:\n  &x a: b\n", "k: &x a: b\n",
		"k: {a: {}, b: [], c: }\n", "k: {a: [}]\n", "k: {,}\n", "k: [,]\n", "k: [a,,b]\n", "k: [a, ]\n", "k: {a: b,, c: d}\n", "k: [a: b, c]\n", "k: [a\n: b]\n", "k: {a\n: b}\n", "k: {'a'\n: b}\n", "k: {a : b}\n", "k: {a :b}\n", "k: {? a\n, b: c}\n", "k: {? a : b}\n", "k: [? a]\n", "k: {a: b # c\n, d: e}\n", "k: [a #b\n]\n", "k: [a#b]\n", "k: {\n\ta: b}\n", "k:\n  [a,\n\tb]\n", "k: [a\n\t, b]\n", "k: [a\n \tb]\n", "k:\n  l: [a\n  \tb]\n", "k:\n  l: [a\n   \tb]\n", "{a: b,\n\tc: d}\n", "{a: b\n\tc: d}\n", "k: [\"a\nb\", 'c\n\nd']\n",
		"a:", "a: ", "a:\n", "a: #\n", "a: ~ # b\n", "a: Null\nb: NULL\nc: nULL\nd: ''\ne: null \n", "a: nulls\nb: ~a\n", "? a", "? a\n:", "? a\n: - b\n  - c\n", "? a\n? b\nc: d\n", "? |\n  a\n: b\n", "? - a\n: b\n", "a: b\n: c\n", "*a : b\n", "<<: {a: b}\nc: d\n",
		"a: 9223372036854775807\nb: 9223372036854775808\nc: -9223372036854775808\nd: -9223372036854775809\ne: 18446744073709551615\nf: 18446744073709551616\n", "a: 0x7fffffffffffffff\nb: 0xffffffffffffffff\nc: 0b11\nd: -0b11\ne: 0o7\nf: -0o7\ng: 0o8\nh: 07\ni: 08\n", "a: 1e400\nb: -.inf\nc: .NaN\nd: 1.\ne: .1\nf: +1\ng: ++1\nh: 1__0\ni: _1\n",
	} {
		var tr Parser
		if tr.Parse([]byte(in), 0) {
			agreeOnTree(t, []byte(in))
			continue
		}
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(in), &n); err == nil && len(n.Content) == 1 && n.Content[0].Kind == yaml.MappingNode && !slices.Contains(stricter, in) {
			t.Errorf("%q is refused: %v", in, tr.Refused)
		}
	}
}

// Collections in braces and brackets may be 201 deep, in those of block style too.
func TestCollectionsAreNestedUpToALimit(t *testing.T) {
	for depth, want := range map[int]string{200: "", 201: "", 202: "invalid YAML: collections must not be nested so deeply"} {
		for _, in := range []string{
			"k: " + strings.Repeat("[", depth) + strings.Repeat("]", depth) + "\n", "k: " + strings.Repeat("{a: ", depth) + strings.Repeat("}", depth) + "\n",
			"k:\n- " + strings.Repeat("[a, ", depth) + strings.Repeat("]", depth) + "\n", strings.Repeat("{a: ", depth) + strings.Repeat("}", depth) + "\n",
			"k: [" + strings.Repeat("a: [", depth-1) + strings.Repeat("]", depth) + "\n",
		} {
			var tr Parser
			if ok := tr.Parse([]byte(in), 0); ok != (want == "") || tr.Refused.Why != want {
				t.Errorf("%d deep, %.9q: %v %q", depth, in, ok, tr.Refused.Why)
			}
		}
	}
}

// A character that the full parser refuses is refused, wherever it is, and no other one.
func TestTheCharactersOfATextAreThoseOfTheFullParser(t *testing.T) {
	check := func(char string) {
		if char == "'" {
			return
		}
		for _, around := range []string{"a: '%s'\n", "a: b # %s and more behind it\n", "a: 'b%s"} {
			in := strings.Replace(around, "%s", char, 1)
			_, err := Check([]byte(in), nil)
			if want := yaml.Unmarshal([]byte("a: 'b"+char+"'\n"), new(yaml.Node)); (err == nil) != (want == nil) {
				t.Errorf("%q: %v, and the full parser: %v", in, err, want)
			}
		}
	}
	for _, some := range [][2]rune{{0x01, 0xa5}, {0x7fe, 0x801}, {0x2026, 0x202b}, {0xd7fe, 0xd7ff}, {0xe000, 0xe001}, {0xfefe, 0xff00}, {0xfffc, 0x10001}, {0x10fffe, 0x10ffff}} {
		for r := some[0]; r <= some[1]; r++ {
			check(string(r))
		}
	}
	for _, bytes := range []string{"\x80", "\xc3", "\xc3(", "\xe2\x82", "\xed\xa0\x80", "\xf0\x9f\x98", "\xf5\x80\x80\x80", "\xff", "\xc0\x80", "\ufffd"} {
		check(bytes)
	}
}

// What looks like the second half of a pair of escapes is one only where JSON says so.
func TestOnlyEscapesArePairs(t *testing.T) {
	for _, between := range []string{`\u`, `u`, `/u`, `\\u`, ` \u`, `\n\u`, `\/`} {
		for _, low := range []string{"de00", "0041", "de0", ""} {
			for _, end := range []string{"", "b", `\t`} {
				text := `"\ud83d` + between + low + end + `"`
				var want string
				err := json.Unmarshal([]byte(text), &want)
				var tr Parser
				if ok := tr.Parse([]byte(`{"k": `+text+"}\n"), 0); ok != (err == nil) || ok && tr.Str(tr.Get(1, "k")) != want {
					t.Errorf("%s is read as %q (%t), want %q (%v)", text, tr.Str(tr.Get(1, "k")), ok, want, err)
				}
			}
		}
	}
}

// What JSON alone has as an escape is one in a document that may be JSON, and nowhere else: the API server's parser
// refuses it in YAML.
func TestEscapesOfJSONAreOfJSONAlone(t *testing.T) {
	for text, isJSONs := range map[string]bool{
		`"\/"`: true, `"a\/b"`: true, `"\ud83d\ude00"`: true, `"\\\/"`: true, `"\udfff"`: true, `"\\/"`: false, `"\\ud83d"`: false, `"\u00e9"`: false,
		`"\U0001f600"`: false, `'\/'`: false, `'\ud83d'`: false, `"/"`: false, `"\xe9\N\_\L\P\e\""`: false,
	} {
		for form, isJSON := range map[string]bool{
			"%s: v\n": false, "k: %s\n": false, "k:\n- %s\n": false, "k: {a: %s}\n": false, "k: [%s]\n": false, "k: {%s: a}\n": false, "k:\n- {\"k\": %s}\n": false,
			"{\"k\": %s}\n": true, "{%s: 1}\n": true, "{\"k\": [{\"a\": %s}]}\n": true,
		} {
			var tr Parser
			document := strings.Replace(form, "%s", text, 1)
			if ok := tr.Parse([]byte(document), 0); ok != (isJSON || !isJSONs) {
				t.Errorf("%s: %t, %+v", document, ok, tr.Refused)
			}
			if err := yaml.Unmarshal([]byte(document), new(yaml.Node)); (err == nil) != !isJSONs {
				t.Errorf("%s: %v", document, err)
			}
		}
	}
}

// A variable gets the value that it would get from the same text in JSON, or neither does.
func TestValuesAreDecodedAsJSONDecodesThem(t *testing.T) {
	type name string
	type inner struct {
		A int     `json:"a"`
		B *inner  `json:"b,omitempty"`
		C *string `json:"c"`
	}
	for _, value := range []string{
		"", "~", "a", "'1'", "''", "1", "-1", "0", "127", "128", "-128", "-129", "32768", "2147483647", "2147483648", "-2147483649", "1.0", "1.5", "1e3", "true", "false", "[]", "[a]", "['a', ~]", "[1, ~, 2]", "[[1], [2, 3]]", "{}", "{a: 1}", "{a: ~}", "{a: x}", "{a: 1, b: {a: 2, b: {c: x}}, d: e}", "{a: 1, c: y}", "{a: 'x', b: 'y'}", "[{a: 1}, {a: 2, c: z}]", "{a: [1, 2], b: []}", "{x: {a: 1}}",
	} {
		in := "k: " + value + "\n"
		var tr Parser
		if !tr.Parse([]byte(in), 0) {
			t.Fatal(tr.Refused)
		}
		var v map[string]any
		if err := yaml.Unmarshal([]byte(in), &v); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(v["k"])
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []any{"before", name("before"), true, 7, int8(7), int16(7), int32(7), int64(7), new(int), inner{A: 7}, &inner{}, []string{"before"}, []int{7}, [][]int{}, []inner{}, map[string]string{}, map[name]int{"before": 7}, map[string]inner{}, map[string][]int{}} {
			got, want := reflect.New(reflect.TypeOf(kind)), reflect.New(reflect.TypeOf(kind))
			if reflect.TypeOf(kind).Kind() != reflect.Map && reflect.TypeOf(kind).Kind() != reflect.Pointer {
				got.Elem().Set(reflect.ValueOf(kind))
			}
			found, errs := tr.Decode(field.NewPath("k"), got.Interface(), false)
			if string(text) == "null" {
				if found || errs != nil || got.Elem().Kind() == reflect.String && got.Elem().String() != "before" {
					t.Errorf("%q into %T: found %v %v", in, kind, found, errs)
				}
				continue
			}
			if s := reflect.TypeOf(kind).Kind(); s == reflect.Struct {
				want.Elem().Set(reflect.ValueOf(kind))
			}
			err := json.Unmarshal(text, want.Interface())
			if (err == nil) != (errs == nil) || found != (errs == nil) || err == nil && !reflect.DeepEqual(got.Interface(), want.Interface()) {
				t.Errorf("%q into %T: %v %v, want %v %v", in, kind, got.Elem(), errs, want.Elem(), err)
			}
		}
	}
}

// Ports, labels and values of any type have types of their own.
func TestValuesOfSeveralTypesAreDecoded(t *testing.T) {
	const in = "port: 80\nname: http\nquoted: '80'\nwhole: 8e1\nlabels: {b: x, a: '1', c: ~, d: }\nany: {b: [1, a, ~, true, 1.5], a: {}}\nnothing: ~\nyes: on\nno: Off\n"
	var tr Parser
	if !tr.Parse([]byte(in), 0) {
		t.Fatal(tr.Refused)
	}
	got := struct {
		Port, Name, Quoted, Whole field.IntOrString
		Labels                    field.KeyValues
		Any, Nothing              any
		Map                       field.Map `json:"any2"`
		Yes                       bool      `json:"yes"`
		No                        *bool     `json:"no"`
	}{Nothing: "before"}
	text := strings.NewReplacer("port:", "Port:", "name:", "Name:", "quoted:", "Quoted:", "whole:", "Whole:", "labels:", "Labels:", "any:", "Any:", "nothing:", "Nothing:").Replace(in)
	if !tr.Parse([]byte(text), 0) {
		t.Fatal(tr.Refused)
	}
	if found, errs := tr.Decode(nil, &got, true); !found || errs != nil {
		t.Fatal(errs)
	}
	want := "{80 http 80 80 [{b x} {a 1} {c } {d }] [{b [1 a <nil> true 1.5]} {a []}] before [] true false}"
	if s := strings.Replace(fmt.Sprint(got), fmt.Sprint(got.No), fmt.Sprint(*got.No), 1); s != want {
		t.Errorf("%s\nwant\n%s", s, want)
	}
}

// A value equals what it is read as, and nothing else.
func TestAValueEqualsOnlyItself(t *testing.T) {
	for in, equals := range map[string][]any{
		"a": {"a", RawScalar("a")}, "'a'": {"a"}, "|-\n  a": {"a"}, "''": {""}, "": {nil}, "~": {nil, RawScalar("~")}, "'~'": {"~"},
		"0": {0, RawScalar("0")}, "'0'": {"0"}, "7": {7, RawScalar("7")}, "7.0": {7, 7.0, RawScalar("7.0")}, "1.5": {1.5, RawScalar("1.5")}, "9007199254740992.0": {math.Pow(2, 53), RawScalar("9007199254740992.0")},
		"true": {true, RawScalar("true")}, "'true'": {"true"}, "false": {false, RawScalar("false")}, "on": {RawScalar("on")}, "'on'": {"on"},
		"[]": {field.List{}}, "[a]": {field.List{"a"}}, "[a, 7]": {field.List{"a", 7}}, "{}": {field.Map{}}, "{a: 7}": {field.Map{{Key: "a", Value: 7}}}, "{a: 7, b: ~}": {field.Map{{Key: "a", Value: 7}, {Key: "b", Value: nil}}}, "{b: ~, a: 7}": {field.Map{{Key: "b", Value: nil}, {Key: "a", Value: 7}}},
		"{<<: {a: 7}, b: ~}": {field.Map{{Key: "a", Value: 7}, {Key: "b", Value: nil}}, field.Map{{Key: "b", Value: nil}, {Key: "a", Value: 7}}},
	} {
		var tr Parser
		if !tr.Parse([]byte("k: "+in+"\n"), 0) {
			t.Fatal(tr.Refused)
		}
		for _, v := range []any{
			"a", "", nil, "~", "0", "true", "on", 0, 7, 7.0, 1.5, math.Pow(2, 53), true, false, RawScalar("a"), RawScalar("~"), RawScalar("0"), RawScalar("7"), RawScalar("7.0"), RawScalar("1.5"), RawScalar("9007199254740992.0"), RawScalar("true"), RawScalar("false"), RawScalar("on"), RawScalar(""),
			field.List{}, field.List{"a"}, field.List{"a", 7}, field.List{7, "a"}, field.List{"a", 7, nil}, field.Map{}, field.Map{{Key: "a", Value: 7}}, field.Map{{Key: "a", Value: 0}}, field.Map{{Key: "b", Value: 7}}, field.Map{{Key: "a", Value: 7}, {Key: "b", Value: nil}}, field.Map{{Key: "b", Value: nil}, {Key: "a", Value: 7}},
		} {
			want := false
			for _, e := range equals {
				want = want || reflect.DeepEqual(e, v)
			}
			if got := tr.EqualValue(tr.Get(1, "k"), v); got != want {
				t.Errorf("%q equals %#v: %v", in, v, got)
			}
		}
	}
}
