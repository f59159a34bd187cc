package transformer

import (
	"cmp"
	"slices"
	"sync"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/resources"
)

// A view is a template next to one mesh and the options: all that a mesh's profile sees.
type view struct {
	*template
	p               *Planner
	userAnnotations field.KeyValues       // without what was added for past answerers in any mesh
	resources       func() *resources.Pod // of the template's own containers, read once
}

func newView(p *Planner, t *template, user field.KeyValues) *view {
	b := &view{template: t, p: p, userAnnotations: user}
	b.resources = sync.OnceValue(b.readResources)
	return b
}

// A knowledge is what is known of a template before anything is decided: its mesh, what that
// does to the pod, and who has opted out.
type knowledge struct {
	*view
	detected   detection
	inspection inspection
	off        *Finding  // why the whole template is left alone; nil if it is not
	skipped    []string  // the containers to leave alone
	invalid    []Finding // about the annotations that opt out
}

// know finds out which mesh a template is in, and what that says. A template that is restored
// is not asked whether it is in another mesh.
func (p *Planner) know(t *template, restoring bool) *knowledge {
	b := newView(p, t, t.withoutOurs())
	detected, in := p.detect(b)
	if in != p {
		b = newView(in, t, b.userAnnotations)
	}
	k := &knowledge{view: b, detected: detected, inspection: in.mesh.inspect(b)}
	if restoring {
		return k
	}
	k.inspection.conflicts = append(k.inspection.conflicts, detected.conflicts...)
	k.inspection.optOut = cmp.Or(k.inspection.optOut, detected.optOut)
	sources := b.optOutSources()
	own, invalid := firstOff(sources)
	k.off = k.optOut(own)
	skipped, unknown := k.skippedBy(sources)
	k.skipped, k.invalid = skipped, slices.Concat(invalid, unknown)
	return k
}

// read reads a template with the options of the planner, whatever its mesh is.
func (p *Planner) read(in *Input) *template { return read(&p.opts, originalFinders(), in) }

// originalFinders returns those of all meshes.
func originalFinders() (finders []originalFinder) {
	for _, d := range serviceMeshes {
		if d.findOriginal != nil {
			finders = append(finders, d.findOriginal)
		}
	}
	return finders
}
