package surroundings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A Neighbour is what is known of an object besides its spec. Each type of a kind embeds it.
type Neighbour struct {
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

func (o *Neighbour) object() *Neighbour { return o }

// note returns the metadata of the object. What is asked of it goes into keys, which may be nil.
func (o *Neighbour) note(keys *field.MetadataKeys) field.NotedMetadata {
	m := field.Metadata{Name: o.Name, Labels: o.Labels, Annotations: o.Annotations}
	return m.Note(keys)
}

// about returns an object with the certainty that it is about pods.
func about[T any](v *T, is certain.Certainty) AboutPods[T] { return AboutPods[T]{v, is} }

// An AboutPods is an object that may be about pods, and whether it is.
type AboutPods[T any] struct {
	Object *T
	Is     certain.Certainty
}

// oldest leaves of objects, of which Istio takes the oldest that is about the pods, those that it may take
// (configCompareByCreationTime in Istio's pilot/pkg/model/config.go). These are all, if it is not known when one was made.
func oldest[T any](all []AboutPods[T]) []AboutPods[T] {
	if len(all) < 2 {
		return all
	}
	made := make([]time.Time, len(all))
	order := make([]int, len(all))
	for i, a := range all {
		at, ok := objectOf(a.Object).At.(interface{ Created() string })
		if !ok {
			return all
		}
		t, err := time.Parse(time.RFC3339, at.Created())
		if err != nil {
			return all
		}
		made[i], order[i] = t, i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := objectOf(all[i].Object), objectOf(all[j].Object)
		byName := cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Namespace, b.Namespace))
		return cmp.Or(made[i].Compare(made[j]), byName)
	})
	var left []AboutPods[T]
	for _, i := range order {
		left = append(left, all[i])
		if all[i].Is == certain.Always {
			break
		}
	}
	return left
}

func objectOf(v any) *Neighbour { return v.(interface{ object() *Neighbour }).object() }

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
		o := objectOf(&list[i])
		o.Far, o.Disputed = f.Far, f.Disputed
	}
	return list
}

// words names an object of a kind, and where it is: an item of a ResourceList may be in no file.
func (o *Neighbour) words(kind string) string {
	words := string(field.AppendName(nil, kind, o.Namespace, o.Name))
	if o.At == nil {
		return words
	}
	if at := o.At.String(); at != "" {
		words += " at " + at
	}
	return words
}
