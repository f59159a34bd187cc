package yaml

import (
	"bytes"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A RawScalar is a plain scalar that is written as it was read.
type RawScalar string

// Raw returns the value of a node, with its plain scalars as they were read.
func (t *Tree) Raw(n int32) field.Value {
	v := &t.Nodes[n]
	switch {
	case v.Kind == Mapping:
		m := field.Map{}
		for c := v.Child; c != 0; c = t.Nodes[c].Next {
			m = append(m, field.Entry{Key: string(t.KeyBytes(c)), Value: t.Raw(c)})
		}
		return m
	case v.Kind == Sequence:
		l := field.List{}
		for c := v.Child; c != 0; c = t.Nodes[c].Next {
			l = append(l, t.Raw(c))
		}
		return l
	case v.Style == Absent:
		return nil
	case v.Style == Plain:
		return RawScalar(t.Str(n))
	}
	return t.Str(n)
}

// Moved returns the only entry of a mapping that has a key and is not in its place; 0 if the
// mapping has no merge keys, which change the order.
func (t *Tree) Moved(n int32, key string) int32 {
	found := int32(0)
	if t.Nodes[n].Marks&HasMergeKey == 0 {
		return 0
	}
	for c := t.Nodes[n].Child; c != 0; c = t.Nodes[c].Next {
		if t.KeyOf(c) == key {
			if found != 0 {
				return 0
			}
			found = c
		}
	}
	return found
}

// IsWrittenOut reports whether a node that is an alias or has merge keys is neither in u.
func (t *Tree) IsWrittenOut(n int32, u *Tree, m int32) bool {
	const written = IsAlias | HasMergeKey | IsMerged
	return t.Special && t.Nodes[n].Marks&written != 0 && u.Nodes[m].Marks&written == 0
}

// Equal reports whether two nodes of two trees have the same value.
func (t *Tree) Equal(n int32, u *Tree, m int32) bool {
	a, b := &t.Nodes[n], &u.Nodes[m]
	if a.Kind != b.Kind {
		return false
	}
	if t.IsWrittenOut(n, u, m) {
		return u.EqualValue(m, t.Raw(n))
	}
	if !t.Special && !u.Special && a.Style == b.Style && a.Col == b.Col && bytes.Equal(t.Text[a.Start:a.End], u.Text[b.Start:b.End]) {
		return true
	}
	if a.Kind == Scalar {
		aPlain, bPlain := a.Style == Plain || a.Style == Absent, b.Style == Plain || b.Style == Absent
		return aPlain == bPlain && t.Str(n) == u.Str(m)
	}
	return t.equalChildren(n, u, m)
}

// equalChildren is equal for two collections of one kind.
func (t *Tree) equalChildren(n int32, u *Tree, m int32) bool {
	c, d := t.Nodes[n].Child, u.Nodes[m].Child
	for ; c != 0 && d != 0; c = t.Nodes[c].Next {
		x := d
		if t.Nodes[n].Kind == Mapping && t.KeyOf(c) != u.KeyOf(d) {
			if x = u.Moved(m, t.KeyOf(c)); x == 0 {
				return false
			}
		}
		if !t.Equal(c, u, x) {
			return false
		}
		d = u.Nodes[d].Next
	}
	return c == 0 && d == 0
}

// EqualValue reports whether every reader of YAML reads the value from the
// node.
func (t *Tree) EqualValue(n int32, v field.Value) bool {
	switch v := v.(type) {
	case field.Map:
		return t.Nodes[n].Kind == Mapping && t.equalEntries(n, v)
	case field.List:
		if t.Nodes[n].Kind != Sequence {
			return false
		}
		c := t.Nodes[n].Child
		for _, e := range v {
			if c == 0 || !t.EqualValue(c, e) {
				return false
			}
			c = t.Nodes[c].Next
		}
		return c == 0
	}
	return t.Nodes[n].Kind == Scalar && t.equalScalar(n, v)
}

// equalEntries is equalValue for a mapping.
func (t *Tree) equalEntries(n int32, m field.Map) bool {
	if t.Length(n) != len(m) {
		return false
	}
	c := t.Nodes[n].Child
	for _, e := range m {
		if c == 0 || t.KeyOf(c) != e.Key {
			if c = t.Moved(n, e.Key); c == 0 {
				return false
			}
		}
		if !t.EqualValue(c, e.Value) {
			return false
		}
		c = t.Nodes[c].Next
	}
	return true
}

// equalScalar is equalValue for a scalar.
func (t *Tree) equalScalar(n int32, v field.Value) bool {
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
	case int64:
		return t.Value(n) == any(int(v))
	}
	return t.Value(n) == any(v)
}
