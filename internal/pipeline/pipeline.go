// Package pipeline is what every command does with manifests: find the pod
// templates, plan, apply the plans, and report what was found.
//
//	streams -> subjects -> transformer plans -> a sink edits or makes patches -> report
package pipeline

import (
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/nearby"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/release"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// Wants are what the caller of a run wants of it.
type Wants struct {
	Edits     bool // the manifests are changed
	Originals bool // what is planned is the inverse of the rewriting
	Fates     bool // messages say what fails in the mesh; the report has no edits
	Templates bool // the report has every pod template
}

// What the commands want.
var (
	Rewrite = Wants{Edits: true}
	Restore = Wants{Edits: true, Originals: true}
	Inspect = Wants{Templates: true}
	Judge   = Wants{Fates: true, Templates: true}
	Gate    = Wants{Fates: true}
)

// Run takes the streams of one run through the pipeline. They are one package:
// a Namespace in one of them counts for the workloads of all. What is wrong with an object
// is a message. The config must be valid, as [config.Decode] returns it.
func Run(streams []*manifest.Stream, c *config.RewriteProbes, wants Wants) *report.Report {
	return newRun(streams, c, wants).all()
}

// RunBeside is Run that changes nothing, with more streams whose objects only say something
// about others, as those of a cluster. They decide verdicts. What would be written depends on the
// streams alone.
func RunBeside(streams, beside []*manifest.Stream, c *config.RewriteProbes, wants Wants) *report.Report {
	r := newRun(streams, c, wants)
	if len(beside) > 0 {
		r.judging = nearby.Collect(slices.Concat(streams, beside), c.Spec.Istio.RootNamespace)
	}
	return r.all()
}

type run struct {
	*inputs
	wants    Wants
	sink     sink
	judging  *nearby.Index  // with what decides verdicts alone; nil if there is nothing more
	releases []foundRelease // see noteRelease
	pathUses []pathUse      // by index of custom
	injects  bool           // a plan writes a probe-proxy
	shares   shares
	out      *report.Report
	judged   []report.Message // see judge
	doubts   map[report.Doubt]*report.Doubt
	filtered []report.Message // about probes that a filter may refuse, named in their Doubt
}

func newRun(streams []*manifest.Stream, c *config.RewriteProbes, wants Wants) *run {
	r := &run{
		inputs: newInputs(streams, c),
		wants:  wants,
		shares: make(shares),
		doubts: make(map[report.Doubt]*report.Doubt),
		out:    &report.Report{Strict: c.Spec.Strict},
	}
	r.sink = &editor{out: r.out, shares: r.shares, looks: !wants.Edits}
	r.pathUses = make([]pathUse, len(r.custom))
	return r
}

// all takes every object through the pipeline.
func (r *run) all() *report.Report {
	for s := range r.subjects() {
		r.protected(s)
	}
	return r.finish()
}

// finish returns the report of a run that has seen all objects.
func (r *run) finish() *report.Report {
	r.reportIdlePaths()
	r.reportMisspeltNames()
	r.reportEmptyLists()
	r.reportReleases()
	r.reportUnreleased()
	r.reportRevisions()
	r.add(r.judged...)
	r.add(report.OfFilters(r.filtered)...)
	report.Sort(r.out.Messages)
	return r.out
}

func (r *run) add(m ...report.Message) {
	r.out.Messages = append(r.out.Messages, m...)
}

// addFinding reports a finding about an object.
func (r *run) addFinding(s *subject, f transformer.Finding) {
	r.add(s.message(f))
}

// reportEmptyLists warns of a ResourceList without objects: kustomize runs generators on one.
func (r *run) reportEmptyLists() {
	if r.wants != Rewrite {
		return
	}
	for _, s := range r.streams {
		if s.IsResourceList() && len(s.Objects()) == 0 {
			r.add(report.NewMessage(reason.EmptyList, reason.NewText("The ResourceList has no objects")))
		}
	}
}

// reportUnreleased warns once that the image of probe-proxy that is written may not exist
// yet: this build is no release, and the functionConfig names no image. In a strict run that
// is an info.
func (r *run) reportUnreleased() {
	_, released := release.Image()
	if released || !r.injects || r.wants.Originals || r.wants.Fates || r.spec.ProbeProxy.Image != "" {
		return
	}
	text := reason.NewText("This build (%s) is not a release", release.Version())
	text.Why = fmt.Sprintf("It writes the image of the next release, %s, and pods cannot start until that exists", r.spec.ProbeProxy.ImageToRun())
	text.Fix = "Set `probeProxy.image`, or install a release"
	m := report.NewMessage(reason.UnreleasedImage, text)
	if r.out.Strict { // the manifests are not at fault
		m.Severity = transformer.Info
	}
	r.add(m)
}

// Recover, which must be deferred, turns a panic into an error: no manifest may end the program of
// a caller.
func Recover(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("internal error: %v", p)
	}
}

// protected takes one object through the pipeline. A panic is an error of that object, which stays as
// it is: whoever wrote it must not be able to stop the run for the others.
func (r *run) protected(s *subject) {
	first := len(r.out.Messages)
	judged := len(r.judged)
	defer func() {
		if p := recover(); p != nil {
			r.out.Messages = r.out.Messages[:first]
			r.judged = r.judged[:judged]
			s.Forget()
			r.addFinding(s, transformer.NewFinding(reason.InternalError, nil, "internal error: %v. The object was not changed", p))
		}
	}()
	if r.wants.Originals {
		r.restoreObject(s)
	} else {
		r.rewriteObject(s)
	}
}

// restoreObject takes one object through a pipeline that takes back what was written.
func (r *run) restoreObject(s *subject) {
	if patches.Holds(s.Object) {
		r.removePatches(s)
		return
	}
	s.class = workload.Classify(s.Object, r.custom)
	if s.class != workload.NoPods && r.choose(s) {
		r.planObject(s)
	}
}

// reportObsolete reports what Istio reads no more of an object.
func (r *run) reportObsolete(s *subject) {
	if !transformer.MayBeObsolete(s.Group(), s.Kind(), s.MayMention) {
		return
	}
	meta, err := s.Metadata()
	if err != nil ||
		nearby.IsLocal(meta) ||
		!r.selects(s.Kind(), meta) {
		return
	}
	for _, f := range transformer.Obsolete(s.Kind(), meta) {
		r.addFinding(s, f)
	}
}

// rewriteObject takes one object through any other pipeline.
func (r *run) rewriteObject(s *subject) {
	r.reportObsolete(s)
	s.class = workload.Classify(s.Object, r.custom)
	installs := workload.IsRelease(s.Group(), s.Kind())
	hasTexts := !s.makesPods() && workload.MayHaveTexts(s.Object)
	if s.class == workload.NoPods && !installs && !hasTexts || !r.choose(s) {
		return
	}
	installs = installs && r.noteRelease(s)
	if installs && !r.wants.Edits { // the pods are not in the input
		return
	}
	if hasTexts {
		r.reportTexts(s)
	}
	if s.class != workload.NoPods {
		r.planObject(s)
	}
}

// choose reads the metadata of an object that is classified, and reports whether it is one that the
// functionConfig lets be rewritten. It counts those that make pods and are left out.
func (r *run) choose(s *subject) bool {
	if config.Is(s.APIVersion(), s.Kind()) {
		return false
	}
	meta, err := s.Metadata()
	if err != nil {
		if s.makesPods() {
			r.add(s.failure(err))
		}
		return false
	}
	s.meta = meta
	if nearby.IsLocal(meta) || !r.wants.Originals && r.isOwned(s.Object) {
		return false
	}
	chosen := r.selects(s.Kind(), meta)
	if !chosen && s.makesPods() {
		r.out.Unselected++
	}
	return chosen
}

// planObject plans for a chosen object, reports, and lets the sink carry the plans out.
func (r *run) planObject(s *subject) {
	if s.class != workload.Unknown && r.reportTemplate(s) {
		return
	}
	plans, templates, err := r.plans(s)
	if err != nil {
		r.add(s.failure(err))
		return
	}
	keepEncrypted(s.Object, plans)
	failed := false
	first := len(r.out.Messages)
	for _, p := range plans {
		r.keep(s, p)
		for _, f := range p.Findings {
			failed = failed || f.Severity == transformer.Error
			if r.wants.Fates && isLost(p, &f) {
				continue // certainText has its fix
			}
			m := s.message(f)
			m.InPlan = true
			r.add(m)
		}
	}
	r.reportUnseen(s, templates)
	if !failed && r.sink.take(s, plans, first) {
		r.out.AddChange(s.Stream().Name())
	}
}

// keep counts a planned template, judges it, and keeps of it what the report of the run shows. Where
// there are very many templates, that takes most of the memory.
func (r *run) keep(s *subject, planned report.PlannedTemplate) {
	if r.wants.Fates {
		r.judge(&planned)
		planned.Edits, planned.Findings = nil, nil
	}
	if o, edits := s.Object, planned.Edits; r.wants.Templates && len(edits) > 0 {
		planned.Text = func() (before, after []byte, err error) { return manifest.PreviewText(o, edits) }
	}
	r.out.Add(s.Stream().Name(), planned, r.wants.Templates)
}

// plans returns a plan for each pod template of an object and the templates, or
// the one plan for a group of virtual machines.
func (r *run) plans(s *subject) ([]report.PlannedTemplate, []workload.TemplatePlace, error) {
	if s.class == workload.WorkloadGroup {
		g, err := r.group(s.Object, s.meta)
		if err != nil {
			return nil, nil, err
		}
		t := r.planned(s, field.NewPath("spec"), &groupPlanning{g, r.spec.Rewrite})
		t.IsWorkloadGroup = true
		return []report.PlannedTemplate{t}, nil, nil
	}
	templates, err := workload.Templates(s.Object, r.custom)
	if err != nil {
		return nil, nil, err
	}
	r.notePathUses(s, templates)
	plans := make([]report.PlannedTemplate, len(templates))
	for i, ref := range templates {
		if plans[i], err = r.planTemplate(s, ref); err != nil {
			return nil, nil, err
		}
	}
	return plans, templates, nil
}

func (r *run) planTemplate(s *subject, ref workload.TemplatePlace) (report.PlannedTemplate, error) {
	in, err := r.podTemplate(s.Object, s.meta, ref)
	if err != nil {
		return report.PlannedTemplate{}, err
	}
	in.OnlyEdits = r.wants.Edits
	p := &podPlanning{r.planner, in}
	t := r.planned(s, ref.Path, p)
	if err := placeholderIn(&t.Plan); err != nil {
		return t, err
	}
	if r.judging != nil {
		p.in.Around = r.judging.Of(s.Object, s.meta.Namespace)
		t.Plan = judgedBy(t.Plan, p.rewrite(nil))
	}
	r.injects = r.injects || len(t.Edits) > 0 && t.Answer.By == transformer.AnsweredByProbeProxy
	return t, nil
}

// planned returns the plan that the run wants, with what the report shows beside it.
func (r *run) planned(s *subject, path field.Path, p planning) report.PlannedTemplate {
	t := report.PlannedTemplate{Object: s.refer(), Path: path}
	if r.wants.Originals {
		t.Plan = p.restore()
	} else {
		t.Plan = r.sink.plan(s, p)
	}
	if !r.wants.Edits && s.inFile() {
		for _, p := range t.Probes {
			t.Lines = append(t.Lines, s.FieldLine(p.Field))
		}
	}
	return t
}

// judgedBy returns a plan with the verdicts and the findings of another, which was made for the same
// template and from more facts.
func judgedBy(p, more transformer.Plan) transformer.Plan {
	for i := range p.Probes {
		to, from := &p.Probes[i], &more.Probes[i]
		to.StrictTLS, to.Why, to.If, to.MayBeServed = from.StrictTLS, from.Why, from.If, from.MayBeServed
		to.Works, to.NeverWorks = from.Works, from.NeverWorks
	}
	p.Known = more.Known
	for _, f := range more.Findings {
		if !slices.ContainsFunc(p.Findings, func(x transformer.Finding) bool {
			return x.Reason == f.Reason && x.Field.String() == f.Field.String()
		}) {
			p.Findings = append(p.Findings, f)
		}
	}
	return p
}
