package pipeline

import (
	"fmt"
	"reflect"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// managedByLabel marks the objects that were added by this program, which
// are the only ones that it changes or removes.
const managedByLabel = "app.kubernetes.io/managed-by"

// updateCompanion adds, updates or removes the companion of a workload in the
// stream, as the plan says. It returns false if it cannot, and reports why. An
// inspection warns if the companion is stale, unless the workload itself has
// pending edits.
func (r *run) updateCompanion(o *manifest.Object, b *transformer.Companion, templates int, pending bool) bool {
	if b == nil {
		return true
	}
	if b.Value != nil && (templates > 1 || o.Name() == "") {
		what := "has no name, and its ConfigMap for Envoy is named for it"
		if templates > 1 {
			what = fmt.Sprintf("has %d pod templates, and one ConfigMap for Envoy cannot serve several", templates)
		}
		r.addFinding(o, transformer.Finding{Reason: ReasonEnvoyUnfit, Message: what + "; it must be answered by probe-proxy"})
		return false
	}
	existing := r.find(b)
	if existing != nil && existing.Labels().Get(managedByLabel) != "rewrite-probes" {
		if b.Value == nil {
			return true
		}
		r.addFinding(o, transformer.Finding{Reason: ReasonEnvoyTaken,
			Message: fmt.Sprintf("ConfigMap %q already exists without the label `%s: rewrite-probes`; the configuration for Envoy must have that name", b.Name, managedByLabel)})
		return false
	}
	done, err := "", error(nil)
	switch {
	case r.mode == Inspect:
		if !pending && b.Value != nil && !r.isUpToDate(existing, b) {
			r.addFinding(o, transformer.Finding{Reason: ReasonEnvoyStale,
				Message: fmt.Sprintf("its ConfigMap %q, which configures Envoy for the probes, is missing or out of date", b.Name)})
		}
	case existing == nil && b.Value != nil:
		done, err = "added", o.AddAfter(b.Value)
	case existing != nil && b.Value == nil:
		done, err = "removed", existing.Remove()
	case existing != nil:
		done, err = updateData(existing, b.Value)
	}
	if err != nil {
		r.fail(o, err)
		return false
	}
	if done != "" {
		r.addFinding(o, transformer.Finding{Reason: ReasonEnvoyConfig,
			Message: fmt.Sprintf("ConfigMap %q, which configures Envoy for the probes, was %s", b.Name, done)})
	}
	return true
}

// find returns the object of the current stream that b names, nil if there is
// none.
func (r *run) find(b *transformer.Companion) *manifest.Object {
	for _, o := range r.stream.Objects() {
		if o.Kind() == b.Kind && o.APIVersion() == b.APIVersion && o.Name() == b.Name && o.Namespace() == b.Namespace {
			return o
		}
	}
	return nil
}

func (r *run) isUpToDate(existing *manifest.Object, b *transformer.Companion) bool {
	if existing == nil {
		return false
	}
	same, err := hasData(existing, b.Value)
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
