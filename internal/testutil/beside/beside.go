// Package beside has objects around another, for tests that read no manifests.
package beside

import (
	"fmt"
	"reflect"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// A Source has objects whatever their namespace.
type Source struct {
	Objects, Unplaced []any        // pointers to values of the types of kinds
	Others            bool         // a mesh injects into another Namespace
	All               bool         // there are no other objects in the cluster
	At                fmt.Stringer // where the Namespace is
}

var _ surroundings.Source = (*Source)(nil)

// Of returns surroundings that have the objects, as pointers to values of the types of kinds.
func Of(objects ...any) surroundings.Surroundings {
	return surroundings.New(new(With(objects...)))
}

// With returns a source of the objects.
func With(objects ...any) Source { return Source{Objects: objects} }

// Find returns the objects of the kind. How one lies it says itself.
func (s *Source) Find(k *surroundings.Kind, unplaced bool) (found []surroundings.Found) {
	all := s.Objects
	if unplaced {
		all = s.Unplaced
	}
	for _, v := range all {
		if reflect.TypeOf(v) == reflect.TypeOf(k.New()) {
			o := reflect.ValueOf(v).Elem()
			found = append(found, surroundings.Found{
				Value: v, Far: o.FieldByName("Far").Bool(), Disputed: o.FieldByName("Disputed").Bool(),
			})
		}
	}
	return found
}

// Hears returns what Others says of Namespaces, and whether there is an object of another kind.
func (s *Source) Hears(k *surroundings.Kind, _ func(any) bool) bool {
	if k == surroundings.Namespaces.Kind {
		return s.Others
	}
	return len(s.Find(k, false)) > 0
}

// Complete returns what All says.
func (s *Source) Complete(*surroundings.Kind) bool { return s.All }

// LimitRange returns an object of that kind with limits.
func LimitRange(name string, limits ...field.Value) any {
	read := func(_ field.Path, into any) (bool, error) {
		reflect.ValueOf(into).Elem().FieldByName("Limits").Set(reflect.ValueOf(field.List(limits)))
		return true, nil
	}
	v, _ := surroundings.LimitRanges.Read(surroundings.Neighbour{Name: name}, read)
	return v
}
