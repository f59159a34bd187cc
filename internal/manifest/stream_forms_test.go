package manifest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/yamljudge"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

func TestOnlyBlanksAndCommentsMayFollowAFlowRoot(t *testing.T) {
	for text, want := range map[string]bool{
		"{a: b}": true, "{a: b}\n": true, "{a: b} # c\n": true, "{a: b}\n\n# c\n  # d\n": true, "{a: b}\t\r\n": true, "{a: b}\n# c": true,
		"{a: b} c\n": false, "{a: b}c": false, "{a: b}#c\n": false, "{a: b}\nc: d\n": false, "{a: b}\n{c: d}\n": false, "{a: b}}\n": false, "{a: b}\n# c\nd\n": false,
	} {
		var tr yaml.Parser
		if got := tr.Parse([]byte(text), 0); got != want {
			t.Errorf("%q: accepted %v (%s), want %v", text, got, tr.Refused.Why, want)
		}
	}
	for text, objects := range map[string]int{
		"{a: b} # c\n---\n{c: d}": 2, "{a: b}\n{c: d}": 2, "{a: b} c\n": 0, "{a: b}\nc: d\n": 0, "{a: b}}\n": 0, "items:\n- {a: b} c\nkind: List\n": 0,
	} {
		s, err := Read("in", []byte(text))
		if (err == nil) != (objects > 0) || err == nil && len(s.Objects()) != objects {
			t.Errorf("%q: %v, want %d objects", text, err, objects)
		}
	}
}

func TestAFlowListMayEndInACommaButNotBeginWithOne(t *testing.T) {
	for text, want := range map[string]bool{
		"a: [b,]\n": true, "a: {b: c,}\n": true, "a: [b,\n]\n": true, "a: [,]\n": false, "a: [b,,]\n": false, "a: {,b: c}\n": false, "a: [b\n---\n]\n": false, "a: [b,\n---\nc]\n": false,
	} {
		var tr yaml.Parser
		if got := tr.Parse([]byte(text), 0); got != want {
			t.Errorf("%q: accepted %v (%s), want %v", text, got, tr.Refused.Why, want)
		}
	}
}

func TestADocumentOfNullHoldsNothing(t *testing.T) {
	s := mustRead(t, []byte("kind: A\n--- ~\n---\nkind: B\n--- !!null null\n"))
	if n := len(s.Objects()); n != 2 {
		t.Errorf("%d objects, want 2", n)
	}
}

func TestMergedKeysAreDecoded(t *testing.T) {
	for in, want := range map[string]string{
		"b: &b {v: one}\nm:\n  <<: *b\n":                                             "one",
		"b: &b {v: one}\nc: &c {v: two, w: 3}\nm:\n  <<: [*b, *c]\n":                 "one",
		"b: &b {v: one}\nc: &c {w: 3}\nm:\n  <<: [*c, *b]\n":                         "one",
		"b: &b {v: one}\nm:\n  <<: [*b, {v: two}]\n  v: own\n":                       "own",
		"b: &b {v: one}\nc: &c {<<: *b, w: 3}\nm:\n  <<: [*c]\n":                     "one",
		"b: &b {v: one}\nm:\n  <<: [{v: two}, *b]\n  w: 3\n":                         "two",
		"b: &b [{v: one}]\nm:\n  v: plain\n  w: *b\n":                                "plain",
		"b: &b {v: one}\nm:\n  <<: *b\n  <<: {w: 3}\n":                               "one",
		"b: &b {v: &v \"quoted é\"}\nm:\n  v: *v\n":                                  "quoted é",
		"b: &b {v: one}\nm:\n  !!merge <<: *b\n":                                     "one",
		"b: &b {v: one}\nm: {<<: [*b], w: 1}\n":                                      "one",
		"kind: A\nb: &b\n  v: |2+\n      keep\n\nm:\n  <<: *b\n":                     "  keep\n\n",
		"kind: A\nb: &b\n  v: !!str 12\nm:\n  <<: *b\n  x: 1\nn: {<<: *b, <<: *b}\n": "12",
	} {
		var m struct {
			V string `json:"v"`
		}
		found, err := mustRead(t, []byte(in)).Objects()[0].Decode(path("m"), &m)
		if err != nil || !found || m.V != want {
			t.Errorf("%q: %q (%v), want %q", in, m.V, err, want)
		}
	}
	for _, in := range []string{"b: &b 1\nm:\n  <<: *b\n", "b: &b 1\nm:\n  <<: [*b]\n", "b: &b {v: [*b]}\n"} {
		s, err := Read("in", []byte(in))
		if err == nil {
			var v any
			_, err = s.Objects()[0].Decode(nil, &v)
		}
		if err == nil {
			t.Errorf("%q must be refused", in)
		}
	}
}

func TestKindAndAPIVersionAreSeenThroughMergeKeys(t *testing.T) {
	o := mustRead(t, []byte("x: &x {kind: Pod}\ny: &y {kind: Job, apiVersion: v1}\n<<: [*x, *y]\n")).Objects()[0]
	if o.Kind() != "Pod" || o.APIVersion() != "v1" {
		t.Errorf("is %s %s", o.APIVersion(), o.Kind())
	}
}

func TestWhatIsNotASCIIStaysAsItIs(t *testing.T) {
	for value, want := range map[string]string{
		"é":               "a: \"é\"\n",
		"日本 語":            "a: \"日本 語\"\n",
		"😀":               "a: \"😀\"\n",
		"é\n\x01":         "a: \"é\\n\\x01\"\n",
		"\ufeff\u2028":    "a: \"\\ufeff\\u2028\"\n",
		"\U000e0001 x":    "a: \"\\U000e0001 x\"\n",
		"tab\tquote\"\\r": "a: \"tab\\tquote\\\"\\\\r\"\n",
		"\r":              "a: \"\\r\"\n",
		"\"a":             "a: \"\\\"a\"\n",
		"\\a":             "a: \"\\\\a\"\n",
	} {
		s := mustRead(t, []byte("a: \"x\"\n"))
		if err := s.Objects()[0].Apply([]field.Edit{set("a", value)}); err != nil {
			t.Fatal(err)
		}
		if got := string(output(t, s)); got != want {
			t.Errorf("%q is written %q, want %q", value, got, want)
		}
		var back string
		if _, err := mustRead(t, output(t, s)).Objects()[0].Decode(path("a"), &back); err != nil || back != value {
			t.Errorf("%q comes back as %q (%v)", value, back, err)
		}
	}
}

// Every character, in the quotes that it gets or in those that are there, is read back by both readers.
func TestEveryCharacterIsWrittenSoThatItIsRead(t *testing.T) {
	want := field.Map{{Key: "beyond", Value: "\U0001f600 \U000e0001 \U0010ffff"}}
	for at := rune(0); at < 0x12000; at += 997 {
		var text []rune
		for r := at; r < at+997; r++ {
			if utf8.ValidRune(r) {
				text = append(text, r)
			}
		}
		want = append(want, field.Entry{Key: fmt.Sprintf("k%d", at), Value: string(text)})
		if at == 0 { // one by one
			for _, r := range text {
				want = append(want, field.Entry{Key: fmt.Sprintf("c%d", r), Value: "x" + string(r)})
			}
		}
	}
	for _, in := range []string{"a:\n", "a: \"\"\n", "{a: {}}\n"} {
		s := mustRead(t, []byte(in))
		if err := s.Objects()[0].Apply([]field.Edit{set("a", want)}); err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		out := output(t, s)
		root, err := yamljudge.Value(out, 0)
		if v, _ := s.Objects()[0].Value(path("a")); err != nil || !reflect.DeepEqual(v, field.Value(want)) || !equalParsed(field.Map{{Key: "a", Value: want}}, root) {
			t.Errorf("%q: characters come back as others (%v)", in, err)
		}
	}
}

func TestKeysOfAnyForm(t *testing.T) {
	for text, want := range map[string]string{
		"\"\": x\n": "", "'': x\n": "", "'it''s': x\n": "it's", "\"a\": x\n": "a", "{\"\": x}\n": "", "{'a''b': x}\n": "a'b",
		"\"a\\tb\": x\n": "a\tb", "\"a\\x62\": x\n": "ab", "\"\\\"\" : x\n": "\"", "\"a\\nb\": x\n": "a\nb", "? a\n: x\n": "a",
	} {
		var m map[string]string
		if _, err := mustRead(t, []byte(text)).Objects()[0].Decode(nil, &m); err != nil || len(m) != 1 || m[want] != "x" {
			t.Errorf("%q: %q (%v)", text, m, err)
		}
	}
}

// An escape may be in the keys that say what an object is, too.
func TestAnEscapedKindIsAKind(t *testing.T) {
	for _, text := range []string{
		"\"\\u006bind\": A\n", "{\"\\u006bind\": A}\n", "{\"\\x6bind\": \"A\", \"metadata\": {}}",
		"kind: List\nitems:\n- \"\\u006bind\": A\n", "{kind: List, items: [{\"\\u006bind\": A}]}", "kind: List\n\"it\\x65ms\":\n- kind: A\n",
	} {
		if o := mustRead(t, []byte(text)).Objects(); len(o) != 1 || o[0].Kind() != "A" {
			t.Errorf("%q: %d objects, the first of kind %q", text, len(o), o[0].Kind())
		}
	}
}

func TestAnErrorNamesWhatIsKnown(t *testing.T) {
	for _, tt := range []struct {
		err  Error
		want string
	}{
		{Error{Err: errors.New("m")}, "m"},
		{Error{Line: 1, Err: errors.New("m\n  n")}, "line 1: m n"},
		{Error{File: "f", Err: errors.New("m")}, "f: m"},
		{Error{File: "f", Line: 1, Object: "Pod a", Path: path("a.b"), Err: errors.New("m")}, "f:1: Pod a: `a.b`: m"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestAPrettyFlowRootKeepsItsIndentation(t *testing.T) {
	for in, want := range map[string]string{
		"kind: List\nitems:\n    - {\n        \"kind\": \"A\",\n        \"b\": 1\n      }\n": "kind: List\nitems:\n    - {\n        \"kind\": \"A\",\n        \"b\": 1,\n        \"c\": {\n          \"d\": 1\n        }\n      }\n",
		"kind: List\nitems: [\n  {\n    kind: A,\n    b: [1,2],\n    e: {}\n  }\n]\n":        "kind: List\nitems: [\n  {\n    kind: A,\n    b: [1,2],\n    e: {},\n    c: {\n      d: 1\n    }\n  }\n]\n",
		"kind: List\nitems: [\n  {\"kind\":\"A\",\"b\":[1, 2]}\n]\n":                         "kind: List\nitems: [\n  {\"kind\":\"A\",\"b\":[1, 2],\"c\":{\"d\":1}}\n]\n",
		"kind: List\nitems:\n- b: {\n    x: 1\n  }\n  kind: B\n":                             "kind: List\nitems:\n- b: {\n    x: 1,\n    c: {\n      z: x\n    }\n  }\n  kind: B\n  c:\n    d: 1\n",
		"{\n\"kind\": \"A\",\n\"b\": 1\n}\n":                                                 "{\n\"kind\": \"A\",\n\"b\": 1,\n\"c\": {\n\"d\": 1\n}\n}\n",
		"{\"kind\":\"B\", b: {c: {d: 1}}}\n":                                                 "{\"kind\":\"B\", b: {c: {d: 1, \"z\": \"x\"}}, \"c\":{\"d\":1}}\n",
	} {
		s := mustRead(t, []byte(in))
		edits := []field.Edit{set("c", field.Map{{Key: "d", Value: 1}})}
		if s.Objects()[0].Kind() == "B" {
			edits = append(edits, set("b.c.z", "x"))
		}
		if err := s.Objects()[0].Apply(edits); err != nil {
			t.Fatal(err)
		}
		if got := string(output(t, s)); got != want {
			t.Errorf("%q\ngives\n%q\nwant\n%q", in, got, want)
		}
	}
}

// Line breaks that are neither LF nor CRLF stay where they are when the object is edited, and are read.
func TestOtherLineBreaks(t *testing.T) {
	for _, end := range []string{"\r", "\u0085", "\u2028", "\u2029"} {
		in := "kind: List\nitems:\n- a: 1 # c" + end + "- b: 2\n- c: 'd" + end + "  e'" + end
		s := mustRead(t, []byte(in))
		if len(s.Objects()) != 3 {
			t.Fatalf("%q has %d objects", in, len(s.Objects()))
		}
		want := map[string]string{"\r": "d e", "\u0085": "d e"}[end]
		if want == "" {
			want = "d" + end + "e"
		}
		var c string
		if _, err := s.Objects()[2].Decode(path("c"), &c); err != nil || c != want {
			t.Errorf("%q is read as %q: %v", in, c, err)
		}
		for i, o := range s.Objects() {
			if err := o.Apply([]field.Edit{set("z", i)}); err != nil {
				t.Fatalf("%q: %v", in, err)
			}
		}
		edited := "kind: List\nitems:\n- a: 1 # c" + end + "  z: 0\n- b: 2\n  z: 1\n- c: 'd" + end + "  e'" + end + "  z: 2\n"
		if got := string(output(t, s)); got != edited {
			t.Errorf("%q gives %q", in, got)
		}
		s = mustRead(t, []byte(edited))
		for _, o := range s.Objects() {
			if err := o.Apply([]field.Edit{{Op: field.Delete, Path: path("z")}}); err != nil {
				t.Fatal(err)
			}
		}
		if got := string(output(t, s)); got != in {
			t.Errorf("%q comes back as %q", in, got)
		}
	}
}

// In a text that may be JSON, parsers of JSON keep a line break that those of YAML fold: nobody knows which one reads it.
func TestLineBreaksThatJSONKeeps(t *testing.T) {
	for value, ok := range map[string]bool{"\"a\u2028b\"": true, "\"a \u2028b\"": false, "\"a\u0085b\"": false, "'a\u0085b'": true, "\"a\u0085\nb\"": true, "\"\\L\u0085 \"": false} {
		if s := mustRead(t, []byte("{kind: A, \"a\": "+value+"}\n")); s.Objects()[0].Apply([]field.Edit{set("b", 1)}) != nil {
			t.Errorf("%q is no JSON", s.in)
		}
		in := "{\"kind\": \"A\", \"a\": " + value + "}\n"
		s := mustRead(t, []byte(in))
		edits := []field.Edit{set("b", 1)}
		const why = `<stdin>:1: A: cannot be edited: it has a line break in quotes that parsers of JSON keep and those of YAML fold here; write it in another way`
		_, errOfPreview := s.Objects()[0].Preview(edits)
		for _, err := range []error{errOfPreview, s.Objects()[0].Apply(edits)} {
			if (err == nil) != ok || err != nil && err.Error() != why {
				t.Errorf("%q: %v", in, err)
			}
		}
		if got, want := string(output(t, s)), strings.Replace(in, "}", map[bool]string{true: ", \"b\": 1}", false: "}"}[ok], 1); got != want {
			t.Errorf("%q gives %q", in, got)
		}
	}
}

// An item with a tag is edited as others are. The tag of one without entries goes with its braces.
func TestAnItemWithATagIsEdited(t *testing.T) {
	for item, edited := range map[string]string{
		"!!map {kind: A}":         "!!map {kind: A, c: 3}",
		"!!map {}":                "{c: 3}",
		"!!map\n  kind: A":        "!!map\n  kind: A\n  c: 3",
		"&a !!map\n  {kind: A}":   "&a !!map\n  {kind: A,\n  c: 3}",
		"&a !!map\n  kind: A # c": "&a !!map\n  kind: A # c\n  c: 3",
	} {
		in := "kind: List\nitems:\n- kind: B\n  c: 1\n- " + item + "\n- kind: C\n"
		s := mustRead(t, []byte(in))
		for _, o := range s.Objects()[:2] {
			if err := o.Apply([]field.Edit{set("c", 3)}); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := string(output(t, s)), strings.Replace(strings.Replace(in, "c: 1", "c: 3", 1), item, edited, 1); got != want {
			t.Errorf("%q gives %q", in, got)
		}
	}
}

// TestACommentMayFollowABracketAtOnce, as the full parser reads it: a bracket in it ends
// nothing.
func TestACommentMayFollowABracketAtOnce(t *testing.T) {
	for _, item := range []string{"{# }\n  kind: A}", "{kind: A,# }\n  b: 'c'# ]\n  }", "{kind: A, b: [#{\n  ]}", "{kind: A, b: c#}"} {
		s := mustRead(t, []byte("kind: List\nitems:\n- "+item+"\n- kind: B\n"))
		if len(s.Objects()) != 2 || string(s.Objects()[0].source()) != item {
			t.Fatalf("%q: %d objects, the first is %q", item, len(s.Objects()), s.Objects()[0].source())
		}
	}
}

// The tree of a large list would take more memory than its text.
func TestOfTheItemsOfAListOnlyWhatTheyAreIsKept(t *testing.T) {
	const items = 100
	block := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" + strings.Repeat("- kind: A\n  apiVersion: b\n  spec:\n    c: [1, 2, 3]\n    d: {e: f}\n", items) +
		"results:\n" + strings.Repeat("- message: m\n  resourceRef: {kind: A, name: a}\n", items)
	json := `{"kind": "ResourceList", "items": [` + strings.Repeat(`{"kind": "A", "spec": {"c": [1, 2, 3]}},`, items) + `], "results": [` + strings.Repeat(`{"message": "m", "a": {"b": 1}},`, items) + "]}\n"
	for _, in := range []string{block, json} {
		s := mustRead(t, []byte(in))
		d := s.text.Documents(nil)
		d.Next()
		if _, err := d.Read(); err != nil || len(s.Objects()) != items {
			t.Fatal(len(s.Objects()), err)
		}
		if most := 5*items + 2*20; len(d.Tree().Nodes) > most {
			t.Errorf("%d nodes are kept, want at most %d", len(d.Tree().Nodes), most)
		}
	}
}

// Whether an object has to be parsed is seen in its text: in an escaped key any letter may be another.
func TestWhatAnObjectMayMentionIsSeenInItsText(t *testing.T) {
	for in, want := range map[string]bool{
		"kind: A\nreadinessProbe: {}\n": true, "kind: A\nprobe: {}\n": false, "kind: A\na: \"b\\n\\tProbable\"\n": false,
		"kind: A\n\"readiness\\x50robe\": {}\n": true, "kind: A\n\"readiness\\u0050robe\": {}\n": true, "kind: A\n\"readiness\\U00000050robe\": {}\n": true,
		"kind: List\nitems:\n- kind: A\n  a: &a {readinessProbe: {}}\n": true,
	} {
		if got := mustRead(t, []byte(in)).Objects()[0].MayMention("sProbe", "lifecycle"); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
	shared := mustRead(t, []byte("kind: List\nitems:\n- kind: A\n  a: &a {readinessProbe: {}}\n- kind: B\n  b: *a\n"))
	if o := shared.Objects()[1]; !o.MayMention("sProbe") {
		t.Error("what an alias brings is in another object")
	}
}
