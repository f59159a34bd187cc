package field_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

func TestAMappingGoesThroughJSONInItsOrder(t *testing.T) {
	m := field.Map{
		{Key: "b", Value: "\"<&\n"}, {Key: "a", Value: -1}, {Key: "", Value: nil}, {Key: "on", Value: true},
		{Key: "list", Value: field.List{field.Map{}, field.List{}, "x"}},
	}
	const want = `{"b":"\"<&\n","a":-1,"":null,"on":true,"list":[{},[],"x"]}`
	text := string(field.AppendJSON(nil, m))
	if text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	back, err := field.DecodeJSON(text)
	if d := cmp.Diff(m, back); d != "" || err != nil {
		t.Errorf("%v, -want +got\n%s", err, d)
	}
}

func TestWithWholeNumbers(t *testing.T) {
	before := field.Map{{Key: "a", Value: 1e3}, {Key: "b", Value: field.Map{{Key: "c", Value: 8080.0}, {Key: "d", Value: 1.5}}}, {Key: "e", Value: "1e3"}, {Key: "f", Value: -1e3}, {Key: "g", Value: -1.5}, {Key: "h", Value: 0.0}}
	want := field.Map{{Key: "a", Value: 1000}, {Key: "b", Value: field.Map{{Key: "c", Value: 8080}, {Key: "d", Value: 1.5}}}, {Key: "e", Value: "1e3"}, {Key: "f", Value: -1000}, {Key: "g", Value: -1.5}, {Key: "h", Value: 0}}
	if d := cmp.Diff(want, field.WithWholeNumbers(before)); d != "" || before[0].Value != 1e3 {
		t.Errorf("-want +got\n%s", d)
	}
	if field.WithWholeNumbers(nil) != nil {
		t.Error("no mapping becomes one")
	}
}

func TestOnlyOneJSONObjectIsDecoded(t *testing.T) {
	for _, text := range []string{"", "null", "[]", `"a"`, "{", "{} {}", "{}}", "{} x", `{"a":1.5}`, `{"a":[1,}`, `{"a":{"b":1}`} {
		if m, err := field.DecodeJSON(text); err == nil || m != nil {
			t.Errorf("%q becomes %v, %v", text, m, err)
		}
	}
	for _, text := range []string{"null", "[]", "{} {}"} {
		if _, err := field.DecodeJSON(text); err == nil || err.Error() != "must be one JSON object" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAPortIsTheSameInJSON(t *testing.T) {
	for text, want := range map[string]field.IntOrString{
		`8080`: field.Number(8080), `"8080"`: {Str: "8080", IsString: true}, `"ht\"tp"`: {Str: `ht"tp`, IsString: true}, `""`: {IsString: true},
	} {
		got := field.IntOrString{Int: 1, Str: "before"}
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.Value() != want.Value() {
			t.Errorf("%s is read as %#v, %v", text, got, err)
		}
		if b, err := json.Marshal(want); err != nil || string(b) != text {
			t.Errorf("%#v is written as %s, %v", want, b, err)
		}
	}
	for _, text := range []string{`1.5`, `true`, `[80]`, `{}`} {
		if err := json.Unmarshal([]byte(text), new(field.IntOrString)); err == nil {
			t.Errorf("%s is taken for a port", text)
		}
	}
}

// What is JSON is also put into manifests: every character, at the start of a text, in it and at its end, is read by both.
func TestJSONIsReadAsYAMLToo(t *testing.T) {
	for r := rune(0); r <= 0x10010; r++ {
		if r == 0x3100 {
			r = 0xd7f0
		}
		if !utf8.ValidRune(r) {
			continue
		}
		want := map[string]string{"k" + string(r): string(r) + "x" + string(r) + "y" + string(r)}
		var m field.Map
		for k, v := range want {
			m = field.Map{{Key: k, Value: v}}
		}
		text := field.AppendJSON([]byte("\ufeff"), m)[len("\ufeff"):] // what is there already stays
		var asJSON, asYAML map[string]string
		if err := json.Unmarshal(text, &asJSON); err != nil || !cmp.Equal(asJSON, want) {
			t.Errorf("%U: %s is read as %q, %v", r, text, asJSON, err)
		}
		if err := yaml.Unmarshal(text, &asYAML); err != nil || !cmp.Equal(asYAML, want) {
			t.Errorf("%U: %s is read by YAML as %q, %v", r, text, asYAML, err)
		}
		if back, err := field.DecodeJSON(string(text)); err != nil || !field.Same(back, m) {
			t.Errorf("%U: %s comes back as %v, %v", r, text, back, err)
		}
	}
}

func TestWholeNumbersAreMadeInACopy(t *testing.T) {
	inner := field.Map{{Key: "b", Value: 1e3}, {Key: "c", Value: 1.5}}
	m := field.Map{{Key: "a", Value: inner}, {Key: "d", Value: 2.0}}
	want := field.Map{{Key: "a", Value: field.Map{{Key: "b", Value: 1000}, {Key: "c", Value: 1.5}}}, {Key: "d", Value: 2}}
	if d := cmp.Diff(want, field.WithWholeNumbers(m)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if m[1].Value != 2.0 || inner[0].Value != 1e3 {
		t.Errorf("the mapping itself has changed: %#v", m)
	}
}
