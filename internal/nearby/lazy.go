package nearby

import (
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

// A lazy has the objects of one kind, which it reads when they are first needed.
type lazy[T any] struct {
	read   func(*manifest.Object) (v T, m *field.Metadata) // m is nil for an object that does not count
	unread []*manifest.Object
	all    map[string][]located[T] // by namespace
}

func newLazy[T any](read func(*manifest.Object) (T, *field.Metadata)) lazy[T] {
	return lazy[T]{read: read, all: make(map[string][]located[T])}
}

// in returns the objects of a namespace.
func (l *lazy[T]) in(namespace string) []located[T] {
	for _, o := range l.unread {
		if v, m := l.read(o); m != nil {
			found := located[T]{placeOf(o), o.Kind() + " " + m.Name, v}
			l.all[m.Namespace] = append(l.all[m.Namespace], found)
		}
	}
	l.unread = nil
	return l.all[namespace]
}

// near returns the values of the objects that are heard, of one name the nearest.
func (l *lazy[T]) near(q question) []T {
	return l.values(q, true)
}

// far returns the values of the objects of other branches, without those of a name that
// is heard.
func (l *lazy[T]) far(q question) []T {
	return l.values(q, false)
}

func (l *lazy[T]) values(q question, heard bool) (values []T) {
	for _, o := range l.find(q) {
		if q.hears(o.place) == heard {
			values = append(values, o.value)
		}
	}
	return values
}

// find returns the objects of the namespace, of one name the nearest. If the namespace is
// not known, they are those of the nearest folder that has any: that objects of two
// folders go to the same namespace is then not known either.
func (l *lazy[T]) find(q question) []located[T] {
	all := l.in(q.namespace)
	if q.namespace == "" {
		all = around(all, q.place)
	}
	return nearest(all, q.place, func(o located[T]) string {
		return o.name
	})
}
