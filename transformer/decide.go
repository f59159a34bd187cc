package transformer

import (
	"cmp"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/resources"
)

// A decision says for each probe and hook of a template whether it is rewritten, and what is
// wrong with that.
type decision struct {
	*knowledge
	rulings   []ruling       // one for each site
	toRewrite []*handlerSite // those whose rulings have a target
	excluded  []int          // the ports on which the app itself answers
	resources *resources.Pod // of the template's own containers; nil unless probe-proxy is to answer
	findings  []Finding
}

// A ruling is what becomes of a probe or hook.
type ruling struct {
	*handlerSite
	reason string       // why it is left alone; "" if it is rewritten
	target *pod.Handler // what it is rewritten to; nil if it is left alone
}

// A siteRule says why a probe or hook is left alone; the zero value if the rule does not apply.
type siteRule func(k *knowledge, s *handlerSite) leave

// A leave is the reason to leave a probe or hook alone, and what is reported of it, if anything.
type leave struct {
	reason  string
	finding *Finding
}

// A podRule reports what prevents, or is wrong with, the rewriting of a template.
type podRule func(d *decision, report func(Finding))

// rule asks the rules about each probe and hook for which there is no reason yet to leave it
// alone.
func (b *decision) rule(rules []siteRule) {
	if b.rulings == nil {
		b.rulings = make([]ruling, len(b.sites))
		for i, s := range b.sites {
			b.rulings[i].handlerSite = s
		}
	}
	for i := range b.rulings {
		r := &b.rulings[i]
		for j := 0; j < len(rules) && r.reason == ""; j++ {
			b.leave(r, rules[j](b.knowledge, r.handlerSite))
		}
	}
}

func (b *decision) leave(r *ruling, l leave) {
	r.reason = l.reason
	if l.finding != nil {
		b.addFinding(*l.finding)
	}
}

// rewriteTheRest gives a target to each probe and hook for which there is no reason to leave it
// alone.
func (b *decision) rewriteTheRest() {
	for i := range b.rulings {
		if r := &b.rulings[i]; r.reason == "" {
			r.target = &pod.Handler{HTTPGet: r.rewritten(b.inspection.answerer.port)}
			b.toRewrite = append(b.toRewrite, r.handlerSite)
		}
	}
	if len(b.toRewrite) > 0 && b.answeredByUs() {
		b.resources = b.readResources()
	}
}

// ask asks rules of the template.
func (b *decision) ask(rules ...podRule) {
	report := b.addFinding
	for _, rule := range rules {
		rule(b, report)
	}
}

// finish refuses what would lose an original, and puts the findings in their order.
func (b *decision) finish() *decision {
	keepReplaced(b, b.addFinding)
	slices.SortStableFunc(b.findings, func(x, y Finding) int { return cmp.Compare(x.Severity.Rank(), y.Severity.Rank()) })
	return b
}

func (b *decision) addFinding(f Finding) { b.findings = append(b.findings, f) }

func (b *decision) failed() bool { return FirstError(b.findings) != nil }

// checkConflicts reports what the mesh's labels and annotations say against the rewriting.
func checkConflicts(d *decision, report func(Finding)) {
	for _, f := range slices.Concat(d.conflicts, d.inspection.warnings) {
		report(f)
	}
}
