package pipeline

import (
	"iter"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/nearby"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// inputs are what plans are made from: manifests and a functionConfig.
type inputs struct {
	streams []*manifest.Stream
	spec    *config.Spec
	selects func(kind string, m *field.Metadata) bool // of the spec
	planner *transformer.Planner
	custom  []workload.Custom // of the spec
	around  *nearby.Index
	byName  map[maker][]*manifest.Object // see makers
}

func newInputs(streams []*manifest.Stream, c *config.RewriteProbes) *inputs {
	planner, err := transformer.New(c.Spec.Options)
	if err != nil {
		panic(err)
	}
	in := &inputs{streams: streams, spec: &c.Spec, selects: c.Spec.Selection(), planner: planner}
	for _, t := range c.Spec.PodTemplates {
		pattern, _ := field.Parse(t.Path) // validated with the config
		metadata, _ := field.Parse(t.Metadata)
		in.custom = append(in.custom, workload.Custom{Group: t.Group, Kind: t.Kind, Pattern: pattern, Metadata: metadata})
	}
	in.around = nearby.Collect(streams, c.Spec.Istio.RootNamespace)
	return in
}

// objectsOf yields all objects of streams.
func objectsOf(streams []*manifest.Stream) iter.Seq[*manifest.Object] {
	return func(yield func(*manifest.Object) bool) {
		for _, s := range streams {
			for _, o := range s.Objects() {
				if !yield(o) {
					return
				}
			}
		}
	}
}

// podTemplate returns what the planner must know about a pod template.
func (in *inputs) podTemplate(
	o *manifest.Object, owner *field.Metadata, ref workload.TemplatePlace,
) (transformer.Input, error) {
	t := transformer.Input{
		Kind: o.Kind(), APIVersion: o.APIVersion(), Workload: *owner,
		NamespaceName: owner.Namespace, Around: in.around.Of(o, owner.Namespace),
		Path: ref.Path, Metadata: ref.Metadata, JobLike: ref.JobLike, Shape: ref.Shape, Source: o.Value,
	}
	var into any = &t.Template
	if ref.Shape.BareSpec {
		into = &t.Template.Spec
	}
	if _, err := o.Decode(ref.Path, into); err != nil {
		return t, err
	}
	switch {
	case ref.Shape.WorkloadMetadata:
		t.Template.Metadata = *owner
	case ref.Metadata != nil:
		if _, err := o.Decode(ref.Metadata, &t.Template.Metadata); err != nil {
			return t, err
		}
	}
	// No mapping may have a key twice, if only below a field that the planner does not know.
	err := o.CheckKeys(t.SpecPath())
	if path := t.MetadataPath(); path != nil && err == nil {
		err = o.CheckKeys(path)
	}
	return t, err
}

// podTemplates returns what the planner must know about each pod template of an object.
func (in *inputs) podTemplates(o *manifest.Object) ([]transformer.Input, error) {
	meta, err := o.Metadata()
	if err != nil {
		return nil, err
	}
	refs, err := workload.Templates(o, in.custom)
	if err != nil {
		return nil, err
	}
	all := make([]transformer.Input, len(refs))
	for i, ref := range refs {
		if all[i], err = in.podTemplate(o, meta, ref); err != nil {
			return nil, err
		}
	}
	return all, nil
}
