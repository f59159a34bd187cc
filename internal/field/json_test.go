package field_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

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
