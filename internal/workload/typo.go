package workload

import "strings"

// Meant returns the known kind that a kind which does not exist is likely a
// misspelling of, in its name, in its group or, among the API server's own kinds,
// in both; nil if there is none.
func Meant(group, name string) *Kind {
	if k := nearest(name, func(k *Kind) bool { return k.Group == group }); k != nil {
		return k
	}
	if k := inOtherGroup(group, name); k != nil {
		return k
	}
	_, isBuiltin := builtin[group]
	return nearest(name, func(k *Kind) bool {
		_, known := builtin[k.Group]
		return isBuiltin && known && k.Group != "extensions"
	})
}

// IsBuiltinGroup reports whether the API server itself serves the group of an
// apiVersion.
func IsBuiltinGroup(apiVersion string) bool {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		group = ""
	}
	_, ok := builtin[group]
	return ok && apiVersion != ""
}

// nearest returns the kind, of those for which may is true, whose name differs
// by at most two letters, or in its capitals; nil if there is none.
func nearest(name string, may func(*Kind) bool) *Kind {
	var best *Kind
	least := 3
	for _, k := range kinds {
		if k.Name == name || !may(k) {
			continue
		}
		d := distance(strings.ToLower(k.Name), strings.ToLower(name))
		// Of a short name two letters are most of it: `Pod` is no `Job`.
		if d < least && 3*d < len(name) || d == least && best != nil && k.Name < best.Name {
			best, least = k, d
		}
	}
	return best
}

// inOtherGroup returns the known kind of the same name in another group that
// differs by at most two letters, or is one of the API server's; nil if there
// is none.
func inOtherGroup(group, name string) *Kind {
	if KindOf(group, name) != nil {
		return nil
	}
	var best *Kind
	for _, k := range kinds {
		if k.Name != name || k.Group == "extensions" {
			continue
		}
		_, others := builtin[k.Group]
		_, isBuiltin := builtin[group]
		near := isBuiltin && others || distance(k.Group, group) <= 2
		if near && (best == nil || k.Group < best.Group) {
			best = k
		}
	}
	return best
}

// distance returns how many letters have to be added, removed, replaced or
// swapped with their neighbour to make one word of another.
func distance(a, b string) int {
	before, last, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(last[j+1]+1, next[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, last, next = last, next, before
	}
	return last[len(b)]
}
