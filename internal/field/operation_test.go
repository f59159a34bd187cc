package field_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

func value(t *testing.T, text string) field.Value {
	t.Helper()
	m, err := field.DecodeJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAnOperationDoesWhatKustomizesLibraryDoes(t *testing.T) {
	const object = `{"a":{"b":1,"null":null},"l":["x",{"n":"y"}]}`
	a, l := field.NewPath("a"), field.NewPath("l")
	for _, c := range []struct {
		name string
		op   field.Operation
		want string // "" for an error
	}{
		{"a test of a value", field.Operation{Op: "test", Path: a.Key("b"), Value: 1}, object},
		{"a test of another value", field.Operation{Op: "test", Path: a.Key("b"), Value: 2}, ""},
		{"a test of null where nothing is", field.Operation{Op: "test", Path: a.Key("c")}, object},
		{"a test of null where a null is", field.Operation{Op: "test", Path: a.Key("null")}, object},
		{"a test of null where a value is", field.Operation{Op: "test", Path: a.Key("b")}, ""},
		{"a test below nothing", field.Operation{Op: "test", Path: a.Key("c", "d")}, ""},
		{"a test of the last item", field.Operation{Op: "test", Path: l.Join(field.Path{field.LastItem, {Key: "n"}}), Value: "y"}, object},
		{"a test whatever the order is", field.Operation{Op: "test", Path: a, Value: field.Map{{Key: "null"}, {Key: "b", Value: 1}}}, object},
		{"a new key", field.Operation{Op: "add", Path: a.Key("c"), Value: "z"}, `{"a":{"b":1,"null":null,"c":"z"},"l":["x",{"n":"y"}]}`},
		{"an old key is replaced", field.Operation{Op: "add", Path: a.Key("b"), Value: 2}, `{"a":{"b":2,"null":null},"l":["x",{"n":"y"}]}`},
		{"a key below nothing", field.Operation{Op: "add", Path: a.Key("c", "d"), Value: 2}, ""},
		{"an item in front", field.Operation{Op: "add", Path: l.Index(0), Value: 2}, `{"a":{"b":1,"null":null},"l":[2,"x",{"n":"y"}]}`},
		{"an item at the end", field.Operation{Op: "add", Path: l.Join(field.Path{field.End}), Value: 2}, `{"a":{"b":1,"null":null},"l":["x",{"n":"y"},2]}`},
		{"an item behind the end", field.Operation{Op: "add", Path: l.Index(3), Value: 2}, ""},
		{"a key in an item", field.Operation{Op: "replace", Path: l.Index(1).Key("n"), Value: 2}, `{"a":{"b":1,"null":null},"l":["x",{"n":2}]}`},
		{"an item is replaced", field.Operation{Op: "replace", Path: l.Index(0), Value: 2}, `{"a":{"b":1,"null":null},"l":[2,{"n":"y"}]}`},
		{"the last item is replaced", field.Operation{Op: "replace", Path: l.Join(field.Path{field.LastItem}), Value: 2}, `{"a":{"b":1,"null":null},"l":["x",2]}`},
		{"the last item is removed", field.Operation{Op: "remove", Path: l.Join(field.Path{field.LastItem})}, `{"a":{"b":1,"null":null},"l":["x"]}`},
		{"an item between two", field.Operation{Op: "add", Path: l.Index(1), Value: 2}, `{"a":{"b":1,"null":null},"l":["x",2,{"n":"y"}]}`},
		{"a test of an item", field.Operation{Op: "test", Path: l.Index(0), Value: "x"}, object},
		{"a test of another item", field.Operation{Op: "test", Path: l.Index(0), Value: "y"}, ""},
		{"a test of a mapping with more", field.Operation{Op: "test", Path: a, Value: field.Map{{Key: "null"}, {Key: "b", Value: 1}, {Key: "c", Value: 2}}}, ""},
		{"a test of a mapping with less", field.Operation{Op: "test", Path: a, Value: field.Map{{Key: "b", Value: 1}}}, ""},
		{"a test of a mapping with another null", field.Operation{Op: "test", Path: a, Value: field.Map{{Key: "other"}, {Key: "b", Value: 1}}}, ""},
		{"a test of a list with more", field.Operation{Op: "test", Path: l, Value: field.List{"x", field.Map{{Key: "n", Value: "y"}}, 1}}, ""},
		{"a test of a list in its order", field.Operation{Op: "test", Path: l, Value: field.List{"x", field.Map{{Key: "n", Value: "y"}}}}, object},
		{"a test of a list in another order", field.Operation{Op: "test", Path: l, Value: field.List{field.Map{{Key: "n", Value: "y"}}, "x"}}, ""},
		{"a test of a text where a list is", field.Operation{Op: "test", Path: l, Value: "x"}, ""},
		{"a test of a list where a number is", field.Operation{Op: "test", Path: a.Key("b"), Value: field.List{1}}, ""},
		{"what is not there is not replaced", field.Operation{Op: "replace", Path: a.Key("c"), Value: 2}, ""},
		{"a key is removed", field.Operation{Op: "remove", Path: a.Key("b")}, `{"a":{"null":null},"l":["x",{"n":"y"}]}`},
		{"an item is removed", field.Operation{Op: "remove", Path: l.Index(0)}, `{"a":{"b":1,"null":null},"l":[{"n":"y"}]}`},
		{"what is not there is not removed", field.Operation{Op: "remove", Path: l.Index(2)}, ""},
		{"a key that is not there is not removed", field.Operation{Op: "remove", Path: a.Key("c")}, ""},
		{"an item at the index of the end", field.Operation{Op: "add", Path: l.Index(2), Value: 2}, `{"a":{"b":1,"null":null},"l":["x",{"n":"y"},2]}`},
		{"a key in an item at the end", field.Operation{Op: "add", Path: l.Index(2).Key("n"), Value: 2}, ""},
		{"a key in an item behind all", field.Operation{Op: "add", Path: l.Join(field.Path{field.End, {Key: "n"}}), Value: 2}, ""},
		{"an item at the end is not replaced", field.Operation{Op: "replace", Path: l.Index(2), Value: 2}, ""},
		{"an item at the end is not tested", field.Operation{Op: "test", Path: l.Index(2)}, ""},
		{"an item before the first", field.Operation{Op: "test", Path: l.Index(-3)}, ""},
		{"a key of a list", field.Operation{Op: "add", Path: l.Key("n"), Value: 2}, ""},
		{"an item of a mapping", field.Operation{Op: "add", Path: a.Index(0), Value: 2}, ""},
		{"a key of a text", field.Operation{Op: "add", Path: l.Index(0).Key("n"), Value: 2}, ""},
	} {
		before := value(t, object)
		got, err := c.op.Apply(before)
		switch {
		case (err != nil) != (c.want == ""):
			t.Errorf("%s: the error is %v", c.name, err)
		case err == nil && !field.Same(got, value(t, c.want)):
			t.Errorf("%s: %s", c.name, field.AppendJSON(nil, got))
		case !field.Same(before, value(t, object)):
			t.Errorf("%s: the object itself has changed", c.name)
		}
	}
}

func TestWhyAnOperationFailsIsSaid(t *testing.T) {
	a, l := field.NewPath("a"), field.NewPath("l")
	for _, c := range []struct {
		op   field.Operation
		want string
	}{
		{field.Operation{Op: "test", Path: a.Key("b"), Value: 2}, "it has another value"},
		{field.Operation{Op: "remove", Path: a.Key("c")}, `it has no "/c"`},
		{field.Operation{Op: "remove", Path: l.Index(2)}, "the list has 2 items"},
	} {
		_, err := c.op.Apply(value(t, `{"a":{"b":1},"l":["x","y"]}`))
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %s", c.op.Op, c.op.Path, err, c.want)
		}
	}
}

func TestAPathIsAJSONPointer(t *testing.T) {
	path := field.NewPath("metadata", "a/b~c").Item("l", 2).Join(field.Path{field.End})
	if got := path.Pointer(); got != "/metadata/a~1b~0c/l/2/-" {
		t.Errorf("Pointer returns %s", got)
	}
}

// The indexes that edits name are those before all edits; operations are made one after the other.
func TestEditsOfOneListBecomeOperationsInOrder(t *testing.T) {
	l := field.NewPath("l")
	edits := []field.Edit{
		{Op: field.Insert, Path: l.Index(0), Value: "first"},
		{Op: field.Insert, Path: l.Index(0), Value: "second"},
		{Op: field.Delete, Path: l.Index(0)},
		{Op: field.Set, Path: l.Index(1).Key("n"), Value: 2},
		{Op: field.Insert, Path: l.Index(2), Value: "near the end"},
		{Op: field.Insert, Path: l.Index(2), Value: "the end"},
		{Op: field.Rename, Path: field.NewPath("tcp"), NewKey: "http", Value: field.Map{}},
		{Op: field.Set, Path: field.NewPath("x", "y", "z"), Value: true},
		{Op: field.Insert, Path: field.NewPath("new").Index(0), Value: 1},
	}
	tests, changes, after, err := field.Operations(value(t, `{"l":["a",{"n":1}],"tcp":{},"http":null}`), edits)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"l":["first","second",{"n":2},"near the end","the end"],"tcp":null,"http":{},"x":{"y":{"z":true}},"new":[1]}`
	if !field.Equal(after, value(t, want)) {
		t.Errorf("the object becomes %s, want %s", field.AppendJSON(nil, after), want)
	}
	var v field.Value = value(t, `{"l":["a",{"n":1}],"tcp":{},"http":null}`)
	for _, op := range append(tests, changes...) {
		if v, err = op.Apply(v); err != nil {
			t.Fatal(err)
		}
	}
	if !field.Equal(v, after) {
		t.Errorf("the operations give %s", field.AppendJSON(nil, v))
	}
}

func TestOperations_testBeforeTheyWrite(t *testing.T) {
	const object = `{"a":{"b":1},"l":["x"]}`
	for _, c := range []struct {
		name    string
		edit    field.Edit
		changed string // an object for which a test must fail
	}{
		{"another value", field.Edit{Op: field.Set, Path: field.NewPath("a", "b"), Value: 2}, `{"a":{"b":3},"l":["x"]}`},
		{"a value that is there now", field.Edit{Op: field.Set, Path: field.NewPath("a", "c"), Value: 2}, `{"a":{"b":1,"c":3},"l":["x"]}`},
		{"a parent that is there now", field.Edit{Op: field.Set, Path: field.NewPath("n", "c"), Value: 2}, `{"a":{"b":1},"l":["x"],"n":{}}`},
		{"a list that is there now", field.Edit{Op: field.Insert, Path: field.NewPath("n").Index(0), Value: 2}, `{"a":{"b":1},"l":["x"],"n":[]}`},
		{"another item", field.Edit{Op: field.Delete, Path: field.NewPath("l").Index(0)}, `{"a":{"b":1},"l":["y"]}`},
		{"the new key of a renamed one", field.Edit{Op: field.Rename, Path: field.NewPath("a"), NewKey: "z", Value: 1}, `{"a":{"b":1},"l":["x"],"z":1}`},
	} {
		tests, _, _, err := field.Operations(value(t, object), []field.Edit{c.edit})
		if err != nil {
			t.Fatal(err)
		}
		holds := func(v field.Value) bool {
			for _, op := range tests {
				if _, err := op.Apply(v); err != nil {
					return false
				}
			}
			return true
		}
		if !holds(value(t, object)) || holds(value(t, c.changed)) {
			t.Errorf("%s: the tests are %v", c.name, tests)
		}
	}
}

func TestAnOperationIsWrittenAsKustomizeTakesIt(t *testing.T) {
	at := field.NewPath("a", "b/c").Index(1)
	for want, o := range map[string]field.Operation{
		`{"op":"remove","path":"/a/b~1c/1"}`:                {Op: field.OpRemove, Path: at, Value: "old"},
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
			if got, err := (field.Operation{Op: op, Path: path, Value: i}).Apply(base); err == nil {
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

// The first edit that cannot be made is the error, and says where.
func TestAnEditThatCannotBeMadeIsTheError(t *testing.T) {
	object := value(t, `{"a":{"b":1},"l":["x"]}`)
	for _, c := range []struct {
		edits []field.Edit
		want  string
	}{
		{[]field.Edit{{Op: field.Delete, Path: field.NewPath("a", "x")}, {Op: field.Delete, Path: field.NewPath("l").Index(5)}}, `remove /a/x: it has no "/x"`},
		{[]field.Edit{{Op: field.Delete, Path: field.NewPath("l").Index(5)}}, `remove /l/5: the list has 1 items`},
		{[]field.Edit{{Op: field.Set, Path: field.NewPath("a", "b", "c"), Value: 1}}, `add /a/b/c: nothing is there`},
		{[]field.Edit{{Op: field.Set, Path: field.NewPath("n").Index(0).Key("c"), Value: 1}}, `n[0].c: there is no list`},
		{[]field.Edit{{Op: field.Set, Path: field.NewPath("n").Index(0).Key("c"), Value: 1}, {Op: field.Delete, Path: field.NewPath("a", "x")}}, `n[0].c: there is no list`},
		{[]field.Edit{{Op: field.Rename, Path: field.NewPath("x"), NewKey: "y", Value: 1}}, `remove /x: it has no "/x"`},
		{[]field.Edit{{Op: field.Insert, Path: field.NewPath("l").Index(2), Value: 1}}, `add /l/2: the list has 1 items`},
	} {
		if _, _, _, err := field.Operations(object, c.edits); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.edits, err, c.want)
		}
	}
}

// Each value that edits replace is tested as it was before all of them; what they add themselves is not.
func TestTestsAreThoseOfTheObjectBefore(t *testing.T) {
	const object = `{"a":{"b":1,"c":2},"l":["x","y"]}`
	a, l := field.NewPath("a"), field.NewPath("l")
	_, _, after, err := field.Operations(value(t, object), nil)
	if err != nil || !field.Same(after, value(t, object)) {
		t.Errorf("no edits give %v, %v", after, err)
	}
	for want, edits := range map[string][]field.Edit{
		`{"op":"test","path":"/a/b","value":1}`:                                          {{Op: field.Delete, Path: a.Key("b")}},
		`{"op":"test","path":"/n","value":null}`:                                         {{Op: field.Set, Path: field.NewPath("n", "o"), Value: 1}, {Op: field.Set, Path: field.NewPath("n", "p"), Value: 2}},
		`{"op":"test","path":"/a/d","value":null}`:                                       {{Op: field.Set, Path: a.Key("d"), Value: 1}, {Op: field.Set, Path: a.Key("b"), Value: 1}},
		`{"op":"test","path":"/a/c","value":2}`:                                          {{Op: field.Set, Path: a.Key("c"), Value: 3}},
		`{"op":"test","path":"/l/1","value":"y"}{"op":"test","path":"/l/0","value":"x"}`: {{Op: field.Delete, Path: l.Index(0)}, {Op: field.Delete, Path: l.Index(1)}},
		`{"op":"test","path":"/a/b","value":1}{"op":"test","path":"/a/z","value":null}`:  {{Op: field.Rename, Path: a.Key("b"), NewKey: "z", Value: 1}},
	} {
		tests, changes, _, err := field.Operations(value(t, object), edits)
		var got []byte
		for _, o := range tests {
			got = o.AppendJSON(got)
		}
		if string(got) != want || err != nil || len(changes) == 0 {
			t.Errorf("%v: the tests are %s, want %s (%v)", edits, got, want, err)
		}
	}
}
