package yaml

import (
	"bytes"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A RawScalar is a plain scalar that is written as it was read.
type RawScalar string

// A part is a node of a tree, as a value that is only compared.
type part struct {
	t *Tree
	n int32
}

func (t *Tree) part(n int32) field.Value {
	return part{t, n}
}

// Raw returns the value of a node, with its plain scalars as they were read.
func (t *Tree) Raw(n int32) field.Value {
	switch v := &t.Nodes[n]; {
	case v.Kind != Scalar:
		return t.collection(n, t.Raw)
	case v.Style == Plain:
		return RawScalar(t.Str(n))
	}
	return t.Value(n)
}

// EntryAt returns the entry of a mapping that should be in the place of c and have the key, or
// 0. Merge keys change the order: then it is the only entry that has the key, in any place.
func (t *Tree) EntryAt(n, c int32, key string) int32 {
	switch {
	case c != 0 && t.KeyOf(c) == key:
		return c
	case t.Nodes[n].Marks&HasMergeKey == 0 ||
		t.second(n, key) != 0:
		return 0
	}
	return t.Get(n, key)
}

// Equal reports whether two nodes of two trees have the same value. A text without quotes differs
// from one in quotes, unless the tree has aliases or merge keys, which may be written out in u.
func (t *Tree) Equal(n int32, u *Tree, m int32) bool {
	a := &t.Nodes[n]
	b := &u.Nodes[m]
	switch {
	case a.Kind != b.Kind:
		return false
	case t.Special:
		return u.EqualValue(m, t.Raw(n))
	case !u.Special &&
		a.hasStyleOf(b) &&
		bytes.Equal(t.textOf(a), u.textOf(b)):
		return true
	case a.Kind != Scalar:
		return u.EqualValue(m, t.collection(n, t.part))
	}
	aPlain := a.Style == Plain || a.Style == Absent
	bPlain := b.Style == Plain || b.Style == Absent
	return aPlain == bPlain && t.Str(n) == u.Str(m)
}

// textOf returns the text of a node's value, with what comes before a line feed behind it: the value of a block scalar may
// end with that line break.
func (t *Tree) textOf(v *Node) []byte {
	end := int(v.End)
	for end < len(t.Text) && isBreakMark(t.Text[end]) {
		end++
	}
	return t.Text[v.Start:end]
}

func (v *Node) hasStyleOf(w *Node) bool {
	return v.Style == w.Style && v.Col == w.Col
}

// EqualValue reports whether every reader of YAML reads the value from the
// node; from no node none is read.
func (t *Tree) EqualValue(n int32, v field.Value) bool {
	switch v := v.(type) {
	case part:
		return v.t.Equal(v.n, t, n)
	case field.Map:
		return t.Nodes[n].Kind == Mapping && equalEntries(t, n, v)
	case field.List:
		if t.Nodes[n].Kind != Sequence {
			return false
		}
		c := t.Nodes[n].Child
		for _, e := range v {
			if !t.EqualValue(c, e) {
				return false
			}
			c = t.Nodes[c].Next
		}
		return c == 0
	}
	return t.Nodes[n].Kind == Scalar && equalScalar(t, n, v)
}

func equalEntries(t *Tree, n int32, m field.Map) bool {
	if t.Length(n) != len(m) {
		return false
	}
	c := t.Nodes[n].Child
	for _, e := range m {
		if c = t.EntryAt(n, c, e.Key); !t.EqualValue(c, e.Value) {
			return false
		}
		c = t.Nodes[c].Next
	}
	return true
}

func equalScalar(t *Tree, n int32, v field.Value) bool {
	x := &t.Nodes[n]
	switch v := v.(type) {
	case RawScalar:
		return x.Style == Plain && t.Str(n) == string(v)
	case string:
		if x.Style != Plain {
			return x.Style != Absent && t.Str(n) == v
		}
		_, old := OldBool(v)
		s := t.Str(n)
		return !old && s == v && ReadsAsString(s)
	case int:
		i, ok := wholeNumber(t.Value(n)) // 8080.0 is 8080 to the API server
		return ok && int(i) == v
	}
	return t.Value(n) == any(v)
}
