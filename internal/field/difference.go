package field

import "slices"

// Difference returns the operations that make a value of another: tests of what they replace, remove
// or add in it, and the changes. The changes are made one after the other. In a list an item stays the
// one that has its name or, without a name, its value; in lists of one length the one in its place.
// Both values are mappings or both lists; null and absent are different.
func Difference(before, after Value) (tests, changes []Operation) {
	var d difference
	d.value(nil, before, after)
	return d.tests, d.changes
}

type difference struct{ tests, changes []Operation }

// value adds what makes the value at a path another one. The path is good for both the value before all
// changes and the one after those so far: what shifts items of a list comes after what changes them.
func (d *difference) value(path Path, before, after Value) {
	switch b := before.(type) {
	case Map:
		if a, isMap := after.(Map); isMap {
			d.mapping(path, b, a)
			return
		}
	case List:
		if a, isList := after.(List); isList {
			d.list(path, b, a)
			return
		}
	}
	if Equal(before, after) {
		return
	}
	op := OpReplace
	if before == nil && !path[len(path)-1].IsIndex {
		op = OpAdd // an entry that is null counts as absent
	}
	d.change(op, path, before, after)
}

// change adds a change of the value at a path, and a test of that value.
func (d *difference) change(op string, path Path, before, after Value) {
	d.tests = append(d.tests, Operation{Op: OpTest, Path: path, Value: before})
	d.changes = append(d.changes, Operation{Op: op, Path: path, Value: after})
}

func (d *difference) mapping(path Path, before, after Map) {
	for _, e := range before {
		if now, stays := after.Get(e.Key); stays {
			d.value(path.Key(e.Key), e.Value, now)
		} else {
			d.change(OpRemove, path.Key(e.Key), e.Value, nil)
		}
	}
	for _, e := range after {
		if _, had := before.Get(e.Key); !had {
			d.change(OpAdd, path.Key(e.Key), nil, e.Value)
		}
	}
}

// list changes the items that stay, then removes from the end, then adds in order: so each index is
// that of the list at this moment.
func (d *difference) list(path Path, before, after List) {
	origins := origins(before, after)
	for i, from := range origins {
		if from >= 0 {
			d.value(path.Index(from), before[from], after[i])
		}
	}
	kept := slices.DeleteFunc(slices.Clone(origins), func(from int) bool { return from < 0 })
	n := len(kept)
	for i, v := range slices.Backward(before) {
		if len(kept) > 0 && kept[len(kept)-1] == i {
			kept = kept[:len(kept)-1]
			continue
		}
		d.change(OpRemove, path.Index(i), v, nil)
	}
	for i, from := range origins {
		if from >= 0 {
			continue
		}
		at := path.Index(i)
		if i == n {
			at = path.Join(Path{End})
		}
		d.changes = append(d.changes, Operation{Op: OpAdd, Path: at, Value: after[i]})
		n++
	}
}

// origins returns for each item of a list its index in the list before; -1 for a new one. The
// indexes increase.
func origins(before, after List) []int {
	places := make(map[string][]int, len(before))
	for i, v := range before {
		key := identity(v)
		places[key] = append(places[key], i)
	}
	all := make([]int, len(after))
	next := 0 // the first item that can still be meant
	inPlace := len(before) == len(after)
	for i, v := range after {
		key := identity(v)
		left := places[key]
		for len(left) > 0 && left[0] < next {
			left = left[1:]
		}
		places[key] = left
		all[i] = -1
		if len(left) > 0 {
			all[i] = left[0]
			next = all[i] + 1
			inPlace = inPlace && all[i] == i
		}
	}
	for i := range all {
		if inPlace && nameOf(before[i]) == nameOf(after[i]) {
			all[i] = i
		}
	}
	return all
}

// identity returns what the same items of two lists have in common: the name or, without one, the value.
func identity(v Value) string {
	if name := nameOf(v); name != "" {
		return "name " + name
	}
	return string(AppendJSON(nil, v))
}

func nameOf(v Value) string {
	m, _ := v.(Map)
	return As[string](m, "name")
}
