package pipeline

import (
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/vm"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func (r *run) planGroup(o *manifest.Object, meta *transformer.Metadata) (report.Template, error) {
	g, err := r.group(o, meta)
	if err != nil {
		return report.Template{}, err
	}
	var plan transformer.Plan
	if r.mode == Restore {
		plan = vm.Restore(g)
	} else {
		plan = transformer.WithTexts(func(texts []field.Text) transformer.Plan {
			g.Texts = texts
			return vm.Plan(g, r.spec.Rewrite)
		}, o.Texts)
	}
	t := r.describe(o, plan, field.NewPath("spec"))
	t.Machines = true
	return t, nil
}

// group returns what the planner must know about a group.
func (r *run) group(o *manifest.Object, meta *transformer.Metadata) (*vm.Group, error) {
	g := &vm.Group{Metadata: *meta, Namespace: r.around.Of(o, meta.Namespace).Namespace, Source: o.Value}
	spec := field.NewPath("spec")
	if _, err := o.Decode(spec, &g.Spec); err != nil {
		return nil, err
	}
	if err := o.CheckKeys(spec); err != nil {
		return nil, err
	}
	g.Workloads = func(kind, name string) []vm.Workload { return r.workloads(kind, name, meta.Namespace) }
	return g, nil
}

// workloads returns the readiness probes of the workloads of a kind that have a
// name, in a namespace.
func (r *run) workloads(kind, name, namespace string) []vm.Workload {
	var all []vm.Workload
	for _, s := range r.streams {
		for _, o := range s.Objects() {
			if o.Kind() != kind || o.Name() != name || o.Namespace() != namespace || workload.Classify(o, r.custom) != workload.Known {
				continue
			}
			w := vm.Workload{Name: o.String()}
			w.Probes, w.Err = r.originals(o)
			all = append(all, w)
		}
	}
	return all
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
