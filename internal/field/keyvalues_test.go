package field_test

import (
	"slices"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

func TestKeyValuesAreChangedInCopies(t *testing.T) {
	s := field.KeyValues{{"a", "1"}, {"b", ""}}
	before := slices.Clone(s)
	for _, tt := range []struct {
		name      string
		got, want field.KeyValues
	}{
		{"set", s.With("a", "2"), field.KeyValues{{"a", "2"}, {"b", ""}}},
		{"added", s.With("c", "3"), field.KeyValues{{"a", "1"}, {"b", ""}, {"c", "3"}}},
		{"the same", s.With("b", ""), s},
		{"removed", s.Without("a"), field.KeyValues{{"b", ""}}},
		{"not there", s.Without("c"), s},
		{"added to none", field.KeyValues(nil).With("c", "3"), field.KeyValues{{"c", "3"}}},
	} {
		if !slices.Equal(tt.got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	if !slices.Equal(s, before) {
		t.Errorf("was changed: %v", s)
	}
	if m := s.Map(); len(m) != 2 || m[0] != (field.Entry{Key: "a", Value: "1"}) || m[1] != (field.Entry{Key: "b", Value: ""}) || field.KeyValues(nil).Map() != nil {
		t.Errorf("as a mapping: %v", m)
	}
	if v, set := s.Lookup("b"); v != "" || !set {
		t.Errorf("an empty value: %q %v", v, set)
	}
	if v, set := s.Lookup("c"); v != "" || set || s.Get("a") != "1" {
		t.Errorf("a missing key: %q %v", v, set)
	}
}

// Several may add to the same labels, which have room for more.
func TestSeveralMayAddToTheSameLabels(t *testing.T) {
	s := append(make(field.KeyValues, 0, 8), field.KeyValue{Key: "a", Value: "1"})
	b, c, without, other := s.With("b", "2"), s.With("c", "3"), s.Without("a"), s.With("a", "4")
	if b.Get("b") != "2" || b.Get("c") != "" || c.Get("c") != "3" || len(without) != 0 || other.Get("a") != "4" || len(s) != 1 || s.Get("a") != "1" {
		t.Errorf("%v, %v, %v and %v of %v", b, c, without, other, s)
	}
}
