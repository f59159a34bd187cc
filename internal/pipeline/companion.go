package pipeline

import (
	"reflect"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// managedByLabel marks the ConfigMaps that this program has added. It changes
// and removes no others.
const managedByLabel = "app.kubernetes.io/managed-by"

var dataPath = field.NewPath("data")

// updateCompanion adds, updates or removes the companion of a workload in the
// stream, as the plan says. If it cannot, it reports why and returns false. An
// inspection only warns if the companion is out of date and the workload itself
// has no pending edits.
func (r *run) updateCompanion(o *manifest.Object, planned *transformer.Companion, templates int, pending bool) bool {
	if planned == nil {
		return true
	}
	existing := find(o, planned)
	if f := companionConflict(o, planned, existing, templates); f != nil {
		r.addFinding(o, *f)
		return false
	}
	change, apply, err := companionChange(o, planned, existing)
	if r.mode == Inspect {
		if !pending && planned.Value != nil && (change != "" || err != nil) {
			r.addFinding(o, transformer.NewFinding("envoy-config-stale", nil,
				"its ConfigMap %q, which configures Envoy for the probes, is missing or out of date", planned.Name))
		}
		return true
	}
	if change != "" {
		err = apply()
	}
	if err != nil {
		r.fail(o, err)
		return false
	}
	if change != "" {
		r.addFinding(o, transformer.NewFinding("envoy-config", nil,
			"ConfigMap %q, which configures Envoy for the probes, was %s", planned.Name, change))
	}
	return true
}

// companionConflict returns why a workload cannot have the companion; nil if it can, or needs none.
func companionConflict(o *manifest.Object, planned *transformer.Companion, existing *manifest.Object, templates int) *transformer.Finding {
	const byProbeProxy = "; it must be answered by probe-proxy"
	switch {
	case planned.Value == nil:
		return nil
	case templates > 1:
		return new(transformer.NewFinding("envoy-unfit", nil, "has %d pod templates, and one ConfigMap for Envoy cannot serve several"+byProbeProxy, templates))
	case o.Name() == "":
		return new(transformer.NewFinding("envoy-unfit", nil, "has no name, and its ConfigMap for Envoy is named for it"+byProbeProxy))
	case existing != nil && !isManaged(existing):
		return new(transformer.NewFinding("envoy-config-taken", nil,
			"ConfigMap %q already exists without the label `%s: rewrite-probes`; the configuration for Envoy must have that name", planned.Name, managedByLabel))
	}
	return nil
}

func isManaged(o *manifest.Object) bool { return o.Labels().Get(managedByLabel) == "rewrite-probes" }

// companionChange returns what there is to do, in a word or a few, and how; "" if there is
// nothing. What this program has not added is not removed.
func companionChange(o *manifest.Object, planned *transformer.Companion, existing *manifest.Object) (change string, apply func() error, err error) {
	switch {
	case planned.Value == nil && existing != nil && isManaged(existing):
		return "removed", existing.Remove, nil
	case planned.Value == nil:
		return "", nil, nil
	case existing == nil:
		return "added", func() error { return o.AddAfter(planned.Value) }, nil
	}
	var have any
	if _, err = existing.Decode(dataPath, &have); err != nil {
		return "", nil, err
	}
	want, _ := planned.Value.Get("data")
	if reflect.DeepEqual(have, want) {
		return "", nil, nil
	}
	return "brought up to date", func() error { return existing.Apply([]field.Edit{{Op: field.Set, Path: dataPath, Value: want}}) }, nil
}

// find returns the object in the stream of a workload that has the companion's name, nil if
// there is none.
func find(workload *manifest.Object, c *transformer.Companion) *manifest.Object {
	for _, o := range workload.Stream().Objects() {
		if o.Kind() == c.Kind && o.APIVersion() == c.APIVersion && o.Name() == c.Name && o.Namespace() == c.Namespace {
			return o
		}
	}
	return nil
}
