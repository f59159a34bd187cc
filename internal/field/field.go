// Package field has the types in which the planner tells the editor what to
// change: paths into an object, values, and edits.
//
// It knows neither YAML nor probes, so that transformer (which knows no YAML)
// and manifest (which knows no probes) can both use it.
package field

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A Step is one step of a [Path]: the key of a mapping or, if IsIndex is set,
// the index of a list item; in a pattern it may be [EveryItem].
type Step struct {
	Key     string
	Index   int32
	IsIndex bool
}

// EveryItem is the step of a pattern that stands for each item of a list.
var EveryItem = Step{Index: -1, IsIndex: true}

// A Path leads from the root of an object to one of its fields. Paths are
// immutable: the methods that extend one return a copy.
type Path []Step

// NewPath returns the path with one step for each key.
func NewPath(keys ...string) Path {
	return Path(nil).Key(keys...)
}

// Root is the pattern of the object itself.
const Root = "."

// Parse reads a pattern: [Root], or plain keys joined by dots, such as `spec.template`,
// where `[]` after a key stands for every item of its list:
// `spec.jobs[].template`. An empty key, a numbered index or white space is an
// error.
func Parse(s string) (Path, error) {
	if s == Root {
		return nil, nil
	}
	var p Path
	for part := range strings.SplitSeq(s, ".") {
		key := part
		lists := 0
		for strings.HasSuffix(key, "[]") {
			key, lists = strings.TrimSuffix(key, "[]"), lists+1
		}
		if key == "" || strings.ContainsAny(key, "[] \t\n\"'") {
			return nil, fmt.Errorf("path %q must be keys joined by dots, such as \"spec.template\", with [] after the key of a list, such as \"spec.jobs[].template\"", s)
		}
		p = append(p, Step{Key: key})
		for range lists {
			p = append(p, EveryItem)
		}
	}
	return p, nil
}

// Key returns the path extended by the keys.
func (p Path) Key(keys ...string) Path {
	q := append(make(Path, 0, len(p)+len(keys)), p...)
	for _, k := range keys {
		q = append(q, Step{Key: k})
	}
	return q
}

// Index returns the path extended by the index of a list item.
func (p Path) Index(i int) Path {
	return p.Join(Path{{Index: int32(i), IsIndex: true}})
}

// Item returns the path extended by a key and the index of an item of its list.
func (p Path) Item(key string, i int) Path {
	return p.Join(Path{{Key: key}, {Index: int32(i), IsIndex: true}})
}

// Join returns the path followed by q.
func (p Path) Join(q Path) Path {
	return slices.Concat(p, q)
}

// Common returns what two paths begin with.
func (p Path) Common(q Path) Path {
	n := 0
	for n < min(len(p), len(q)) &&
		p[n] == q[n] {
		n++
	}
	return p[:n:n]
}

// HasPrefix reports whether the path begins with prefix.
func (p Path) HasPrefix(prefix Path) bool {
	return len(p) >= len(prefix) &&
		slices.Equal(p[:len(prefix)], prefix)
}

// Pattern returns the pattern of all paths that differ in the indexes of lists only.
func (p Path) Pattern() Path {
	q := slices.Clone(p)
	for i := range q {
		if q[i].IsIndex {
			q[i] = EveryItem
		}
	}
	return q
}

// String returns the path as the API server writes it in its own messages:
// `spec.containers[0].livenessProbe.httpGet.port`. Keys with dots or slashes
// are in brackets: `metadata.annotations[sidecar.istio.io/inject]`. What cannot
// be printed on one line is in quotes there.
func (p Path) String() string {
	b := make([]byte, 0, 96)
	for _, s := range p {
		switch {
		case s == EveryItem:
			b = append(b, "[]"...)
		case s.IsIndex:
			b = append(strconv.AppendInt(append(b, '['), int64(s.Index), 10), ']')
		case !IsPrintableASCII(s.Key) && strings.ContainsFunc(s.Key, isUnprintable):
			b = append(strconv.AppendQuote(append(b, '['), s.Key), ']')
		case strings.IndexByte(s.Key, '.') >= 0 ||
			strings.IndexByte(s.Key, '/') >= 0:
			b = append(append(append(b, '['), s.Key...), ']')
		default:
			if len(b) > 0 {
				b = append(b, '.')
			}
			b = append(b, s.Key...)
		}
	}
	return string(b)
}

// IsPrintableASCII reports whether a text has printable ASCII only, as nearly every text:
// to ask for each character takes several times as long.
func IsPrintableASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

func isUnprintable(r rune) bool { return !unicode.IsPrint(r) }

// A Value is what an edit writes: nil, string, bool, int, [List] or [Map],
// nested as needed. Other types are a programming error.
type Value any

// A List is a list of values.
type List []Value

// A Map is a mapping that keeps its order.
type Map []Entry

// An Entry is a key of a [Map] with its value.
type Entry struct {
	Key   string
	Value Value
}

// Get returns the value of the key and whether the mapping has it.
func (m Map) Get(key string) (Value, bool) {
	for _, e := range m {
		if e.Key == key {
			return e.Value, true
		}
	}
	return nil, false
}

// As returns the value of the key as a T; the zero value if m does not have the
// key, or its value has another type.
func As[T any](m Map, key string) T {
	v, _ := m.Get(key)
	t, _ := v.(T)
	return t
}

// KeyValues returns the entries whose values are strings.
func (m Map) KeyValues() KeyValues {
	var all KeyValues
	for _, e := range m {
		if s, ok := e.Value.(string); ok {
			all = append(all, KeyValue{e.Key, s})
		}
	}
	return all
}

// An Op is the kind of an [Edit].
type Op int

const (
	// Set replaces the value at Path or adds it, with the mappings that are
	// missing on the way. A new key comes before the key Before, if the mapping
	// has that, else last. Of a mapping only the entries that differ are
	// changed, so that the comments of the others stay.
	Set Op = iota
	// Rename replaces the entry at Path, key and value, in its place in the
	// mapping: the new key is NewKey. An entry that has this key already gets the
	// old one if its value is null; else Rename fails.
	Rename
	// Insert inserts Value into the list at Path before the item whose index is
	// the last step of Path; an index equal to the length of the list appends.
	// A missing list is created, as by Set.
	Insert
	// Delete removes the entry or list item at Path, which must exist. A
	// mapping or list that loses its last entry becomes empty; to remove it,
	// delete it instead.
	Delete
)

// An Edit is one change to an object. The paths of all edits name places in the
// object as it was before any of them. The order of edits matters only for
// Inserts at the same index, which come in that order, and for Sets of new keys
// of the same mapping.
type Edit struct {
	Op     Op
	Path   Path
	NewKey string // for Rename
	Before string // for Set and Insert: the sibling that a new key precedes
	Value  Value
	// Texts has entries as their author once wrote them, by their keys: those on the
	// way to Path, the one that is edited, and those of the mapping that Rename writes.
	// Such a text is used where it reads as the entry, and ignored elsewhere.
	Texts KeyValues
}

// A WrittenText is an entry of a mapping as its author wrote it.
type WrittenText struct {
	Path Path
	Text string
}

// An IntOrString is a scalar that Kubernetes reads as a number or a string,
// such as a port. The zero value is the number 0.
type IntOrString struct {
	Int      int64
	Str      string
	IsString bool
}

// Number returns a port that is a number.
func Number[T ~int | ~int32 | ~int64](n T) IntOrString {
	return IntOrString{Int: int64(n)}
}

// String returns the number in decimal, or the string.
func (v IntOrString) String() string {
	if v.IsString {
		return v.Str
	}
	return strconv.FormatInt(v.Int, 10)
}

// Value returns v as a [Value].
func (v IntOrString) Value() Value {
	if v.IsString {
		return v.Str
	}
	return int(v.Int)
}
