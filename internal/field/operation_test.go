package field_test

import (
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
