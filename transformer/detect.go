package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// builderFor returns the builder of a template's plan for the mesh that the template
// is in: the mesh of the options or, if that is "auto", the one whose mark the
// template or its Namespace has. Marks of two meshes are an error.
func (p *Planner) builderFor(in *Input) *planBuilder {
	b := newPlanBuilder(p, in)
	var marked []*dialect
	var at []string
	var unclear []Finding
	var off *Finding
	for _, d := range p.dialects {
		m := d.mark(b)
		if m.injection == injected && (p.others != nil || d == p.dialect || !m.byName) {
			marked, at = append(marked, d), append(at, m.at)
		}
		if m.unclear != nil {
			unclear = append(unclear, *m.unclear)
		}
		// A pod with the proxy in its manifest needs no injection.
		if _, has := b.proxyIn(d); m.off != nil && off == nil && !has {
			off = m.off
		}
	}
	own := len(marked) == 0 || slices.Contains(marked, p.dialect)
	if p.others != nil && !own {
		if other, err := p.others[marked[0]](); err != nil {
			f := NewFinding("options-unfit", nil, "%s: the pod is in %s, and the functionConfig does not fit that mesh: %v", at[0], marked[0].title, err)
			b.meshProblem = &f
		} else {
			b = newPlanBuilder(other, in)
		}
	} else if p.others != nil && len(marked) == 0 {
		b.noMesh = off // the only mark there is
	} else if !own {
		f := NewFinding("other-mesh", nil, "%s: the pod is in %s, and the functionConfig says `mesh: %s`", at[0], marked[0].title, p.dialect.name)
		b.otherMesh = &f
	}
	if len(marked) > 1 {
		f := NewFinding("two-meshes", nil, "%s puts the pod into %s, and %s into %s; a pod can only be in one mesh, so one of the two must go", at[0], marked[0].title, at[1], marked[1].title)
		b.meshProblem = &f
	}
	if len(marked) > 0 || p.opts.Mesh != MeshAuto {
		b.meshTitle = b.p.dialect.title
	}
	b.unclear = unclear
	return b
}

// switchIn returns the mark that a switch of injection makes: an annotation or a
// label, by kind, of the template or else of its Namespace. read returns what a
// value switches; ok is false for one that the mesh does not know.
func (b *planBuilder) switchIn(kind, key, allowed string, read func(value string) (on, ok bool)) mark {
	values := func(m *Metadata) field.KeyValues {
		if kind == "labels" {
			return m.Labels
		}
		return m.Annotations
	}
	word := kind[:len(kind)-1]
	if v, set := values(&b.in.Template.Metadata).Lookup(key); set {
		m := mark{at: "the " + word + " `" + key + ": " + v + "`"}
		on, ok := read(v)
		m.injection = switched(on && ok)
		if !ok {
			f := metadataFinding("inject-unclear", b.metadata.Key(kind, key), v, "must be %s; with another value nothing is injected", allowed)
			m.unclear = &f
		} else if !on {
			f := metadataFinding("injection-off", b.metadata.Key(kind, key), v, "switches injection off, so the mesh does not capture this pod")
			m.off = &f
		}
		return m
	}
	ns := b.in.Namespace
	if ns == nil {
		return mark{}
	}
	if v, set := values(ns).Lookup(key); set {
		if on, ok := read(v); ok {
			m := mark{injection: switched(on), at: "the " + word + " `" + key + ": " + v + "` of Namespace \"" + ns.Name + "\""}
			if !on {
				f := NewFinding("namespace-not-injected", nil, "Namespace %q has the %s `%s: %s`, so the mesh does not capture this pod", ns.Name, word, key, v)
				m.off = &f
			}
			return m
		}
	}
	return mark{}
}

func switched(on bool) injection {
	if on {
		return injected
	}
	return notInjected
}

// proxyIn returns the mark of a mesh's proxy that the template has, unless we
// added the container.
func (b *planBuilder) proxyIn(d meshProfile) (m mark, found bool) {
	eachContainer(&b.in.Template.Spec, func(at containerRef, c *Container) {
		if d.isProxy(c) && !b.isOurs(at) {
			m, found = mark{injection: injected, byName: true, at: "the container `" + c.Name + "`"}, true
		}
	})
	return m, found
}
