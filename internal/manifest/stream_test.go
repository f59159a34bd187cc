package manifest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

func names(s *Stream) string {
	var b strings.Builder
	for _, o := range s.Objects() {
		fmt.Fprintf(&b, "%s %s@%d;", o.APIVersion(), o, o.Line())
	}
	return b.String()
}

func TestObjectsAreFoundInEveryShape(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"one document", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n", "v1 Pod a@1;"},
		{"a stream", "# c\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}\n--- # d\n\n---\nkind: B\n...\n---\n{\"kind\":\"C\"}\n", "v1 Pod b/a@3; B@9; C@12;"},
		{"a byte order mark and CRLF", "\ufeffkind: A\r\n---\r\nkind: B\r\nmetadata:\r\n  name: c\r\n", " A@1; B c@3;"},
		{"a List", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n- kind: B\n", "v1 Pod a@4; B@7;"},
		{"nested Lists", "kind: List\nitems:\n- kind: List\n  items:\n  - kind: A\n  - kind: List\n    items:\n      - {kind: B}\n- kind: C\n", " A@5; B@8; C@9;"},
		{"a typed list names its items", "apiVersion: apps/v1\nkind: DeploymentList\nitems:\n- metadata:\n    name: a\n", "apps/v1 Deployment a@4;"},
		{"a typed list whose items say what they are", "apiVersion: apps/v1\nkind: DeploymentList\nitems:\n- apiVersion: v1\n  metadata: {name: a}\n- kind: B\n- apiVersion: c/v1\n  kind: D\n", "v1 Deployment a@4;apps/v1 B@6;c/v1 D@7;"},
		{"a typed list of typed lists", "apiVersion: v1\nkind: PodListList\nitems:\n- items:\n  - metadata: {name: a}\n  - kind: B\n- kind: List\n  items:\n  - a: b\n", "v1 Pod a@5;v1 B@6; object@9;"},
		{"an object that only sounds like a list", "kind: AllowList\nitems: [a, b]\n---\nkind: BlockList\nspec: {}\n", " AllowList@1; BlockList@4;"},
		{"a ResourceList with a nested List", "apiVersion: config.kubernetes.io/v1beta1\nkind: ResourceList\nitems:\n- kind: List\n  items:\n  - kind: A\n- kind: B\nfunctionConfig:\n  kind: C\n", " A@6; B@7;"},
		{"an empty ResourceList", "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n", ""},
		{"compact JSON", `{"apiVersion":"v1","kind":"List","items":[{"kind":"A","metadata":{"name":"b"}},{"kind":"List","items":[{"kind":"C"}]}]}`, " A b@1; C@1;"},
		{"pretty JSON with tabs", "{\n\t\"kind\": \"List\",\n\t\"items\": [\n\t\t{\n\t\t\t\"kind\": \"A\"\n\t\t}\n\t]\n}\n", " A@4;"},
		{"JSON documents one after the other", "{\"kind\":\"A\"}\n{\"kind\":\"B\"} {\"kind\":\"C\"}\n", " A@1; B@2; C@2;"},
		{"a list with items for the full parser", "kind: List\nitems:\n- kind: A\n  a: &x {b: c}\n  d: *x\n# c\n- # e\n  kind: B\n-\n  kind: !!str C\n", " A@3; B@8; C@10;"},
		{"an item with a quoted scalar that looks like items", "kind: List\nitems:\n- kind: A\n  a: &x \"\n- kind: B\nkind: C\"\n  b: *x\n- kind: D\n", " A@3; D@8;"},
		{"odd line breaks in an item", "kind: List\nitems:\n- kind: A\n  a: \"\u2028\"\n  b: |\n    - c\n- kind: D\n", " A@3; D@7;"},
		{"the same in flow style", "kind: List\nitems: [{kind: A, a: &x [1]}, # c\n  {kind: \"B}\", d: 'e]'},\n]\n", " A@2; B}@3;"},
		{"the kind in a merged mapping", "x: &x {kind: A}\n<<: *x\n", " A@1;"},
		{"a document on the line of its marker", "--- {kind: A}\n--- !!map\nkind: B\n", " A@1; B@2;"},
		{"directives", "%YAML 1.1\n---\nkind: A\n---\nkind: B\n", " A@3; B@5;"},
		{"odd line breaks", "kind: A\na: \"\u2028\"\n---\nkind: B\n", " A@1; B@4;"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustRead(t, []byte(tt.in))
			if got := names(s); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if out := string(output(t, s)); out != tt.in || s.Changed() {
				t.Errorf("an unchanged stream comes back as %q", out)
			}
		})
	}
}

func TestBrokenInputIsOneClearError(t *testing.T) {
	const rl = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", "", "in: input must have at least one object, and is empty"},
		{"an open quote", "kind: A\na: \"b\nc: d\n", "in:2: invalid YAML: "},
		{"an open single quote", "kind: A\na: 'b\nc: d\n", "in:2: invalid YAML: "},
		{"an open quote in braces", "{\"kind\": \"A\", \"a\": \"b}\n", "in:1: invalid YAML: a text in quotes has no end, or a bad escape"},
		{"junk behind braces", "{\"kind\": \"A\"}\n  \njunk\n", "in:"},
		{"only comments", "# a\n---\n\n...\n", "in: input must have at least one object, and is empty"},
		{"NUL", "a: b\nc: \x00\n", "in:2: must be UTF-8 text, and is binary data: it has a NUL byte"},
		{"gzip", "\x1f\x8b\x08\x00", "in:1: must be UTF-8 text, and is compressed by gzip: decompress it, for example with gunzip"},
		{"a brace that is not closed", "a: {b: c\nd:\n  e: f\n", "in:2: invalid YAML: a comma or a closing bracket must come here; the { of line 1 is still open"},
		{"a bracket that is not closed", "a: [b, c\n  d: {e: f}\n", "in:2: invalid YAML: a comma or a closing bracket must come before this line; the [ of line 1 is still open"},
		{"a brace that the end closes", "a: {b: c\n", "in:1: invalid YAML: a bracket must be closed before the document ends"},
		{"a brace that the next document closes", "a: {b: c\n---\nd: e\n", "in:1: invalid YAML: a bracket must be closed before the document ends"},
		{"UTF-16", "\xff\xfea\x00", "in:1: must be UTF-8 text, and is UTF-16 or UTF-32: convert it, for example with iconv -t UTF-8"},
		{"Latin-1", "a: b\n\nc: \xe9\n", "in:3: must be UTF-8 text, and has the byte 0xe9 here, which is none"},
		{"a control character", "a: \x1b\n", "in:1: must be UTF-8 text, and has the control character 0x1b here"},
		{"a second byte order mark", "\ufeff\ufeffa: b\n", "in:1: must not have a byte order mark but at its start: this line starts with one"},
		{"a byte order mark that starts a line", "a: b\n---\n\ufeffkind: A\n", "in:3: must not have a byte order mark but at its start: this line starts with one"},
		{"a control character beyond ASCII", "a: b\nc: \u0080\n", "in:2: must be UTF-8 text, and has the control character U+0080 here"},
		{"broken YAML", "kind: A\n---\na: b\n  c: [\n", "in:4: invalid YAML: "},
		{"no object", "kind: A\n---\n- a\n", "in:3: a document must be a Kubernetes object, which is a mapping, not a list"},
		{"an error far below", "kind: A\n---\n" + strings.Repeat("# 15 bytes here\n", 20_000) + "a: \x1b\n", "in:20003: must be UTF-8 text, and has the control character 0x1b here"},
		{"a scalar", "a\n", "in:1: a document must be a Kubernetes object, which is a mapping, not \"a\""},
		{"no items", rl, "in:1: ResourceList: `items` must be there, if only as an empty list"},
		{"items of a wrong type", rl + "items: 3\n", "in:3: ResourceList: `items` must be a list"},
		{"items as a mapping", rl + "items:\n  a: b\n", "in:4: ResourceList: `items` must be a list"},
		{"items as a mapping in flow style", rl + "items: {a: b}\n", "in:3: ResourceList: `items` must be a list"},
		{"an item that is no mapping", rl + "items:\n- kind: A\n- b\n", "in:5: ResourceList: `items[1]` must be a mapping"},
		{"an item that is no mapping in JSON", `{"kind":"List","items":[{"kind":"A"},3]}`, "in:1: List: `items[1]` must be a mapping"},
		{"a nested item that is no mapping", "kind: List\nitems:\n- kind: List\n  items:\n  - []\n", "in:5: List: `items[0]`: List: `items[0]` must be a mapping"},
		{"a List without items", "kind: List\n", "in:1: List: `items` must be there, if only as an empty list"},
		{"more behind a ResourceList", rl + "items: []\n---\nkind: A\n", "in:5: nothing may follow a ResourceList in its stream, and another document does"},
		{"more before a ResourceList", "kind: A\n---\n" + rl + "items: []\n", "in:3: a ResourceList must be alone in its stream, and other documents come before it"},
		{"a kind twice", "kind: A\nkind: B\n", "in:2: key \"kind\" must stand only once in its mapping, and is here again"},
		{"a kind twice in an item", "kind: List\nitems:\n- kind: A\n  a: b\n  kind: B\n", "in:5: List: `items[0]`: key \"kind\" must stand only once in its mapping, and is here again"},
		{"a kind of a wrong type", "kind: [A]\n", "in:1: `kind` must be a string, not a list"},
		{"items as an alias", "x: &x []\nkind: List\nitems: *x\n", "in:3: List: `items` must be written out, not the alias *x"},
		{"a functionConfig of a wrong type", rl + "items: []\nfunctionConfig: a\n", "in:4: ResourceList: `functionConfig` must be a mapping"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Read("in", []byte(tt.in))
			var e *Error
			if err == nil || !errors.As(err, &e) || !strings.HasPrefix(err.Error(), tt.want) {
				t.Fatalf("got  %v\nwant %s", err, tt.want)
			}
			// What follows a colon are the full parser's words.
			if !strings.HasSuffix(strings.TrimSpace(tt.want), ":") && err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestTheFunctionConfigIsAnObjectOfItsOwn(t *testing.T) {
	for _, in := range []string{
		"kind: ResourceList\napiVersion: config.kubernetes.io/v1\nitems: []\nfunctionConfig:\n  # c\n  apiVersion: a/v1\n  kind: B\n  spec:\n    port: 1\n",
		"kind: ResourceList\napiVersion: config.kubernetes.io/v1\nfunctionConfig: {apiVersion: a/v1, kind: B, spec: {port: 1}}\nitems: []\n",
		`{"kind":"ResourceList","apiVersion":"config.kubernetes.io/v1","functionConfig":{"apiVersion":"a/v1","kind":"B","spec":{"port":1}},"items":[]}`,
		"kind: ResourceList\napiVersion: config.kubernetes.io/v1\nfunctionConfig:\n  apiVersion: &a a/v1\n  kind: B\n  spec:\n    port: 1\n# c\nitems: []\n",
	} {
		s := mustRead(t, []byte(in))
		c := s.FunctionConfig()
		if c == nil || c.Kind() != "B" || c.APIVersion() != "a/v1" || !s.IsResourceList() {
			t.Fatalf("%s: functionConfig %+v", in, c)
		}
		var spec struct {
			Port int `json:"port"`
		}
		if found, err := c.DecodeStrict(field.NewPath("spec"), &spec); err != nil || !found || spec.Port != 1 {
			t.Errorf("%s: spec %+v %v", in, spec, err)
		}
	}
	for _, in := range []string{"functionConfig:\n", "functionConfig: null\n", ""} {
		s := mustRead(t, []byte("kind: ResourceList\napiVersion: config.kubernetes.io/v1\nitems: []\n"+in))
		if s.FunctionConfig() != nil {
			t.Errorf("%q: there is no functionConfig", in)
		}
	}
}

func TestResultsAreAppended(t *testing.T) {
	const head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
	results := []field.Map{{{Key: "message", Value: "a: b"}, {Key: "file", Value: field.Map{{Key: "index", Value: 0}}}}, {{Key: "message", Value: "c"}}}
	for _, tt := range []struct{ name, in, want string }{
		{"none before", head + "items: []\n", head + "items: []\nresults:\n- message: \"a: b\"\n  file:\n    index: 0\n- message: c\n"},
		{"indented lists", head + "items:\n  - kind: A\n", head + "items:\n  - kind: A\nresults:\n  - message: \"a: b\"\n    file:\n      index: 0\n  - message: c\n"},
		{"some before", head + "results:\n- message: z # y\n# x\nitems: []\n", head + "results:\n- message: z # y\n- message: \"a: b\"\n  file:\n    index: 0\n- message: c\n# x\nitems: []\n"},
		{"none before, all indented", "  kind: ResourceList\n  items:\n  - kind: A\n", "  kind: ResourceList\n  items:\n  - kind: A\n  results:\n  - message: \"a: b\"\n    file:\n      index: 0\n  - message: c\n"},
		{"none before, all indented, lists too", "  kind: ResourceList\n  items:\n    - kind: A\n", "  kind: ResourceList\n  items:\n    - kind: A\n  results:\n    - message: \"a: b\"\n      file:\n        index: 0\n    - message: c\n"},
		{"the same before, and another order of its fields", head + "items: []\nresults:\n- file: {index: 0}\n  message: 'a: b'\n", head + "items: []\nresults:\n- file: {index: 0}\n  message: 'a: b'\n- message: c\n"},
		{"all of them before", head + "results: [{message: c}, {file: {index: 0}, message: 'a: b'}]\nitems: []", head + "results: [{message: c}, {file: {index: 0}, message: 'a: b'}]\nitems: []"},
		{"YAML in braces", "{kind: ResourceList, items: []}\n", "{\"results\": [{\"message\": \"a: b\", \"file\": {\"index\": 0}}, {\"message\": \"c\"}], kind: ResourceList, items: []}\n"},
		{"YAML in braces with a space", "{ kind: ResourceList, items: [] }\n", "{\"results\": [{\"message\": \"a: b\", \"file\": {\"index\": 0}}, {\"message\": \"c\"}], kind: ResourceList, items: [] }\n"},
		{"some before, all indented", "  kind: ResourceList\n  results:\n  - message: z\n  items: []\n", "  kind: ResourceList\n  results:\n  - message: z\n  - message: \"a: b\"\n    file:\n      index: 0\n  - message: c\n  items: []\n"},
		{"an empty list before", head + "items: []\nresults: []", head + "items: []\nresults:\n- message: \"a: b\"\n  file:\n    index: 0\n- message: c"},
		{"null before", head + "items: []\nresults:\n", head + "items: []\nresults:\n- message: \"a: b\"\n  file:\n    index: 0\n- message: c\n"},
		{"no last line end", head + "items: []", head + "items: []\nresults:\n- message: \"a: b\"\n  file:\n    index: 0\n- message: c"},
		{"anchors", head + "items:\n- kind: &a A\n  b: *a\nfunctionConfig:\n  c: |\n    d\n", head + "items:\n- kind: &a A\n  b: *a\nfunctionConfig:\n  c: |\n    d\nresults:\n- message: \"a: b\"\n  file:\n    index: 0\n- message: c\n"},
		{"compact JSON", `{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[]}`, `{"results":[{"message":"a: b","file":{"index":0}},{"message":"c"}],"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[]}`},
		{"compact JSON, some before", `{"apiVersion":"config.kubernetes.io/v1","results":[{"message":"z"}],"kind":"ResourceList","items":[]}`, `{"apiVersion":"config.kubernetes.io/v1","results":[{"message":"z"},{"message":"a: b","file":{"index":0}},{"message":"c"}],"kind":"ResourceList","items":[]}`},
		{"pretty JSON", "{\n  \"apiVersion\": \"config.kubernetes.io/v1\",\n  \"kind\": \"ResourceList\",\n  \"items\": []\n}\n",
			"{\"results\": [{\"message\": \"a: b\", \"file\": {\"index\": 0}}, {\"message\": \"c\"}],\n  \"apiVersion\": \"config.kubernetes.io/v1\",\n  \"kind\": \"ResourceList\",\n  \"items\": []\n}\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustRead(t, []byte(tt.in))
			if err := s.AddResults(slices.Values(results)); err != nil {
				t.Fatal(err)
			}
			if got := string(output(t, s)); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
	if err := mustRead(t, []byte("kind: A\n")).AddResults(slices.Values(results)); err == nil {
		t.Error("a plain stream has no results")
	}
}

func TestAnItemMayHaveAnchors(t *testing.T) {
	const in = "kind: ResourceList\napiVersion: config.kubernetes.io/v1\nitems:\n- kind: A\n- kind: B\n  a: &x {b: c}\n  d: *x\n- kind: C\n  e: !!str f\nfunctionConfig:\n  kind: D\n"
	s := mustRead(t, []byte(in))
	if got, want := names(s), " A@4; B@5; C@8;"; got != want || s.FunctionConfig() == nil {
		t.Errorf("got %s", got)
	}
	if err := s.Objects()[1].Apply([]field.Edit{set("d.b", 1)}); err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(in, "a: &x {b: c}\n  d: *x", "a: &x {b: c}\n  d:\n    b: 1", 1)
	if got := string(output(t, s)); got != want {
		t.Errorf("got %s", got)
	}
}

func TestWhatSharesAnAnchorMustNotBeEdited(t *testing.T) {
	const in = "kind: List\nitems:\n- kind: A\n  a: &x {b: c}\n- kind: B\n  a: *x\n- kind: C\n  a: d\n"
	s := mustRead(t, []byte(in))
	for _, o := range s.Objects()[:2] {
		var v string
		if found, err := o.Decode(path("a.b"), &v); err != nil || !found || v != "c" {
			t.Errorf("%v: decoding must see through the alias: %q, %v", o, v, err)
		}
		err := o.Apply([]field.Edit{set("a.b", "x")})
		if err == nil || !strings.HasSuffix(err.Error(), `: must be edited, and shares the anchor "x" with another object of its list: write it out in both`) {
			t.Errorf("%v: %v", o, err)
		}
	}
	if err := s.Objects()[2].Apply([]field.Edit{set("a", "x")}); err != nil {
		t.Error(err)
	}
	if got, want := string(output(t, s)), strings.Replace(in, "a: d", "a: x", 1); got != want {
		t.Errorf("got %s", got)
	}
}

// An item such as [a: b] is a mapping without braces, into which nothing can be put.
func TestAnItemWithoutBracesMustNotBeEdited(t *testing.T) {
	s := mustRead(t, []byte("kind: List\nitems: [kind: A, {kind: B}]\n"))
	const want = ": cannot be edited: an item without braces in a list in brackets is only read; put it in braces"
	if err := s.Objects()[0].Apply([]field.Edit{set("a", "x")}); err == nil || !strings.HasPrefix(err.Error(), "<stdin>:2: ") || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	if err := s.Objects()[1].Apply([]field.Edit{set("a", "x")}); err != nil {
		t.Error(err)
	}
}

func TestAnAnchorOfTheListItselfIsSharedByWhoUsesIt(t *testing.T) {
	const in = "kind: List\nmetadata: {x: &x 1}\nitems:\n- kind: A\n  a: d\n- kind: B\n  a: *x\n- kind: C\n  a: &y d\nz: *y\n"
	s := mustRead(t, []byte(in))
	for i, want := range []string{"", `must be edited, and shares the anchor "x" with another object of its list: write it out in both`, `must be edited, and shares the anchor "y" with another object of its list: write it out in both`} {
		if err := s.Objects()[i].Apply([]field.Edit{set("a", "x")}); (err != nil) != (want != "") || want != "" && !strings.HasSuffix(fmt.Sprint(err), want) {
			t.Errorf("%v: %v, want %q", s.Objects()[i], err, want)
		}
	}
}

// The anchor of an alias is looked for from the marker of its document on, on whose line all may be.
func TestAnAliasIsResolvedOnTheLineOfTheMarker(t *testing.T) {
	s := mustRead(t, []byte("kind: A\n--- {kind: List, items: [{kind: B, a: &x {b: c}}, {kind: C, a: *x}]}\n"))
	var v string
	if found, err := s.Objects()[2].Decode(path("a.b"), &v); err != nil || !found || v != "c" {
		t.Errorf("%q, %v", v, err)
	}
}

func TestInputIsReadInChunks(t *testing.T) {
	for _, n := range []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 300_000, 20 << 20} {
		in := strings.Repeat("abcdefg\n", n/8+1)[:n]
		got, err := ReadInput(iotest.HalfReader(strings.NewReader(in)))
		if err != nil || string(got) != in {
			t.Errorf("%d bytes come back as %d: %v", n, len(got), err)
		}
	}
	if _, err := ReadInput(iotest.ErrReader(errors.New("broken"))); err == nil {
		t.Error("an error of the reader must come back")
	}
}

type embedded struct {
	Exec *struct{ Command []string } `json:"exec"`
}

type target1 struct {
	embedded
	S   string             `json:"s"`
	P   *string            `json:"p"`
	I   int64              `json:"i"`
	PI  *int64             `json:"pi"`
	B   bool               `json:"b"`
	M   map[string]string  `json:"m"`
	L   []string           `json:"l"`
	IS  field.IntOrString  `json:"is"`
	PIS *field.IntOrString `json:"pis"`
	Any any                `json:"any"`
}

func TestValuesAreDecodedByTheirTypes(t *testing.T) {
	str, num := "", int64(3)
	for _, tt := range []struct {
		in   string
		want target1
	}{
		{"s: x\np: ''\ni: 5\npi: 3\nb: true\nm: {a: 'b', \"c\": d}\nl: [x, 'y']\nis: http\nother: {}\n",
			target1{S: "x", P: &str, I: 5, PI: &num, B: true, M: map[string]string{"a": "b", "c": "d"}, L: []string{"x", "y"}, IS: field.IntOrString{Str: "http", IsString: true}}},
		{"s:\np: null\npi: ~\nm:\nl: null\nb: yes\nis: 8080\npis: \"80\"\n", target1{B: true, IS: field.IntOrString{Int: 8080}, PIS: &field.IntOrString{Str: "80", IsString: true}}},
		{"i: 9007199254740991.0\n", target1{I: 1<<53 - 1}},
		{"i: 0x10\npi: 3.0\nis: 1_000\n", target1{I: 16, PI: &num, IS: field.IntOrString{Int: 1000}}},
		{"s: |\n  a\n   b\np: >-\n\n", target1{S: "a\n b\n", P: &str}},
		{"s: \"a\\u00e9\\n\\U0001f600/\"\nm:\n  a: it's\n  b: 'it''s'\n  c: on\n", target1{S: "aé\n😀/", M: map[string]string{"a": "it's", "b": "it's", "c": "on"}}},
		{"any: {a: [1, 'b', 2.5, true, null, {c: d}]}\n", target1{Any: field.Map{{Key: "a", Value: field.List{1, "b", 2.5, true, nil, field.Map{{Key: "c", Value: "d"}}}}}}},
		{"exec:\n  Command: [a]\n", target1{embedded: embedded{Exec: &struct{ Command []string }{[]string{"a"}}}}},
		{"x: &x\n  s: a\n  m: &m {k: v}\n<<: *x\nm: {<<: *m, l: w}\n", target1{S: "a", M: map[string]string{"k": "v", "l": "w"}}},
	} {
		for _, as := range []string{"%s", "kind: List\nitems:\n- "} {
			in := tt.in
			if as != "%s" {
				in = as + strings.ReplaceAll(strings.TrimSuffix(in, "\n"), "\n", "\n  ") + "\n"
			}
			var got target1
			found, err := mustRead(t, []byte(in)).Objects()[0].Decode(nil, &got)
			if err != nil || !found || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s\ngot  %+v %v\nwant %+v", in, got, err, tt.want)
			}
		}
	}
}

func TestAValueIsReadAsItStands(t *testing.T) {
	o := mustRead(t, []byte("kind: X\nn: null\nl: [{a: 1}, 'b']\nm: {a: {b: true}}\n")).Objects()[0]
	for _, tt := range []struct {
		path  field.Path
		want  field.Value
		found bool
	}{
		{field.NewPath("m"), field.Map{{Key: "a", Value: field.Map{{Key: "b", Value: true}}}}, true},
		{field.NewPath("m", "a", "b"), true, true},
		{field.NewPath("l").Index(0), field.Map{{Key: "a", Value: 1}}, true},
		{field.NewPath("l").Index(1), "b", true},
		{field.NewPath("n"), nil, true},
		{field.NewPath("l").Index(2), nil, false},
		{field.NewPath("m").Index(0), nil, false},
		{field.NewPath("l", "a"), nil, false},
		{field.NewPath("n", "a"), nil, false},
		{field.NewPath("x", "y").Index(0), nil, false},
	} {
		if v, found := o.Value(tt.path); found != tt.found || !reflect.DeepEqual(v, tt.want) {
			t.Errorf("%s: %v %t", tt.path, v, found)
		}
	}
}

func TestAKeyThatStandsTwiceIsFoundBelowAPath(t *testing.T) {
	o := mustRead(t, []byte("kind: X\na: {l: [{b: 1, c: 2, b: 3}]}\nd: {e: 1}\n")).Objects()[0]
	if err := o.CheckKeys(field.NewPath("a")); err == nil || !strings.Contains(err.Error(), "a.l[0].b") {
		t.Errorf("error %v", err)
	}
	for _, path := range []field.Path{field.NewPath("d"), field.NewPath("x")} {
		if err := o.CheckKeys(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAWrongTypeIsAnErrorWithItsPlace(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"m:\n  a: b\n  c: false\n", "in:3: object: `m.c`: must be a string, not the boolean false: write \"false\" in quotes"},
		{"m:\n  a: 0x1F\n", "in:2: object: `m.a`: must be a string, not the number 0x1F: write \"0x1F\" in quotes"},
		{"kind: A\nmetadata: {name: b, namespace: c}\ni: x\n", "in:3: A c/b: `i`: must be a whole number, not the string \"x\""},
		{"i: 1.5\n", "in:1: object: `i`: must be a whole number, not the number 1.5"},
		{"i: 9007199254740992.0\n", "in:1: object: `i`: must be a whole number, not the number 9007199254740992.0"},
		{"b: 'true'\n", "in:1: object: `b`: must be true or false, not the string \"true\""},
		{"l: a\n", "in:1: object: `l`: must be a list, not the string \"a\""},
		{"l:\n- a\n- {}\n", "in:3: object: `l[1]`: must be a string, not a mapping"},
		{"m: []\n", "in:1: object: `m`: must be a mapping, not a list"},
		{"is: true\n", "in:1: object: `is`: must be a number or a string, not the boolean true"},
		{"m:\n  a: b\n  d: e\n  'a': c\n", "in:4: object: `m.a`: key \"a\" must stand only once in its mapping, and is here again"},
		{"s: a\ns: b\n", "in:2: object: `s`: key \"s\" must stand only once in its mapping, and is here again"},
		{"m: {a: '', b: '', c: '', d: '', e: '', f: '', g: '', h: '', i: '', j: '', k: '', l: '', n: '', o: '', p: '', q: '',\n  c: ''}\n", "in:2: object: `m.c`: key \"c\" must stand only once in its mapping, and is here again"},
		{"any: {a: {b: 1, b: 2}}\n", "in:1: object: `any.a.b`: key \"b\" must stand only once in its mapping, and is here again"},
		{"x: &x\n  y: z\nl:\n- a\n- *x\n", "in:5: object: `l[1]`: must be a string, not a mapping"},
	} {
		s, err := Read("in", []byte(tt.in))
		if err != nil {
			t.Fatal(err)
		}
		var v target1
		_, err = s.Objects()[0].Decode(nil, &v)
		var e *Error
		if err == nil || err.Error() != tt.want || !errors.As(err, &e) {
			t.Errorf("%q:\ngot  %v\nwant %s", tt.in, err, tt.want)
		}
	}
}

func TestAnObjectKeepsItsNameWhateverElseIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"metadata: {labels: {a: 1}, name: web, namespace: n}\n":              "Deployment n/web",
		"metadata: {name: web, labels: {a: 1}, namespace: n}\n":              "Deployment n/web",
		"metadata: {name: web}\nmetadata: {name: web}\n":                     "Deployment web",
		"metadata: {name: web, namespace: [1]}\n":                            "Deployment web",
		"metadata: {namespace: n, name: [1]}\n":                              "Deployment",
		"metadata: {labels: {a: 1}, name: }\n":                               "Deployment",
		"metadata: !x {name: web, namespace: n}\n":                           "Deployment n/web",
		"metadata: {name: &n web, namespace: *n}\nspec: &a {template: *a}\n": "Deployment web/web",
		"metadata:\n  name: web\nspec: !!int {}\n":                           "Deployment web",
		"metadata: &m {name: web}\nspec: {x: *m, y: !x 1}\n":                 "Deployment web",
		"spec: !x 1\n": "Deployment",
	} {
		s, err := Read("in", []byte("apiVersion: apps/v1\nkind: Deployment\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		o := s.Objects()[0]
		if got := o.String(); got != want {
			t.Errorf("%q: is %q before its metadata are read, want %q", text, got, want)
		}
		_, _ = o.Metadata()
		if got := o.String(); got != want {
			t.Errorf("%q: is %q, want %q", text, got, want)
		}
	}
}

func TestAnUnknownFieldIsAnErrorOnlyInStrictDecoding(t *testing.T) {
	var v struct {
		A struct {
			B string `json:"b"`
			C string `json:"c"`
		} `json:"a"`
	}
	o := mustRead(t, []byte("a:\n  b: x\n  typo: y\n")).Objects()[0]
	if _, err := o.Decode(nil, &v); err != nil || v.A.B != "x" {
		t.Error(err)
	}
	_, err := o.DecodeStrict(nil, &v)
	if want := "<stdin>:3: object: `a.typo`: unknown field \"typo\": allowed are b, c"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestAnErrorNamesTheFileThatAToolHasNoted(t *testing.T) {
	const in = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: apps/v1\n  kind: Deployment\n  metadata:\n    name: a\n    annotations:\n      internal.config.kubernetes.io/path: b/c.yaml\n      internal.config.kubernetes.io/index: '2'\n  spec: 3\n"
	o := mustRead(t, []byte(in)).Objects()[0]
	if p, i := o.File(); p != "b/c.yaml" || i != 2 {
		t.Errorf("file %q %d", p, i)
	}
	if got, want := o.Errorf(path("spec"), "is %q", "x").Error(), "b/c.yaml: Deployment a: `spec`: is \"x\""; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// A tool does not note where a file has its objects; there an annotation may be a copy.
	const alone = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\n  annotations:\n    internal.config.kubernetes.io/path: b/c.yaml\nspec: 3\n"
	o = mustRead(t, []byte(alone)).Objects()[0]
	if p, _ := o.File(); p != "b/c.yaml" {
		t.Errorf("file %q", p)
	}
	if got, want := o.Errorf(path("spec"), "is %q", "x").Error(), "<stdin>:7: Deployment a: `spec`: is \"x\""; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Only the items of what is a List by its name, and has a list of mappings, are objects.
func TestAKindThatEndsInListMayBeAnObject(t *testing.T) {
	for in, want := range map[string]string{
		"kind: FooList\nitems: {a: {b: c}}\n": "FooList@1;", "kind: FooList\nitems: []\n": "FooList@1;", "kind: FooList\n": "FooList@1;", "kind: FooList\nitems: [{a: b}, c]\n": "FooList@1;",
		"kind: FooList\nitems: [{a: b}]\n": "Foo@2;", "kind: FooList\nitems:\n- a: b\n- kind: C\n": "Foo@3; C@4;",
	} {
		if got := names(mustRead(t, []byte(in))); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestUsualFormsOfKindAndApiVersion(t *testing.T) {
	for in, want := range map[string]string{
		"apiVersion: \"v1\" # c\nkind: 'Pod'\n":                                                          "v1 Pod@1;",
		"kind: \"Pod\"\r\napiVersion: v1 # c\r\n":                                                        "v1 Pod@1;",
		"kind: Pod # c\na: \"\\x41 \\u0042 \\U00000043 \\e\"\n":                                          " Pod@1;",
		"{\"kind\": \"A\"}  \n# c\n  # d\n{\"kind\": \"B\"} # e\n---\n{\"kind\": \"C\"}\n":               " A@1; B@4; C@6;",
		"{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[{\"kind\":\"A\"},{\"kind\":\"B\"}]}\n":      " A@1; B@1;",
		"kind: List\nitems:\n- kind: \"A\" # c\n- {kind: B}\n- {}\n- kind: List\n  items: [{kind: C}]\n": " A@3; B@4; object@5; C@7;",
	} {
		s := mustRead(t, []byte(in))
		if got := names(s); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
		for _, o := range s.Objects() {
			var v any
			if _, err := o.Decode(nil, &v); err != nil {
				t.Errorf("%q: %v: %v", in, o, err)
			}
		}
	}
}

// A line end is text where the last line is in a block scalar.
func TestNothingIsPutBehindABlockScalarWithoutALineEnd(t *testing.T) {
	result := slices.Values([]field.Map{{{Key: "message", Value: "m"}}})
	for text, ok := range map[string]bool{"|\n    x": false, "|+\n    x": false, ">2\n    x": false, "|-\n    x": true, "|\n    x\n": true, "x": true} {
		in := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- kind: A\n  k: " + text
		s := mustRead(t, []byte(in))
		err := s.AddResults(result)
		if (err == nil) != ok || !ok && !strings.Contains(err.Error(), "<stdin>:6: must end with a line end") {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// The root may have a tag or an anchor on the line of its marker.
func TestARootOnTheLineOfItsMarkerIsEdited(t *testing.T) {
	for _, in := range []string{"--- !!map\na: 1\n", "--- &doc\na: 1\n", "--- &doc !!map # c\n# d\na: 1\n", "--- !!map {a: 1}\n", "!!map\na: 1\n", "--- # c\n&doc\na: 1\n", "%YAML 1.2\n--- !!map\na: 1\n"} {
		s := mustRead(t, []byte("kind: Z\n...\n"+in))
		o := s.Objects()[1]
		if err := o.Apply([]field.Edit{set("a", 2), set("b", field.Map{{Key: "c", Value: "d"}})}); err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if got := string(output(t, s)); !strings.HasPrefix(got, "kind: Z\n...\n"+strings.Replace(strings.TrimRight(in, "}\n"), "1", "2", 1)) && !strings.Contains(got, "%YAML 1.2") {
			t.Errorf("%q gives %q", in, got)
		}
	}
}

// The file of an item is the one that the newer annotation names; each names the index in its own.
func TestTheFileOfAnItemIsThatOfTheNewerAnnotation(t *testing.T) {
	const both = "internal.config.kubernetes.io/path: new.yaml, internal.config.kubernetes.io/index: '3', config.kubernetes.io/path: old.yaml, config.kubernetes.io/index: '2'"
	for annotations, want := range map[string]string{
		both: "new.yaml 3", "config.kubernetes.io/path: old.yaml, config.kubernetes.io/index: '2'": "old.yaml 2",
		"internal.config.kubernetes.io/path: new.yaml": "new.yaml 0", "config.kubernetes.io/path: old.yaml, config.kubernetes.io/index: x": "old.yaml 0", "a: b": " 0",
	} {
		s := mustRead(t, []byte("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {"+annotations+"}}}\n"))
		path, index := s.Objects()[0].File()
		if got := fmt.Sprint(path, " ", index); got != want {
			t.Errorf("%s: %s, want %s", annotations, got, want)
		}
	}
}
