package field_test

import (
	"reflect"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

func TestAMappingWithNothingButRemovalsAddsNothing(t *testing.T) {
	for _, c := range []struct{ base, changes, want field.Map }{
		{nil, field.Map{{Key: "a", Value: field.Map{{Key: "b"}, {Key: "c", Value: 1}}}}, field.Map{{Key: "a", Value: field.Map{{Key: "c", Value: 1}}}}},
		{nil, field.Map{{Key: "a", Value: field.Map{{Key: "b"}}}, {Key: "d"}}, nil},
		{field.Map{{Key: "a", Value: 1}, {Key: "e", Value: 2}}, field.Map{{Key: "a"}, {Key: "e", Value: field.Map{}}}, field.Map{{Key: "e", Value: field.Map{}}}},
		{field.Map{{Key: "a", Value: field.Map{{Key: "b", Value: 1}}}}, field.Map{{Key: "a", Value: field.Map{{Key: "b"}, {Key: "c", Value: 3}}}}, field.Map{{Key: "a", Value: field.Map{{Key: "c", Value: 3}}}}},
	} {
		if got := field.Merge(c.base, c.changes); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v over %v is %v, want %v", c.changes, c.base, got, c.want)
		}
	}
}

// Values are the same in their order, and equal in any; neither compares what cannot be compared.
func TestValuesOfAllTypesAreCompared(t *testing.T) {
	ab, ba := field.Map{{Key: "a", Value: 1}, {Key: "b", Value: nil}}, field.Map{{Key: "b", Value: nil}, {Key: "a", Value: 1}}
	values := []field.Value{
		nil, "", "a", 0, 1, 1.0, true, false, field.Map{}, field.List{}, field.List{nil}, field.List{"a", 1}, field.List{1, "a"}, field.List{field.List{}}, field.List{field.Map{}},
		ab, ba, field.Map{{Key: "a", Value: 1}}, field.Map{{Key: "a", Value: 2}, {Key: "b", Value: nil}}, field.Map{{Key: "a", Value: 1}, {Key: "c", Value: nil}}, field.Map{{Key: "x", Value: ab}}, field.Map{{Key: "x", Value: ba}},
	}
	for i, a := range values {
		for j, b := range values {
			same := i == j
			if got := field.Same(a, b); got != same {
				t.Errorf("%#v and %#v are the same: %t", a, b, got)
			}
			isOrder := reflect.DeepEqual(a, field.Value(ab)) && reflect.DeepEqual(b, field.Value(ba)) || reflect.DeepEqual(a, field.Value(ba)) && reflect.DeepEqual(b, field.Value(ab)) || min(i, j) == len(values)-2 && i != j
			if got := field.Equal(a, b); got != (same || isOrder) {
				t.Errorf("%#v and %#v are equal: %t", a, b, got)
			}
		}
	}
}
