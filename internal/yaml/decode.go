package yaml

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A decoder reads nodes of one tree into Go values.
type decoder struct {
	t      *Tree
	strict bool
}

// A DecodeError is an error about the node at path. Each caller adds its own
// steps in front of the path.
type DecodeError struct {
	Path field.Path
	Node int32
	Msg  string
}

func (e *DecodeError) Error() string { return e.Msg }

func (d *decoder) errorf(n int32, format string, args ...any) error {
	return &DecodeError{Node: n, Msg: fmt.Sprintf(format, args...)}
}

// DecodeErrors are all errors of a strict decoding, which goes on after one.
type DecodeErrors []error

func (e DecodeErrors) Error() string { return errors.Join(e...).Error() }

// appendError adds an error, or those that it holds.
func appendError(all DecodeErrors, err error) DecodeErrors {
	if more, ok := err.(DecodeErrors); ok {
		return append(all, more...)
	}
	return append(all, err)
}

// withPath adds the steps that lead to a node in front of its error's path.
func withPath(err error, steps ...field.Step) error {
	switch e := err.(type) {
	case DecodeErrors:
		for i := range e {
			e[i] = withPath(e[i], steps...)
		}
	case *DecodeError:
		e.Path = append(slices.Clone(field.Path(steps)), e.Path...)
	}
	return err
}

func keyStep(key string) field.Step { return field.Step{Key: key} }

func indexStep(i int) field.Step { return field.Step{Index: int32(i), IsIndex: true} }

// find returns the node at the path from the root, or 0 if the path leads to a
// missing or null value.
func (d *decoder) find(path field.Path) (int32, error) {
	n := int32(1)
	for i, step := range path {
		if n == 0 || d.t.IsNull(n) {
			return 0, nil
		}
		want := Mapping
		if step.IsIndex {
			want = Sequence
		}
		if d.t.Nodes[n].Kind != want {
			return 0, withPath(d.typeError(n, want.String()), path[:i]...)
		}
		if !step.IsIndex {
			if err := d.checkDuplicateKey(n, step.Key); err != nil {
				return 0, withPath(err, path[:i]...)
			}
		}
		n = d.t.Child(n, step)
	}
	return n, nil
}

// FindKind returns the node at the path, which must be a mapping or a list, as wanted; 0 if the path
// leads to a missing or null value.
func (t *Tree) FindKind(path field.Path, want Kind) (int32, error) {
	d := decoder{t: t}
	n, err := d.find(path)
	switch {
	case err != nil || n == 0 || t.IsNull(n):
		return 0, err
	case t.Nodes[n].Kind != want:
		return 0, withPath(d.typeError(n, want.String()), path...)
	}
	return n, nil
}

// CheckKeys returns an error if a mapping in the value at path has a key twice.
func (t *Tree) CheckKeys(path field.Path) error {
	d := decoder{t: t}
	n, err := d.find(path)
	if err == nil && n != 0 {
		err = withPath(d.checkDuplicatesBelow(n), path...)
	}
	return err
}

// Decode reads the value at path into the variable that into points to, by json tags; found is
// false, and the variable untouched, where the value is missing or null. A value of the wrong type
// or a duplicate key is a *[DecodeError]. If strict is set, so is a key that the type lacks, and all
// errors are found: several are [DecodeErrors].
func (t *Tree) Decode(path field.Path, into any, strict bool) (found bool, err error) {
	d := decoder{t: t, strict: strict}
	n, err := d.find(path)
	if err != nil || n == 0 || t.IsNull(n) {
		return false, err
	}
	v := reflect.ValueOf(into).Elem()
	err = withPath(d.decode(n, v, fieldsWithin(v.Type())), path...)
	return err == nil, err
}

func (d *decoder) checkDuplicateKey(n int32, key string) error {
	first := int32(0)
	for c := d.t.Nodes[n].Child; c != 0; c = d.t.Nodes[c].Next {
		if string(d.t.KeyBytes(c)) != key {
			continue
		}
		if first != 0 {
			return d.duplicate(c, key)
		}
		first = c
	}
	return nil
}

func (d *decoder) duplicate(c int32, key string) error {
	return withPath(d.errorf(c, "key %q must stand only once in its mapping, and is here again", key), keyStep(key))
}

// typeError returns the error of a node that must have another type.
func (d *decoder) typeError(n int32, want string) error {
	return d.errorf(n, "must be %s, not %s", want, d.t.Describe(n))
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

// A structField is a field of a struct type.
type structField struct {
	name  string        // in json
	index []int         // as FieldByIndex takes it
	inner []structField // of the struct that the field is, points to or lists; else nil
}

// fieldOf returns the field of that name, or nil. A linear search is the fastest:
// there are few fields, and most names differ in length.
func fieldOf(fields []structField, name string) *structField {
	for i := range fields {
		if fields[i].name == name {
			return &fields[i]
		}
	}
	return nil
}

func namesOf(fields []structField) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

var fieldsByType sync.Map // of reflect.Type to []structField

// fieldsWithin returns the fields of the struct that a type is, points to or
// lists, or nil.
func fieldsWithin(typ reflect.Type) []structField {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ == intOrString || typ == mapType.Elem() || typ == keyValuesType.Elem() {
		return nil
	}
	if fields, ok := fieldsByType.Load(typ); ok {
		return fields.([]structField)
	}
	fields := appendFields(nil, typ, nil)
	fieldsByType.Store(typ, fields)
	return fields
}

func appendFields(fields []structField, typ reflect.Type, prefix []int) []structField {
	for i := range typ.NumField() {
		f := typ.Field(i)
		index := append(slices.Clone(prefix), i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			fields = appendFields(fields, f.Type, index)
		case f.IsExported() && name != "-":
			fields = append(fields, structField{cmp.Or(name, f.Name), index, fieldsWithin(f.Type)})
		}
	}
	return fields
}

var (
	intOrString   = reflect.TypeFor[field.IntOrString]()
	keyValuesType = reflect.TypeFor[field.KeyValues]()
	mapType       = reflect.TypeFor[field.Map]()
)

// decode decodes the node into v; fields are those of the struct within its type.
func (d *decoder) decode(n int32, v reflect.Value, fields []structField) error {
	if v.Kind() == reflect.String && d.t.Nodes[n].Kind == Scalar && !d.t.IsNull(n) {
		return d.scalar(n, v)
	}
	if v.Kind() == reflect.Interface {
		return d.anything(n, v)
	}
	if d.t.IsNull(n) {
		return nil // as if it were not there, which is what the API server makes of it
	}
	switch v.Kind() {
	case reflect.Pointer:
		x := reflect.New(v.Type().Elem())
		if err := d.decode(n, x.Elem(), fields); err != nil {
			return err
		}
		v.Set(x)
		return nil
	case reflect.Struct:
		if v.Type() == intOrString {
			return d.intOrString(n, v)
		}
		return d.structure(n, v, fields)
	case reflect.Map:
		return d.mapping(n, v)
	case reflect.Slice:
		return d.slice(n, v, fields)
	}
	if d.t.Nodes[n].Kind != Scalar {
		return d.typeError(n, scalarNames[v.Kind()])
	}
	return d.scalar(n, v)
}

// anything decodes a node into a variable that takes any value.
func (d *decoder) anything(n int32, v reflect.Value) error {
	x := d.t.Any(n)
	if x == nil {
		v.SetZero()
		return nil
	}
	err := d.checkDuplicatesBelow(n)
	if err == nil {
		v.Set(reflect.ValueOf(x))
	}
	return err
}

var scalarNames = map[reflect.Kind]string{
	reflect.String: "a string", reflect.Bool: "true or false",
	reflect.Int: "a whole number", reflect.Int32: "a whole number", reflect.Int64: "a whole number",
}

func (d *decoder) scalar(n int32, v reflect.Value) error {
	if v.Kind() == reflect.String {
		if s := d.t.Str(n); d.t.Nodes[n].Style != Plain || ReadsAsString(s) {
			v.SetString(s)
			return nil
		}
	}
	if d.t.Nodes[n].Style == Plain && v.CanInt() {
		if i, ok := Decimal(d.t.Str(n)); ok && !v.OverflowInt(int64(i)) {
			v.SetInt(int64(i))
			return nil
		}
	}
	if v.Kind() == reflect.String {
		return d.errorf(n, "must be a string, not %s: write \"%s\" in quotes", d.t.Describe(n), d.t.Str(n))
	}
	if !d.setScalar(n, v) {
		return d.typeError(n, scalarNames[v.Kind()])
	}
	return nil
}

// setScalar sets a variable that is no string; ok is false if the node has another type.
func (d *decoder) setScalar(n int32, v reflect.Value) (ok bool) {
	x := d.t.Value(n)
	switch v.Kind() {
	case reflect.Bool:
		var b bool
		if b, ok = d.boolean(n, x); ok {
			v.SetBool(b)
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		i, isWhole := wholeNumber(x)
		if ok = isWhole && !v.OverflowInt(i); ok {
			v.SetInt(i)
		}
	default:
		panic("yaml: cannot decode into a " + v.Type().String())
	}
	return ok
}

// boolean returns the value of a scalar that kubectl reads as true or false.
func (d *decoder) boolean(n int32, x any) (value, ok bool) {
	if s, isString := x.(string); isString && d.t.Nodes[n].Style == Plain {
		return OldBool(s)
	}
	value, ok = x.(bool)
	return value, ok
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

func (d *decoder) intOrString(n int32, v reflect.Value) error {
	out := v.Addr().Interface().(*field.IntOrString)
	if d.t.Nodes[n].Kind == Scalar {
		s := d.t.Str(n)
		if d.t.Nodes[n].Style != Plain || ReadsAsString(s) {
			*out = field.IntOrString{Str: s, IsString: true}
			return nil
		}
		x := d.t.Value(n)
		if i, ok := wholeNumber(x); ok {
			*out = field.IntOrString{Int: i}
			return nil
		}
	}
	return d.typeError(n, "a number or a string")
}

func (d *decoder) structure(n int32, v reflect.Value, fields []structField) error {
	if d.t.Nodes[n].Kind != Mapping {
		return d.typeError(n, "a mapping")
	}
	if err := d.checkDuplicateKeys(n); err != nil {
		return err
	}
	var all DecodeErrors
	for c := d.t.Nodes[n].Child; c != 0; c = d.t.Nodes[c].Next {
		key := d.t.KeyOf(c)
		f := fieldOf(fields, key)
		if f == nil {
			if d.strict {
				all = append(all, withPath(d.errorf(c, "unknown field %q: allowed are %s", key, namesOf(fields)), keyStep(key)))
			}
			continue
		}
		if err := d.decode(c, v.FieldByIndex(f.index), f.inner); err != nil {
			err = withPath(err, keyStep(key))
			if !d.strict {
				return err
			}
			all = appendError(all, err)
		}
	}
	if len(all) > 0 {
		return all
	}
	return nil
}

// keyValues decodes labels and annotations.
func (d *decoder) keyValues(n int32, into *field.KeyValues) error {
	if d.t.Nodes[n].Kind != Mapping {
		return d.typeError(n, "a mapping")
	}
	if err := d.checkDuplicateKeys(n); err != nil {
		return err
	}
	m := make(field.KeyValues, 0, d.t.Length(n))
	for c := d.t.Nodes[n].Child; c != 0; c = d.t.Nodes[c].Next {
		key := d.t.KeyOf(c)
		if x := &d.t.Nodes[c]; x.Kind == Scalar && (x.Style != Plain || isText(d.t.Str(c))) {
			m = append(m, field.KeyValue{Key: key, Value: d.t.Str(c)})
			continue
		}
		var value string // on the heap, for reflect
		if err := d.decode(c, reflect.ValueOf(&value).Elem(), nil); err != nil {
			return withPath(err, keyStep(key))
		}
		m = append(m, field.KeyValue{Key: key, Value: value})
	}
	*into = m
	return nil
}

func (d *decoder) mapping(n int32, v reflect.Value) error {
	if d.t.Nodes[n].Kind != Mapping {
		return d.typeError(n, "a mapping")
	}
	if err := d.checkDuplicateKeys(n); err != nil {
		return err
	}
	m := reflect.MakeMap(v.Type())
	within := fieldsWithin(v.Type().Elem())
	for c := d.t.Nodes[n].Child; c != 0; c = d.t.Nodes[c].Next {
		key := d.t.KeyOf(c)
		x := reflect.New(v.Type().Elem()).Elem()
		if err := d.decode(c, x, within); err != nil {
			return withPath(err, keyStep(key))
		}
		m.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), x)
	}
	v.Set(m)
	return nil
}

// orderedMap decodes a mapping of any keys in their order, including those
// whose value is null.
func (d *decoder) orderedMap(n int32, into *field.Map) error {
	if d.t.Nodes[n].Kind != Mapping {
		return d.typeError(n, "a mapping")
	}
	if err := d.checkDuplicatesBelow(n); err != nil {
		return err
	}
	*into = d.t.Any(n).(field.Map)
	return nil
}

func (d *decoder) slice(n int32, v reflect.Value, fields []structField) error {
	switch v.Type() {
	case keyValuesType:
		return d.keyValues(n, v.Addr().Interface().(*field.KeyValues))
	case mapType:
		return d.orderedMap(n, v.Addr().Interface().(*field.Map))
	}
	if d.t.Nodes[n].Kind != Sequence {
		return d.typeError(n, "a list")
	}
	count := d.t.Length(n)
	if count == 0 {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		return nil
	}
	v.SetZero()
	v.Grow(count)
	v.SetLen(count)
	i := 0
	for c := d.t.Nodes[n].Child; c != 0; c = d.t.Nodes[c].Next {
		if err := d.decode(c, v.Index(i), fields); err != nil {
			return withPath(err, indexStep(i))
		}
		i++
	}
	return nil
}

// checkDuplicatesBelow checks the mappings of a value of any type.
func (d *decoder) checkDuplicatesBelow(n int32) error {
	if d.t.Nodes[n].Kind == Mapping {
		if err := d.checkDuplicateKeys(n); err != nil {
			return err
		}
	}
	i := 0
	for c := d.t.Nodes[n].Child; c != 0; c = d.t.Nodes[c].Next {
		if err := d.checkDuplicatesBelow(c); err != nil {
			if d.t.Nodes[n].Kind == Mapping {
				return withPath(err, keyStep(d.t.KeyOf(c)))
			}
			return withPath(err, indexStep(i))
		}
		i++
	}
	return nil
}

// checkDuplicateKeys checks that a mapping has no key twice: kubectl reads the
// last one, other tools the first.
func (d *decoder) checkDuplicateKeys(n int32) error {
	count := 0
	seen := uint64(0) // of length and last letter of each key, one bit
	for c := d.t.Nodes[n].Child; c != 0; c = d.t.Nodes[c].Next {
		if count++; count > 16 {
			return d.checkDuplicatesOfMany(n)
		}
		key := d.t.KeyBytes(c)
		bit := uint64(1) << ((5*len(key) + int(last(key))) & 63)
		if seen&bit == 0 {
			seen |= bit
			continue
		}
		for e := d.t.Nodes[n].Child; e != c; e = d.t.Nodes[e].Next {
			if string(d.t.KeyBytes(e)) == string(key) {
				return d.duplicate(c, string(key))
			}
		}
	}
	return nil
}

func last(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[len(b)-1]
}

func (d *decoder) checkDuplicatesOfMany(n int32) error {
	seen := map[string]bool{}
	for c := d.t.Nodes[n].Child; c != 0; c = d.t.Nodes[c].Next {
		key := d.t.KeyOf(c)
		if seen[key] {
			return d.duplicate(c, key)
		}
		seen[key] = true
	}
	return nil
}
