package field

import "slices"

// KeyValues are labels or annotations in their order. There are few of them, so
// that a linear search is faster than a map and takes less memory. Like paths,
// they are immutable: the methods that change something return a copy.
type KeyValues []KeyValue

// A KeyValue is one label or annotation.
type KeyValue struct{ Key, Value string }

// Lookup returns the value of a key and whether it is there.
func (s KeyValues) Lookup(key string) (string, bool) {
	for i := range s {
		if s[i].Key == key {
			return s[i].Value, true
		}
	}
	return "", false
}

// Get returns the value of a key, or "".
func (s KeyValues) Get(key string) string {
	v, _ := s.Lookup(key)
	return v
}

// With returns s with the value for the key: in the key's place, or last if the
// key is new.
func (s KeyValues) With(key, value string) KeyValues {
	i := slices.IndexFunc(s, func(p KeyValue) bool {
		return p.Key == key
	})
	switch {
	case i < 0:
		return append(slices.Clip(s), KeyValue{key, value})
	case s[i].Value == value:
		return s
	}
	t := slices.Clone(s)
	t[i].Value = value
	return t
}

// Without returns s without the key.
func (s KeyValues) Without(key string) KeyValues {
	if _, set := s.Lookup(key); !set {
		return s
	}
	return slices.DeleteFunc(slices.Clone(s), func(p KeyValue) bool { return p.Key == key })
}

// Map returns the entries as a mapping; nil if there are none.
func (s KeyValues) Map() Map {
	var m Map
	for _, p := range s {
		m = append(m, Entry{Key: p.Key, Value: p.Value})
	}
	return m
}
