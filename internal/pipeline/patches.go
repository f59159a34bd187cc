package pipeline

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A patching is what one run makes of its plans as patches.
type patching struct {
	set   patches.Set
	reads []transformer.Reads // of the plans for the current object
	all   transformer.Reads   // what any plan reads besides its object
	dials bool                // a plan reads metadata, as of the Namespace
	kinds []patches.GroupKind // of which a new object may have probes
}

func (p *patching) note(r transformer.Reads) {
	p.reads = append(p.reads, r)
	p.all.Services = p.all.Services || r.Services
	p.all.LimitRanges = p.all.LimitRanges || r.LimitRanges
	p.all.Sidecars = p.all.Sidecars || r.Sidecars
	p.all.Platform = p.all.Platform || r.Platform
	p.dials = p.dials || r.Metadata
}

// Patches takes the streams through the pipeline as Run does, and returns as patches what Run would
// change. The streams stay as they are. What sends reports false for is not in the build that is
// patched.
func Patches(
	streams []*manifest.Stream, c *config.RewriteProbes, sends func(*manifest.Object) bool,
) (*patches.Set, *report.Report) {
	r := newRun(streams, c, Rewrite)
	r.patching = &patching{kinds: r.guarded()}
	for o := range r.objects() {
		if !sends(o) {
			continue
		}
		r.patching.reads = nil
		r.protected(o)
		if r.isGuarded(o) {
			r.know(o)
		}
	}
	r.patchSurroundings(sends)
	r.patching.set.Guarded = slices.Concat(r.patching.kinds, r.guardedAround())
	out := r.finish()
	return &r.patching.set, out
}

// isGuarded reports whether an object is of a kind that makes pods.
func (r *run) isGuarded(o *manifest.Object) bool {
	return slices.Contains(r.patching.kinds, patches.GroupKind{Group: o.Group(), Kind: o.Kind()})
}

// guarded returns the kinds of which a new object may have probes.
func (r *run) guarded() (all []patches.GroupKind) {
	for _, k := range workload.Kinds() {
		all = append(all, patches.GroupKind{Group: k.Group, Kind: k.Name})
	}
	for _, c := range r.custom {
		all = append(all, patches.GroupKind{Group: c.Group, Kind: c.Kind})
	}
	return all
}

// guardedAround returns the kinds of which a new object may change a plan for another.
func (r *run) guardedAround() (all []patches.GroupKind) {
	p := r.patching
	if p.dials {
		all = append(all, patches.GroupKind{Kind: "Namespace"})
	}
	if p.all.LimitRanges {
		all = append(all, patches.GroupKind{Kind: "LimitRange"})
	}
	if p.all.Services {
		all = append(all, patches.GroupKind{Kind: "Service"})
	}
	if p.all.Sidecars {
		all = append(all, patches.GroupKind{Group: "networking.istio.io", Kind: "Sidecar"})
	}
	if p.all.Platform && r.openShift() == nil {
		for group, kinds := range surroundings.OpenShiftKinds() {
			for _, kind := range kinds {
				all = append(all, patches.GroupKind{Group: group, Kind: kind})
			}
		}
	}
	return all
}

// openShift returns the first object that only OpenShift has; nil if there is none.
func (r *run) openShift() *manifest.Object {
	for _, s := range r.streams {
		for _, o := range s.Objects() {
			if surroundings.IsOpenShift(o.APIVersion(), o.Kind()) {
				return o
			}
		}
	}
	return nil
}

func target(o *manifest.Object) patches.Target {
	version := o.APIVersion()
	return patches.Target{
		Group: o.Group(), Version: version[strings.LastIndexByte(version, '/')+1:], Kind: o.Kind(),
		Namespace: o.Namespace(), Name: o.Name(),
	}
}

// know has an object marked as known, unless a mark would change its numbers.
func (r *run) know(o *manifest.Object) {
	if v := r.exact(o); v != nil {
		r.patching.set.Known = append(r.patching.set.Known, target(o))
	}
}

// exact returns the value of an object; nil, with a message, if kustomize cannot patch it.
func (r *run) exact(o *manifest.Object) field.Value {
	v, err := valueOf(o)
	switch {
	case err != nil:
		r.fail(o, err)
		return nil
	case !patches.IsExact(v):
		r.notPatchable(o, "has a whole number above 2^53, which kustomize rounds in every object that it patches; write it as a string if its field allows that, or run rewrite-probes in a pipe")
		return nil
	}
	return v
}

func valueOf(o *manifest.Object) (v field.Value, err error) {
	_, err = o.Decode(nil, &v)
	return v, err
}

func (r *run) notPatchable(o *manifest.Object, format string, args ...any) {
	r.addFinding(o, transformer.NewFinding(reason.NotPatchable, nil, format, args...))
}

// patch adds the patch for an object that its plans edit, or that tests that there still is
// nothing to edit. One that was rewritten before gets none.
func (r *run) patch(o *manifest.Object, plans []report.Template, edits []field.Edit) {
	isRewritten := func(t report.Template) bool {
		return slices.ContainsFunc(t.Probes, func(p transformer.Verdict) bool { return p.State == transformer.Rewritten })
	}
	switch {
	case workload.IsWorkloadGroup(o.Group(), o.Kind()):
		if len(edits) > 0 {
			r.notPatchable(o, "its original probe must stay with it, in an annotation; exclude the object in the functionConfig, or run rewrite-probes in a pipe")
		}
		return
	case len(edits) == 0 && slices.ContainsFunc(plans, isRewritten):
		return
	}
	object := r.exact(o)
	if object == nil {
		return
	}
	before := patches.Built(object)
	tests, changes, after, err := field.Operations(before, edits)
	if err == nil {
		err = r.checkPatched(o, edits, after)
	}
	if err != nil {
		r.notPatchable(o, "%v", err)
		return
	}
	all := [][]field.Operation{}
	for _, reads := range r.patching.reads {
		all = append(all, patches.Reading{Fields: reads.Fields, Names: reads.Names}.Tests(before))
	}
	comment := o.String() + ": " + cmp.Or(report.Line(plans), "nothing to rewrite, as long as this holds")
	tested := patches.Merged(append(all, tests)...)
	p := patches.Patch{Target: target(o), Comment: comment, Operations: append(tested, changes...)}
	if len(p.Operations) > 0 {
		r.patching.set.Patches = append(r.patching.set.Patches, p)
	}
	if len(changes) > 0 {
		r.out.AddChange(o.Stream().Name())
	}
}

// checkPatched compares an object after the operations of its patch with what the editor makes of
// the same edits.
func (r *run) checkPatched(o *manifest.Object, edits []field.Edit, after field.Value) error {
	want, err := o.Preview(edits)
	if err == nil && !field.Equal(after, patches.Built(want)) {
		err = errors.New("its patch would not give what the function writes, which is a mistake in rewrite-probes; please report it")
	}
	return err
}

// patchSurroundings adds patches that test what the plans read of other objects.
func (r *run) patchSurroundings(sends func(*manifest.Object) bool) {
	p := r.patching
	kinds := r.guardedAround()
	for o := range r.objects() {
		kind := patches.GroupKind{Group: o.Group(), Kind: o.Kind()}
		if !sends(o) || o.Name() == "" || !slices.Contains(kinds, kind) {
			continue
		}
		object := r.exact(o)
		if object == nil {
			continue
		}
		t := target(o)
		p.set.Known = append(p.set.Known, t)
		reading := patches.Reading{Fields: []field.Path{field.NewPath("spec")}}
		if o.Kind() == "Namespace" {
			reading.Fields = transformer.NamespaceReads()
		}
		if o.Kind() != "Service" { // a merge patch would join ports that have one number
			p.set.Required = append(p.set.Required, t)
		}
		p.set.Patches = append(p.set.Patches, patches.Patch{
			Target: t, Comment: o.String() + ": the patches below depend on this", Operations: patches.Merged(reading.Tests(patches.Built(object))),
		})
	}
	if o := r.openShift(); o != nil && p.all.Platform {
		p.set.Required = append(p.set.Required, target(o))
	}
}

// removePatches takes out of an object what [patches.Set.Into] has written.
func (r *run) removePatches(o *manifest.Object) {
	if err := o.Apply(patches.Removal(o)); err != nil {
		r.fail(o, err)
		return
	}
	r.out.AddChange(o.Stream().Name())
}

// NotPatchable returns the message about a set of patches that a form cannot have.
func NotPatchable(why string) report.Message {
	return report.NewMessage(reason.NotPatchable, reason.Text{What: why})
}
