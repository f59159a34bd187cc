package transformer

import (
	"errors"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// An OriginalProbe is a readiness probe as its author wrote it, whether or not
// the template has been rewritten since.
type OriginalProbe struct {
	Container string
	Field     field.Path
	Handler   *Handler
	Ports     []ContainerPort // of the container
	Timing    field.Map       // the whole probe as it was read, which has its timing
}

// ReadinessProbes returns the readiness probes of a template as their authors
// wrote them. It fails if an original cannot be known.
func (p *Planner) ReadinessProbes(in Input) ([]OriginalProbe, error) {
	b := p.builderFor(&in)
	if f := b.firstError(); f != nil {
		return nil, errors.New(f.Message)
	}
	var all []OriginalProbe
	for _, s := range b.sites {
		switch {
		case s.name != prober.Readiness:
		case b.isDangling(s):
			return nil, errors.New(NewFinding("dangling", s.path, danglingText).Message)
		default:
			all = append(all, OriginalProbe{Container: s.container.Name, Field: s.path, Handler: s.original, Ports: s.container.Ports, Timing: s.source})
		}
	}
	return all, nil
}
