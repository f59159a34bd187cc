package manifest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/yamljudge"
)

// walked returns the value of a node, as far as nodes tell it.
func walked(n Node) string {
	switch {
	case n.IsMapping():
		var entries []string
		for c := n.First(); c.Exists(); c = c.Next() {
			entries = append(entries, fmt.Sprintf("%q: %s", c.Key(), walked(c)))
		}
		return "{" + strings.Join(entries, ", ") + "}"
	case n.IsList():
		var items []string
		for c := n.First(); c.Exists(); c = c.Next() {
			items = append(items, walked(c))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case n.Missing():
		return "null"
	}
	return "a scalar"
}

// shapeOf returns the same of a value.
func shapeOf(v field.Value) string {
	switch v := v.(type) {
	case field.Map:
		var entries []string
		for _, e := range v {
			entries = append(entries, fmt.Sprintf("%q: %s", e.Key, shapeOf(e.Value)))
		}
		return "{" + strings.Join(entries, ", ") + "}"
	case field.List:
		var items []string
		for _, e := range v {
			items = append(items, shapeOf(e))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case nil:
		return "null"
	}
	return "a scalar"
}

func TestNodesHaveTheShapeOfTheValue(t *testing.T) {
	objects := 0
	for _, text := range yamljudge.Forms {
		s, err := Read("in", []byte(text))
		if err != nil {
			continue
		}
		for _, o := range s.Objects() {
			root, err := o.Root()
			if err != nil {
				continue
			}
			v, found := o.Value(nil)
			if got, want := walked(root), shapeOf(v); got != want || !found {
				t.Errorf("%q is walked as %s, want %s", text, got, want)
			}
			for c := root.First(); c.Exists(); c = c.Next() {
				if got := root.Get(c.Key()); !got.Exists() || got.Missing() != (shapeOf(valueOf(v, c.Key())) == "null") {
					t.Errorf("%q has no %q, or another", text, c.Key())
				}
			}
			objects++
		}
	}
	if objects < 20 {
		t.Errorf("only %d objects can be walked", objects)
	}
	root, err := mustRead(t, []byte("a: ~\nb:\nc: ''\nd: [x]\ne: {f: 1}\ng: 'null'\n")).Objects()[0].Root()
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"a": "true true", "b": "true true", "c": "false true", "d": "false true", "e": "false true", "g": "false true", "x": "true false"} {
		if n := root.Get(key); fmt.Sprint(n.Missing(), n.Exists()) != want {
			t.Errorf("%s: missing %t, exists %t, want %s", key, n.Missing(), n.Exists(), want)
		}
		if n := root.Get(key).Get("f"); n.Exists() != (key == "e") {
			t.Errorf("%s.f: exists %t", key, n.Exists())
		}
	}
	if _, err := mustRead(t, []byte("a: {{ x }}\n")).Objects()[0].Root(); err == nil {
		t.Error("an object whose key is a mapping has a root")
	}
}

func valueOf(v field.Value, key string) field.Value {
	m, _ := v.(field.Map)
	value, _ := m.Get(key)
	return value
}

// What is in the way, or of another type, is an error with its place. What is missing is a node that does not exist.
func TestAMappingOrAListIsFoundAtAPath(t *testing.T) {
	const in = "kind: A\nm: {a: {b: 1}, n: ~}\nl: [{c: d}]\ns: text\nt: {u: 1, u: 2}\n"
	for _, c := range []struct {
		path          string
		mapping, list string // "" if it exists
	}{
		{"m", "", "in:2: A: `m`: must be a list, not a mapping"},
		{"m.a", "", "in:2: A: `m.a`: must be a list, not a mapping"},
		{"m.a.b", "in:2: A: `m.a.b`: must be a mapping, not the number 1", "in:2: A: `m.a.b`: must be a list, not the number 1"},
		{"m.n", "missing", "missing"}, {"m.x", "missing", "missing"}, {"m.n.x", "missing", "missing"}, {"x.y", "missing", "missing"},
		{"l", "in:3: A: `l`: must be a mapping, not a list", ""},
		{"l[0]", "", "in:3: A: `l[0]`: must be a list, not a mapping"}, {"l[1]", "missing", "missing"},
		{"s.x", "in:4: A: `s`: must be a mapping, not the string \"text\"", "in:4: A: `s`: must be a mapping, not the string \"text\""},
		{"l.x", "in:3: A: `l`: must be a mapping, not a list", "in:3: A: `l`: must be a mapping, not a list"},
		{"t.u", "in:5: A: `t.u`: key \"u\" must stand only once in its mapping, and is here again", "in:5: A: `t.u`: key \"u\" must stand only once in its mapping, and is here again"},
	} {
		s, err := Read("in", []byte(in))
		if err != nil {
			t.Fatal(err)
		}
		o := s.Objects()[0]
		for i, find := range []func(field.Path) (Node, error){o.Mapping, o.List} {
			n, err := find(path(c.path))
			got := ""
			switch {
			case err != nil:
				got = err.Error()
			case !n.Exists():
				got = "missing"
			case n.IsMapping() != (i == 0) || n.IsList() != (i == 1):
				got = "another kind"
			}
			if want := []string{c.mapping, c.list}[i]; got != want {
				t.Errorf("%s: %q, want %q", c.path, got, want)
			}
		}
	}
}

// An object that cannot be read has no parts, and says why.
func TestAnObjectThatCannotBeReadHasNoParts(t *testing.T) {
	for in, want := range map[string]string{
		"kind: A\nmetadata: {name: n}\nb: !x 1\n":    "in:3: a Kubernetes object must not have the tag !x",
		"kind: A\nmetadata: {name: n}\nb: {{ x }}\n": "in:3: " + ErrNotKey.Error(),
	} {
		s, err := Read("in", []byte("kind: Z\n---\n"+in))
		if err != nil {
			t.Fatal(err)
		}
		if v, found := s.Objects()[0].Value(path("kind")); !found || v != "Z" {
			t.Errorf("the object before it has %v", v)
		}
		o := s.Objects()[1]
		want = strings.Replace(want, "in:3", "in:5", 1)
		_, rootErr := o.Root()
		_, mappingErr := o.Mapping(nil)
		_, decodeErr := o.Decode(nil, new(any))
		_, previewErr := o.Preview([]field.Edit{set("a", 1)})
		for what, err := range map[string]error{"root": rootErr, "mapping": mappingErr, "decode": decodeErr, "keys": o.CheckKeys(nil), "apply": o.Apply([]field.Edit{set("a", 1)}), "preview": previewErr} {
			if err == nil || err.Error() != want {
				t.Errorf("%q, %s: %v, want %s", in, what, err, want)
			}
		}
		if v, found := o.Value(path("kind")); found || v != nil {
			t.Errorf("%q has the value %v", in, v)
		}
		if line := o.FieldLine(path("metadata.name")); line != 3 || o.CommentLine("#") != 0 {
			t.Errorf("%q: a field is in line %d", in, line)
		}
		if o.Texts([]field.Edit{set("kind", "B")}) != nil || o.String() != "A n" || o.Changed() {
			t.Errorf("%q has texts, or is %s", in, o)
		}
		_, _ = o.Root()
		// The one before is read as if nothing had been.
		if v, found := s.Objects()[0].Value(path("kind")); !found || v != "Z" {
			t.Errorf("the object before it has %v", v)
		}
	}
}

func TestTheGroupOfAnObjectIsThatOfItsVersion(t *testing.T) {
	for version, want := range map[string]string{"v1": "", "apps/v1": "apps", "a.b.io/v1beta1": "a.b.io", "''": ""} {
		if got := mustRead(t, []byte("apiVersion: "+version+"\nkind: A\n")).Objects()[0].Group(); got != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}

// Objects are read in any order, and again after an edit, a panic or another object.
func TestObjectsAreReadInAnyOrder(t *testing.T) {
	s := mustRead(t, []byte("kind: A\nv: 1\n---\nkind: B\nv: 2\nm: &m {x: 3}\nn: *m\n---\nkind: C\nv: 4\n"))
	check := func(when string, want ...field.Value) {
		t.Helper()
		for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 1, 0}, {0, 2, 0}} {
			for _, i := range order {
				if v, _ := s.Objects()[i].Value(path("v")); !reflect.DeepEqual(v, want[i]) {
					t.Errorf("%s, object %d has %v, want %v", when, i, v, want[i])
				}
			}
		}
	}
	check("at first", 1, 2, 4)
	for i := range 3 {
		if i == 1 {
			s.Objects()[1].Forget()
			check("forgotten", 10, 2, 4)
		}
		if err := s.Objects()[i].Apply([]field.Edit{set("v", 10*(i+1))}); err != nil {
			t.Fatal(err)
		}
		check("edited", []field.Value{10, []field.Value{2, 20}[min(i, 1)], []field.Value{4, 30}[max(i-1, 0)]}...)
	}
	s.Objects()[2].Forget()
	check("at last", 10, 20, 30)
	// The places of an edited object are those that it came with.
	if line := s.Objects()[2].FieldLine(path("v")); line != 9 {
		t.Errorf("a field of an edited object is in line %d", line)
	}
	if err := s.Objects()[1].Errorf(path("v"), "x"); err.Error() != "<stdin>:4: B: `v`: x" {
		t.Error(err)
	}
}

// Of metadata that cannot be read, only what names the object is known.
func TestOfWrongMetadataOnlyTheNameIsKnown(t *testing.T) {
	for metadata, want := range map[string]string{
		"{name: a, namespace: b, labels: {c: d}, annotations: {e: 1}}": "a b 0 0 true",
		"{name: a, labels: {c: d}, labels: {e: f}}":                    "a  0 0 true",
		"{labels: {c: d}, name: [a], namespace: b}":                    " b 0 0 true",
		"{name: a, namespace: b, labels: {c: d}, annotations: {e: f}}": "a b 1 1 false",
		"{name: a, labels: ~, x: {y: y, y: z}}":                        "a  0 0 false",
		"[a]":                                                          "  0 0 true",
		"~":                                                            "  0 0 false",
	} {
		o := mustRead(t, []byte("kind: A\nmetadata: "+metadata+"\n")).Objects()[0]
		for range 2 {
			m, err := o.Metadata()
			if got := fmt.Sprint(m.Name, " ", m.Namespace, " ", len(m.Labels), " ", len(m.Annotations), " ", err != nil); got != want {
				t.Errorf("%s: %s, want %s", metadata, got, want)
			}
			if o.Name() != m.Name || o.Namespace() != m.Namespace || len(o.Labels()) != len(m.Labels) || len(o.Annotations()) != len(m.Annotations) {
				t.Errorf("%s: the object has other metadata", metadata)
			}
		}
	}
}

func TestValuesAreWrittenAsDocumentsAndOnALine(t *testing.T) {
	value := field.Map{{Key: "kind", Value: "A"}, {Key: "l", Value: field.List{1, field.Map{{Key: "a", Value: "b: c"}, {Key: "d", Value: nil}}, field.List{true}}}, {Key: "e", Value: field.Map{}}, {Key: "f", Value: field.List{}}, {Key: "g", Value: "x\ny\n"}, {Key: "h", Value: 1.5}}
	const document = "kind: A\nl:\n  - 1\n  - a: \"b: c\"\n    d: null\n  - - true\ne: {}\nf: []\ng: |\n  x\n  y\nh: 1.5\n"
	for n, want := range []string{"", document, document + "---\n" + document, document + "---\n" + document + "---\n" + document} {
		var values []field.Map
		for range n {
			values = append(values, value)
		}
		if got := string(Documents(values...)); got != want {
			t.Errorf("%d documents are\n%s\nwant\n%s", n, got, want)
		}
	}
	if back, _ := mustRead(t, Documents(value)).Objects()[0].Value(nil); !field.Same(back, value) {
		t.Errorf("%v comes back as %v", value, back)
	}
	for _, c := range []struct {
		v    field.Value
		want string
	}{
		{value, `{kind: A, l: [1, {a: "b: c", d: null}, [true]], e: {}, f: [], g: "x\ny\n", h: 1.5}`}, {"a", "a"}, {"a, b", `"a, b"`}, {nil, "null"}, {field.List{}, "[]"}, {field.Map{{Key: "a b", Value: "on"}}, `{"a b": "on"}`},
	} {
		if got := Inline(c.v); got != c.want {
			t.Errorf("%v is %s, want %s", c.v, got, c.want)
		}
	}
}
