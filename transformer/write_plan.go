package transformer

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// write plans the edits of a decision.
func write(d *decision) Plan {
	w := &draft{decision: d, edits: make([]field.Edit, 0, 8)}
	w.changes = make([][]field.Edit, len(d.rulings))
	plan := Plan{Probes: make([]Verdict, 0, len(w.rulings)), Findings: w.findings}
	failed := w.failed()
	if !failed {
		w.editAll()
		plan.Edits = w.edits
		plan.Repairs = append(slices.Clip(w.inspection.collisions), w.editedProxy()...)
	}
	for i := range w.rulings {
		v := w.verdict(&w.rulings[i], failed, len(w.changes[i]) > 0)
		plan.Probes = append(plan.Probes, v)
	}
	plan.Answer = w.answer()
	plan.WasRewritten = w.hasOurs()
	return plan
}

// answer returns who answers the probes that the plan rewrites.
func (w *draft) answer() Answer {
	a := Answer{Injected: w.inspection.facts.Injected.Is == certain.Always}
	if w.failed() || len(w.toRewrite)+len(w.excluded) == 0 {
		return a
	}
	a.By = w.who
	a.Port = w.port
	a.Mesh = w.detected.title
	a.Because = w.because
	a.AddsAnnotations = w.addedAnnotations
	container := istioProxyName
	if w.answeredByUs() {
		container = w.opts.ProbeProxy.Name
	}
	if len(w.toRewrite) > 0 &&
		!w.isAnsweredBy(AnsweredByEnvoy) &&
		!slices.Contains(w.names, container) {
		a.AddsContainer = container
	}
	return a
}

// verdict says what the plan does to a probe or hook.
func (d *decision) verdict(s *ruling, failed, changes bool) Verdict {
	v := Verdict{
		Container: s.container.Name, Init: s.at.Init, ProbeType: s.name, Field: s.path,
		Before: s.original.String(), State: LeftAlone, Reason: s.reason,
	}
	switch {
	case failed && (s.target != nil || s.alreadyRewritten):
		v.State, v.Reason = Refused, FirstError(d.findings).Reason
	case s.target != nil:
		_, v.After, _ = strings.Cut(s.target.String(), " ") // without the handler's name
		v.State = WouldRewrite
		if !changes {
			v.State = Rewritten
		}
	case s.alreadyRewritten && !d.kept && !s.stays:
		v.Before = s.current.String()
		v.After = s.original.String()
		v.State = WouldRestore
	}
	return v
}
