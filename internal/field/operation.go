package field

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The names of operations.
const (
	OpTest    = "test"
	OpAdd     = "add"
	OpReplace = "replace"
	OpRemove  = "remove"
)

// An Operation is one operation of a JSON Patch (RFC 6902), in the dialect of the library that
// kustomize uses: the index -1 is the last item of a list, and a test of null passes where nothing is.
type Operation struct {
	Op    string
	Path  Path // must have a step
	Value Value
}

// End is the step behind the last item of a list.
var End = Step{Key: "-"}

// LastItem is the step to the last item of a list.
var LastItem = Step{Index: -1, IsIndex: true}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer returns the path as a JSON Pointer (RFC 6901).
func (p Path) Pointer() string {
	b := make([]byte, 0, 128)
	for _, s := range p {
		b = append(b, '/')
		switch {
		case s.IsIndex:
			b = strconv.AppendInt(b, int64(s.Index), 10)
		case strings.ContainsAny(s.Key, "~/"):
			b = append(b, pointerEscapes.Replace(s.Key)...)
		default:
			b = append(b, s.Key...)
		}
	}
	return string(b)
}

// AppendJSON appends the operation in JSON.
func (o Operation) AppendJSON(b []byte) []byte {
	b = AppendJSON(append(b, `{"op":`...), o.Op)
	b = AppendJSON(append(b, `,"path":`...), o.Path.Pointer())
	if o.Op != OpRemove {
		b = AppendJSON(append(b, `,"value":`...), o.Value)
	}
	return append(b, '}')
}

// Apply returns the value after the operation; v stays as it is. A test that does not hold is an
// error, and so is a path that leads to nothing.
func (o Operation) Apply(v Value) (Value, error) {
	return o.applyTo(clone(v))
}

// applyTo applies the operation in place: v shares nothing with another value, and neither does what it returns.
func (o Operation) applyTo(v Value) (Value, error) {
	o.Value = clone(o.Value)
	out, err := o.applyAt(v, o.Path)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", o.Op, o.Path.Pointer(), err)
	}
	return out, nil
}

func (o Operation) applyAt(v Value, rest Path) (Value, error) {
	switch c := v.(type) {
	case Map:
		return o.applyInMap(c, rest)
	case List:
		return o.applyInList(c, rest)
	}
	return nil, fmt.Errorf("nothing is there")
}

func (o Operation) applyInMap(m Map, rest Path) (Value, error) {
	step := rest[0]
	at := slices.IndexFunc(m, func(e Entry) bool {
		return e.Key == step.Key
	})
	if step.IsIndex ||
		at < 0 &&
			(len(rest) > 1 ||
				o.Op == OpReplace ||
				o.Op == OpRemove) {
		return nil, fmt.Errorf("it has no %q", Path{step}.Pointer())
	}
	if len(rest) > 1 {
		inner, err := o.applyAt(m[at].Value, rest[1:])
		if err != nil || o.Op == OpTest {
			return m, err
		}
		m[at].Value = inner
		return m, nil
	}
	switch {
	case o.Op == OpTest:
		old, _ := m.Get(step.Key)
		return m, o.compare(old)
	case at < 0:
		return append(m, Entry{Key: step.Key, Value: o.Value}), nil
	case o.Op == OpRemove:
		return slices.Delete(m, at, at+1), nil
	}
	m[at].Value = o.Value
	return m, nil
}

func (o Operation) applyInList(l List, rest Path) (Value, error) {
	at := int(rest[0].Index)
	isEnd := rest[0] == End
	switch {
	case isEnd:
		at = len(l)
	case at < 0:
		at += len(l)
	}
	limit := len(l)
	if o.Op == OpAdd && len(rest) == 1 {
		limit++
	}
	if !rest[0].IsIndex && !isEnd ||
		at < 0 ||
		at >= limit {
		return nil, fmt.Errorf("the list has %d items", len(l))
	}
	if len(rest) > 1 {
		inner, err := o.applyAt(l[at], rest[1:])
		if err != nil || o.Op == OpTest {
			return l, err
		}
		l[at] = inner
		return l, nil
	}
	switch o.Op {
	case OpTest:
		return l, o.compare(l[at])
	case OpAdd:
		return slices.Insert(l, at, o.Value), nil
	case OpRemove:
		return slices.Delete(l, at, at+1), nil
	}
	l[at] = o.Value
	return l, nil
}

func (o Operation) compare(have Value) error {
	if !Equal(have, o.Value) {
		return fmt.Errorf("it has another value")
	}
	return nil
}

// clone returns a copy of a value that shares no mapping and no list with it.
func clone(v Value) Value {
	switch v := v.(type) {
	case Map:
		m := slices.Clone(v)
		for i := range m {
			m[i].Value = clone(m[i].Value)
		}
		return m
	case List:
		l := slices.Clone(v)
		for i := range l {
			l[i] = clone(l[i])
		}
		return l
	}
	return v
}

// Equal reports whether two values are equal, whatever the order of mappings is.
func Equal(a, b Value) bool {
	switch a := a.(type) {
	case Map:
		b, ok := b.(Map)
		return ok && len(a) == len(b) && !slices.ContainsFunc(a, func(e Entry) bool {
			v, has := b.Get(e.Key)
			return !has || !Equal(e.Value, v)
		})
	case List:
		b, ok := b.(List)
		return ok && slices.EqualFunc(a, b, Equal)
	}
	return a == b // false if b is a mapping or a list
}

// At returns the value at a path, nil where there is none, and how many of the path's steps lead
// to something. A null is nothing.
func At(v Value, path Path) (at Value, steps int) {
	for i, s := range path {
		var next Value
		switch c := v.(type) {
		case Map:
			if !s.IsIndex {
				next, _ = c.Get(s.Key)
			}
		case List:
			if s.IsIndex &&
				s.Index >= 0 &&
				int(s.Index) < len(c) {
				next = c[s.Index]
			}
		}
		if next == nil {
			return nil, i
		}
		v = next
	}
	return v, len(path)
}
