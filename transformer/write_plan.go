package transformer

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// write plans the edits of a decision, and says what becomes of each probe and hook.
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
	if !w.in.OnlyEdits {
		plan.Known = w.describeMesh()
	}
	return plan
}

// answer returns who answers the probes that the plan rewrites.
func (w *draft) answer() Answer {
	a := Answer{Injected: w.inspection.facts.Injected.Is == certain.Always}
	if w.failed() || len(w.toRewrite)+len(w.excluded) == 0 {
		return a
	}
	a.By = w.inspection.answerer.who
	a.Port = w.inspection.answerer.port
	a.Mesh = w.detected.title
	a.Because = w.inspection.because
	a.AddsAnnotations = w.addedAnnotations
	a.AppWouldDo = !w.in.OnlyEdits &&
		a.By == AnsweredByProbeProxy &&
		w.appWouldDo(w.toRewrite)
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

// verdict says what becomes of a probe or hook.
func (d *decision) verdict(s *ruling, failed, changes bool) Verdict {
	v := Verdict{
		Container: s.container.Name, Init: s.at.Init, ProbeType: s.name, Field: s.path,
		Before: s.original.String(), State: LeftAlone, Reason: s.reason,
	}
	if !d.in.OnlyEdits {
		f, unless := d.outcome(s.site)
		v.StrictTLS, v.Why, v.If = f.Outcome, f.Why, unless
		if unless == world.InjectorAlone {
			v.RewrittenElsewhere = d.inspection.rewrittenElsewhere
			v.RewritesDisputed = d.inspection.learned.Rewrites.At
		}
		if v.StrictTLS == world.Unaffected && s.target != nil {
			v.Filter = d.filter(s.site)
		}
		v.MayBeServed = s.reason != reason.None && d.servedByRewriter(s.site)
		if s.reason != reason.ProbesMadeElsewhere { // else that controller completes it
			v.NeverWorks = d.whyNever(s.site)
		}
		if f == world.Spared && s.target != nil {
			v.Works = d.whyWorks(s.site)
		}
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
	case s.alreadyRewritten:
		v.Before = s.current.String()
		v.After = s.original.String()
		v.State = WouldRestore
	}
	return v
}

// filter names what may have Envoy refuse a probe that is unaffected otherwise. A connection is always accepted.
func (d *decision) filter(s *site) string {
	i := &d.inspection
	if i.filter == "" || s.current.Kind() == pod.KindTCPSocket || !i.captures(s.dialed()) {
		return ""
	}
	return i.filter
}

// appWouldDo reports whether the app could answer all probes that the plan rewrites
// (`answeredBy: app`), because Services among the manifests are known, and none leads to
// the probes' ports.
func (w *draft) appWouldDo(toRewrite []*site) bool {
	isExposed := func(s *site) bool {
		return w.exposed(s.port) != ""
	}
	return w.in.Around.HasServices() && !slices.ContainsFunc(toRewrite, isExposed)
}
