package config

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// Selection returns a function that reports whether select and exclude let an object be
// rewritten.
func (s *Spec) Selection() func(kind string, m *field.Metadata) bool {
	selected := s.Select.matcher()
	excluded := s.Exclude.matcher()
	return func(kind string, m *field.Metadata) bool {
		return (s.Select == nil || selected(kind, m)) &&
			(s.Exclude == nil || !excluded(kind, m))
	}
}

// MaySelect reports whether select and exclude may let an object of a kind be rewritten.
func (s *Spec) MaySelect(kind string) bool {
	if s.Select != nil &&
		len(s.Select.Kinds) > 0 &&
		!slices.Contains(s.Select.Kinds, kind) {
		return false
	}
	x := s.Exclude
	isAll := x != nil &&
		len(x.Names) == 0 &&
		len(x.Namespaces) == 0 &&
		x.LabelSelector == ""
	return !isAll ||
		len(x.Kinds) > 0 && !slices.Contains(x.Kinds, kind)
}

// SelectingLabels returns the keys of the labels by which select and exclude choose objects.
func (s *Spec) SelectingLabels() (keys []string) {
	for _, x := range []*Selector{s.Select, s.Exclude} {
		if x == nil {
			continue
		}
		requirements, _ := parseLabelSelector(x.LabelSelector) // Decode refuses what is none
		for _, r := range requirements {
			keys = append(keys, r.key)
		}
	}
	return keys
}

// matcher returns a function that reports whether the selector matches an object; nil if there
// is no selector.
func (s *Selector) matcher() func(kind string, m *field.Metadata) bool {
	if s == nil {
		return nil
	}
	requirements, _ := parseLabelSelector(s.LabelSelector) // Decode refuses what is none
	return func(kind string, m *field.Metadata) bool {
		return (len(s.Kinds) == 0 || slices.Contains(s.Kinds, kind)) &&
			matchesAny(s.Names, m.Name) && matchesAny(s.Namespaces, m.Namespace) &&
			!slices.ContainsFunc(requirements, func(r requirement) bool { return !r.matches(m.Labels) })
	}
}

func matchesAny(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := path.Match(p, name)
		return ok
	})
}

func isLabelSelector(s string) bool {
	_, ok := parseLabelSelector(s)
	return ok
}

// isPattern reports whether * and ? are all that has a meaning in s to [path.Match].
func isPattern(s string) bool { return !strings.ContainsAny(s, `[]\`) }

// A requirement is one comma-separated part of a label selector.
type requirement struct {
	key    string
	values []string // nil: the key must only be there
	negate bool
}

func (r requirement) matches(labels field.KeyValues) bool {
	value, ok := labels.Lookup(r.key)
	if r.values != nil {
		ok = ok && slices.Contains(r.values, value)
	}
	return ok != r.negate
}

// requirementForm is the form of one requirement of a label selector, as the Kubernetes
// documentation has them ("Labels and Selectors"), with the comma after it: !a, a, a=b, a==b,
// a!=b, a in (b,c), a notin (b,c).
var requirementForm = sync.OnceValue(func() *regexp.Regexp {
	const (
		letter = `[^\s=!(),]`
		values = `((?:\s*` + letter + `*\s*,)*\s*` + letter + `*\s*)`
		value  = `\s*(!=|==?)\s*(` + letter + `*)`
		set    = `\s+(in|notin)\s*\(` + values + `\)`
	)
	return regexp.MustCompile(`^\s*(?:!\s*(` + letter + `+)|(` + letter + `+)(?:` + value + `|` + set + `)?)\s*(,|$)`)
})

// parseLabelSelector returns the requirements of a label selector; ok is false if it is none.
func parseLabelSelector(s string) (all []requirement, ok bool) {
	for rest, more := s, strings.TrimSpace(s) != ""; more; {
		m := requirementForm().FindStringSubmatch(rest)
		if m == nil {
			return nil, false
		}
		absent := m[1]
		key := m[2]
		comma := m[7]
		operator := m[3]
		value := m[4]
		in := m[5]
		values := m[6]
		r := requirement{
			key:    cmp.Or(absent, key),
			negate: absent != "" || operator == "!=" || in == "notin",
		}
		switch {
		case operator != "":
			r.values = []string{value}
		case in != "":
			for v := range strings.SplitSeq(values, ",") {
				r.values = append(r.values, strings.TrimSpace(v))
			}
		}
		all = append(all, r)
		rest, more = rest[len(m[0]):], comma != ""
	}
	return all, true
}
