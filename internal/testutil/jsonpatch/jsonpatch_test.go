package jsonpatch_test

import (
	"strings"
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
		got, err := jsonpatch.Apply(before, c.op)
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
		_, err := jsonpatch.Apply(value(t, `{"a":{"b":1},"l":["x","y"]}`), c.op)
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %s", c.op.Op, c.op.Path, err, c.want)
		}
	}
}

// The indexes that edits name are those before all edits; they are made one after the other.
func TestEditsOfOneListAreMadeInOrder(t *testing.T) {
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
	after, err := jsonpatch.Edited(value(t, `{"l":["a",{"n":1}],"tcp":{},"http":null}`), edits)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"l":["first","second",{"n":2},"near the end","the end"],"tcp":null,"http":{},"x":{"y":{"z":true}},"new":[1]}`
	if !field.Equal(after, value(t, want)) {
		t.Errorf("the object becomes %s, want %s", field.AppendJSON(nil, after), want)
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
		if _, err := jsonpatch.Edited(object, c.edits); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.edits, err, c.want)
		}
	}
}
