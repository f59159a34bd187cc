package pipeline

import (
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/vm"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A sink is where plans of rewriting go: into the manifests, or into patches.
type sink interface {
	// plan makes a plan for a part of an object, as the sink needs it.
	plan(s *subject, p planning) transformer.Plan
	// take carries out all plans for an object, none of which has failed, and reports whether they
	// change it. The messages of the run about the object start at the given one.
	take(s *subject, plans []report.PlannedTemplate, first int) (changed bool)
}

// A planning makes the plan for one part of an object: a pod template, or all of a WorkloadGroup.
type planning interface {
	restore() transformer.Plan
	rewrite(texts []field.WrittenText) transformer.Plan
	note() // notes from now on what a plan reads, and records nothing for restore
	reads(p *transformer.Plan) transformer.Reads
}

type podPlanning struct {
	planner *transformer.Planner
	in      transformer.Input
}

func (p *podPlanning) restore() transformer.Plan { return p.planner.Restore(p.in) }

func (p *podPlanning) rewrite(texts []field.WrittenText) transformer.Plan {
	p.in.Texts = texts
	return p.planner.Plan(p.in)
}

func (p *podPlanning) note() {
	p.in.Unrecorded = true
	p.in.Note(new(transformer.Notes))
}

func (p *podPlanning) reads(plan *transformer.Plan) transformer.Reads {
	return p.planner.Reads(&p.in, plan)
}

type groupPlanning struct {
	*vm.Group
	types []string // of probes that are rewritten
}

func (p *groupPlanning) restore() transformer.Plan { return vm.Restore(p.Group) }

func (p *groupPlanning) rewrite(texts []field.WrittenText) transformer.Plan {
	p.Texts = texts
	return vm.Plan(p.Group, p.types)
}

func (p *groupPlanning) note() { p.Notes = new(transformer.Notes) }

func (p *groupPlanning) reads(*transformer.Plan) transformer.Reads { return vm.Reads(p.Group) }

// An editor makes the edits of plans in their objects, or counts what it would change.
type editor struct {
	out    *report.Report
	shares shares
	looks  bool // nothing is to be changed
}

func (e *editor) plan(s *subject, p planning) transformer.Plan {
	return transformer.WithTexts(p.rewrite, s.Texts)
}

func (e *editor) take(s *subject, plans []report.PlannedTemplate, first int) (changed bool) {
	edits := editsOf(plans)
	if len(edits) == 0 || e.looks {
		return len(edits) > 0
	}
	if err := s.Apply(edits); err != nil {
		e.out.Messages = append(e.out.Messages, s.failure(err))
		return false
	}
	if s.inList() {
		e.reportRewritten(plans)
		followEdits(e.out.Messages[first:], edits)
	}
	for _, n := range s.Notices() {
		e.out.Messages = append(e.out.Messages, s.notice(n))
	}
	return true
}

func editsOf(plans []report.PlannedTemplate) (edits []field.Edit) {
	for _, p := range plans {
		edits = append(edits, p.Edits...)
	}
	return edits
}

var doneReasons = map[transformer.State]reason.Key{
	transformer.WouldRewrite: reason.Rewritten,
	transformer.WouldRestore: reason.Restored,
}

// reportRewritten adds a message for every probe that was changed, for the
// results of a ResourceList.
func (e *editor) reportRewritten(plans []report.PlannedTemplate) {
	for _, plan := range plans {
		for _, p := range plan.Probes {
			key, done := doneReasons[p.State]
			if !done {
				continue
			}
			m := report.NewMessage(key, reason.Text{}) // the field and its values are the text
			m.Object, m.Container = plan.Object, p.Container
			m.Field = share(e.shares, p.Field.String(), p.Field)
			m.Current = share[any](e.shares, p.Before, p.Before)
			m.Proposed = share[any](e.shares, p.After, p.After)
			e.out.Messages = append(e.out.Messages, m)
		}
	}
}

// shares has values by a text that each stands for: the messages about the probes of a large
// package differ little, and are many. Without it a list of 40,000 Deployments takes 1.7 times
// the CPU.
type shares map[string]any

// text returns the first of equal texts.
func (s shares) text(text string) string { return share(s, text, text) }

// share returns the first value that came with a text.
func share[T any](s shares, text string, v T) T {
	first, known := s[text].(T)
	if !known {
		s[text] = v
		return v
	}
	return first
}
