package transformer

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
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

// detect returns which mesh a template is in, and the planner for it: the mesh of the options or,
// if that is "auto", the one that the template or its Namespace names. Two meshes are an error.
func (p *Planner) detect(b *view) (detected detection, in *Planner) {
	detected, marked, at, off := p.memberships(b)
	in = p
	auto := p.opts.Mesh == MeshAuto
	switch own := len(marked) == 0 || slices.Contains(marked, p.mesh); {
	case !auto && !own:
		detected.optOut = new(NewFinding("other-mesh", nil, "%s: the pod is in %s, and the functionConfig says `mesh: %s`", at[0], marked[0].title, p.mesh.name))
	case !own:
		if problems := p.opts.problemsIn(marked[0]); len(problems) > 0 {
			detected.conflicts = []Finding{NewFinding("options-unfit", nil, "%s: the pod is in %s, and the functionConfig does not fit that mesh: `%s`: %s", at[0], marked[0].title, problems[0].Path, problems[0].Text)}
		} else {
			in = p.others()[marked[0]]
		}
	case auto && len(marked) == 0 && off != nil:
		detected.optOut = off
	}
	if len(marked) > 1 {
		detected.conflicts = []Finding{NewFinding("two-meshes", nil, "%s puts the pod into %s, and %s into %s; a pod can only be in one mesh, so one of the two must go", at[0], marked[0].title, at[1], marked[1].title)}
	}
	if len(marked) > 0 || !auto {
		detected.title = in.mesh.title
	}
	return detected, in
}

// memberships returns what the meshes say of the template: those that inject it, where that
// is said, and a finding about the first switch that is off.
func (p *Planner) memberships(b *view) (detected detection, marked []*serviceMesh, at []string, off *Finding) {
	for _, d := range p.meshes {
		m := d.membership(b)
		if m.injected == certain.Always && (p.opts.Mesh == MeshAuto || d == p.mesh || !m.byName) {
			marked, at = append(marked, d), append(at, m.at)
		}
		if m.unclear != nil {
			detected.unclear = append(detected.unclear, *m.unclear)
		}
		if m.off != nil && off == nil {
			// A pod with the proxy in its manifest needs no injection.
			if _, proxy := b.proxyOf(d.isProxy); proxy == nil {
				off = m.off
			}
		}
	}
	return detected, marked, at, off
}

// switchIn returns the membership that a switch of injection makes: an annotation or a
// label, by kind, of the template or else of its Namespace. read returns what a
// value switches; ok and on are false for one that the mesh does not know.
func (b *template) switchIn(kind, key, allowed string, read func(value string) (on, ok bool)) membership {
	values := func(m *field.Metadata) field.KeyValues {
		if kind == "labels" {
			return m.Labels
		}
		return m.Annotations
	}
	ns := b.namespace()
	v, own := values(&b.in.Template.Metadata).Lookup(key)
	if !own {
		if v = values(ns).Get(key); v == "" {
			return membership{}
		}
	}
	on, ok := read(v)
	m := membership{injected: certain.Of(on), at: entryWords(kind, key, v)}
	switch {
	case own && !ok:
		m.unclear = new(metadataFinding("inject-unclear", b.metadata.Key(kind, key), v, "must be %s; with another value nothing is injected, or the injector refuses the pod", allowed))
	case own && !on:
		m.off = new(metadataFinding("injection-off", b.metadata.Key(kind, key), v, "switches injection off, so the mesh does not capture this pod"))
	case !own && !ok:
		return membership{}
	case !own && !on:
		m.off = new(NewFinding("namespace-not-injected", nil, "Namespace %q has %s, so the mesh does not capture this pod", ns.Name, m.at))
	}
	if !own {
		m.at += " of Namespace \"" + ns.Name + "\""
	}
	return m
}

// isEnabled reads the value of a switch; ok is false if it is none.
func isEnabled(v string) (on, ok bool) {
	on = slices.Contains([]string{"enabled", "true", "yes"}, v)
	return on, on || slices.Contains([]string{"disabled", "false", "no"}, v)
}

// entryWords words an entry of labels or annotations, by kind.
func entryWords(kind, key, value string) string {
	return "the " + strings.TrimSuffix(kind, "s") + " `" + key + ": " + value + "`"
}

// memberBy returns the membership that a mesh's proxy in the template makes.
func memberBy(proxy *pod.Container) membership {
	return membership{injected: certain.Always, byName: true, at: "the container `" + proxy.Name + "`"}
}
