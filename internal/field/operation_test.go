package field_test

import (
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/jsonpatch"
)

func value(t *testing.T, text string) field.Value {
	t.Helper()
	m, err := field.DecodeJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAPathIsAJSONPointer(t *testing.T) {
	path := field.NewPath("metadata", "a/b~c").Item("l", 2).Join(field.Path{field.End})
	if got := path.Pointer(); got != "/metadata/a~1b~0c/l/2/-" {
		t.Errorf("Pointer returns %s", got)
	}
}

func TestAnOperationIsWrittenAsKustomizeTakesIt(t *testing.T) {
	at := field.NewPath("a", "b/c").Index(1)
	for want, o := range map[string]field.Operation{
		`{"op":"remove","path":"/a/b~1c/1"}`:                {Op: field.OpRemove, Path: at, Value: "old"},
		`{"op":"copy","from":"/a/b~1c/1","path":"/d~1e"}`:   {Op: field.OpCopy, Path: field.NewPath("d/e"), From: at},
		`{"op":"test","path":"/a/b~1c/1","value":null}`:     {Op: field.OpTest, Path: at},
		`{"op":"add","path":"/a/b~1c/1","value":{"x":[1]}}`: {Op: field.OpAdd, Path: at, Value: field.Map{{Key: "x", Value: field.List{1}}}},
		`{"op":"replace","path":"/a/b~1c/1","value":""}`:    {Op: field.OpReplace, Path: at, Value: ""},
		`{"op":"test","path":"/a/b~1c/-1","value":false}`:   {Op: field.OpTest, Path: at[:2].Join(field.Path{field.LastItem}), Value: false},
	} {
		if got := string(o.AppendJSON([]byte("x"))); got != "x"+want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// roomy returns a value whose mappings and lists have room for more, which appending to one would use.
func roomy(v field.Value) field.Value {
	switch v := v.(type) {
	case field.Map:
		m := make(field.Map, 0, len(v)+4)
		for _, e := range v {
			m = append(m, field.Entry{Key: e.Key, Value: roomy(e.Value)})
		}
		return m
	case field.List:
		l := make(field.List, 0, len(v)+4)
		for _, e := range v {
			l = append(l, roomy(e))
		}
		return l
	}
	return v
}

// Whatever is made of a value, it stays as it is, and so does what else was made of it.
func TestValuesAreChangedInCopies(t *testing.T) {
	const object = `{"a":{"b":1,"c":{"d":"x"}},"l":["x",{"n":"y"},"z"]}`
	base := roomy(value(t, object)).(field.Map)
	a, l := field.NewPath("a"), field.NewPath("l")
	var made []field.Value
	var texts []string
	note := func(v field.Value) {
		made = append(made, v)
		texts = append(texts, string(field.AppendJSON(nil, v)))
	}
	var paths []field.Path
	for _, key := range []string{"b", "c", "new", "other"} {
		paths = append(paths, a.Key(key), field.NewPath(key))
	}
	for i := range 4 {
		paths = append(paths, l.Index(i))
	}
	paths = append(paths, a.Key("c", "d"), a.Key("c", "e"), a.Key("c", "f"), l.Index(1).Key("n"), l.Index(1).Key("o"), l.Index(1).Key("p"), l.Join(field.Path{field.End}), l.Join(field.Path{field.LastItem}))
	for _, op := range []string{field.OpAdd, field.OpReplace, field.OpRemove} {
		for i, path := range paths {
			if got, err := jsonpatch.Apply(base, field.Operation{Op: op, Path: path, Value: i}); err == nil {
				note(got)
			}
		}
	}
	if len(made) < 30 {
		t.Errorf("only %d operations can be made", len(made))
	}
	for _, changes := range []string{`{"new":1}`, `{"other":2}`, `{"a":{"b":2}}`, `{"a":{"e":3}}`, `{"a":{"f":4}}`, `{"a":null}`, `{"l":null,"m":1}`, `{"a":{"c":{"g":1}}}`, `{"a":{"c":{"h":1}}}`, `{"a":{"c":null}}`} {
		note(field.Merge(base, value(t, changes).(field.Map)))
	}
	for i, v := range made {
		if got := string(field.AppendJSON(nil, v)); got != texts[i] {
			t.Errorf("%s has become %s", texts[i], got)
		}
	}
	if got := string(field.AppendJSON(nil, base)); got != object {
		t.Errorf("the value itself has become %s", got)
	}
}

// A null is nothing, and steps end where the first one leads to nothing.
func TestAtSaysHowFarAPathLeads(t *testing.T) {
	object := value(t, `{"a":{"b":1,"null":null},"l":["x",{"n":"y"},null]}`)
	a, l := field.NewPath("a"), field.NewPath("l")
	for _, c := range []struct {
		path  field.Path
		want  field.Value
		steps int
	}{
		{nil, object, 0}, {a.Key("b"), 1, 2}, {a.Key("c"), nil, 1}, {a.Key("null"), nil, 1}, {a.Key("null", "x"), nil, 1}, {a.Key("b", "x"), nil, 2}, {a.Index(0), nil, 1},
		{l.Index(0), "x", 2}, {l.Index(1).Key("n"), "y", 3}, {l.Index(1).Key("m"), nil, 2}, {l.Index(2), nil, 1}, {l.Index(3), nil, 1}, {l.Index(-1), nil, 1}, {l.Key("n"), nil, 1},
		{field.NewPath("x", "y"), nil, 0},
	} {
		if got, steps := field.At(object, c.path); !field.Same(got, c.want) || steps != c.steps {
			t.Errorf("%s: %v after %d steps, want %v after %d", c.path, got, steps, c.want, c.steps)
		}
	}
}
