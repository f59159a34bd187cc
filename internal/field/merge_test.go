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
