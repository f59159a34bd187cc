package field

import "slices"

// Strings are labels or annotations in their order. There are few, so that a
// linear search is faster than a map and takes less memory. Like paths they are
// immutable.
type Strings []Pair

// A Pair is one label or annotation.
type Pair struct{ Key, Value string }

// Lookup returns the value of a key and whether it is there.
func (s Strings) Lookup(key string) (string, bool) {
	for i := range s {
		if s[i].Key == key {
			return s[i].Value, true
		}
	}
	return "", false
}

// Get returns the value of a key, or "".
func (s Strings) Get(key string) string {
	v, _ := s.Lookup(key)
	return v
}

// With returns the strings with the key set, in its place or last.
func (s Strings) With(key, value string) Strings {
	if old, set := s.Lookup(key); set && old == value {
		return s
	}
	t := append(make(Strings, 0, len(s)+1), s...)
	for i := range t {
		if t[i].Key == key {
			t[i].Value = value
			return t
		}
	}
	return append(t, Pair{key, value})
}

// Without returns the strings without the key.
func (s Strings) Without(key string) Strings {
	if _, set := s.Lookup(key); !set {
		return s
	}
	return slices.DeleteFunc(slices.Clone(s), func(p Pair) bool { return p.Key == key })
}
