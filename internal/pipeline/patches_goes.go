package pipeline

import (
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
)

// send makes the objects of a render known under the namespace where they end. It returns another namespace
// if the whole render is for that one, and a release would install it there; "" otherwise.
func send(streams []*manifest.Stream, goes patches.Destination) (other string) {
	if goes.Namespace == "" {
		return ""
	}
	fits := false
	for o := range objectsOf(streams) {
		named := sendObject(o, goes)
		switch {
		case named != "" && named != goes.Namespace:
			other = named
		case named != "" || isNamespaced(o):
			fits = true
		}
	}
	if fits || !goes.Renders || slices.Contains(goes.Named, other) {
		return ""
	}
	return other
}

// sendObject makes one object known under the namespace where it ends, and returns the one that it names.
func sendObject(o *manifest.Object, goes patches.Destination) (named string) {
	m, err := o.Metadata()
	switch isNamespace := o.Kind() == "Namespace" && o.Group() == ""; {
	case err != nil, isNamespace && !goes.Overrides:
	case isNamespace: // kustomize renames it
		m.Name = goes.Namespace
	default:
		named = m.Namespace
		if goes.Overrides || named == "" {
			m.Namespace = goes.Namespace
		}
	}
	return named
}

// isNamespaced reports whether objects of a kind are certainly in a namespace.
func isNamespaced(o *manifest.Object) bool {
	switch o.Kind() {
	case "Service", "ServiceAccount", "ConfigMap", "Secret":
		return true
	}
	return workload.Classify(o, nil) == workload.Known
}

// written returns a string of the metadata that is written in an object, by which kustomize selects it.
func written(o *manifest.Object, key string) string {
	v, _ := o.Value(field.NewPath("metadata", key))
	s, _ := v.(string)
	return s
}

// otherNamespace returns the message about a render for another namespace.
func otherNamespace(other string, goes patches.Destination) report.Message {
	return report.NewMessage(reason.NotPatchable, reason.Text{
		What: fmt.Sprintf("all objects of this render are in namespace %s, but %s installs into %s", other, goes.By, goes.Namespace),
		Fix:  fmt.Sprintf("Render the chart with `--namespace %s`. If it always uses %s, set `targetNamespace`", goes.Namespace, other),
	})
}
