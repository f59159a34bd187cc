package pipeline

import (
	"fmt"
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
	if planned.Value != nil && (templates > 1 || o.Name() == "") {
		what := "has no name, and its ConfigMap for Envoy is named for it"
		if templates > 1 {
			what = fmt.Sprintf("has %d pod templates, and one ConfigMap for Envoy cannot serve several", templates)
		}
		r.addFinding(o, transformer.NewFinding(ReasonEnvoyUnfit, nil, "%s; it must be answered by probe-proxy", what))
		return false
	}
	existing := r.find(planned)
	if existing != nil && existing.Labels().Get(managedByLabel) != "rewrite-probes" {
		if planned.Value == nil {
			return true
		}
		r.addFinding(o, transformer.NewFinding(ReasonEnvoyTaken, nil,
			"ConfigMap %q already exists without the label `%s: rewrite-probes`; the configuration for Envoy must have that name", planned.Name, managedByLabel))
		return false
	}
	want, _ := planned.Value.Get("data")
	var have any
	var err error
	if existing != nil && planned.Value != nil {
		_, err = existing.Decode(dataPath, &have)
	}
	current := existing != nil && err == nil && reflect.DeepEqual(have, want)
	if r.mode == Inspect {
		if !pending && planned.Value != nil && !current {
			r.addFinding(o, transformer.NewFinding(ReasonEnvoyStale, nil,
				"its ConfigMap %q, which configures Envoy for the probes, is missing or out of date", planned.Name))
		}
		return true
	}
	done := ""
	switch {
	case existing == nil && planned.Value != nil:
		done, err = "added", o.AddAfter(planned.Value)
	case existing != nil && planned.Value == nil:
		done, err = "removed", existing.Remove()
	case existing != nil && err == nil && !current:
		done, err = "brought up to date", existing.Apply([]field.Edit{{Op: field.Set, Path: dataPath, Value: want}})
	}
	if err != nil {
		r.fail(o, err)
		return false
	}
	if done != "" {
		r.addFinding(o, transformer.NewFinding(ReasonEnvoyConfig, nil,
			"ConfigMap %q, which configures Envoy for the probes, was %s", planned.Name, done))
	}
	return true
}

// find returns the object of the current stream that has the companion's name,
// nil if there is none.
func (r *run) find(c *transformer.Companion) *manifest.Object {
	for _, o := range r.stream.Objects() {
		if o.Kind() == c.Kind && o.APIVersion() == c.APIVersion && o.Name() == c.Name && o.Namespace() == c.Namespace {
			return o
		}
	}
	return nil
}
