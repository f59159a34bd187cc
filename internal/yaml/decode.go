package yaml

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/spelling"
)

// A decoder reads nodes of one tree into Go values. Its methods return false after an error.
type decoder struct {
	t      *Tree
	strict bool
	errs   []DecodeError
}

// A DecodeError is what is wrong with a node.
type DecodeError struct {
	Node int32
	Msg  string
}

func (d *decoder) fail(n int32, format string, args ...any) bool {
	d.errs = append(d.errs, DecodeError{n, fmt.Sprintf(format, args...)})
	return false
}

func (d *decoder) wrongType(n int32, want string) bool {
	return d.fail(n, "must be %s, not %s", want, d.t.Describe(n))
}

// find returns the node at the path from the root, or 0 if the path leads to a
// missing or null value, or there is an error.
func (d *decoder) find(path field.Path) int32 {
	n := int32(1)
	for _, step := range path {
		want := Mapping
		if step.IsIndex {
			want = Sequence
		}
		switch {
		case n == 0 || d.t.IsNull(n):
			return 0
		case d.t.Nodes[n].Kind != want:
			d.wrongType(n, want.String())
			return 0
		case !step.IsIndex && d.t.second(n, step.Key) != 0:
			d.duplicate(d.t.second(n, step.Key))
			return 0
		}
		n = d.t.Child(n, step)
	}
	if d.t.IsNull(n) {
		return 0
	}
	return n
}

// FindKind returns the node at the path, which must be a mapping or a list, as wanted; 0 if the path
// leads to a missing or null value, or there is an error.
func (t *Tree) FindKind(path field.Path, want Kind) (int32, []DecodeError) {
	d := decoder{t: t}
	n := d.find(path)
	if n != 0 && t.Nodes[n].Kind != want {
		d.wrongType(n, want.String())
		n = 0
	}
	return n, d.errs
}

// CheckKeys returns an error if a mapping in the value at path has a key twice.
func (t *Tree) CheckKeys(path field.Path) []DecodeError {
	d := decoder{t: t}
	if n := d.find(path); n != 0 {
		d.checkKeysBelow(n)
	}
	return d.errs
}

// Decode reads the value at path into the variable that into points to, by json tags; found is
// false, and the variable untouched, where the value is missing or null. A value of the wrong type
// or a duplicate key is an error. If strict is set, so is a key that the type lacks, and all
// errors are found.
func (t *Tree) Decode(path field.Path, into any, strict bool) (found bool, errs []DecodeError) {
	d := decoder{t: t, strict: strict}
	n := d.find(path)
	return n != 0 && d.decode(n, reflect.ValueOf(into).Elem()), d.errs
}

// Describe returns what a node is, for messages.
func (t *Tree) Describe(n int32) string {
	v := &t.Nodes[n]
	if v.Kind != Scalar {
		return v.Kind.String()
	}
	switch x := t.Value(n).(type) {
	case nil:
		return "null"
	case bool:
		return "the boolean " + strconv.FormatBool(x)
	case string:
		if len(x) > 60 {
			x = x[:57] + "..."
		}
		return fmt.Sprintf("the string %q", x)
	}
	return "the number " + t.Str(n)
}

type structField struct {
	name  string // in json
	index []int  // as FieldByIndex takes it
}

// fieldOf returns the field of that name, or nil. A plain loop is the fastest: there are few fields, and
// most names differ in length.
func fieldOf(fields []structField, name string) *structField {
	for i := range fields {
		if fields[i].name == name {
			return &fields[i]
		}
	}
	return nil
}

func namesOf(fields []structField) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	slices.Sort(names)
	return names
}

var fieldsByType sync.Map // of reflect.Type to []structField

// fieldsOf returns the fields of a struct type, with those of the structs that it embeds.
func fieldsOf(typ reflect.Type) []structField {
	if fields, ok := fieldsByType.Load(typ); ok {
		return fields.([]structField)
	}
	var fields []structField
	for _, f := range reflect.VisibleFields(typ) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() &&
			name != "-" &&
			!(f.Anonymous && name == "") {
			fields = append(fields, structField{cmp.Or(name, f.Name), f.Index})
		}
	}
	fieldsByType.Store(typ, fields)
	return fields
}

func (d *decoder) decode(n int32, v reflect.Value) bool {
	if d.t.IsNull(n) { // as if it were not there, which is what the API server makes of it
		return true
	}
	switch into := v.Addr().Interface().(type) {
	case *field.IntOrString:
		return d.intOrString(n, into)
	case *field.KeyValues:
		return d.keyValues(n, into)
	case *field.Map: // of any keys in their order, including those whose value is null
		if d.t.Nodes[n].Kind != Mapping {
			return d.wrongType(n, "a mapping")
		}
		return d.anything(n, v)
	}
	switch v.Kind() {
	case reflect.Interface:
		return d.anything(n, v)
	case reflect.Pointer:
		x := reflect.New(v.Type().Elem())
		if !d.decode(n, x.Elem()) {
			return false
		}
		v.Set(x)
		return true
	case reflect.Struct:
		return d.structure(n, v)
	case reflect.Map:
		return d.mapping(n, v)
	case reflect.Slice:
		return d.slice(n, v)
	case reflect.String:
		s, ok := d.text(n)
		if ok {
			v.SetString(s)
		}
		return ok
	}
	return d.number(n, v)
}

// anything decodes a node into a variable that takes its value whatever that is.
func (d *decoder) anything(n int32, v reflect.Value) bool {
	ok := d.checkKeysBelow(n)
	if ok {
		v.Set(reflect.ValueOf(d.t.Any(n)))
	}
	return ok
}

// text returns a string, which is empty for null.
func (d *decoder) text(n int32) (s string, ok bool) {
	v := &d.t.Nodes[n]
	if v.Kind != Scalar {
		return "", d.wrongType(n, "a string")
	}
	if s = d.t.Str(n); v.Style != Plain || ReadsAsString(s) {
		return s, true
	}
	if d.t.IsNull(n) {
		return "", true
	}
	return "", d.fail(n, "must be a string, not %s: write \"%s\" in quotes", d.t.Describe(n), s)
}

// number decodes a whole number, or what kubectl reads as true or false.
func (d *decoder) number(n int32, v reflect.Value) bool {
	x := any(nil)
	if d.t.Nodes[n].Kind == Scalar {
		x = d.t.Value(n)
	}
	switch {
	case v.Kind() == reflect.Bool:
		b, ok := x.(bool)
		if s, isString := x.(string); isString && d.t.Nodes[n].Style == Plain {
			b, ok = OldBool(s)
		}
		if !ok {
			return d.wrongType(n, "true or false")
		}
		v.SetBool(b)
	case v.CanInt():
		i, ok := wholeNumber(x)
		if !ok || v.OverflowInt(i) {
			return d.wrongType(n, "a whole number")
		}
		v.SetInt(i)
	default:
		panic("yaml: cannot decode into a " + v.Type().String())
	}
	return true
}

// wholeNumber returns a number that has no fraction. Like the API server it
// takes 1e3 and 8080.0.
func wholeNumber(x any) (int64, bool) {
	switch x := x.(type) {
	case int:
		return int64(x), true
	case float64:
		return int64(x), x == math.Trunc(x) && math.Abs(x) < 1<<53
	}
	return 0, false
}

func (d *decoder) intOrString(n int32, into *field.IntOrString) bool {
	if d.t.Nodes[n].Kind == Scalar {
		x := d.t.Value(n)
		if s, ok := x.(string); ok {
			*into = field.IntOrString{Str: s, IsString: true}
			return true
		}
		if i, ok := wholeNumber(x); ok {
			*into = field.IntOrString{Int: i}
			return true
		}
	}
	return d.wrongType(n, "a number or a string")
}

func (d *decoder) structure(n int32, v reflect.Value) (ok bool) {
	if ok = d.isMapping(n); !ok {
		return false
	}
	fields := fieldsOf(v.Type())
	for c := d.t.Nodes[n].Child; c != 0; c = d.t.Nodes[c].Next {
		if !ok && !d.strict {
			return false
		}
		key := d.t.KeyOf(c)
		if f := fieldOf(fields, key); f != nil {
			ok = d.decode(c, v.FieldByIndex(f.index)) && ok
		} else if d.strict {
			names := namesOf(fields)
			hint := cmp.Or(spelling.DidYouMean(key, names), "allowed are "+strings.Join(names, ", "))
			ok = d.fail(c, "unknown field %q: %s", key, hint)
		}
	}
	return ok
}

func (d *decoder) keyValues(n int32, into *field.KeyValues) bool {
	if !d.isMapping(n) {
		return false
	}
	m := make(field.KeyValues, 0, d.t.Length(n))
	for c := d.t.Nodes[n].Child; c != 0; c = d.t.Nodes[c].Next {
		value, ok := d.text(c)
		if !ok {
			return false
		}
		m = append(m, field.KeyValue{Key: d.t.KeyOf(c), Value: value})
	}
	*into = m
	return true
}

func (d *decoder) mapping(n int32, v reflect.Value) bool {
	if !d.isMapping(n) {
		return false
	}
	m := reflect.MakeMap(v.Type())
	for c := d.t.Nodes[n].Child; c != 0; c = d.t.Nodes[c].Next {
		x := reflect.New(v.Type().Elem()).Elem()
		if !d.decode(c, x) {
			return false
		}
		m.SetMapIndex(reflect.ValueOf(d.t.KeyOf(c)).Convert(v.Type().Key()), x)
	}
	v.Set(m)
	return true
}

func (d *decoder) slice(n int32, v reflect.Value) bool {
	if d.t.Nodes[n].Kind != Sequence {
		return d.wrongType(n, "a list")
	}
	count := d.t.Length(n)
	v.Set(reflect.MakeSlice(v.Type(), count, count))
	i := 0
	for c := d.t.Nodes[n].Child; c != 0; c = d.t.Nodes[c].Next {
		if !d.decode(c, v.Index(i)) {
			return false
		}
		i++
	}
	return true
}

// isMapping checks that a node is a mapping that has no key twice: kubectl reads the
// last one, other tools the first.
func (d *decoder) isMapping(n int32) bool {
	if d.t.Nodes[n].Kind != Mapping {
		return d.wrongType(n, "a mapping")
	}
	if d.t.Length(n) > 16 {
		return d.hasEachOnce(n)
	}
	seen := uint64(0) // of length and last letter of each key, one bit
	for c := d.t.Nodes[n].Child; c != 0; c = d.t.Nodes[c].Next {
		key := d.t.KeyOf(c)
		bit := uint64(1)
		if len(key) > 0 {
			bit <<= (5*len(key) + int(key[len(key)-1])) & 63
		}
		if seen&bit != 0 && d.t.Get(n, key) != c {
			return d.duplicate(c)
		}
		seen |= bit
	}
	return true
}

// hasEachOnce checks that a mapping of many keys has none twice.
func (d *decoder) hasEachOnce(n int32) bool {
	seen := map[string]bool{}
	for c := d.t.Nodes[n].Child; c != 0; c = d.t.Nodes[c].Next {
		key := d.t.KeyOf(c)
		if seen[key] {
			return d.duplicate(c)
		}
		seen[key] = true
	}
	return true
}

func (d *decoder) duplicate(c int32) bool {
	return d.fail(c, "key %q must stand only once in its mapping, and is here again", d.t.KeyOf(c))
}

// checkKeysBelow checks that no mapping in a value of any type has a key twice.
func (d *decoder) checkKeysBelow(n int32) bool {
	ok := d.t.Nodes[n].Kind != Mapping || d.isMapping(n)
	for c := d.t.Nodes[n].Child; c != 0 && ok; c = d.t.Nodes[c].Next {
		ok = d.checkKeysBelow(c)
	}
	return ok
}
