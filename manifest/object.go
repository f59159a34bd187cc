package manifest

import "github.com/rewrite-probes/rewrite-probes/field"

// An Object is one Kubernetes object of a [Stream]. It is parsed only when
// it is asked for more than its apiVersion and kind. The objects of a stream
// share memory: use them from one goroutine.
type Object struct {
	stream *Stream
}

// Metadata is the part of an object's metadata that this package reads.
type Metadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// A CustomTemplate says where the pod template of a kind is that this
// package does not know, in any version of the group.
type CustomTemplate struct {
	Group string
	Kind  string
	Path  field.Path // plain keys; the empty path says that the object is itself like a Pod
}

// A TemplateRef says where a pod template is: at Path the object has a
// mapping with metadata and spec, as a Pod has.
type TemplateRef struct {
	Path    field.Path
	JobLike bool // made by a Job, a CronJob, a ScaledJob or a JobSet
}

// APIVersion gives the object's apiVersion; "" where it has none.
func (o *Object) APIVersion() string { panic("todo") }

// Group gives the API group of the apiVersion; "" is the core group.
func (o *Object) Group() string { panic("todo") }

// Kind gives the object's kind; "" where it has none.
func (o *Object) Kind() string { panic("todo") }

// Metadata gives the object's metadata, decoded once. An error is an *Error
// about a field of the wrong type or a duplicate key.
func (o *Object) Metadata() (*Metadata, error) { panic("todo") }

// Name gives metadata.name; "" where it is missing or wrong.
func (o *Object) Name() string { panic("todo") }

// Namespace gives metadata.namespace; "" where it is missing or wrong.
func (o *Object) Namespace() string { panic("todo") }

// Labels gives metadata.labels; nil where they are missing or wrong.
func (o *Object) Labels() map[string]string { panic("todo") }

// Annotations gives metadata.annotations; nil where they are missing or wrong.
func (o *Object) Annotations() map[string]string { panic("todo") }

// String names the object as messages do: "Deployment default/web".
func (o *Object) String() string { panic("todo") }

// File gives the file the object came from and its place in there, as kpt
// and kustomize note them in annotations; path is "" where they did not.
func (o *Object) File() (path string, index int) { panic("todo") }

// Line gives the line of the input where the object starts, from 1.
func (o *Object) Line() int { panic("todo") }

// FieldLine gives the line of the input where the field (or the deepest part
// of the path that exists) starts, from 1.
func (o *Object) FieldLine(path field.Path) int { panic("todo") }

// Errorf makes an *Error about a field of the object, with file and line.
func (o *Object) Errorf(path field.Path, format string, args ...any) *Error { panic("todo") }

// Decode reads the value at path into the variable that into points to, by
// json tags; found is false, and the variable untouched, where the value is
// missing or null. What the type does not name is skipped. A value of the
// wrong type or a duplicate key is an *Error.
//
// Besides structs, pointers, slices, maps with string keys and scalars it
// reads [field.IntOrString], and into an any: [field.Map], [field.List],
// string, int, float64, bool or nil.
func (o *Object) Decode(path field.Path, into any) (found bool, err error) { panic("todo") }

// DecodeStrict is Decode for configuration: a key that the type does not name
// is an *Error which lists those that are allowed.
func (o *Object) DecodeStrict(path field.Path, into any) (found bool, err error) { panic("todo") }

// MayHoldPodTemplate tells, without parsing, whether PodTemplates or
// FindPodTemplate could find something. Known says that the kind is one
// whose pod templates are known (or among custom).
func (o *Object) MayHoldPodTemplate(custom []CustomTemplate) (may, known bool) { panic("todo") }

// PodTemplates gives the places of the object's pod templates, as far as the
// object has them; none for a kind that is neither known nor in custom.
func (o *Object) PodTemplates(custom []CustomTemplate) ([]TemplateRef, error) { panic("todo") }

// FindPodTemplate searches an object of an unknown kind for something that
// looks like a pod template: a mapping with a list of containers of which one
// has a probe or a hook. The path is that of the template (the mapping that
// holds spec), fit for a CustomTemplate unless it crosses a list.
func (o *Object) FindPodTemplate() (path field.Path, found bool) { panic("todo") }

// Apply makes the edits. After an error the object is as it was before.
func (o *Object) Apply(edits []field.Edit) error { panic("todo") }

// Changed tells whether an Apply has changed the object's text.
func (o *Object) Changed() bool { panic("todo") }

// Reencoded tells whether an Apply had to encode the whole object anew,
// because its text was too unusual for changing only the lines in question.
func (o *Object) Reencoded() bool { panic("todo") }
