package surroundings

import (
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A Stated is a setting of a mesh as the objects of its installation state it, and where. If they
// contradict each other, Is is Maybe, and At names both. The zero value is not stated.
type Stated struct {
	Is certain.Certainty
	At string
}

// add joins what another object states. Words for a person must name both.
func (s *Stated) add(is certain.Certainty, at string) {
	switch {
	case is == certain.Maybe:
	case s.At == "":
		*s = Stated{is, at}
	case s.Is != certain.Maybe && s.Is != is:
		*s = Stated{certain.Maybe, s.At + " and " + at + " disagree"}
	}
}

// dig returns the value below some keys; nil if there is none.
func dig(m field.Map, keys ...string) field.Value {
	for _, key := range keys[:len(keys)-1] {
		m = lastOf[field.Map](m, key)
	}
	v, _ := last(m, keys[len(keys)-1])
	return v
}

// last returns the value of the last entry of a key: a parser of the API server takes that.
func last(m field.Map, key string) (v field.Value, set bool) {
	for _, e := range m {
		if e.Key == key {
			v, set = e.Value, true
		}
	}
	return v, set
}

func lastOf[T any](m field.Map, key string) T {
	v, _ := last(m, key)
	t, _ := v.(T)
	return t
}

// switchOf returns a boolean, also one in quotes; byDefault if it is absent, and Maybe if it is
// something else, such as a variable.
func switchOf(v field.Value, byDefault certain.Certainty) certain.Certainty {
	switch v {
	case nil:
		return byDefault
	case "":
		return certain.Never
	}
	return boolOf(v)
}

// textOf returns a scalar that is a text; "" if it is none.
func textOf(v field.Value) string {
	s, _ := v.(string)
	return strings.TrimSpace(s)
}
