package workload

import "strings"

// Meant returns the known kind that the author of an unknown one probably meant:
// its name is misspelt, or its group or, among the API server's own kinds, both;
// nil if there is none.
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

// nearest returns the allowed kind whose name is another spelling of name: it
// differs by at most two letters, or only in its capitals; nil if there is none.
func nearest(name string, allowed func(*Kind) bool) *Kind {
	var best *Kind
	least := 3
	for _, k := range kinds {
		if k.Name == name || !allowed(k) {
			continue
		}
		d := distance(strings.ToLower(k.Name), strings.ToLower(name))
		// Two letters are most of a short name: `Pod` is no misspelt `Job`.
		if d < least && 3*d < len(name) || d == least && best != nil && k.Name < best.Name {
			best, least = k, d
		}
	}
	return best
}

// inOtherGroup returns the known kind of the same name in another group: one that
// differs by at most two letters or, if both groups are the API server's, any;
// nil if there is none.
func inOtherGroup(group, name string) *Kind {
	if KindOf(group, name) != nil {
		return nil
	}
	_, isBuiltin := builtin[group]
	var best *Kind
	for _, k := range kinds {
		if k.Name != name || k.Group == "extensions" {
			continue
		}
		_, known := builtin[k.Group]
		isNear := isBuiltin && known || distance(k.Group, group) <= 2
		if isNear && (best == nil || k.Group < best.Group) {
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
