package workload

import (
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/spelling"
)

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
			case !spelling.Within(letters, k.Name, name):
			case k.Group == group:
				return k
			case inOther == nil &&
				(isBuiltin && known || k.Name == name && spelling.Within(2, k.Group, group)):
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

// shortNames are kubectl's short names of kinds (kubectl api-resources).
var shortNames = map[string]string{
	"po": "Pod", "rc": "ReplicationController", "deploy": "Deployment", "rs": "ReplicaSet", "sts": "StatefulSet",
	"ds": "DaemonSet", "cj": "CronJob",
}

// KindNamed returns the kind that kubectl knows by a word: its name in small letters, in the plural,
// or short; "" if it is none, or the kind itself.
func KindNamed(word string) string {
	if name := shortNames[word]; name != "" {
		return name
	}
	for _, k := range kinds {
		if k.Name != word && (strings.EqualFold(word, k.Name) || strings.EqualFold(word, k.Name+"s")) {
			return k.Name
		}
	}
	return ""
}
