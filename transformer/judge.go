package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// judge completes a plan with what becomes of each probe and hook as it was read, and what else could be
// done. No edit depends on it.
func judge(d *decision, plan *Plan) {
	for i := range d.rulings {
		d.judge(&d.rulings[i], &plan.Probes[i])
	}
	plan.Known = d.describeMesh()
	plan.Answer.AppWouldDo = plan.Answer.By == AnsweredByProbeProxy && d.appWouldDo()
}

func (d *decision) judge(s *ruling, v *Verdict) {
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
	v.NeverWorks = d.whyNever(s.site)
	if f == world.Spared && s.target != nil {
		v.Works = d.whyWorks(s.site)
	}
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
func (d *decision) appWouldDo() bool {
	isExposed := func(s *site) bool { return d.exposed(s.port) != "" }
	return d.in.Around.HasServices() && !slices.ContainsFunc(d.toRewrite, isExposed)
}
