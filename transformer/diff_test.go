package transformer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// An edit of a whole list or mapping would take the comments in it along.
func TestADifferenceIsEditedWhereItIs(t *testing.T) {
	at := field.NewPath("spec")
	env := func(value string) field.List {
		return field.List{field.Map{{Key: "name", Value: "A"}, {Key: "value", Value: "1"}}, field.Map{{Key: "name", Value: "B"}, {Key: "value", Value: value}}}
	}
	all := func(string) bool { return true }
	for name, c := range map[string]struct {
		have, want field.Value
		owned      func(string) bool
		edits      []field.Edit
	}{
		"equal":            {field.Map{{Key: "env", Value: env("2")}}, field.Map{{Key: "env", Value: env("2")}}, nil, nil},
		"equal lists":      {env("2"), env("2"), nil, nil},
		"item of a list":   {env("2"), env("3"), nil, []field.Edit{{Op: field.Set, Path: at.Index(1).Key("value"), Value: "3"}}},
		"longer list":      {env("2")[:1], env("2"), nil, []field.Edit{{Op: field.Set, Path: at, Value: env("2")}}},
		"another type":     {env("2"), field.Map{}, nil, []field.Edit{{Op: field.Set, Path: at, Value: field.Map{}}}},
		"scalar to list":   {"2", field.List{"2"}, nil, []field.Edit{{Op: field.Set, Path: at, Value: field.List{"2"}}}},
		"list to scalar":   {field.List{"2"}, "2", nil, []field.Edit{{Op: field.Set, Path: at, Value: "2"}}},
		"number to string": {2, "2", nil, []field.Edit{{Op: field.Set, Path: at, Value: "2"}}},
		"key in a mapping": {field.Map{{Key: "a", Value: 1}, {Key: "b", Value: 2}}, field.Map{{Key: "b", Value: 3}, {Key: "a", Value: 1}}, nil,
			[]field.Edit{{Op: field.Set, Path: at.Key("b"), Value: 3}}},
		"new key":         {field.Map{{Key: "a", Value: 1}}, field.Map{{Key: "a", Value: 1}, {Key: "b", Value: nil}}, nil, []field.Edit{{Op: field.Set, Path: at.Key("b")}}},
		"key that goes":   {field.Map{{Key: "a", Value: 1}, {Key: "b", Value: 2}}, field.Map{{Key: "b", Value: 2}}, all, []field.Edit{{Op: field.Delete, Path: at.Key("a")}}},
		"another's key":   {field.Map{{Key: "a", Value: 1}, {Key: "b", Value: 2}}, field.Map{{Key: "b", Value: 2}}, func(k string) bool { return k == "b" }, nil},
		"order is no key": {field.Map{{Key: "a", Value: 1}, {Key: "b", Value: 2}}, field.Map{{Key: "b", Value: 2}, {Key: "a", Value: 1}}, nil, nil},
	} {
		if d := cmp.Diff(c.edits, diff(at, c.have, c.want, c.owned)); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
	}
}
