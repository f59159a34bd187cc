package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// An Object is one Kubernetes object of a [Stream]. Only its apiVersion and
// kind are known until more is requested; then it is parsed. The objects of a
// stream share memory: use them from one goroutine and, for speed, one after
// the other.
type Object struct {
	part
	identity
	meta *field.Metadata
}

// APIVersion returns the object's apiVersion, or "".
func (id *identity) APIVersion() string { return id.apiVersion }

// Group returns the API group of the apiVersion; "" is the core group.
func (id *identity) Group() string {
	group, _, found := strings.Cut(id.apiVersion, "/")
	if !found {
		return ""
	}
	return group
}

// Kind returns the object's kind, or "".
func (id *identity) Kind() string { return id.kind }

var metadataPath = field.NewPath("metadata")

// Metadata returns the object's metadata, decoded once. It fails with an *Error
// about a field of the wrong type or a duplicate key; then only the name and
// namespace are set, if those are valid.
func (o *Object) Metadata() (*field.Metadata, error) {
	if o.meta == nil {
		o.meta = &field.Metadata{}
		if _, err := o.Decode(metadataPath, o.meta); err != nil {
			o.stream.unread[o] = err
			*o.meta = field.Metadata{}
			o.meta.Name, o.meta.Namespace = o.nameAndNamespace()
		}
	}
	return o.meta, o.stream.unread[o]
}

func (o *Object) metadata() *field.Metadata {
	m, _ := o.Metadata()
	return m
}

// Name returns metadata.name, or "" if it is missing or invalid.
func (o *Object) Name() string { return o.metadata().Name }

// Namespace returns metadata.namespace, or "" if it is missing or invalid.
func (o *Object) Namespace() string { return o.metadata().Namespace }

// Labels returns metadata.labels, or nil if they are missing or invalid.
func (o *Object) Labels() field.KeyValues {
	return o.metadata().Labels
}

// Annotations returns metadata.annotations, or nil if they are missing or
// invalid.
func (o *Object) Annotations() field.KeyValues {
	return o.metadata().Annotations
}

// String returns the object's name in messages: "Deployment default/web".
func (o *Object) String() string {
	var name, namespace string
	if o.meta != nil {
		name = o.meta.Name
		namespace = o.meta.Namespace
	} else {
		name, namespace = o.nameAndNamespace()
	}
	return string(field.AppendName(nil, cmp.Or(o.kind, "object"), namespace, name))
}

// nameAndNamespace returns the name and namespace even if other fields are
// invalid, so that messages can name the object.
func (o *Object) nameAndNamespace() (name, namespace string) {
	t, err := o.load()
	if err != nil { // what can be read of it
		p := &o.stream.check
		p.Parse(o.source(), int(o.col))
		t = &p.Tree
	}
	if len(t.Nodes) < 2 {
		return "", ""
	}
	if m := t.Get(1, "metadata"); t.Nodes[m].Kind == yaml.Mapping {
		return textOf(t, m, "name"), textOf(t, m, "namespace")
	}
	return "", ""
}

// textOf returns the scalar of a key of a mapping as it is written, or "".
func textOf(t *yaml.Tree, n int32, key string) string {
	c := t.Get(n, key)
	if t.Nodes[c].Kind != yaml.Scalar || t.IsNull(c) {
		return ""
	}
	return t.Str(c)
}

// File returns the file that the object came from and its index there, which
// kpt and kustomize note in annotations; path is "" if they did not.
func (o *Object) File() (path string, index int) {
	a := o.Annotations()
	path = cmp.Or(a.Get("internal.config.kubernetes.io/path"), a.Get("config.kubernetes.io/path"))
	if i := cmp.Or(a.Get("internal.config.kubernetes.io/index"), a.Get("config.kubernetes.io/index")); i != "" {
		index, _ = strconv.Atoi(i)
	}
	return path, index
}

// FieldLine returns the line of the input on which the field starts, counted
// from 1. If the field does not exist, it is the line of the deepest field on
// the way to it.
func (o *Object) FieldLine(path field.Path) int {
	t, err := o.load()
	if err != nil {
		return o.Line()
	}
	n, _ := t.At(path)
	return o.nodeLine(t, n)
}

func (o *Object) nodeLine(t *yaml.Tree, n int32) int {
	if o.changed {
		return o.Line()
	}
	return o.stream.line(o.stream.treeAt + int(t.Nodes[n].Key))
}

// Errorf returns an *Error about a field of the object, with its file and line.
func (o *Object) Errorf(path field.Path, format string, args ...any) *Error {
	return o.error(path, o.FieldLine(path), fmt.Errorf(format, args...))
}

// error returns an *Error. If a tool has put the object into a list, its line
// in its own file is unknown; then the error names only the file.
func (o *Object) error(path field.Path, line int, err error) *Error {
	e := &Error{File: o.stream.name, Object: o.String(), Path: path, Line: line, Err: err}
	if o.meta != nil && o.stream.isList {
		if file, _ := o.File(); file != "" {
			e.File = file
			e.Line = 0
		}
	}
	return e
}

// load returns the object's tree, which is valid until another object is
// loaded.
func (o *Object) load() (*yaml.Tree, error) {
	s := o.stream
	if s.treeOf == o {
		return &s.parser.Tree, nil
	}
	s.treeOf = nil
	ok, at := false, o.start
	if o.changed {
		ok = s.parser.Parse(o.source(), int(o.col))
	} else {
		at, ok = s.text.Parse(&s.parser, o.start, o.end, int(o.col))
	}
	switch t := &s.parser; {
	case ok && t.ReadOnly.Why == yaml.NotKey:
		return nil, s.errorAt(at+t.ReadOnly.At, ErrNotKey)
	case !ok:
		return nil, s.placed(t.Refused.From(at))
	}
	s.treeOf = o
	s.treeAt = at
	return &s.parser.Tree, nil
}

// Forget makes the stream read the object anew when more of it is requested: a panic may have left
// the memory that its objects share in any state.
func (o *Object) Forget() {
	o.stream.treeOf = nil
	o.stream.parser = yaml.Parser{}
	o.stream.check = yaml.Parser{}
	o.stream.scratch.original = original{}
}

// Decode reads the value at path into the variable that into points to, by
// json tags; found is false, and the variable untouched, where the value is
// missing or null. What the type does not name is skipped. A value of the
// wrong type or a duplicate key is an *Error.
//
// Besides structs, pointers, slices, maps with string keys, strings, booleans and whole numbers it
// reads [field.IntOrString], and into an any: [field.Map], [field.List],
// string, int, float64, bool or nil.
func (o *Object) Decode(path field.Path, into any) (found bool, err error) {
	return o.decode(path, into, false)
}

// DecodeStrict is Decode for configuration: a key that the type lacks is an
// *Error that lists the allowed ones. All errors are
// found: if there are several, errors.Join has joined them.
func (o *Object) DecodeStrict(path field.Path, into any) (found bool, err error) {
	return o.decode(path, into, true)
}

func (o *Object) decode(path field.Path, into any, strict bool) (found bool, err error) {
	t, err := o.load()
	if err != nil {
		return false, err
	}
	found, errs := t.Decode(path, into, strict)
	return found, located(o, t, errs)
}

// located adds file, object and line to a decoder's errors.
func located(o *Object, t *yaml.Tree, errs []yaml.DecodeError) error {
	var all []error
	for _, e := range errs {
		err := o.error(t.Path(e.Node), o.nodeLine(t, e.Node), errors.New(e.Msg))
		all = append(all, err)
	}
	return errors.Join(all...)
}
