package pipeline

import (
	"fmt"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/vm"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// group returns what the planner must know about a group.
func (in *inputs) group(o *manifest.Object, meta *field.Metadata) (*vm.Group, error) {
	g := &vm.Group{Metadata: *meta, Around: in.around.Of(o, meta.Namespace), Source: o.Value}
	spec := field.NewPath("spec")
	if _, err := o.Decode(spec, &g.Spec); err != nil {
		return nil, err
	}
	if err := o.CheckKeys(spec); err != nil {
		return nil, err
	}
	g.Probes = func(kind, name string) (probes []transformer.OriginalProbe, workload string, err error) {
		all := in.makers(kind, meta.Namespace, name)
		if len(all) != 1 {
			return nil, workload, fmt.Errorf("the input must have one workload of that kind and name in the group's namespace, and has %d", len(all))
		}
		if probes, err = in.originals(all[0]); err != nil {
			err = fmt.Errorf("the probes of %s cannot be known: %w", all[0], err)
		}
		return probes, all[0].String(), err
	}
	return g, nil
}

// originals returns the readiness probes of a workload as their authors wrote
// them.
func (in *inputs) originals(o *manifest.Object) ([]transformer.OriginalProbe, error) {
	templates, err := in.podTemplates(o)
	if err != nil {
		return nil, err
	}
	var all []transformer.OriginalProbe
	for _, t := range templates {
		probes, err := in.planner.ReadinessProbes(t)
		if err != nil {
			return nil, err
		}
		all = append(all, probes...)
	}
	return all, nil
}
