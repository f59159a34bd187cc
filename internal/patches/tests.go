package patches

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A Reading is what must not change in an object, by paths from its root.
type Reading struct {
	Fields []field.Path // their values, or that they are absent
	Names  []field.Path // the names of a list's items, and how many there are
}

// Tests returns operations that fail if what is read of an object has changed. The object has the
// annotations that kustomize adds while it builds, see [Built].
func (r Reading) Tests(object field.Value) []field.Operation {
	t := tests{object: object}
	for _, path := range r.Names {
		t.names(path)
	}
	for _, path := range r.Fields {
		t.add(path)
	}
	return t.ops
}

type tests struct {
	object field.Value
	ops    []field.Operation
}

// add tests the value at a path or, where nothing is, that the first missing step stays missing.
func (t *tests) add(path field.Path) {
	v, steps := field.At(t.object, path)
	if steps < len(path) {
		path = path[:steps+1]
	}
	t.ops = append(t.ops, field.Operation{Op: field.OpTest, Path: path, Value: v})
}

// names tests the names of a list's items, or all of the list if one has none. The last item is also
// tested by its index from the end, so that one more item is found.
func (t *tests) names(list field.Path) {
	v, _ := field.At(t.object, list)
	items, _ := v.(field.List)
	isNameless := func(v field.Value) bool {
		m, _ := v.(field.Map)
		return field.As[string](m, "name") == ""
	}
	if len(items) == 0 || slices.ContainsFunc(items, isNameless) {
		t.add(list)
		return
	}
	for i := range items {
		t.add(list.Index(i).Key("name"))
	}
	t.add(list.Join(field.Path{field.LastItem, {Key: "name"}}))
}

// Merged returns the tests without those that others imply: of the same path, or below one whose
// whole value is tested.
func Merged(tests ...[]field.Operation) []field.Operation {
	var all []field.Operation
	var pointers []string
	known := make(map[string]bool)
	whole := make(map[string]bool)
	for _, t := range slices.Concat(tests...) {
		p := t.Path.Pointer()
		if !known[p] {
			known[p] = true
			all = append(all, t)
			pointers = append(pointers, p)
		}
		switch t.Value.(type) {
		case nil, field.Map, field.List:
			whole[p] = true
		}
	}
	kept := all[:0]
	for i, t := range all {
		if !isBelow(pointers[i], whole) {
			kept = append(kept, t)
		}
	}
	return kept
}

// isBelow reports whether a pointer leads to something below one of others.
func isBelow(pointer string, others map[string]bool) bool {
	for i := 1; i < len(pointer); i++ {
		if pointer[i] == '/' && others[pointer[:i]] {
			return true
		}
	}
	return false
}

// Built returns an object as kustomize has it while it builds: with annotations.
func Built(object field.Value) field.Value {
	o, _ := object.(field.Map)
	metadata := field.As[field.Map](o, "metadata")
	if v, _ := metadata.Get("annotations"); v != nil || metadata == nil {
		return object
	}
	none := field.Entry{Key: "annotations", Value: field.Map{}}
	metadata = append(slices.Clip(metadata), none)
	return field.Merge(o, field.Map{{Key: "metadata", Value: metadata}})
}

// IsExact reports whether kustomize keeps every number of a value when it patches its object: it
// reads each as a float64.
func IsExact(v field.Value) bool {
	const limit = 1 << 53
	switch v := v.(type) {
	case field.Map:
		return !slices.ContainsFunc(v, func(e field.Entry) bool {
			return !IsExact(e.Value)
		})
	case field.List:
		return !slices.ContainsFunc(v, func(v field.Value) bool {
			return !IsExact(v)
		})
	case int:
		return -limit <= int64(v) && int64(v) <= limit
	case float64:
		return -limit < v && v < limit
	}
	return true
}
