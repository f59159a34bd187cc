package pipeline

import (
	"cmp"
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

// A patchMaker is the sink that makes patches of plans.
type patchMaker struct {
	*run
	set patches.Set
	// object is the value of the guarded subject that is planned; nil if it is another one. reads are of the
	// plans for it.
	object field.Value
	reads  []transformer.Reads
	// kinds are those of other objects that any plan reads, and namespace is what it reads of Namespaces.
	kinds     surroundings.Kinds
	namespace field.MetadataKeys
}

// Patches takes the streams through the pipeline as Run does, and returns as patches what Run would
// change. The streams stay as they are. What sends reports false for is not in the build that is
// patched, and goes says in which namespace it ends.
func Patches(
	streams []*manifest.Stream, c *config.RewriteProbes, sends func(*manifest.Object) bool, goes patches.Destination,
) (*patches.Set, *report.Report) {
	other := send(streams, goes)
	m := &patchMaker{run: newRun(streams, c, Rewrite)}
	m.sink = m
	if other != "" {
		m.add(otherNamespace(other, goes))
	}
	known, custom := m.guarded()
	for s := range m.subjects() {
		isGuarded := slices.Contains(known, kindOf(s.Object)) || slices.Contains(custom, kindOf(s.Object))
		switch {
		case !sends(s.Object):
		case isGuarded:
			m.guardedObject(s)
		default:
			m.object = nil
			m.protected(s)
		}
	}
	m.patchSurroundings(sends)
	m.set.Guarded = guards(append(known, m.guardedAround()...), custom)
	return &m.set, m.finish()
}

// plan notes what the plan reads. Nobody restores what is patched, so no texts are kept.
func (m *patchMaker) plan(_ *subject, p planning) transformer.Plan {
	p.note()
	plan := p.rewrite(nil)
	reads := p.reads(&plan)
	m.reads = append(m.reads, reads)
	m.kinds |= reads.Kinds
	m.namespace.Merge(&reads.Namespace)
	return plan
}

func kindOf(o *manifest.Object) surroundings.GroupKind {
	return surroundings.GroupKind{Group: o.Group(), Kind: o.Kind()}
}

// guarded returns the kinds of which a new object may have probes: those that are known, and those
// of the functionConfig.
func (m *patchMaker) guarded() (known, custom []surroundings.GroupKind) {
	for _, k := range workload.Kinds() {
		known = append(known, surroundings.GroupKind{Group: k.Group, Kind: k.Name})
	}
	known = append(known, surroundings.GroupKind{Group: "networking.istio.io", Kind: "WorkloadGroup"})
	for _, c := range m.custom {
		custom = append(custom, surroundings.GroupKind{Group: c.Group, Kind: c.Kind})
	}
	return m.selectable(known), m.selectable(custom)
}

// selectable returns the kinds of which the functionConfig lets an object be rewritten.
func (m *patchMaker) selectable(kinds []surroundings.GroupKind) []surroundings.GroupKind {
	return slices.DeleteFunc(kinds, func(k surroundings.GroupKind) bool { return !m.spec.MaySelect(k.Kind) })
}

// guards divides kinds by guards. A guard selects every kind in every group that it has, so that a
// kind has one of its own whose name another group has too, as one of the functionConfig may.
func guards(known, custom []surroundings.GroupKind) [][]surroundings.GroupKind {
	var all [][]surroundings.GroupKind
	var shared []surroundings.GroupKind
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
	slices.SortFunc(custom, func(a, b surroundings.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	for _, k := range slices.Compact(custom) {
		all = append(all, []surroundings.GroupKind{k})
	}
	return all
}

// guardedAround returns the kinds of which a new object may change a plan for another.
func (m *patchMaker) guardedAround() []surroundings.GroupKind {
	kinds := m.kinds
	if m.openShift() != nil { // one is enough
		kinds &^= surroundings.OpenShift.Set()
	}
	return kinds.All()
}

// openShift returns the first object that only OpenShift has; nil if there is none.
func (m *patchMaker) openShift() *manifest.Object {
	for o := range objectsOf(m.streams) {
		if surroundings.IsOpenShift(o.APIVersion(), o.Kind()) {
			return o
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
func (m *patchMaker) guardedObject(s *subject) {
	meta, err := s.Metadata()
	if err == nil && nearby.IsLocal(meta) {
		return // kustomize drops it, so that it is new if it is local no more
	}
	if m.isOwned(s.Object) {
		m.addFinding(s, transformer.NewFinding(reason.NotPatchable, nil, "its controller is in the build too, and makes it").
			Fix("Take it out of the base"))
		return
	}
	m.reads = nil
	m.object = m.exact(s)
	if m.object == nil {
		return
	}
	if !patches.IsTest(s.Object) {
		m.set.Known = append(m.set.Known, target(s.Object))
	}
	if err == nil {
		m.reads = append(m.reads, m.chosenBy(s.Object))
	}
	if err == nil && !m.selects(s.Kind(), meta) {
		m.take(s, nil, 0)
		return
	}
	m.protected(s)
}

// chosenBy returns what decides whether an object is rewritten, and which pod templates it has.
func (m *patchMaker) chosenBy(o *manifest.Object) (reads transformer.Reads) {
	for _, key := range m.spec.SelectingLabels() {
		reads.Fields = append(reads.Fields, field.NewPath("metadata", "labels", key))
	}
	switch o.Kind() {
	case "Pod", "ReplicaSet", "Job": // see isOwned
		reads.Fields = append(reads.Fields, field.NewPath("metadata", "ownerReferences"))
	}
	if workload.IsWorkloadGroup(o.Group(), o.Kind()) {
		return reads
	}
	lists, missing, err := workload.Deciding(o, m.custom)
	if err != nil {
		return reads // the object cannot be planned for either
	}
	reads.Names = lists
	reads.Fields = append(reads.Fields, missing...)
	return reads
}

// exact returns the value of an object; nil, with a message, if kustomize cannot patch it.
func (m *patchMaker) exact(s *subject) field.Value {
	v, err := valueOf(s.Object)
	switch {
	case err != nil:
		m.add(s.failure(err))
		return nil
	case !patches.IsExact(v):
		m.addFinding(s, transformer.NewFinding(reason.NotPatchable, nil, "it has a whole number above 2^53, which kustomize rounds in every object that it patches").
			Fix("Write the number as a string, exclude the object, or run rewrite-probes as a function or in a pipe"))
		return nil
	}
	return v
}

func valueOf(o *manifest.Object) (v field.Value, err error) {
	_, err = o.Decode(nil, &v)
	return v, err
}

// take adds the patch for an object that its plans edit, or that tests that there still is
// nothing to edit. One that is not guarded has no edits.
func (m *patchMaker) take(s *subject, plans []report.PlannedTemplate, _ int) (changed bool) {
	if m.object == nil {
		return false
	}
	edits := editsOf(plans)
	if workload.IsWorkloadGroup(s.Group(), s.Kind()) && len(edits) > 0 {
		m.addFinding(s, transformer.NewFinding(reason.NotPatchable, nil, "its original probe must stay with it, in an annotation"))
		return false
	}
	before := patches.Built(m.object)
	after, err := s.Preview(edits)
	if err != nil {
		m.add(s.failure(err))
		return false
	}
	tests, changes := field.Difference(before, patches.Built(after))
	changed = len(changes) > 0
	all := [][]field.Operation{}
	if changed { // kustomize also selects an object by the name and namespace that it had before
		id := []field.Path{field.NewPath("metadata", "name"), field.NewPath("metadata", "namespace")}
		all = append(all, patches.Reading{Fields: id}.Tests(before))
	}
	for _, reads := range m.reads {
		all = append(all, patches.Reading{Fields: reads.Fields, Names: reads.Names}.Tests(before))
	}
	p := patches.Patch{
		Target:     target(s.Object),
		Comment:    s.String() + ": " + cmp.Or(report.Line(plans), "nothing to rewrite, as long as this holds"),
		Operations: append(patches.Merged(append(all, tests)...), changes...),
	}
	if len(p.Operations) > 0 && (changed || !patches.IsTest(s.Object)) {
		m.set.Patches = append(m.set.Patches, p)
	}
	wasRewritten := func(t report.PlannedTemplate) bool { return t.WasRewritten }
	if !changed && slices.ContainsFunc(plans, wasRewritten) {
		m.set.Rewritten = append(m.set.Rewritten, p.Target)
	}
	return changed
}

// patchSurroundings adds patches that test what the plans read of other objects.
func (m *patchMaker) patchSurroundings(sends func(*manifest.Object) bool) {
	kinds := m.guardedAround()
	for s := range m.subjects() {
		if !slices.Contains(kinds, kindOf(s.Object)) || !sends(s.Object) || s.Name() == "" {
			continue
		}
		object := m.exact(s)
		if object == nil {
			continue
		}
		t := target(s.Object)
		m.set.Known = append(m.set.Known, t)
		reading := patches.Reading{Fields: m.kinds.Fields(kindOf(s.Object))}
		if s.Kind() == "Namespace" {
			reading.Fields = m.namespace.Paths(field.NewPath("metadata"))
		}
		if s.Kind() != "Service" { // a merge patch would join ports that have one number
			m.set.Required = append(m.set.Required, t)
		}
		m.set.Patches = append(m.set.Patches, patches.Patch{
			Target: t, Comment: s.String() + ": the patches below depend on this", Operations: patches.Merged(reading.Tests(patches.Built(object))),
		})
	}
	if o := m.openShift(); o != nil && m.kinds&surroundings.OpenShift.Set() != 0 {
		m.set.Required = append(m.set.Required, target(o))
	}
}

// removePatches takes out of an object what [patches.Set.Into] has written.
func (r *run) removePatches(s *subject) {
	if err := s.Apply(patches.Removal(s.Object)); err != nil {
		r.add(s.failure(err))
		return
	}
	r.out.AddChange(s.Stream().Name())
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
