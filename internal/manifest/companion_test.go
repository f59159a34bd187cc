package manifest_test

import (
	"bytes"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

var companion = field.Map{
	{Key: "apiVersion", Value: "v1"}, {Key: "kind", Value: "ConfigMap"},
	{Key: "metadata", Value: field.Map{{Key: "name", Value: "x"}}},
	{Key: "data", Value: field.Map{{Key: "a", Value: "{\"b\":1}"}}},
}

// companionShapes are inputs whose first object gets another one behind it; the
// object is edited, too.
var companionShapes = map[string]struct{ in, out string }{
	"a document": {
		"kind: A\nspec:\n  a: 1\n",
		"kind: A\nspec:\n  a: 2\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  a: '{\"b\":1}'\n",
	},
	"a document without an end of line": {
		"kind: A\nspec:\n  a: 1",
		"kind: A\nspec:\n  a: 2\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  a: '{\"b\":1}'",
	},
	"documents": {
		"---\nkind: A\nspec: {a: 1}\n---\nkind: B\n",
		"---\nkind: A\nspec: {a: 2}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  a: '{\"b\":1}'\n---\nkind: B\n",
	},
	"lines of Windows": {
		"kind: A\r\nspec:\r\n  a: 1\r\n---\r\nkind: B\r\n",
		"kind: A\r\nspec:\r\n  a: 2\r\n---\r\napiVersion: v1\r\nkind: ConfigMap\r\nmetadata:\r\n  name: x\r\ndata:\r\n  a: '{\"b\":1}'\r\n---\r\nkind: B\r\n",
	},
	"a ResourceList": {
		"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- kind: A\n  spec:\n    a: 1\n- kind: B\nresults: []\n",
		"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- kind: A\n  spec:\n    a: 2\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: x\n  data:\n    a: '{\"b\":1}'\n- kind: B\nresults: []\n",
	},
	"a List, indented, the last item": {
		"apiVersion: v1\nkind: List\nitems:\n  - kind: A\n    spec:\n      a: 1",
		"apiVersion: v1\nkind: List\nitems:\n  - kind: A\n    spec:\n      a: 2\n  - apiVersion: v1\n    kind: ConfigMap\n    metadata:\n      name: x\n    data:\n      a: '{\"b\":1}'",
	},
	"a List, an item behind its dash's line": {
		"apiVersion: v1\nkind: List\nitems:\n  - # c\n    kind: A\n    spec:\n      a: 1\n  # d\n  -\n    kind: B\n",
		"apiVersion: v1\nkind: List\nitems:\n  - # c\n    kind: A\n    spec:\n      a: 2\n  # d\n  - apiVersion: v1\n    kind: ConfigMap\n    metadata:\n      name: x\n    data:\n      a: '{\"b\":1}'\n  -\n    kind: B\n",
	},
	"a List, items in braces": {
		"apiVersion: v1\nkind: List\nitems:\n- {kind: A, spec: {a: 1}} # c\n- {kind: B}",
		"apiVersion: v1\nkind: List\nitems:\n- {kind: A, spec: {a: 2}} # c\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: x\n  data:\n    a: '{\"b\":1}'\n- {kind: B}",
	},
	"a byte order mark": {
		"\ufeffkind: A\nspec: {a: 1}",
		"\ufeffkind: A\nspec: {a: 2}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  a: '{\"b\":1}'",
	},
	"JSON": {
		`{"apiVersion":"v1","kind":"List","items":[{"kind":"A","spec":{"a":1}},{"kind":"B"}]}`,
		`{"apiVersion":"v1","kind":"List","items":[{"kind":"A","spec":{"a":2}},{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"{\"b\":1}"}},{"kind":"B"}]}`,
	},
	"one JSON object": {
		"{\"kind\": \"A\", \"spec\": {\"a\": 1}}",
		"{\"kind\": \"A\", \"spec\": {\"a\": 2}}\n---\n{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\"},\"data\":{\"a\":\"{\\\"b\\\":1}\"}}",
	},
}

func TestAnObjectIsAddedInTheStyleOfItsSurroundingsAndTakenOutAgain(t *testing.T) {
	for name, c := range companionShapes {
		t.Run(name, func(t *testing.T) {
			s := read(t, c.in)
			o := s.Objects()[0]
			edit := func(n int) []field.Edit {
				return []field.Edit{{Op: field.Set, Path: field.NewPath("spec", "a"), Value: n}}
			}
			if err := o.Apply(edit(2)); err != nil {
				t.Fatal(err)
			}
			if err := o.AddAfter(companion); err != nil {
				t.Fatal(err)
			}
			out := written(t, s)
			if out != c.out {
				t.Errorf("got\n%s\nwant\n%s", out, c.out)
			}
			again := read(t, out)
			if len(again.Objects()) != len(s.Objects())+1 {
				t.Fatalf("%d objects", len(again.Objects()))
			}
			added := again.Objects()[1]
			var data map[string]string
			if _, err := added.Decode(field.NewPath("data"), &data); err != nil || added.Kind() != "ConfigMap" || added.Name() != "x" || data["a"] != `{"b":1}` {
				t.Errorf("added %s %v, %v", added, data, err)
			}
			if err := again.Objects()[0].Apply(edit(1)); err != nil {
				t.Fatal(err)
			}
			if err := added.Remove(); err != nil {
				t.Fatal(err)
			}
			if back := written(t, again); back != c.in {
				t.Errorf("taken out again:\n%s\nwant\n%s", back, c.in)
			}
		})
	}
}

func TestAnItemInBracesIsTakenOutWithItsComma(t *testing.T) {
	for in, want := range map[string]string{
		`{"kind":"List","items":[{"kind":"A"}]}`:                `{"kind":"List","items":[]}`,
		`{"kind":"List","items":[{"kind":"A"} , {"kind":"B"}]}`: `{"kind":"List","items":[ {"kind":"B"}]}`,
	} {
		s := read(t, in)
		if err := s.Objects()[0].Remove(); err != nil {
			t.Fatal(err)
		}
		if got := written(t, s); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestWhatIsTooUnusualIsSaid(t *testing.T) {
	for _, in := range []string{
		"apiVersion: v1\nkind: List\nitems:\n- &x {kind: A}\n- *x\n",
		"  kind: A\n",
		"kind: A\r---\nkind: B\n",         // its last line ends with a carriage return
		"kind: List\nitems:\r- kind: A\n", // as the one before its item does
	} {
		if err := read(t, in).Objects()[0].AddAfter(companion); err == nil {
			t.Errorf("%q must be an error", in)
		}
	}
}

func read(t *testing.T, in string) *manifest.Stream {
	t.Helper()
	s, err := manifest.Read("in.yaml", []byte(in))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func written(t *testing.T, s *manifest.Stream) string {
	t.Helper()
	var b bytes.Buffer
	if _, err := s.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// FuzzCompanion: an object that is put behind any other is read there, the
// others are read as before, and without it so they are again.
func FuzzCompanion(f *testing.F) {
	for _, c := range companionShapes {
		f.Add([]byte(c.in), uint(0))
		f.Add([]byte(c.out), uint(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, n uint) {
		s, err := manifest.Read("in.yaml", bytes.Clone(in))
		if err != nil || len(s.Objects()) == 0 {
			return
		}
		at := int(n % uint(len(s.Objects())))
		if err := s.Objects()[at].AddAfter(companion); err != nil {
			return
		}
		out := written(t, s)
		again, err := manifest.Read("out.yaml", []byte(out))
		if err != nil {
			t.Fatalf("cannot be read: %v\n%s", err, out)
		}
		if len(again.Objects()) != len(s.Objects())+1 {
			t.Fatalf("%d objects became %d\n%s", len(s.Objects()), len(again.Objects()), out)
		}
		added := again.Objects()[at+1]
		if added.Kind() != "ConfigMap" || added.Name() != "x" {
			t.Fatalf("%s is at %d in\n%s", added, at+1, out)
		}
		for i, o := range s.Objects() {
			j := i
			if i > at {
				j++
			}
			if other := again.Objects()[j]; o.String() != other.String() {
				t.Errorf("%s became %s", o, other)
			}
		}
		if err := added.Remove(); err != nil {
			return
		}
		back, err := manifest.Read("back.yaml", []byte(written(t, again)))
		if err != nil || len(back.Objects()) != len(s.Objects()) {
			t.Fatalf("taken out again: %v\n%s", err, written(t, again))
		}
	})
}
