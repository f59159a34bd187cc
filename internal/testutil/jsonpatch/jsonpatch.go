// Package jsonpatch applies operations to values, as the library that kustomize uses does. Tests
// judge patches with it.
package jsonpatch

import (
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// Apply returns the value after the operations; v stays as it is. A test that does not hold is an
// error, and so is a path that leads to nothing.
func Apply(v field.Value, operations ...field.Operation) (field.Value, error) {
	for _, o := range operations {
		var err error
		if v, err = operation(o).apply(v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

type operation field.Operation

func (o operation) apply(v field.Value) (field.Value, error) {
	out, err := o.applyAt(v, o.Path)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", o.Op, o.Path.Pointer(), err)
	}
	return out, nil
}

func (o operation) applyAt(v field.Value, rest field.Path) (field.Value, error) {
	switch c := v.(type) {
	case field.Map:
		return o.applyInMap(c, rest)
	case field.List:
		return o.applyInList(c, rest)
	}
	return nil, fmt.Errorf("nothing is there")
}

func (o operation) applyInMap(m field.Map, rest field.Path) (field.Value, error) {
	step := rest[0]
	at := slices.IndexFunc(m, func(e field.Entry) bool {
		return e.Key == step.Key
	})
	if step.IsIndex ||
		at < 0 &&
			(len(rest) > 1 ||
				o.Op == field.OpReplace ||
				o.Op == field.OpRemove) {
		return nil, fmt.Errorf("it has no %q", field.Path{step}.Pointer())
	}
	if len(rest) > 1 {
		inner, err := o.applyAt(m[at].Value, rest[1:])
		if err != nil || o.Op == field.OpTest {
			return m, err
		}
		m = slices.Clone(m)
		m[at].Value = inner
		return m, nil
	}
	switch {
	case o.Op == field.OpTest:
		old, _ := m.Get(step.Key)
		return m, o.compare(old)
	case at < 0:
		return append(slices.Clip(m), field.Entry{Key: step.Key, Value: o.Value}), nil
	case o.Op == field.OpRemove:
		return slices.Delete(slices.Clone(m), at, at+1), nil
	}
	m = slices.Clone(m)
	m[at].Value = o.Value
	return m, nil
}

func (o operation) applyInList(l field.List, rest field.Path) (field.Value, error) {
	at := int(rest[0].Index)
	isEnd := rest[0] == field.End
	switch {
	case isEnd:
		at = len(l)
	case at < 0:
		at += len(l)
	}
	limit := len(l)
	if o.Op == field.OpAdd && len(rest) == 1 {
		limit++
	}
	if !rest[0].IsIndex && !isEnd ||
		at < 0 ||
		at >= limit {
		return nil, fmt.Errorf("the list has %d items", len(l))
	}
	if len(rest) > 1 {
		inner, err := o.applyAt(l[at], rest[1:])
		if err != nil || o.Op == field.OpTest {
			return l, err
		}
		l = slices.Clone(l)
		l[at] = inner
		return l, nil
	}
	switch o.Op {
	case field.OpTest:
		return l, o.compare(l[at])
	case field.OpAdd:
		return slices.Insert(slices.Clone(l), at, o.Value), nil
	case field.OpRemove:
		return slices.Delete(slices.Clone(l), at, at+1), nil
	}
	l = slices.Clone(l)
	l[at] = o.Value
	return l, nil
}

func (o operation) compare(have field.Value) error {
	if !field.Equal(have, o.Value) {
		return fmt.Errorf("it has another value")
	}
	return nil
}
