package surroundings

// A lazy has objects of one kind, of which there are many, and which are seldom needed:
// they are read on demand.
type lazy[T any] struct {
	unread []object
	all    byNamespace[T]
	asked  question // the last question,
	answer []T      // and the answer
}

// of returns what byNamespace.near does. read returns an object and its namespace, or
// false for one that does not count.
func (l *lazy[T]) of(q question, read func(object) (v T, namespace string, ok bool), name func(*T) string) []T {
	for _, o := range l.unread {
		if v, namespace, ok := read(o); ok {
			if l.all == nil {
				l.all = make(byNamespace[T])
			}
			l.all.in(namespace).add(placeOf(o), v)
		}
	}
	l.unread = nil
	if l.answer == nil || l.asked != q {
		l.asked, l.answer = q, l.all.near(q, name)
	}
	return l.answer
}
