package config

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// Selects reports whether select and exclude let an object be rewritten.
func (s *Spec) Selects(kind string, m *field.Metadata) bool {
	return (s.Select == nil || s.Select.matches(kind, m)) && (s.Exclude == nil || !s.Exclude.matches(kind, m))
}

func (s *Selector) matches(kind string, m *field.Metadata) bool {
	requirements, _ := parseLabelSelector(s.LabelSelector) // Decode refuses what is none
	return (len(s.Kinds) == 0 || slices.Contains(s.Kinds, kind)) &&
		matchesAny(s.Names, m.Name) && matchesAny(s.Namespaces, m.Namespace) &&
		!slices.ContainsFunc(requirements, func(r requirement) bool { return !r.matches(m.Labels) })
}

func matchesAny(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := path.Match(p, name)
		return ok
	})
}

// checkSelector reports the first thing that is wrong with a selector.
func (p *problems) checkSelector(key string, s *Selector) {
	if s == nil {
		return
	}
	path := specPath.Key(key)
	_, err := parseLabelSelector(s.LabelSelector)
	patterns := slices.Concat(s.Names, s.Namespaces)
	wrong := slices.IndexFunc(patterns, func(p string) bool { return !isPattern(p) })
	switch {
	case len(s.Kinds)+len(patterns) == 0 && s.LabelSelector == "":
		p.add(path, "must have kinds, names, namespaces or labelSelector")
	case wrong >= 0:
		p.add(path, "pattern %q must be a name in which * and ? match as in a shell", patterns[wrong])
	case err != nil:
		p.add(path, "%v", err)
	}
}

func isPattern(s string) bool {
	_, err := path.Match(s, "")
	return err == nil
}

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

// parseLabelSelector reads the forms of the Kubernetes documentation
// ("Labels and Selectors"): a=b, a==b, a!=b, a in (b,c), a notin (b,c), a, !a.
func parseLabelSelector(s string) ([]requirement, error) {
	var all []requirement
	for _, part := range splitOutsideParens(s) {
		r, ok := parseRequirement(strings.TrimSpace(part))
		if !ok {
			return nil, fmt.Errorf("labelSelector %q must be made of a=b, a!=b, a in (b,c), a notin (b,c), a and !a, joined by commas", s)
		}
		all = append(all, r)
	}
	return all, nil
}

func splitOutsideParens(s string) []string {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	var parts []string
	depth, from := 0, 0
	for i, r := range s {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			parts, from = append(parts, s[from:i]), i+1
		}
	}
	return append(parts, s[from:])
}

func parseRequirement(s string) (requirement, bool) {
	if key, rest, ok := strings.Cut(s, "("); ok {
		list, closed := strings.CutSuffix(strings.TrimSpace(rest), ")")
		words := strings.Fields(key)
		if !closed || len(words) != 2 || (words[1] != "in" && words[1] != "notin") {
			return requirement{}, false
		}
		r := requirement{key: words[0], negate: words[1] == "notin"}
		for v := range strings.SplitSeq(list, ",") {
			r.values = append(r.values, strings.TrimSpace(v))
		}
		return r, isLabelKey(r.key) && !slices.ContainsFunc(r.values, func(v string) bool { return !isLabelValue(v) })
	}
	for _, op := range []string{"!=", "==", "="} {
		if key, value, ok := strings.Cut(s, op); ok {
			key, value = strings.TrimSpace(key), strings.TrimSpace(value)
			return requirement{key: key, values: []string{value}, negate: op == "!="}, isLabelKey(key) && isLabelValue(value)
		}
	}
	key, negate := strings.CutPrefix(s, "!")
	return requirement{key: strings.TrimSpace(key), negate: negate}, isLabelKey(strings.TrimSpace(key))
}

func isLabelKey(s string) bool { return s != "" && isLabelValue(s) }

func isLabelValue(s string) bool { return !strings.ContainsAny(s, " \t=!(),") }
