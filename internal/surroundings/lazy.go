package surroundings

import (
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A lazy has the objects of one kind, which it reads when they are first needed.
type lazy[T any] struct {
	read   func(*manifest.Object) (v T, m *transformer.Metadata) // m is nil for an object that does not count
	unread []*manifest.Object
	all    map[string]*objects[T] // by namespace
}

// in returns the objects of a namespace; nil if there are none.
func (l *lazy[T]) in(namespace string) *objects[T] {
	for _, o := range l.unread {
		v, m := l.read(o)
		if m == nil {
			continue
		}
		if l.all == nil {
			l.all = make(map[string]*objects[T])
		}
		if l.all[m.Namespace] == nil {
			l.all[m.Namespace] = &objects[T]{}
		}
		l.all[m.Namespace].add(placeOf(o), m.Name, v)
	}
	l.unread = nil
	return l.all[namespace]
}

// near returns the values of the objects that [lazy.find] finds, without asking the same of a
// namespace twice in a row.
func (l *lazy[T]) near(q question) []T {
	o := l.in(q.namespace)
	if o == nil {
		return nil
	}
	if o.answer == nil || o.asked != q.place {
		o.asked, o.answer = q.place, l.find(q).values
	}
	return o.answer
}

// find returns the objects of the namespace, of one name the nearest. If the namespace is
// not known, they are those of the nearest folder that has any: that objects of two
// folders go to the same namespace is then not known either.
func (l *lazy[T]) find(q question) *objects[T] {
	if o := l.in(q.namespace); o != nil {
		return o.around(q).nearest(q.place)
	}
	return &objects[T]{}
}
