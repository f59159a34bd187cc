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

// What there is to do about a companion.
const (
	companionAdded   = "added"
	companionRemoved = "removed"
	companionUpdated = "brought up to date"
)

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
	change, err := companionChange(planned, existing)
	if r.mode == Inspect {
		if !pending && planned.Value != nil && (change != "" || err != nil) {
			r.addFinding(o, transformer.NewFinding(ReasonEnvoyStale, nil,
				"its ConfigMap %q, which configures Envoy for the probes, is missing or out of date", planned.Name))
		}
		return true
	}
	switch change {
	case companionAdded:
		err = o.AddAfter(planned.Value)
	case companionRemoved:
		err = existing.Remove()
	case companionUpdated:
		data, _ := planned.Value.Get("data")
		err = existing.Apply([]field.Edit{{Op: field.Set, Path: dataPath, Value: data}})
	}
	if err != nil {
		r.fail(o, err)
		return false
	}
	if change != "" {
		r.addFinding(o, transformer.NewFinding(ReasonEnvoyConfig, nil,
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
		return new(transformer.NewFinding(ReasonEnvoyUnfit, nil, "has %d pod templates, and one ConfigMap for Envoy cannot serve several"+byProbeProxy, templates))
	case o.Name() == "":
		return new(transformer.NewFinding(ReasonEnvoyUnfit, nil, "has no name, and its ConfigMap for Envoy is named for it"+byProbeProxy))
	case existing != nil && !isManaged(existing):
		return new(transformer.NewFinding(ReasonEnvoyTaken, nil,
			"ConfigMap %q already exists without the label `%s: rewrite-probes`; the configuration for Envoy must have that name", planned.Name, managedByLabel))
	}
	return nil
}

func isManaged(o *manifest.Object) bool { return o.Labels().Get(managedByLabel) == "rewrite-probes" }

// companionChange returns what there is to do; "" if there is nothing. What this program has
// not added is not removed.
func companionChange(planned *transformer.Companion, existing *manifest.Object) (change string, err error) {
	switch {
	case existing == nil && planned.Value == nil:
		return "", nil
	case existing == nil:
		return companionAdded, nil
	case planned.Value == nil && isManaged(existing):
		return companionRemoved, nil
	case planned.Value == nil:
		return "", nil
	}
	var have any
	if _, err = existing.Decode(dataPath, &have); err != nil {
		return "", err
	}
	if want, _ := planned.Value.Get("data"); !reflect.DeepEqual(have, want) {
		return companionUpdated, nil
	}
	return "", nil
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
