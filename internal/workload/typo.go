package workload

import "strings"

// Meant returns the known kind that the author of an unknown one probably meant; nil if there
// is none. Its name is misspelt: it differs by at most two letters, or only in its capitals. Or
// its group is: among the API server's own, any may stand for another, and the name be misspelt too.
func Meant(group, name string) *Kind {
	_, isBuiltin := builtin[group]
	var inOther *Kind
	// Two letters are most of a short name: `Pod` is no misspelt `Job`.
	for letters := 0; letters <= 2 && 3*letters < len(name); letters++ {
		for i := range kinds {
			k := &kinds[i]
			_, known := builtin[k.Group]
			switch {
			case !within(letters, strings.ToLower(k.Name), strings.ToLower(name)):
			case k.Group == group:
				return k
			case inOther == nil && (isBuiltin && known || k.Name == name && within(2, k.Group, group)):
				inOther = k
			}
		}
	}
	return inOther
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
