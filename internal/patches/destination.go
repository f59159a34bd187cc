package patches

import (
	"cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

// A Destination is the namespace where the objects of a build end, as the object says that has their patches.
type Destination struct {
	Namespace string // "" if it is unknown
	By        string // the object that says so, in messages
	// Overrides: it also replaces the namespace that an object names, after the patches.
	Overrides bool
	// Renders: the chart is rendered for it. Named are the strings of the values, which may be other namespaces.
	Renders bool
	Named   []string
}

// DestinationOf returns the destination that an object of a form says; none for nil.
func DestinationOf(o *manifest.Object) (d Destination) {
	if o == nil {
		return d
	}
	text := func(keys ...string) string {
		v, _ := o.Value(field.NewPath(keys...))
		s, _ := v.(string)
		return s
	}
	d.By = o.String()
	d.Overrides = true
	switch FormOf(o) {
	case Kustomization, Component:
		d.Namespace = text("namespace")
	case FluxKustomization:
		d.Namespace = text("spec", "targetNamespace")
	case ArgoCD: // destination fills in what is missing
		if d.Namespace = text("spec", "source", "kustomize", "namespace"); d.Namespace == "" {
			d.Namespace, d.Overrides = text("spec", "destination", "namespace"), false
		}
	case HelmRelease:
		d.Namespace = cmp.Or(text("spec", "targetNamespace"), o.Namespace())
		d.Overrides, d.Renders = false, true
		values, _ := o.Value(field.NewPath("spec", "values"))
		d.Named = stringsIn(values, nil)
	}
	return d
}

// stringsIn appends all strings below a value.
func stringsIn(v field.Value, found []string) []string {
	switch v := v.(type) {
	case string:
		found = append(found, v)
	case field.Map:
		for _, e := range v {
			found = stringsIn(e.Value, found)
		}
	case field.List:
		for _, item := range v {
			found = stringsIn(item, found)
		}
	}
	return found
}
