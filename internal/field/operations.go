package field

import (
	"cmp"
	"fmt"
	"slices"
)

// Operations returns the edits of an object as operations, which are applied one after the other:
// tests of what the edits replace or add, and the changes. after is the object after them. The
// places that edits name are those of the object before all of them.
func Operations(object Value, edits []Edit) (tests, changes []Operation, after Value, err error) {
	b := &patchBuilder{before: object, after: clone(object)}
	var shifts []Edit
	for _, e := range edits {
		if e.Op == Insert ||
			e.Op == Delete && e.Path[len(e.Path)-1].IsIndex {
			shifts = append(shifts, e)
			continue
		}
		b.entry(e)
	}
	sortShifts(shifts)
	for _, e := range shifts {
		b.item(e)
	}
	return b.tests, b.changes, b.after, b.err
}

// sortShifts puts what shifts the items of lists into an order in which each index still is what
// it was: the deeper lists first, and in a list the later items first.
func sortShifts(shifts []Edit) {
	slices.Reverse(shifts) // of several at one place, the first is in front in the end
	slices.SortStableFunc(shifts, func(p, q Edit) int {
		if len(p.Path) != len(q.Path) {
			return len(q.Path) - len(p.Path)
		}
		last := len(p.Path) - 1
		apart := q.Path[last].Index - p.Path[last].Index
		return cmp.Or(int(apart), int(q.Op-p.Op))
	})
}

// A patchBuilder collects operations, and applies each at once, in place: a list may have thousands of
// items, each with an operation.
type patchBuilder struct {
	before, after  Value
	tests, changes []Operation
	err            error // the first
}

// test demands what the object has at a path before all edits; nothing for what edits have added.
func (b *patchBuilder) test(path Path) {
	old, steps := At(b.before, path)
	if steps < len(path) {
		path = path[:steps+1]
	}
	b.tests = append(b.tests, Operation{Op: OpTest, Path: path, Value: old})
}

func (b *patchBuilder) change(op string, path Path, v Value) {
	o := Operation{Op: op, Path: path, Value: v}
	after, err := o.applyTo(b.after)
	if err != nil {
		b.err = cmp.Or(b.err, err)
		return
	}
	b.after = after
	b.changes = append(b.changes, o)
}

// entry makes an edit of an entry of a mapping.
func (b *patchBuilder) entry(e Edit) {
	old, steps := At(b.after, e.Path)
	switch {
	case e.Op == Rename:
		b.rename(e)
	case e.Op == Delete:
		b.test(e.Path)
		b.change(OpRemove, e.Path, nil)
	case steps < len(e.Path):
		b.create(e.Path, steps, e.Value)
	case !Equal(old, e.Value):
		b.test(e.Path)
		b.change(OpReplace, e.Path, e.Value)
	}
}

// rename replaces an entry, key and value. A field that is there as null under the new key counts
// as absent, and gets the old key.
func (b *patchBuilder) rename(e Edit) {
	parent := e.Path[:len(e.Path)-1]
	to := parent.Key(e.NewKey)
	in, _ := At(b.after, parent)
	m, _ := in.(Map)
	null, isNull := m.Get(e.NewKey)
	b.test(e.Path)
	b.test(to)
	if isNull && null == nil {
		b.change(OpReplace, e.Path, nil)
	} else {
		b.change(OpRemove, e.Path, nil)
	}
	b.change(OpAdd, to, e.Value)
}

// create adds a value, with the mappings that are missing on the way.
func (b *patchBuilder) create(path Path, steps int, v Value) {
	for i := len(path) - 1; i > steps; i-- {
		if path[i].IsIndex {
			b.err = cmp.Or(b.err, fmt.Errorf("%s: there is no list", path))
			return
		}
		v = Map{{Key: path[i].Key, Value: v}}
	}
	at := path[:steps+1]
	if _, had := At(b.before, at[:steps]); had == steps {
		b.test(at)
	}
	op := OpAdd
	if path[steps].IsIndex { // a null item, beside which an operation would add another
		op = OpReplace
	}
	b.change(op, at, v)
}

// item inserts an item into a list, or deletes one.
func (b *patchBuilder) item(e Edit) {
	list := e.Path[:len(e.Path)-1]
	last := e.Path[len(e.Path)-1]
	now, steps := At(b.after, list)
	items, isList := now.(List)
	switch {
	case e.Op == Delete:
		b.test(e.Path)
		b.change(OpRemove, e.Path, nil)
	case steps < len(list):
		b.create(list, steps, List{e.Value})
	case isList && int(last.Index) == len(items):
		b.change(OpAdd, list.Join(Path{End}), e.Value)
	default:
		b.change(OpAdd, e.Path, e.Value)
	}
}
