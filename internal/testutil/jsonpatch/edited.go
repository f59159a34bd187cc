package jsonpatch

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// Edited returns an object after edits, made on values: the judge of the editor of texts. The places
// that edits name are those of the object before all of them.
func Edited(object field.Value, edits []field.Edit) (field.Value, error) {
	e := &editor{after: object}
	var shifts []field.Edit
	for _, edit := range edits {
		if edit.Op == field.Insert || edit.Op == field.Delete && edit.Path[len(edit.Path)-1].IsIndex {
			shifts = append(shifts, edit)
			continue
		}
		e.entry(edit)
	}
	sortShifts(shifts)
	for _, edit := range shifts {
		e.item(edit)
	}
	return e.after, e.err
}

// sortShifts puts what shifts the items of lists into an order in which each index still is what
// it was: the deeper lists first, and in a list the later items first.
func sortShifts(shifts []field.Edit) {
	slices.Reverse(shifts) // of several at one place, the first is in front in the end
	slices.SortStableFunc(shifts, func(p, q field.Edit) int {
		if len(p.Path) != len(q.Path) {
			return len(q.Path) - len(p.Path)
		}
		last := len(p.Path) - 1
		apart := q.Path[last].Index - p.Path[last].Index
		return cmp.Or(int(apart), int(q.Op-p.Op))
	})
}

type editor struct {
	after field.Value
	err   error // the first
}

func (e *editor) change(op string, path field.Path, v field.Value) {
	after, err := Apply(e.after, field.Operation{Op: op, Path: path, Value: v})
	if err != nil {
		e.err = cmp.Or(e.err, err)
		return
	}
	e.after = after
}

// entry makes an edit of an entry of a mapping.
func (e *editor) entry(edit field.Edit) {
	_, steps := field.At(e.after, edit.Path)
	switch {
	case edit.Op == field.Rename:
		e.rename(edit)
	case edit.Op == field.Delete:
		e.change(field.OpRemove, edit.Path, nil)
	case steps < len(edit.Path):
		e.create(edit.Path, steps, edit.Value)
	default:
		e.change(field.OpReplace, edit.Path, edit.Value)
	}
}

// rename replaces an entry, key and value. A field that is there as null under the new key counts
// as absent, and gets the old key.
func (e *editor) rename(edit field.Edit) {
	parent := edit.Path[:len(edit.Path)-1]
	in, _ := field.At(e.after, parent)
	m, _ := in.(field.Map)
	null, isNull := m.Get(edit.NewKey)
	if isNull && null == nil {
		e.change(field.OpReplace, edit.Path, nil)
	} else {
		e.change(field.OpRemove, edit.Path, nil)
	}
	e.change(field.OpAdd, parent.Key(edit.NewKey), edit.Value)
}

// create adds a value, with the mappings that are missing on the way.
func (e *editor) create(path field.Path, steps int, v field.Value) {
	for i := len(path) - 1; i > steps; i-- {
		if path[i].IsIndex {
			e.err = cmp.Or(e.err, fmt.Errorf("%s: there is no list", path))
			return
		}
		v = field.Map{{Key: path[i].Key, Value: v}}
	}
	op := field.OpAdd
	if path[steps].IsIndex { // a null item, beside which an operation would add another
		op = field.OpReplace
	}
	e.change(op, path[:steps+1], v)
}

// item inserts an item into a list, or deletes one.
func (e *editor) item(edit field.Edit) {
	list := edit.Path[:len(edit.Path)-1]
	_, steps := field.At(e.after, list)
	switch {
	case edit.Op == field.Delete:
		e.change(field.OpRemove, edit.Path, nil)
	case steps < len(list):
		e.create(list, steps, field.List{edit.Value})
	default:
		e.change(field.OpAdd, edit.Path, edit.Value)
	}
}
