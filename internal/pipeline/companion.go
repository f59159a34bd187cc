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
		r.addFinding(o, transformer.Finding{Reason: ReasonEnvoyUnfit, Message: what + "; it must be answered by probe-proxy"})
		return false
	}
	existing := r.find(planned)
	if existing != nil && existing.Labels().Get(managedByLabel) != "rewrite-probes" {
		if planned.Value == nil {
			return true
		}
		r.addFinding(o, transformer.Finding{Reason: ReasonEnvoyTaken,
			Message: fmt.Sprintf("ConfigMap %q already exists without the label `%s: rewrite-probes`; the configuration for Envoy must have that name", planned.Name, managedByLabel)})
		return false
	}
	done, err := "", error(nil)
	switch {
	case r.mode == Inspect:
		if !pending && planned.Value != nil && !isUpToDate(existing, planned.Value) {
			r.addFinding(o, transformer.Finding{Reason: ReasonEnvoyStale,
				Message: fmt.Sprintf("its ConfigMap %q, which configures Envoy for the probes, is missing or out of date", planned.Name)})
		}
	case existing == nil && planned.Value != nil:
		done, err = "added", o.AddAfter(planned.Value)
	case existing != nil && planned.Value == nil:
		done, err = "removed", existing.Remove()
	case existing != nil:
		done, err = updateData(existing, planned.Value)
	}
	if err != nil {
		r.fail(o, err)
		return false
	}
	if done != "" {
		r.addFinding(o, transformer.Finding{Reason: ReasonEnvoyConfig,
			Message: fmt.Sprintf("ConfigMap %q, which configures Envoy for the probes, was %s", planned.Name, done)})
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

func isUpToDate(existing *manifest.Object, value field.Map) bool {
	if existing == nil {
		return false
	}
	same, err := hasData(existing, value)
	return same && err == nil
}

// hasData reports whether an object has the data of value.
func hasData(o *manifest.Object, value field.Map) (bool, error) {
	want, _ := value.Get("data")
	var have any
	_, err := o.Decode(field.NewPath("data"), &have)
	return reflect.DeepEqual(have, want), err
}

// updateData sets the data of an object to that of value, if it differs.
func updateData(o *manifest.Object, value field.Map) (done string, err error) {
	if same, err := hasData(o, value); same || err != nil {
		return "", err
	}
	want, _ := value.Get("data")
	return "brought up to date", o.Apply([]field.Edit{{Op: field.Set, Path: field.NewPath("data"), Value: want}})
}
