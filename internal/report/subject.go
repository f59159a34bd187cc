package report

import (
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// groupProbe is the one probe of a WorkloadGroup.
var groupProbe = field.NewPath("spec", "probe")

// Subject returns the words for a field that a message is about, such as "readiness probe of
// web", where web is its container; "" if they would say no more than the object does. Of a
// field without words it returns the path in the spec, in back-quotes.
func Subject(path field.Path, container string) string {
	if words := metadataWords(path); words != "" {
		return words
	}
	if at := containerIn(path); at >= 0 && container != "" {
		if probe := probeWords(path[at:]); probe != "" {
			return probe + " of " + container
		}
		return "container " + container
	}
	if path.HasPrefix(groupProbe) {
		return "probe"
	}
	rest := path[1+lastKey(path, "spec"):]
	if len(rest) == 0 {
		return ""
	}
	return "`" + rest.String() + "`"
}

// metadataWords returns the words for an annotation or a label; "" if the path leads to neither.
func metadataWords(path field.Path) string {
	n := len(path)
	if n < 2 || path[n-1].IsIndex {
		return ""
	}
	switch path[n-2].Key {
	case "annotations":
		return "annotation `" + path[n-1].Key + "`"
	case "labels":
		return "label `" + path[n-1].Key + "`"
	}
	return ""
}

// containerIn returns where a path goes on inside of a container; -1 if it leads into none.
func containerIn(path field.Path) int {
	for i := range path {
		if i > 0 &&
			path[i].IsIndex &&
			strings.HasSuffix(path[i-1].Key, "ontainers") {
			return i + 1
		}
	}
	return -1
}

// probeWords returns the words for the probe or hook that a path leads to or into, from its
// container; "" if there is none.
func probeWords(path field.Path) string {
	for i := range path {
		key := path[i].Key
		switch {
		case key == "lifecycle" && i+1 < len(path):
			return path[i+1].Key + " hook"
		case strings.HasSuffix(key, "Probe"):
			return strings.TrimSuffix(key, "Probe") + " probe"
		}
	}
	return ""
}

// lastKey returns the last position of a key in a path; -1 if there is none.
func lastKey(path field.Path, key string) int {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i].Key == key {
			return i
		}
	}
	return -1
}
