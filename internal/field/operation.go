package field

import (
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
	OpCopy    = "copy"
)

// An Operation is one operation of a JSON Patch (RFC 6902), in the dialect of the library that
// kustomize uses: the index -1 is the last item of a list, and a test of null passes where nothing is.
type Operation struct {
	Op    string
	Path  Path // must have a step
	From  Path // of a copy alone, which has no value
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
	if o.Op == OpCopy {
		b = AppendJSON(append(b, `,"from":`...), o.From.Pointer())
	}
	b = AppendJSON(append(b, `,"path":`...), o.Path.Pointer())
	if o.Op != OpRemove && o.Op != OpCopy {
		b = AppendJSON(append(b, `,"value":`...), o.Value)
	}
	return append(b, '}')
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

// At returns the value at a path, in which [LastItem] may be, nil where there is none, and how many of the path's steps lead
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
			i := int(s.Index)
			if s == LastItem {
				i = len(c) - 1
			}
			if s.IsIndex && i >= 0 && i < len(c) {
				next = c[i]
			}
		}
		if next == nil {
			return nil, i
		}
		v = next
	}
	return v, len(path)
}
