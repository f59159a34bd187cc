package surroundings

import (
	"fmt"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// An Object is what is known of an object besides its spec. Each type of a kind embeds it.
type Object struct {
	Kind        string          `json:"-"`
	Name        string          `json:"-"`
	Namespace   string          `json:"-"`
	Labels      field.KeyValues `json:"-"`
	Annotations field.KeyValues `json:"-"`
	At          fmt.Stringer    `json:"-"` // "file:line"; nil is not known
	Far         bool            `json:"-"` // see [Surroundings]
	// Disputed is set if another object of this kind and name is as near, so that only one of them can
	// be in the cluster.
	Disputed bool `json:"-"`
}

func (o *Object) object() *Object { return o }

// note returns the metadata of the object. What is asked of it goes into keys, which may be nil.
func (o *Object) note(keys *field.MetadataKeys) field.NotedMetadata {
	m := field.Metadata{Name: o.Name, Labels: o.Labels, Annotations: o.Annotations}
	return m.Note(keys)
}

// A Found is an object that was found, as a pointer to a value of its kind's type, and how it lies.
type Found struct {
	Value         any
	Far, Disputed bool
}

// listOf returns what was found as values, as a []T.
func listOf[T any](found []Found) any {
	list := make([]T, len(found))
	for i, f := range found {
		list[i] = *f.Value.(*T)
		o := any(&list[i]).(interface{ object() *Object }).object()
		o.Far, o.Disputed = f.Far, f.Disputed
	}
	return list
}

// words names an object of a kind, and where it is.
func (o *Object) words(kind string) string {
	words := string(field.AppendName(nil, kind, o.Namespace, o.Name))
	if o.At != nil {
		words += " at " + o.At.String()
	}
	return words
}
