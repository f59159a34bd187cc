package manifest

import (
	"bytes"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A rawScalar is a plain scalar that is written as it was read.
type rawScalar string

// raw returns the value of a node, with its plain scalars as they were read.
func (t *tree) raw(n int32) field.Value {
	v := &t.nodes[n]
	switch {
	case v.kind == mapping:
		m := field.Map{}
		for c := v.child; c != 0; c = t.nodes[c].next {
			m = append(m, field.Entry{Key: string(t.keyBytes(c)), Value: t.raw(c)})
		}
		return m
	case v.kind == sequence:
		l := field.List{}
		for c := v.child; c != 0; c = t.nodes[c].next {
			l = append(l, t.raw(c))
		}
		return l
	case v.style == absent:
		return nil
	case v.style == plain:
		return rawScalar(t.str(n))
	}
	return t.str(n)
}

// moved returns the only entry of a mapping that has a key and is not in its place; 0 if the
// mapping has no merge keys, which change the order.
func (t *tree) moved(n int32, key string) int32 {
	found := int32(0)
	if t.nodes[n].marks&hasMergeKey == 0 {
		return 0
	}
	for c := t.nodes[n].child; c != 0; c = t.nodes[c].next {
		if t.keyOf(c) == key {
			if found != 0 {
				return 0
			}
			found = c
		}
	}
	return found
}

// isWrittenOut reports whether a node that is an alias or has merge keys is neither in u.
func (t *tree) isWrittenOut(n int32, u *tree, m int32) bool {
	const written = isAlias | hasMergeKey | isMerged
	return t.special && t.nodes[n].marks&written != 0 && u.nodes[m].marks&written == 0
}

// equal reports whether two nodes of two trees have the same value.
func (t *tree) equal(n int32, u *tree, m int32) bool {
	a, b := &t.nodes[n], &u.nodes[m]
	if a.kind != b.kind {
		return false
	}
	if t.isWrittenOut(n, u, m) {
		return u.equalValue(m, t.raw(n))
	}
	if !t.special && !u.special && a.style == b.style && a.col == b.col && bytes.Equal(t.text[a.start:a.end], u.text[b.start:b.end]) {
		return true
	}
	if a.kind == scalar {
		aPlain, bPlain := a.style == plain || a.style == absent, b.style == plain || b.style == absent
		return aPlain == bPlain && t.str(n) == u.str(m)
	}
	return t.equalChildren(n, u, m)
}

// equalChildren is equal for two collections of one kind.
func (t *tree) equalChildren(n int32, u *tree, m int32) bool {
	c, d := t.nodes[n].child, u.nodes[m].child
	for ; c != 0 && d != 0; c = t.nodes[c].next {
		x := d
		if t.nodes[n].kind == mapping && t.keyOf(c) != u.keyOf(d) {
			if x = u.moved(m, t.keyOf(c)); x == 0 {
				return false
			}
		}
		if !t.equal(c, u, x) {
			return false
		}
		d = u.nodes[d].next
	}
	return c == 0 && d == 0
}

// equalValue reports whether every reader of YAML reads the value from the
// node.
func (t *tree) equalValue(n int32, v field.Value) bool {
	switch v := v.(type) {
	case field.Map:
		return t.nodes[n].kind == mapping && t.equalEntries(n, v)
	case field.List:
		if t.nodes[n].kind != sequence {
			return false
		}
		c := t.nodes[n].child
		for _, e := range v {
			if c == 0 || !t.equalValue(c, e) {
				return false
			}
			c = t.nodes[c].next
		}
		return c == 0
	}
	return t.nodes[n].kind == scalar && t.equalScalar(n, v)
}

// equalEntries is equalValue for a mapping.
func (t *tree) equalEntries(n int32, m field.Map) bool {
	if t.length(n) != len(m) {
		return false
	}
	c := t.nodes[n].child
	for _, e := range m {
		if c == 0 || t.keyOf(c) != e.Key {
			if c = t.moved(n, e.Key); c == 0 {
				return false
			}
		}
		if !t.equalValue(c, e.Value) {
			return false
		}
		c = t.nodes[c].next
	}
	return true
}

// equalScalar is equalValue for a scalar.
func (t *tree) equalScalar(n int32, v field.Value) bool {
	x := &t.nodes[n]
	switch v := v.(type) {
	case rawScalar:
		return x.style == plain && t.str(n) == string(v)
	case string:
		if x.style != plain {
			return x.style != absent && t.str(n) == v
		}
		_, old := oldBool(v)
		s := t.str(n)
		return !old && s == v && readsAsString(s)
	case int:
		i, ok := wholeNumber(t.value(n)) // 8080.0 is 8080 to the API server
		return ok && int(i) == v
	case int64:
		return t.value(n) == any(int(v))
	}
	return t.value(n) == any(v)
}
