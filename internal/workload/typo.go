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
	k := kindThat(func(k *Kind) bool { return k.Name == name && (bothBuiltin(k) || within(2, k.Group, group)) })
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
	// Two letters are most of a short name: `Pod` is no misspelt `Job`.
	for letters := 0; letters <= 2 && 3*letters < len(name); letters++ {
		k := kindThat(func(k *Kind) bool {
			return allowed(k) && within(letters, strings.ToLower(k.Name), strings.ToLower(name))
		})
		if k != nil {
			return k
		}
	}
	return nil
}

// within reports whether one word is made of another if at most n letters are added,
// removed, replaced or swapped with their neighbour.
func within(n int, a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch {
	case n == 0 || a == "" || b == "":
		return max(len(a), len(b)) <= n
	case within(n-1, a[1:], b), within(n-1, a, b[1:]), within(n-1, a[1:], b[1:]):
		return true
	}
	return len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] && within(n-1, a[2:], b[2:])
}
