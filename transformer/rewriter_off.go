package transformer

import "github.com/rewrite-probes/rewrite-probes/internal/field"

// A rewriterOff is the annotation that turns a mesh's own rewriter off. The zero
// value is that of a mesh without a rewriter.
type rewriterOff struct {
	key, value string
	means      func(value string) bool // reports whether a value turns it off
}

func (r rewriterOff) isOff(annotations field.Noted) bool {
	v, set := annotations.Lookup(r.key)
	return set && r.means != nil && r.means(v)
}

// with returns the user's annotations with the rewriter turned off. If one of the
// present annotations, have, does that already, its value stays as it is written.
func (r rewriterOff) with(user, have field.Noted) field.Noted {
	switch {
	case r.key == "":
		return user
	case r.isOff(have):
		return user.With(r.key, have.Get(r.key))
	}
	return user.With(r.key, r.value)
}

// without undoes with. If recorded has the user's value, that comes back.
func (r rewriterOff) without(annotations field.Noted, recorded field.KeyValues) field.Noted {
	if !r.isOff(annotations) {
		return annotations
	}
	if v, set := recorded.Lookup(r.key); set {
		return annotations.With(r.key, v)
	}
	return annotations.Without(r.key)
}
