package manifest

import (
	"fmt"
	"hash/maphash"
	"math"
	"math/bits"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A digest identifies a value as every reader of YAML sees it, however it is
// written: the keys of a mapping in any order, and scalars by type. Two trees
// with the same digest have the same value. Digests are comparable within one
// process only.

var digestSeed = maphash.MakeSeed()

// What a digest starts with, for each type of value.
const (
	digestNull = iota + 1
	digestFalse
	digestTrue
	digestInt
	digestFloat
	digestString
	digestOldBool // yes, no, on, off: a boolean in YAML 1.1 only
	digestMapping
	digestSequence
)

// mix returns the digest h continued with x.
func mix(h, x uint64) uint64 {
	hi, lo := bits.Mul64(h^0x9e3779b97f4a7c15, x^0xd6e8feb86659fd93)
	return hi ^ lo ^ bits.RotateLeft64(h, 23)
}

// digest returns the digest of a node.
func (t *tree) digest(n int32) uint64 {
	v := &t.nodes[n]
	switch {
	case v.kind == mapping:
		h := uint64(digestMapping)
		for c := v.child; c != 0; c = t.nodes[c].next {
			h += mix(maphash.Bytes(digestSeed, t.keyBytes(c)), t.digest(c))
		}
		return h
	case v.kind == sequence:
		h := uint64(digestSequence)
		for c := v.child; c != 0; c = t.nodes[c].next {
			h = mix(h, t.digest(c))
		}
		return h
	case v.style == absent:
		return digestNull
	case v.style == plain:
		return digestPlain(t.str(n))
	}
	return digestText(t.str(n))
}

// digestValue returns the digest of a value.
func digestValue(v field.Value) uint64 {
	switch v := v.(type) {
	case field.Map:
		h := uint64(digestMapping)
		for _, e := range v {
			h += mix(maphash.String(digestSeed, e.Key), digestValue(e.Value))
		}
		return h
	case field.List:
		h := uint64(digestSequence)
		for _, e := range v {
			h = mix(h, digestValue(e))
		}
		return h
	case rawScalar:
		return digestPlain(string(v))
	case string:
		return digestText(v)
	case int64:
		return digestTyped(int(v))
	}
	return digestTyped(v)
}

// digestPlain returns the digest of a plain scalar.
func digestPlain(s string) uint64 {
	if v, ok := typed(s); ok {
		return digestTyped(v)
	}
	if _, ok := oldBool(s); ok {
		return mix(digestOldBool, maphash.String(digestSeed, s))
	}
	return digestText(s)
}

// digestBytes returns the digest of a text as it is written.
func digestBytes(text []byte) uint64 { return maphash.Bytes(digestSeed, text) }

func digestText(s string) uint64 {
	return mix(digestString, maphash.String(digestSeed, s))
}

// digestTyped returns the digest of a scalar that is no string.
func digestTyped(v any) uint64 {
	switch v := v.(type) {
	case nil:
		return digestNull
	case bool:
		if v {
			return digestTrue
		}
		return digestFalse
	case int:
		return mix(digestInt, uint64(v))
	case float64:
		return mix(digestFloat, math.Float64bits(v))
	}
	panic(fmt.Sprintf("a value of an edit must not be a %T", v))
}
