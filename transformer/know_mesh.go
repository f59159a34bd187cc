package transformer

import (
	"cmp"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// A detection says which mesh a template is in, by what all meshes say of it.
type detection struct {
	title     string    // of the mesh; "" if nothing says so
	unclear   []Finding // warnings about switches of injection
	conflicts []Finding // why the template cannot be rewritten for the mesh
	isInTwo   bool      // so that what one of the meshes says decides nothing
	// optOut is why the template is left alone: it is in another mesh than that of
	// the options, or in none; nil if neither.
	optOut *Finding
}

// detect returns which mesh a template is in, and the setting for it: the mesh of the options or,
// if that is "auto", the one that the template or its Namespace names. Two meshes are an error.
func detect(settings []*setting, v *view) (detected detection, in *setting) {
	detected, marked, at, off := memberships(settings, v)
	in = settings[0]
	auto := in.opts.Mesh == MeshAuto
	switch own := len(marked) == 0 || slices.Contains(marked, in.mesh); {
	case !auto && !own:
		detected.optOut = new(NewFinding(reason.OtherMesh, nil,
			"the pod is in %s (%s), and the functionConfig sets `mesh: %s`", marked[0].title, at[0], in.mesh.name))
	case !own:
		if problems := problemsIn(in.opts, marked[0]); len(problems) > 0 {
			f := NewFinding(reason.OptionsUnfit, nil,
				"the functionConfig does not fit %s (%s)", marked[0].title, at[0])
			detected.conflicts = []Finding{f.Why("`%s`: %s", problems[0].Path, problems[0].Text)}
		} else {
			in = settings[slices.IndexFunc(settings, func(s *setting) bool { return s.mesh == marked[0] })]
		}
	case auto && len(marked) == 0:
		detected.optOut = cmp.Or(off, v.misplacedMark())
	}
	if len(marked) > 1 {
		f := NewFinding(reason.TwoMeshes, nil, "the pod is in %s (%s) and in %s (%s)",
			marked[0].title, at[0], marked[1].title, at[1])
		detected.conflicts = []Finding{f}
		detected.isInTwo = true
	}
	if len(marked) > 0 || !auto {
		detected.title = in.mesh.title
	}
	return detected, in
}

// memberships returns what the meshes say of the template: those that inject it, where that
// is said, and a finding about the first switch that is off.
func memberships(settings []*setting, v *view) (detected detection, marked []*serviceMesh, at []string, off *Finding) {
	for i, s := range settings {
		d := s.mesh
		m := d.membership(v)
		if m.injected == certain.Always &&
			(s.opts.Mesh == MeshAuto ||
				i == 0 ||
				!m.byName) {
			marked, at = append(marked, d), append(at, m.at)
		}
		if m.unclear != nil {
			detected.unclear = append(detected.unclear, *m.unclear)
		}
		if m.off != nil && off == nil {
			// A pod with the proxy in its manifest needs no injection.
			if _, proxy := v.proxyOf(d.isProxy); proxy == nil {
				off = m.off
			}
		}
	}
	return detected, marked, at, off
}
