package nearby

import (
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// An objects has the objects of one kind, which are read when they are first needed.
type objects struct {
	kind   *surroundings.Kind
	words  []string // that an object has which counts; nil if any may
	unread []*manifest.Object
	all    map[string][]located // by namespace; by name or as one, if the kind's scope is that
}

func newObjects(k *surroundings.Kind) *objects {
	l := &objects{kind: k, all: make(map[string][]located)}
	if k.Mentions != "" {
		l.words = []string{k.Mentions}
	}
	for _, name := range k.Named {
		l.words = append(l.words, strings.Trim(name, "*"))
	}
	return l
}

// mayCount reports, without parsing, whether an object may be one that counts.
func (l *objects) mayCount(o *manifest.Object) bool {
	return l.words == nil || o.MayMention(l.words...)
}

// read reads what has not been read.
func (l *objects) read() {
	for _, o := range l.unread {
		m := metadataOf(o)
		if m == nil || !l.kind.Counts(m.Name) {
			continue
		}
		v, ok := l.kind.Read(surroundings.Neighbour{
			Kind: o.Kind(), Name: m.Name, Namespace: m.Namespace, Labels: m.Labels, Annotations: m.Annotations,
			At: &origin{Object: o},
		}, o.Decode)
		if !ok {
			continue
		}
		group := ""
		switch l.kind.Scope {
		case surroundings.OfName:
			group = m.Name
		case surroundings.OfNamespace, surroundings.OfNamespaceAndRoot:
			group = m.Namespace
		}
		name := o.Kind() + " " + m.Namespace + "/" + m.Name
		l.all[group] = append(l.all[group], located{placeOf(o), name, v})
	}
	l.unread = nil
}

// find returns the objects of the namespace, of one name the nearest. If the namespace is
// not known, they are those of the nearest folder that has any: that objects of two
// folders go to the same namespace is then not known either.
func (l *objects) find(q question) []located {
	all := l.all[q.namespace]
	if q.namespace == "" && l.kind.Scope != surroundings.Anywhere {
		all = around(all, q.place)
	}
	return nearest(all, q.place, func(o located) string { return o.name })
}
