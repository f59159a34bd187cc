package field

import (
	"slices"
)

// AppendSet appends an entry unless its value is empty.
func AppendSet(m Map, key, value string) Map {
	if value != "" {
		m = append(m, Entry{Key: key, Value: value})
	}
	return m
}

// Merge returns base with the entries of changes, mappings merged deeply. A nil
// value removes a key.
func Merge(base, changes Map) Map {
	out := slices.Clone(base)
	for _, e := range changes {
		i := slices.IndexFunc(out, func(o Entry) bool {
			return o.Key == e.Key
		})
		switch {
		case e.Value == nil && i < 0:
		case e.Value == nil:
			out = slices.Delete(out, i, i+1)
		case i < 0:
			if change, _ := e.Value.(Map); len(change) > 0 {
				if e.Value = Merge(nil, change); len(e.Value.(Map)) == 0 {
					continue // it removes what is not there
				}
			}
			out = append(out, e)
		default:
			have, isMap := out[i].Value.(Map)
			if change, both := e.Value.(Map); isMap && both {
				out[i].Value = Merge(have, change)
			} else {
				out[i].Value = e.Value
			}
		}
	}
	return out
}

// Same reports whether two values are equal, as reflect.DeepEqual does, which takes a
// tenth of the CPU of a second run.
func Same(a, b Value) bool {
	switch a := a.(type) {
	case Map:
		b, ok := b.(Map)
		return ok && slices.EqualFunc(a, b, sameEntry)
	case List:
		b, ok := b.(List)
		return ok && slices.EqualFunc(a, b, Same)
	}
	return a == b // false if b is a mapping or a list
}

func sameEntry(a, b Entry) bool {
	return a.Key == b.Key && Same(a.Value, b.Value)
}
