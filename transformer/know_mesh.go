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
			"%s: the pod is in %s, and the functionConfig says `mesh: %s`", at[0], marked[0].title, in.mesh.name))
	case !own:
		if problems := problemsIn(in.opts, marked[0]); len(problems) > 0 {
			detected.conflicts = []Finding{NewFinding(reason.OptionsUnfit, nil,
				"%s: the pod is in %s, and the functionConfig does not fit that mesh: `%s`: %s",
				at[0], marked[0].title, problems[0].Path, problems[0].Text)}
		} else {
			in = settings[slices.IndexFunc(settings, func(s *setting) bool { return s.mesh == marked[0] })]
		}
	case auto && len(marked) == 0:
		detected.optOut = cmp.Or(off, v.misplacedMark())
	}
	if len(marked) > 1 {
		detected.conflicts = []Finding{NewFinding(reason.TwoMeshes, nil,
			"%s puts the pod into %s, and %s into %s; a pod can only be in one mesh, so one of the two must go",
			at[0], marked[0].title, at[1], marked[1].title)}
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
		if m.injected == certain.Always && (s.opts.Mesh == MeshAuto || i == 0 || !m.byName) {
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
