package transformer

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// A Planner plans for one set of options. It holds no state between calls and
// may be used by several goroutines at once.
type Planner struct {
	opts     Options
	settings []*setting // one for each mesh, that of the options first
	finders  []originalFinder
}

// New returns a planner. It is an error if the options have [Problems].
func New(o Options) (*Planner, error) {
	if problems := Problems(&o); len(problems) > 0 {
		return nil, fmt.Errorf("%s: %s", problems[0].Path, problems[0].Text)
	}
	p := &Planner{opts: o, finders: originalFinders()}
	own := meshOf(&o)
	p.settings = make([]*setting, 0, len(serviceMeshes))
	p.settings = append(p.settings, &setting{opts: &p.opts, mesh: own})
	for _, d := range serviceMeshes {
		if d != own {
			p.settings = append(p.settings, &setting{opts: &p.opts, mesh: d})
		}
	}
	return p, nil
}

// Plan plans the rewriting of one template. A template that was rewritten
// before is brought to the planner's options, or restored if it has opted out.
func (p *Planner) Plan(in Input) Plan {
	return planOf(decide(know(p.settings, p.read(&in))))
}

// Restore plans the inverse: the original probes come back, and all that we
// added goes, whether the template has opted out or not.
func (p *Planner) Restore(in Input) Plan {
	return planOf(decideToRestore(know(p.settings, p.read(&in))))
}

// planOf returns the plan of a decision, with a judgement of the probes unless only the edits are asked for.
func planOf(d *decision) Plan {
	plan := write(d)
	if !d.in.OnlyEdits {
		judge(d, &plan)
	}
	return plan
}

// read reads a template with the options of the planner, whatever its mesh is. Of a Namespace only what says
// something of a mesh counts.
func (p *Planner) read(in *Input) *template {
	in.Around.CountKeys(IsOfMesh)
	return read(&p.opts, p.finders, in)
}

// originalFinders returns those of all meshes.
func originalFinders() (finders []originalFinder) {
	for _, d := range serviceMeshes {
		if d.findOriginal != nil {
			finders = append(finders, d.findOriginal)
		}
	}
	return finders
}

// Rewritten returns the originals of the probes and hooks that the plan for a template rewrites, in
// the form of the env var and by its keys, and what the plan finds. If it finds an error, there are
// none.
func (p *Planner) Rewritten(in Input) (map[string]*prober.Original, []Finding) {
	d := decide(know(p.settings, p.read(&in)))
	if d.failed() {
		return nil, d.findings
	}
	return originalsOf(d.toRewrite), d.findings
}

// An OriginalProbe is a readiness probe as its author wrote it, whether or not
// the template has been rewritten since.
type OriginalProbe struct {
	Container string
	Probe     field.Map
	Port      int   // the number of its port, which may be a name in Probe
	PortErr   error // why it has none
}

// ReadinessProbes returns the readiness probes of a template as their authors
// wrote them. It fails if an original cannot be known.
func (p *Planner) ReadinessProbes(in Input) ([]OriginalProbe, error) {
	t := p.read(&in)
	if f := FirstError(t.mistakes); f != nil {
		return nil, errors.New(f.Text.What)
	}
	var all []OriginalProbe
	for _, s := range t.sites {
		if s.name != prober.Readiness {
			continue
		}
		if s.isDangling() {
			return nil, errors.New(NewFinding(reason.Dangling, s.path, danglingText).Text.What)
		}
		probe := s.source
		if s.alreadyRewritten {
			isCurrent := func(e field.Entry) bool {
				return e.Key == s.current.Kind()
			}
			probe = slices.DeleteFunc(slices.Clone(probe), isCurrent)
			probe = append(probe, field.Entry{Key: s.original.Kind(), Value: s.original.Value()})
		}
		all = append(
			all,
			OriginalProbe{
				Container: s.container.Name,
				Probe:     probe,
				Port:      s.port,
				PortErr:   s.portErr,
			},
		)
	}
	return all, nil
}
