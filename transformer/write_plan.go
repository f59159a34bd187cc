package transformer

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// write plans the edits of a decision, and says what becomes of each probe and hook.
func write(d *decision) Plan {
	b := &draft{decision: d, edits: make([]field.Edit, 0, 8), changes: make([][]field.Edit, len(d.rulings))}
	plan := Plan{Probes: make([]Verdict, 0, len(b.rulings)), Findings: b.findings}
	failed := b.failed()
	if !failed {
		b.editAll()
		plan.Edits, plan.Repairs = b.edits, b.inspection.collisions
	}
	for i := range b.rulings {
		plan.Probes = append(plan.Probes, b.verdict(&b.rulings[i], failed, len(b.changes[i]) > 0))
	}
	plan.Answer = b.answer()
	if !b.in.OnlyEdits {
		plan.Known = b.known()
	}
	return plan
}

// answer returns who answers the probes that the plan rewrites.
func (b *draft) answer() Answer {
	a := Answer{Injected: b.inspection.facts.Injected.Is == certain.Always}
	if b.failed() || len(b.toRewrite)+len(b.excluded) == 0 {
		return a
	}
	a.By, a.Port = b.inspection.answerer.who, b.inspection.answerer.port
	a.Mesh, a.Because, a.AddsAnnotations = b.detected.title, b.inspection.because, b.addedAnnotations
	a.AppWouldDo = !b.in.OnlyEdits && a.By == AnsweredByProbeProxy && b.appWouldDo(b.toRewrite)
	container := istioProxyName
	if b.answeredByUs() {
		container = b.opts.ProbeProxy.Name
	}
	if len(b.toRewrite) > 0 && !slices.Contains(b.names, container) {
		a.AddsContainer = container
	}
	return a
}

// verdict says what becomes of a probe or hook.
func (b *decision) verdict(s *ruling, failed, changes bool) Verdict {
	v := Verdict{
		Container: s.container.Name, Init: s.at.Init, ProbeType: s.name, Field: s.path,
		Before: s.original.String(), State: LeftAlone, Reason: s.reason,
	}
	if !b.in.OnlyEdits {
		f, unless := b.outcome(s.handlerSite)
		v.StrictTLS, v.Why, v.If = f.Outcome, f.Why, unless
	}
	switch {
	case failed && (s.target != nil || s.alreadyRewritten):
		v.State, v.Reason = Refused, FirstError(b.findings).Reason
	case s.target != nil:
		_, v.After, _ = strings.Cut(s.target.String(), " ") // without the handler's name
		v.State = WouldRewrite
		if !changes {
			v.State = Rewritten
		}
	case s.alreadyRewritten:
		v.Before, v.After, v.State = s.current.String(), s.original.String(), WouldRestore
	}
	return v
}

// appWouldDo reports whether the app could answer all probes that the plan rewrites
// (`answeredBy: app`), because Services among the manifests are known, and none leads to
// the probes' ports.
func (b *draft) appWouldDo(toRewrite []*handlerSite) bool {
	return b.in.Around.HasServices() && !slices.ContainsFunc(toRewrite, func(s *handlerSite) bool { return b.exposed(s.port) != "" })
}
