package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/nearby"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A patching is what one run makes of its plans as patches.
type patching struct {
	set patches.Set
	// object is the current one, as a value, and reads are of the plans for it.
	object field.Value
	reads  []transformer.Reads
	// kinds are those of other objects that any plan reads, and namespace is what it reads of Namespaces.
	kinds     surroundings.Kinds
	namespace field.MetadataKeys
}

func (p *patching) note(r transformer.Reads) {
	p.reads = append(p.reads, r)
	p.kinds |= r.Kinds
	p.namespace.Merge(&r.Namespace)
}

// Patches takes the streams through the pipeline as Run does, and returns as patches what Run would
// change. The streams stay as they are. What sends reports false for is not in the build that is
// patched, and goes says in which namespace it ends.
func Patches(
	streams []*manifest.Stream, c *config.RewriteProbes, sends func(*manifest.Object) bool, goes patches.Destination,
) (*patches.Set, *report.Report) {
	other := send(streams, goes)
	r := newRun(streams, c, Rewrite)
	if other != "" {
		r.out.Messages = append(r.out.Messages, otherNamespace(other, goes))
	}
	r.patching = &patching{}
	known, custom := r.guarded()
	for o := range r.objects() {
		switch isGuarded := slices.Contains(known, kindOf(o)) ||
			slices.Contains(custom, kindOf(o)); {
		case !sends(o):
		case isGuarded:
			r.guardedObject(o)
		default:
			r.patching.object = nil
			r.protected(o)
		}
	}
	r.patchSurroundings(sends)
	r.patching.set.Guarded = guards(append(known, r.guardedAround()...), custom)
	out := r.finish()
	return &r.patching.set, out
}

func kindOf(o *manifest.Object) patches.GroupKind {
	return patches.GroupKind{Group: o.Group(), Kind: o.Kind()}
}

// guarded returns the kinds of which a new object may have probes: those that are known, and those
// of the functionConfig.
func (r *run) guarded() (known, custom []patches.GroupKind) {
	for _, k := range workload.Kinds() {
		known = append(known, patches.GroupKind{Group: k.Group, Kind: k.Name})
	}
	known = append(known, patches.GroupKind{Group: "networking.istio.io", Kind: "WorkloadGroup"})
	for _, c := range r.custom {
		custom = append(custom, patches.GroupKind{Group: c.Group, Kind: c.Kind})
	}
	return r.selectable(known), r.selectable(custom)
}

// selectable returns the kinds of which the functionConfig lets an object be rewritten.
func (r *run) selectable(kinds []patches.GroupKind) []patches.GroupKind {
	return slices.DeleteFunc(
		kinds,
		func(k patches.GroupKind) bool {
			return !r.spec.MaySelect(k.Kind)
		},
	)
}

// guards divides kinds by guards. A guard selects every kind in every group that it has, so that a
// kind has one of its own whose name another group has too, as one of the functionConfig may.
func guards(known, custom []patches.GroupKind) [][]patches.GroupKind {
	var all [][]patches.GroupKind
	var shared []patches.GroupKind
	for _, k := range known {
		if k.Kind == "Service" || k.Kind == "Route" { // of the core group, of Knative, and of OpenShift
			custom = append(custom, k)
		} else {
			shared = append(shared, k)
		}
	}
	if len(shared) > 0 {
		all = append(all, shared)
	}
	slices.SortFunc(custom, func(a, b patches.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	for _, k := range slices.Compact(custom) {
		all = append(all, []patches.GroupKind{k})
	}
	return all
}

// guardedAround returns the kinds of which a new object may change a plan for another.
func (r *run) guardedAround() (all []patches.GroupKind) {
	kinds := r.patching.kinds
	if r.openShift() != nil { // one is enough
		kinds &^= surroundings.OpenShift.Set()
	}
	for _, k := range kinds.All() {
		all = append(all, patches.GroupKind(k))
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
		Namespace: written(o, "namespace"), Name: written(o, "name"),
	}
}

// guardedObject takes an object through the pipeline of which a new one would make the build fail.
func (r *run) guardedObject(o *manifest.Object) {
	meta, err := o.Metadata()
	if err == nil && nearby.IsLocal(meta) {
		return // kustomize drops it, so that it is new if it is local no more
	}
	if r.isOwned(o) {
		r.addFinding(o, transformer.NewFinding(reason.NotPatchable, nil, "its controller is in the build too, and makes it").
			Fix("Take it out of the base"))
		return
	}
	p := r.patching
	p.reads = nil
	if p.object = r.exact(o); p.object == nil {
		return
	}
	if !patches.IsTest(o) {
		p.set.Known = append(p.set.Known, target(o))
	}
	if err == nil {
		p.reads = append(p.reads, r.chosenBy(o))
	}
	if err == nil && !r.selects(o.Kind(), meta) {
		r.patch(o, nil, nil)
		return
	}
	r.protected(o)
}

// chosenBy returns what decides whether an object is rewritten, and which pod templates it has.
func (r *run) chosenBy(o *manifest.Object) (reads transformer.Reads) {
	for _, key := range r.spec.SelectingLabels() {
		reads.Fields = append(reads.Fields, field.NewPath("metadata", "labels", key))
	}
	switch o.Kind() {
	case "Pod", "ReplicaSet", "Job": // see isOwned
		reads.Fields = append(reads.Fields, field.NewPath("metadata", "ownerReferences"))
	}
	if workload.IsWorkloadGroup(o.Group(), o.Kind()) {
		return reads
	}
	lists, missing, err := workload.Deciding(o, r.custom)
	if err != nil {
		return reads // the object cannot be planned for either
	}
	reads.Names = lists
	reads.Fields = append(reads.Fields, missing...)
	return reads
}

// exact returns the value of an object; nil, with a message, if kustomize cannot patch it.
func (r *run) exact(o *manifest.Object) field.Value {
	v, err := valueOf(o)
	switch {
	case err != nil:
		r.fail(o, err)
		return nil
	case !patches.IsExact(v):
		r.addFinding(o, transformer.NewFinding(reason.NotPatchable, nil, "it has a whole number above 2^53, which kustomize rounds in every object that it patches").
			Fix("Write the number as a string, exclude the object, or run rewrite-probes as a function or in a pipe"))
		return nil
	}
	return v
}

func valueOf(o *manifest.Object) (v field.Value, err error) {
	_, err = o.Decode(nil, &v)
	return v, err
}

// patch adds the patch for an object that its plans edit, or that tests that there still is
// nothing to edit. One that is not guarded has no edits.
func (r *run) patch(o *manifest.Object, plans []report.Template, edits []field.Edit) {
	if r.patching.object == nil {
		return
	}
	if workload.IsWorkloadGroup(o.Group(), o.Kind()) &&
		len(edits) > 0 {
		r.addFinding(o, transformer.NewFinding(reason.NotPatchable, nil, "its original probe must stay with it, in an annotation"))
		return
	}
	before := patches.Built(r.patching.object)
	tests, changes, after, err := field.Operations(before, edits)
	if err == nil {
		err = r.checkPatched(o, edits, after)
	}
	if err != nil {
		r.addFinding(o, transformer.NewFinding(reason.NotPatchable, nil, "%v", err))
		return
	}
	all := [][]field.Operation{}
	if len(changes) > 0 { // kustomize also selects an object by the name and namespace that it had before
		id := []field.Path{field.NewPath("metadata", "name"), field.NewPath("metadata", "namespace")}
		all = append(all, patches.Reading{Fields: id}.Tests(before))
	}
	for _, reads := range r.patching.reads {
		all = append(all, patches.Reading{Fields: reads.Fields, Names: reads.Names}.Tests(before))
	}
	comment := o.String() + ": " + cmp.Or(report.Line(plans), "nothing to rewrite, as long as this holds")
	tested := patches.Merged(append(all, tests)...)
	p := patches.Patch{
		Target:     target(o),
		Comment:    comment,
		Operations: append(tested, changes...),
	}
	if len(p.Operations) > 0 && (len(changes) > 0 || !patches.IsTest(o)) {
		r.patching.set.Patches = append(r.patching.set.Patches, p)
	}
	wasRewritten := func(t report.Template) bool { return t.WasRewritten }
	if len(changes) > 0 {
		r.out.AddChange(o.Stream().Name())
	} else if slices.ContainsFunc(plans, wasRewritten) {
		r.patching.set.Rewritten = append(r.patching.set.Rewritten, target(o))
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
		if !slices.Contains(kinds, kindOf(o)) ||
			!sends(o) ||
			o.Name() == "" {
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
			reading.Fields = p.namespace.Paths(field.NewPath("metadata"))
		}
		if o.Kind() != "Service" { // a merge patch would join ports that have one number
			p.set.Required = append(p.set.Required, t)
		}
		p.set.Patches = append(p.set.Patches, patches.Patch{
			Target: t, Comment: o.String() + ": the patches below depend on this", Operations: patches.Merged(reading.Tests(patches.Built(object))),
		})
	}
	if o := r.openShift(); o != nil && p.kinds&surroundings.OpenShift.Set() != 0 {
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

// NotPatchable returns the message about a patch that a form cannot have, by the object that it is about.
func NotPatchable(object string) report.Message {
	return report.NewMessage(reason.NotPatchable, reason.Text{
		What: fmt.Sprintf("the patch of %s has a `$`", object),
		Why:  "Flux changes it if a Kustomization with `postBuild` applies the patches",
		Fix:  fmt.Sprintf("Write them with --into an object that has the annotation `%s: disabled`, or use -o kustomization", patches.Substitute),
	})
}

// AlreadyPatched returns the message about a render that has the patches of a target already, by an object of it.
func AlreadyPatched(object string, home *manifest.Object) report.Message {
	file := reason.ShellWord(home.Stream().Name())
	return report.NewMessage(reason.NotPatchable, reason.Text{
		What: "this render has the patches of " + file + " already",
		Why:  object + " is rewritten in it",
		Fix:  fmt.Sprintf("Render the base of the patches. If they are in the kustomization that you render, first run `rewrite-probes restore -w %s`", file),
	})
}
