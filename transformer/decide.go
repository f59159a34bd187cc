package transformer

import (
	"cmp"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/resources"
)

// A decision says for each probe and hook of a template whether it is rewritten, and what is
// wrong with that.
type decision struct {
	answering
	rulings   []ruling       // one for each site
	toRewrite []*site        // those that are rewritten
	staying   []*site        // those that stay as Istio's injector rewrote them
	excluded  []int          // the ports on which the app itself answers
	resources *resources.Pod // of the template's own containers; nil unless probe-proxy is to answer
	context   field.Map      // probe-proxy's securityContext, if it is to answer
	findings  []Finding
	// kept is set if what Istio's injector rewrote stays as it is, without an edit.
	kept bool
}

// A ruling is what becomes of a probe or hook.
type ruling struct {
	*site
	reason reason.Key   // why it is left alone; "" if it is rewritten
	target *pod.Handler // what it is rewritten to; nil if it is left alone
	stays  bool         // as Istio's injector rewrote it
}

// A siteRule says why a probe or hook is left alone; the zero value if the rule does not apply.
type siteRule func(a *answering, s *site) leave

// A leave is the reason to leave a probe or hook alone, and what is reported of it, if anything.
type leave struct {
	reason  reason.Key
	finding *Finding
}

// why returns the same with the cause.
func (l leave) why(format string, args ...any) leave {
	return leave{l.reason, new(l.finding.Why(format, args...))}
}

// fix returns the same with a fix of its own.
func (l leave) fix(format string, args ...any) leave {
	return leave{l.reason, new(l.finding.Fix(format, args...))}
}

// A podRule returns what prevents, or is wrong with, the rewriting of a template.
type podRule func(d *decision) []Finding

// rule asks the rules about each probe and hook for which there is no reason yet to leave it
// alone.
func (d *decision) rule(rules []siteRule) {
	if d.rulings == nil {
		d.rulings = make([]ruling, len(d.sites))
		for i, s := range d.sites {
			d.rulings[i].site = s
		}
	}
	for i := range d.rulings {
		r := &d.rulings[i]
		for j := 0; j < len(rules) && r.reason == reason.None; j++ {
			d.leave(r, rules[j](&d.answering, r.site))
		}
	}
}

func (d *decision) leave(r *ruling, l leave) {
	r.reason = l.reason
	if l.finding != nil {
		d.addFinding(*l.finding)
	}
}

// neverWorksRules report what never works, with and without a mesh: see [knowledge.whyNever].
var neverWorksRules = []siteRule{hookNeverWorks, onInitContainer, portUnresolved}

// reportNeverWorks reports each probe and hook that never works, if it is left alone for another reason that says nothing of it.
func (d *decision) reportNeverWorks() {
	for i := range d.rulings {
		s := d.rulings[i].site
		isAbout := func(f Finding) bool {
			return f.Severity != Info && f.Field.HasPrefix(s.path)
		}
		if d.whyNever(s) == "" || slices.ContainsFunc(d.findings, isAbout) {
			continue
		}
		for _, rule := range neverWorksRules {
			if l := rule(&d.answering, s); l.finding != nil {
				d.addFinding(*l.finding)
				break
			}
		}
	}
}

// rewriteTheRest sets the target of each probe and hook for which there is no reason to leave it
// alone.
func (d *decision) rewriteTheRest() {
	routes := d.osmRoutes()
	for i := range d.rulings {
		r := &d.rulings[i]
		switch to := routes[r.key]; {
		case r.reason != reason.None:
			continue
		case len(to) > 0:
			r.target = &pod.Handler{HTTPGet: r.inOSMForm(to[0])}
		case d.isAnsweredBy(AnsweredByEnvoy):
			d.leave(r, beyondEnvoy(r.site))
			continue
		default:
			r.target = &pod.Handler{HTTPGet: r.rewritten(d.port)}
		}
		d.toRewrite = append(d.toRewrite, r.site)
	}
	if len(d.toRewrite) > 0 && d.answeredByUs() {
		d.resources = d.readResources()
		d.context = d.sidecarContext()
	}
}

// osmRoutes returns the routes of what is rewritten, as far as it gets Open Service Mesh's form: in
// that mesh, and if the form can express it. What goes to osm-healthcheck is not for an Envoy.
func (d *decision) osmRoutes() map[string][]prober.OSMRoute {
	if !d.mesh.osmForm {
		return nil
	}
	var rest []*site
	for _, r := range d.rulings {
		if r.reason == reason.None &&
			!(d.isAnsweredBy(AnsweredByEnvoy) && r.original.TCPSocket != nil) {
			rest = append(rest, r.site)
		}
	}
	return prober.OSMRoutes(originalsOf(rest))
}

// ask asks rules of the template.
func (d *decision) ask(rules ...podRule) {
	for _, rule := range rules {
		d.findings = append(d.findings, rule(d)...)
	}
}

// isDone reports whether Istio's injector has done all that there is to do. What has opted out stays too: its original would fail
// beside Istio's container.
func (d *decision) isDone() bool {
	isOpen := func(r ruling) bool {
		return r.target != nil && (!r.alreadyRewritten || r.current.HTTPGet.Port != r.target.HTTPGet.Port)
	}
	return d.isInjectorsWork() && !slices.ContainsFunc(d.rulings, isOpen)
}

// finish refuses what would lose an original, and puts the findings in their order. Of a probe it says once that its original is lost.
func (d *decision) finish() *decision {
	replaced := keepReplaced(d)
	isOther := func(f Finding) bool { return f.Reason != reason.OriginalsAmbiguous }
	uncertain := slices.DeleteFunc(slices.Clone(d.findings), isOther)
	if len(replaced)+len(uncertain) > 0 {
		isSaid := func(f Finding) bool {
			isAbout := func(r Finding) bool { return slices.Equal(r.Field, f.Field) }
			isOf := func(o Finding) bool { return f.Field.HasPrefix(o.Field) }
			return f.Reason == reason.Dangling && slices.ContainsFunc(replaced, isAbout) ||
				f.Reason == reason.AimsAtProbePort && slices.ContainsFunc(uncertain, isOf)
		}
		d.findings = append(slices.DeleteFunc(d.findings, isSaid), replaced...)
	}
	bySeverity := func(x, y Finding) int {
		return cmp.Compare(x.Severity.Rank(), y.Severity.Rank())
	}
	slices.SortStableFunc(d.findings, bySeverity)
	return d
}

func (d *decision) addFinding(f Finding) {
	d.findings = append(d.findings, f)
}

func (d *decision) failed() bool {
	return FirstError(d.findings) != nil
}

// checkConflicts returns what the mesh's labels and annotations say against the rewriting.
func checkConflicts(d *decision) []Finding {
	return slices.Concat(d.against, d.conflicts, d.inspection.warnings)
}
