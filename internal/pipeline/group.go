package pipeline

import (
	"fmt"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/vm"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func (r *run) planGroup(o *manifest.Object, meta *field.Metadata) (report.Template, error) {
	g, err := r.group(o, meta)
	if err != nil {
		return report.Template{}, err
	}
	if r.patching != nil {
		g.Notes = new(transformer.Notes)
	}
	t := r.template(o, field.NewPath("spec"), planning{
		restore: func() transformer.Plan { return vm.Restore(g) },
		rewrite: func(texts []field.Text) transformer.Plan {
			g.Texts = texts
			return vm.Plan(g, r.spec.Rewrite)
		},
	})
	t.IsWorkloadGroup = true
	if r.patching != nil {
		r.patching.note(vm.Reads(g))
	}
	return t, nil
}

// group returns what the planner must know about a group.
func (r *run) group(o *manifest.Object, meta *field.Metadata) (*vm.Group, error) {
	g := &vm.Group{Metadata: *meta, Around: r.around.Of(o, meta.Namespace), Source: o.Value}
	spec := field.NewPath("spec")
	if _, err := o.Decode(spec, &g.Spec); err != nil {
		return nil, err
	}
	if err := o.CheckKeys(spec); err != nil {
		return nil, err
	}
	g.Probes = func(kind, name string) (probes []transformer.OriginalProbe, workload string, err error) {
		all := r.makers(kind, meta.Namespace, name)
		if len(all) != 1 {
			return nil, workload, fmt.Errorf("the input must have one workload of that kind and name in the group's namespace, and has %d", len(all))
		}
		if probes, err = r.originals(all[0]); err != nil {
			err = fmt.Errorf("the probes of %s cannot be known: %w", all[0], err)
		}
		return probes, all[0].String(), err
	}
	return g, nil
}

// originals returns the readiness probes of a workload as their authors wrote
// them.
func (r *run) originals(o *manifest.Object) ([]transformer.OriginalProbe, error) {
	meta, err := o.Metadata()
	if err != nil {
		return nil, err
	}
	templates, err := workload.Templates(o, r.custom)
	if err != nil {
		return nil, err
	}
	var all []transformer.OriginalProbe
	for _, ref := range templates {
		in, err := r.input(o, meta, ref)
		if err != nil {
			return nil, err
		}
		probes, err := r.planner.ReadinessProbes(in)
		if err != nil {
			return nil, err
		}
		all = append(all, probes...)
	}
	return all, nil
}
