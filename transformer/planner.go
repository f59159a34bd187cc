package transformer

import (
	"fmt"
	"slices"
	"sync"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A Planner plans for one set of options. It holds no state between calls and
// may be used by several goroutines at once.
type Planner struct {
	opts   Options
	mesh   *serviceMesh
	meshes []*serviceMesh // all of them, the planner's own first
	// What follows is made when it is needed: the planners with the same options for the other
	// meshes, and the container probe-proxy without what a template adds to it.
	others            func() map[*serviceMesh]*Planner
	sidecar, ordinary func() field.Map // as a native sidecar, and as an ordinary container
}

// New returns a planner. It is an error if the options have [Options.Problems].
func New(o Options) (*Planner, error) {
	if problems := o.Problems(); len(problems) > 0 {
		return nil, fmt.Errorf("%s: %s", problems[0].Path, problems[0].Text)
	}
	return newPlanner(o, o.serviceMesh()), nil
}

func newPlanner(o Options, d *serviceMesh) *Planner {
	others := slices.DeleteFunc(slices.Clone(serviceMeshes), func(x *serviceMesh) bool { return x == d })
	p := &Planner{opts: o, mesh: d, meshes: append([]*serviceMesh{d}, others...)}
	p.others = sync.OnceValue(func() map[*serviceMesh]*Planner {
		planners := make(map[*serviceMesh]*Planner)
		for _, x := range others {
			planners[x] = newPlanner(p.opts, x)
		}
		return planners
	})
	p.sidecar = sync.OnceValue(func() field.Map { return p.fixedContainer(true) })
	p.ordinary = sync.OnceValue(func() field.Map { return p.fixedContainer(false) })
	return p
}

// Plan plans the rewriting of one template. A template that was rewritten
// before is brought to the planner's options, or restored if it has opted out.
func (p *Planner) Plan(in Input) Plan {
	return write(decide(p.know(p.read(&in), false)))
}

// Restore plans the inverse: the original probes come back, and all that we
// added goes, whether the template has opted out or not.
func (p *Planner) Restore(in Input) Plan {
	return write(decideToRestore(p.know(p.read(&in), true)))
}
