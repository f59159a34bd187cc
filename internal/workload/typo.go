package workload

import "strings"

// Meant returns the known kind that the author of an unknown one probably meant: its name
// is misspelt, or its group is; nil if there is none. Among the API server's own kinds both
// may be, and any group may stand for another.
func Meant(group, name string) *Kind {
	if k := nearest(name, func(k *Kind) bool { return k.Group == group }); k != nil {
		return k
	}
	_, isBuiltin := builtin[group]
	bothBuiltin := func(k *Kind) bool {
		_, known := builtin[k.Group]
		return isBuiltin && known
	}
	k := kindThat(func(k *Kind) bool { return k.Name == name && (bothBuiltin(k) || distance(k.Group, group) <= 2) })
	if k != nil {
		return k
	}
	return nearest(name, bothBuiltin)
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
	for i := range kinds {
		k := &kinds[i]
		d := distance(strings.ToLower(k.Name), strings.ToLower(name))
		// Two letters are most of a short name: `Pod` is no misspelt `Job`.
		if allowed(k) && d < least && 3*d < len(name) {
			best, least = k, d
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
