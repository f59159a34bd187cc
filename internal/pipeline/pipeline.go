// Package pipeline is what every command does with manifests: find the pod
// templates, plan, apply the plans, and report what was found.
//
//	streams -> select objects -> transformer plans -> manifest edits -> report
package pipeline

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

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

// A Mode says what is done with each pod template.
type Mode int

const (
	Rewrite Mode = iota // plan and apply the rewriting
	Restore             // plan and apply its inverse
	Inspect             // plan the rewriting, change nothing
	Judge               // as Inspect, and say what fails in the mesh; the report has no edits
	Gate                // as Judge, for a report that shows no templates
)

// looks reports whether nothing is changed.
func (m Mode) looks() bool {
	return m == Inspect || m.judges()
}

// judges reports whether messages say what fails in the mesh.
func (m Mode) judges() bool {
	return m == Judge || m == Gate
}

// Run takes the streams of one run through the pipeline. They are one package:
// a Namespace in one of them counts for the workloads of all. What is wrong with an object
// is a message. The config must be valid, as [config.Decode] returns it.
func Run(streams []*manifest.Stream, c *config.RewriteProbes, mode Mode) *report.Report {
	return newRun(streams, c, mode).all()
}

// RunBeside is Run for a mode that changes nothing, with more streams whose objects only say something
// about others, as those of a cluster. They decide verdicts. What would be written depends on the
// streams alone.
func RunBeside(streams, beside []*manifest.Stream, c *config.RewriteProbes, mode Mode) *report.Report {
	r := newRun(streams, c, mode)
	if len(beside) > 0 {
		r.judging = nearby.Collect(slices.Concat(streams, beside), c.Spec.Istio.RootNamespace)
	}
	return r.all()
}

// all takes every object through the pipeline.
func (r *run) all() *report.Report {
	for o := range r.objects() {
		r.protected(o)
	}
	return r.finish()
}

// objects yields all objects, each as the current one.
func (r *run) objects() iter.Seq[*manifest.Object] {
	return func(yield func(*manifest.Object) bool) {
		for _, s := range r.streams {
			for i, o := range s.Objects() {
				r.index = i
				r.ref = nil
				if !yield(o) {
					return
				}
			}
		}
	}
}

// finish returns the report of a run that has seen all objects.
func (r *run) finish() *report.Report {
	r.reportIdlePaths()
	r.reportMisspeltNames()
	r.reportEmptyLists()
	r.reportReleases()
	r.reportUnreleased()
	r.out.Messages = append(r.out.Messages, r.judged...)
	report.Sort(r.out.Messages)
	out := r.out // a pointer into the run would keep all that it found around the objects: 5 MB for 50,000
	return &out
}

// reportEmptyLists warns of a ResourceList without objects: kustomize runs generators on one.
func (r *run) reportEmptyLists() {
	if r.mode != Rewrite {
		return
	}
	for _, s := range r.streams {
		if s.IsResourceList() && len(s.Objects()) == 0 {
			r.out.Messages = append(r.out.Messages, report.NewMessage(reason.EmptyList, reason.NewText("The ResourceList has no objects")))
		}
	}
}

// reportUnreleased warns once that the image of probe-proxy that is written may not exist
// yet: this build is no release, and the functionConfig names no image. In a strict run that
// is an info.
func (r *run) reportUnreleased() {
	_, released := release.Image()
	if released ||
		!r.injects ||
		r.mode == Restore ||
		r.mode.judges() ||
		r.spec.ProbeProxy.Image != "" {
		return
	}
	text := reason.NewText("This build (%s) is not a release", release.Version())
	text.Why = fmt.Sprintf("It writes the image of the next release, %s, and pods cannot start until that exists", r.spec.ProbeProxy.ImageToRun())
	text.Fix = "Set `probeProxy.image`, or install a release"
	m := report.NewMessage(reason.UnreleasedImage, text)
	if r.out.Strict { // the manifests are not at fault
		m.Severity = transformer.Info
	}
	r.out.Messages = append(r.out.Messages, m)
}

type run struct {
	planner  *transformer.Planner
	mode     Mode
	spec     *config.Spec
	selects  func(kind string, m *field.Metadata) bool // of the spec
	streams  []*manifest.Stream
	custom   []workload.Custom
	pathUses []pathUse // by index of custom
	around   *nearby.Index
	judging  *nearby.Index                // with what decides verdicts alone; nil if there is nothing more
	releases []foundRelease               // see noteRelease
	injects  bool                         // a plan writes a probe-proxy
	patching *patching                    // what Patches makes; nil in every other run
	shares   map[string]any               // see shared
	byName   map[maker][]*manifest.Object // see makers

	index int            // of the current object in its stream
	ref   *report.Object // the current object, once a message or a template has named it
	out   report.Report

	judged []report.Message // see judge
}

func newRun(streams []*manifest.Stream, c *config.RewriteProbes, mode Mode) *run {
	planner, err := transformer.New(c.Spec.Options)
	if err != nil {
		panic(err)
	}
	r := &run{
		planner: planner,
		mode:    mode,
		spec:    &c.Spec,
		selects: c.Spec.Selection(),
		streams: streams,
		shares:  make(map[string]any),
	}
	for _, t := range c.Spec.PodTemplates {
		pattern, _ := field.Parse(t.Path) // validated with the config
		metadata, _ := field.Parse(t.Metadata)
		r.custom = append(
			r.custom,
			workload.Custom{Group: t.Group, Kind: t.Kind, Pattern: pattern, Metadata: metadata},
		)
	}
	r.pathUses = make([]pathUse, len(r.custom))
	r.around = nearby.Collect(streams, c.Spec.Istio.RootNamespace)
	r.out.Strict = c.Spec.Strict
	return r
}

func inList(o *manifest.Object) bool {
	return o.Stream().IsResourceList()
}

// inFile reports whether an object has lines: those of an item of a ResourceList are not known.
func inFile(o *manifest.Object) bool {
	return !inList(o) && !o.Stream().FromCluster
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
func (r *run) protected(o *manifest.Object) {
	first := len(r.out.Messages)
	judged := len(r.judged)
	defer func() {
		if p := recover(); p != nil {
			r.out.Messages = r.out.Messages[:first]
			r.judged = r.judged[:judged]
			o.Forget()
			r.addFinding(o, transformer.NewFinding(reason.InternalError, nil, "internal error: %v. The object was not changed", p))
		}
	}()
	r.object(o)
}

// object takes one object through the pipeline.
func (r *run) object(o *manifest.Object) {
	if r.mode == Restore && patches.Holds(o) {
		r.removePatches(o)
		return
	}
	if r.mode != Restore {
		r.reportObsolete(o)
	}
	class := workload.Classify(o, r.custom)
	mayInstall := r.mode != Restore && workload.IsRelease(o.Group(), o.Kind())
	mayQuote := r.mode != Restore &&
		class != workload.Known &&
		class != workload.WorkloadGroup &&
		workload.MayHaveTexts(o)
	if class == workload.NoPods && !mayInstall && !mayQuote ||
		config.Is(o.APIVersion(), o.Kind()) {
		return
	}
	meta, err := o.Metadata()
	if err != nil {
		if class == workload.Known || class == workload.WorkloadGroup {
			r.fail(o, err)
		}
		return
	}
	if nearby.IsLocal(meta) ||
		r.mode != Restore && r.isOwned(o) ||
		!r.isSelected(o, class, meta) {
		return
	}
	installs := mayInstall && r.noteRelease(o)
	if mayQuote && !(installs && r.mode.looks()) {
		r.reportTexts(o)
	}
	switch {
	case class == workload.NoPods, installs && r.mode.looks():
	case class != workload.Unknown && r.reportTemplate(o):
	default:
		r.rewrite(o, class, meta)
	}
}

// isSelected reports whether the functionConfig lets an object be rewritten. It counts those that
// make pods and are left out.
func (r *run) isSelected(o *manifest.Object, class workload.Class, meta *field.Metadata) bool {
	if r.selects(o.Kind(), meta) {
		return true
	}
	if class == workload.Known || class == workload.WorkloadGroup {
		r.out.Unselected++
	}
	return false
}

// rewrite plans for a selected object, reports, and makes the edits.
func (r *run) rewrite(o *manifest.Object, class workload.Class, meta *field.Metadata) {
	plans, templates, err := r.plans(o, class, meta)
	if err != nil {
		r.fail(o, err)
		return
	}
	keepEncrypted(o, plans)
	var edits []field.Edit
	failed := false
	first := len(r.out.Messages) // the first message about the object
	for _, p := range plans {
		r.keep(o, p)
		edits = append(edits, p.Edits...)
		for _, f := range p.Findings {
			failed = failed || f.Severity == transformer.Error
			if r.mode.judges() && f.Reason == reason.Dangling && isJudged(p, &f) {
				continue // certainText has its fix
			}
			r.addFinding(o, f).InPlan = true
		}
	}
	r.reportUnseen(o, class, templates)
	if failed {
		return
	}
	if r.patching != nil {
		r.patch(o, plans, edits)
		return
	}
	if len(edits) == 0 {
		return
	}
	if r.mode.looks() || r.apply(o, plans, edits, first) {
		r.out.AddChange(o.Stream().Name())
	}
}

// keep counts a planned template, judges it, and keeps of it what the report of the run shows. Where
// there are very many templates, that takes most of the memory.
func (r *run) keep(o *manifest.Object, planned report.Template) {
	if r.mode.judges() {
		r.judge(&planned)
		planned.Edits, planned.Findings = nil, nil
	}
	r.out.Add(o.Stream().Name(), planned, r.mode == Inspect || r.mode == Judge)
}

// apply makes the edits of the plans, and reports whether it could. The messages about the
// object start at the given one.
func (r *run) apply(o *manifest.Object, plans []report.Template, edits []field.Edit, first int) bool {
	if err := o.Apply(edits); err != nil {
		r.fail(o, err)
		return false
	}
	if inList(o) {
		r.reportRewritten(plans)
		followEdits(r.out.Messages[first:], edits)
	}
	for _, n := range o.Notices() {
		r.reportNotice(o, n)
	}
	return true
}

// plans returns a plan for each pod template of an object and the templates, or
// the one plan for a group of virtual machines.
func (r *run) plans(
	o *manifest.Object, class workload.Class, meta *field.Metadata,
) ([]report.Template, []workload.Template, error) {
	if class == workload.WorkloadGroup {
		p, err := r.planGroup(o, meta)
		return []report.Template{p}, nil, err
	}
	templates, err := workload.Templates(o, r.custom)
	if err != nil {
		return nil, nil, err
	}
	r.notePathUses(o, templates)
	plans := make([]report.Template, len(templates))
	for i, ref := range templates {
		if plans[i], err = r.plan(o, meta, ref); err != nil {
			return nil, nil, err
		}
	}
	return plans, templates, nil
}

func (r *run) plan(o *manifest.Object, owner *field.Metadata, ref workload.Template) (report.Template, error) {
	in, err := r.input(o, owner, ref)
	if err != nil {
		return report.Template{}, err
	}
	if r.patching != nil {
		in.Note(new(transformer.Notes))
	}
	t := r.template(o, ref.Path, planning{
		restore: func() transformer.Plan { return r.planner.Restore(in) },
		rewrite: func(texts []field.Text) transformer.Plan {
			in.Texts = texts
			return r.planner.Plan(in)
		},
	})
	if err := placeholderIn(&t.Plan); err != nil {
		return t, err
	}
	if r.judging != nil {
		in.Around, in.Texts = r.judging.Of(o, owner.Namespace), nil
		t.Plan = judgedBy(t.Plan, r.planner.Plan(in))
	}
	if r.patching != nil {
		r.patching.note(r.planner.Reads(&in, &t.Plan))
	}
	r.injects = r.injects || len(t.Edits) > 0 && t.Answer.By == transformer.AnsweredByProbeProxy
	return t, nil
}

// judgedBy returns a plan with the verdicts and the findings of another, which was made for the same
// template and from more facts.
func judgedBy(p, more transformer.Plan) transformer.Plan {
	for i := range p.Probes {
		to, from := &p.Probes[i], &more.Probes[i]
		to.StrictTLS, to.Why, to.If, to.MayBeServed = from.StrictTLS, from.Why, from.If, from.MayBeServed
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

// A planning makes the plan of one template: the one that restores it, or the one that rewrites
// it and notes the texts.
type planning struct {
	restore func() transformer.Plan
	rewrite func(texts []field.Text) transformer.Plan
}

// template returns the plan that the mode asks for, with what the report shows beside it.
func (r *run) template(o *manifest.Object, path field.Path, p planning) report.Template {
	t := report.Template{Object: r.refer(o), Path: path}
	switch {
	case r.mode == Restore:
		t.Plan = p.restore()
	case r.patching != nil:
		t.Plan = p.rewrite(nil) // nobody restores what is patched
	default:
		t.Plan = transformer.WithTexts(p.rewrite, o.Texts)
	}
	if r.mode.looks() && inFile(o) {
		for _, p := range t.Probes {
			t.Lines = append(t.Lines, o.FieldLine(p.Field))
		}
	}
	return t
}

// input returns what the planner must know about a pod template.
func (r *run) input(o *manifest.Object, owner *field.Metadata, ref workload.Template) (transformer.Input, error) {
	in := transformer.Input{
		Kind: o.Kind(), APIVersion: o.APIVersion(), Workload: *owner,
		NamespaceName: owner.Namespace, Around: r.around.Of(o, owner.Namespace),
		Path: ref.Path, Metadata: ref.Metadata, JobLike: ref.JobLike, Shape: ref.Shape,
		OnlyEdits: !r.mode.looks(), Source: o.Value, Unrecorded: r.patching != nil,
	}
	var into any = &in.Template
	if ref.Shape.BareSpec {
		into = &in.Template.Spec
	}
	if _, err := o.Decode(ref.Path, into); err != nil {
		return in, err
	}
	switch {
	case ref.Shape.WorkloadMetadata:
		in.Template.Metadata = *owner
	case ref.Metadata != nil:
		if _, err := o.Decode(ref.Metadata, &in.Template.Metadata); err != nil {
			return in, err
		}
	}
	// No mapping may have a key twice, if only below a field that the planner does not know.
	err := o.CheckKeys(in.SpecPath())
	if path := in.MetadataPath(); path != nil && err == nil {
		err = o.CheckKeys(path)
	}
	return in, err
}

// refer names the current object. The file of an item of a ResourceList is the one that
// kpt or kustomize have noted on it; that of any other object is the stream.
func (r *run) refer(o *manifest.Object) *report.Object {
	if r.ref != nil {
		return r.ref
	}
	source := o.Stream().Name()
	r.ref = &report.Object{
		Source:     source,
		APIVersion: o.APIVersion(),
		Kind:       o.Kind(),
		Namespace:  o.Namespace(),
		Name:       o.Name(),
	}
	switch {
	case inList(o):
		r.ref.File, r.ref.Index = o.File()
	case inFile(o):
		r.ref.File, r.ref.Index, r.ref.Line = source, r.index, o.Line()
	}
	return r.ref
}

// addFinding reports a finding about an object, with the severity of its reason. The message
// that it returns may be changed until the next one.
func (r *run) addFinding(o *manifest.Object, f transformer.Finding) *report.Message {
	m := report.NewMessage(f.Reason, f.Text)
	m.Object = r.refer(o)
	m.Field, m.Container, m.Current, m.Proposed = f.Field, f.Container, f.Current, f.Proposed
	if inFile(o) {
		m.Line = o.FieldLine(f.Field)
	}
	r.out.Messages = append(r.out.Messages, m)
	return &r.out.Messages[len(r.out.Messages)-1]
}

// fail reports what keeps an object from being understood or edited.
func (r *run) fail(o *manifest.Object, err error) {
	if p, ok := errors.AsType[placeholder](err); ok {
		r.addFinding(o, p.Finding)
		return
	}
	f := transformer.NewFinding(reason.InvalidManifest, nil, "%v", err)
	e, ok := errors.AsType[*manifest.Error](err)
	if ok {
		what := e.Message()
		if strings.HasPrefix(what, "must ") {
			what = "it " + what
		}
		f = transformer.NewFinding(reason.InvalidManifest, e.Path, "%s", what)
		if hasVariable(o, e.Path) {
			f.Reason = reason.HelmTemplate
			f.Text.What += ", and it looks like it has a variable"
			f.Text.Fix = substituteFix
		}
	}
	if m := r.addFinding(o, f); ok && e.Line > 0 && inFile(o) {
		m.Line = e.Line
	}
}

// reportNotice reports lines that were changed although no edit names them. In
// an item of a ResourceList they are counted from the start of the item.
func (r *run) reportNotice(o *manifest.Object, n manifest.Notice) {
	before := 0
	of := " of the object"
	if inFile(o) {
		before = o.Line() - 1
		of = ""
	}
	lines := fmt.Sprintf("line %d%s", before+n.Line, of)
	if n.End > n.Line {
		lines = fmt.Sprintf("lines %d to %d%s", before+n.Line, before+n.End, of)
	}
	if m := r.addFinding(
		o,
		transformer.NewFinding(reason.WrittenAnew, nil, "%s: %s", lines, n.Text),
	); inFile(o) {
		m.Line = before + n.Line
	}
}

// shared returns the first value that came with a text, which is the value's own: the
// messages about the probes of a large package differ little, and are many. Without
// it a list of 40,000 Deployments takes 1.7 times the CPU.
func (r *run) shared(text string, v any) any {
	first, known := r.shares[text]
	if !known {
		r.shares[text] = v
		return v
	}
	return first
}

var doneReasons = map[transformer.State]reason.Key{
	transformer.WouldRewrite: reason.Rewritten,
	transformer.WouldRestore: reason.Restored,
}

// reportRewritten adds a message for every probe that was changed, for the
// results of a ResourceList.
func (r *run) reportRewritten(plans []report.Template) {
	for _, plan := range plans {
		for _, p := range plan.Probes {
			key, done := doneReasons[p.State]
			if !done {
				continue
			}
			m := report.NewMessage(key, reason.Text{}) // the field and its values are the text
			m.Object, m.Container = r.ref, p.Container
			m.Field = r.shared(p.Field.String(), p.Field).(field.Path)
			m.Current = r.shared(p.Before, p.Before)
			m.Proposed = r.shared(p.After, p.After)
			r.out.Messages = append(r.out.Messages, m)
		}
	}
}
