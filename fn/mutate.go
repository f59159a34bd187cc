package fn

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rewrite-probes/rewrite-probes/fn/findings"
	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
)

// An Owner is the object that a pod template belongs to. The zero Owner is a
// Deployment without a name.
type Owner struct {
	// APIVersion and Kind decide which path findings name the template by, and
	// whether its pods have to finish.
	APIVersion, Kind string
	// Metadata is the object's own: opt-outs are read there too, and the config
	// selects objects by it.
	Metadata metav1.ObjectMeta
	// Namespace is the object that Metadata.Namespace names; nil if unknown.
	Namespace *corev1.Namespace
}

// Mutate rewrites the probes of a pod template and adds what answers them. If
// that cannot be done, the error is a *[findings.RunError] and the template stays as
// it was. Mutating a template again changes nothing.
//
// Everything else in the template stays, even fields that are newer than
// rewrite-probes.
func Mutate(template *corev1.PodTemplateSpec, owner Owner, c *RewriteProbes) (*Report, error) {
	return run(template, owner, c, pipeline.Rewrite)
}

// Explain says what [Mutate] would do, and changes nothing. Its error means
// that the config or the owner cannot be used.
func Explain(template *corev1.PodTemplateSpec, owner Owner, c *RewriteProbes) (*Report, error) {
	return run(template, owner, c, pipeline.Inspect)
}

func run(
	template *corev1.PodTemplateSpec, owner Owner, c *RewriteProbes, wants pipeline.Wants,
) (out *Report, err error) {
	defer pipeline.Recover(&err)
	if template == nil {
		return nil, errors.New("the pod template must not be nil")
	}
	decoded, err := c.decode()
	if err != nil {
		return nil, err
	}
	if owner.APIVersion == "" && owner.Kind == "" {
		owner.APIVersion = "apps/v1"
		owner.Kind = "Deployment"
	}
	path, decoded, err := templateOf(owner, decoded)
	if err != nil {
		return nil, err
	}
	text, err := owner.list(template, path)
	if err != nil {
		return nil, err
	}
	s, err := manifest.Read("", text)
	if err != nil {
		return nil, err
	}
	seen := pipeline.Run([]*manifest.Stream{s}, decoded, pipeline.Inspect)
	out = &Report{Findings: findings.Of(seen), Probes: probesOf(seen), Changed: seen.Changed > 0}
	if wants == pipeline.Inspect {
		return out, nil
	}
	r := pipeline.Run([]*manifest.Stream{s}, decoded, wants)
	out.Findings, out.Changed = findings.Of(r), r.Changed > 0
	if r.Failed() {
		out.Changed = false
		return out, &findings.RunError{Findings: out.Findings}
	}
	for i := range out.Probes {
		switch p := &out.Probes[i]; p.State {
		case WouldRewrite:
			p.State = Rewritten
		case WouldRestore:
			p.State = Restored
		}
	}
	if !s.Changed() {
		return out, nil
	}
	return out, takeBack(template, s.Objects()[0], seen.Templates[0].Path)
}

// takeBack takes the rewritten template from its owner.
func takeBack(template *corev1.PodTemplateSpec, owner *manifest.Object, path field.Path) error {
	var rewritten corev1.PodTemplateSpec
	value, _ := owner.Value(path)
	if err := json.Unmarshal(field.AppendJSON(nil, value), &rewritten); err != nil {
		return fmt.Errorf("internal error: what was rewritten cannot be read: %w", err)
	}
	if len(path) == 0 { // a Pod: its metadata are the template's
		rewritten.Name, rewritten.Namespace = template.Name, template.Namespace
	}
	*template = rewritten
	return nil
}

// templateOf returns the pattern of an owner's pod template, and a config with which it is
// found.
func templateOf(owner Owner, c *config.RewriteProbes) (field.Path, *config.RewriteProbes, error) {
	group := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).Group
	kind := workload.KindOf(group, owner.Kind)
	switch {
	case workload.IsWorkloadGroup(group, owner.Kind):
		return nil, nil, fmt.Errorf("a %s has no pod template: use Filter or Process for the object as a whole", owner.Kind)
	case kind == nil:
		with := *c
		own := config.PodTemplate{Group: group, Kind: owner.Kind, Path: "spec.template"}
		with.Spec.PodTemplates = append(slices.Clone(c.Spec.PodTemplates), own)
		return field.NewPath("spec", "template"), &with, nil
	case kind.Shape.WorkloadMetadata:
		return nil, nil, fmt.Errorf("the pod template of a %s has no metadata and is no PodTemplateSpec: use Filter or Process for the object as a whole", owner.Kind)
	}
	return kind.Templates[0], c, nil
}

// list returns the owner with its template, and its Namespace, as a List in
// JSON.
func (o Owner) list(template *corev1.PodTemplateSpec, path field.Path) ([]byte, error) {
	object := map[string]any{"apiVersion": o.APIVersion, "kind": o.Kind}
	if len(path) == 0 { // a Pod: its metadata are the template's
		meta := template.ObjectMeta
		meta.Name, meta.Namespace = o.Metadata.Name, o.Metadata.Namespace
		object["metadata"], object["spec"] = meta, template.Spec
	} else {
		object["metadata"] = metav1.ObjectMeta{
			Name: o.Metadata.Name, Namespace: o.Metadata.Namespace,
			Labels: o.Metadata.Labels, Annotations: o.Metadata.Annotations,
		}
		var value any = template
		for i := len(path) - 1; i > 0; i-- {
			if path[i].IsIndex {
				value = []any{value}
			} else {
				value = map[string]any{path[i].Key: value}
			}
		}
		object[path[0].Key] = value
	}
	items := []any{object}
	if o.Namespace != nil {
		ns := o.Namespace.DeepCopy()
		ns.APIVersion = "v1"
		ns.Kind = "Namespace"
		items = append(items, ns)
	}
	list, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&map[string]any{
		"apiVersion": "v1",
		"kind":       "List",
		"items":      items,
	})
	if err != nil {
		return nil, err
	}
	dropNulls(list)
	return json.Marshal(list)
}

// dropNulls drops the nulls and the empty metadata that the API's types write for fields
// that are not set.
func dropNulls(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, v := range value {
			dropNulls(v)
		}
		maps.DeleteFunc(value, func(key string, v any) bool {
			m, isMapping := v.(map[string]any)
			return v == nil || key == "metadata" && isMapping && len(m) == 0
		})
	case []any:
		for _, v := range value {
			dropNulls(v)
		}
	}
}

func probesOf(r *report.Report) []Probe {
	var probes []Probe
	for _, t := range r.Templates {
		for _, p := range t.Probes {
			probes = append(probes, Probe{
				Container: p.Container, Init: p.Init, Field: p.Field.String(), Before: p.Before, After: p.After,
				State: p.State, Reason: p.Reason.String(), StrictTLS: p.StrictTLS, Why: p.Why, If: p.If,
			})
		}
	}
	return probes
}
