package transformer

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// editAll plans the edits: annotations, containers, probes.
func (b *draft) editAll() {
	b.editAnnotations()
	b.editContainers(encode(b.toRewrite))
	for i, s := range b.rulings {
		switch {
		case s.target != nil:
			b.changes[i] = s.edits(s.target)
			b.edit(b.changes[i]...)
		case s.alreadyRewritten:
			b.edit(s.edits(s.original)...)
		}
	}
}

func (b *draft) edit(edits ...field.Edit) { b.edits = append(b.edits, edits...) }

// editAnnotations plans the annotations that the mesh needs. If annotations or
// metadata become empty that we filled, they are removed.
func (b *draft) editAnnotations() {
	if b.metadata == nil {
		return // there is no known place for annotations, and none is needed
	}
	have := b.annotations()
	want := b.withExcluded(b.userAnnotations)
	if len(b.toRewrite) > 0 {
		user := want
		want = b.withDefaultContainer(b.p.mesh.annotate(b.withInherited(user), have, b.inspection.answerer), b.toRewrite)
		if value := b.recordFor(b.toRewrite, user, want).Encode(); value != "" {
			want = want.With(OriginalsAnnotation, value)
		}
	}
	want = slices.SortedFunc(slices.Values(want), func(p, q field.KeyValue) int { return strings.Compare(p.Key, q.Key) })
	b.addedAnnotations = slices.DeleteFunc(slices.Clone(want), func(p field.KeyValue) bool { return slices.Contains(have, p) })
	path := b.metadata.Key("annotations")
	_, noted := b.record.Section(RecordEmpty).Get("annotations")
	switch {
	case len(have) == 0 && len(want) > 0 && b.hasOwnMetadata() && b.sourceMap(b.metadata) == nil:
		b.edit(field.Edit{Op: field.Set, Path: b.metadata, Before: "spec", Value: field.Map{{Key: "annotations", Value: want.Map()}}})
		return
	case len(want) == 0 && len(b.sourceMap(b.metadata)) == 1 && b.hasOwnMetadata() && !noted:
		path = b.metadata // it has nothing else
	}
	b.edit(b.record.AnnotationEdits(path, have, want)...)
}

// withoutOurs returns the annotations of the template without what was added for past
// answerers in any mesh.
func (b *template) withoutOurs() field.KeyValues {
	user := undoAll(b.withoutExcluded(b.annotations().Without(OriginalsAnnotation)), b.previousAnswerers(), b.record.Values(recordAnnotations))
	for _, p := range b.record.Values(recordInherited) { // the template would have replaced them
		if user.Get(p.Key) == p.Value {
			user = user.Without(p.Key)
		}
	}
	return user
}

// withInherited returns the user's annotations with what [inspection].inherited has.
func (b *knowledge) withInherited(user field.KeyValues) field.KeyValues {
	for _, p := range b.inspection.inherited {
		if _, own := user.Lookup(p.Key); !own {
			user = user.With(p.Key, p.Value)
		}
	}
	return user
}

// undoAll returns the annotations without what any mesh added for past
// answerers.
func undoAll(annotations field.KeyValues, past []answerer, recorded field.KeyValues) field.KeyValues {
	for _, d := range serviceMeshes {
		annotations = d.undo(annotations, past, recorded)
	}
	return annotations.Without(earlierAnnotation)
}

// editContainers plans the env var for the answerer to read, and the removal of
// whatever else we added.
func (b *draft) editContainers(env string) {
	var keep, added *pod.Ref // what stays of the holders, and where a container is inserted
	var container field.Map
	switch {
	case env != "" && b.answeredByUs():
		container = b.probeProxy(env, b.toRewrite)
		isOwned := func(key string) bool { return slices.Contains(ownedKeys, key) }
		existing := b.existingProbeProxy()
		at := b.probeProxyPlace(existing, b.toRewrite)
		if existing != nil && existing.at == at {
			keep = &existing.at
			b.edit(diff(existing.path, existing.raw, b.withImmutable(container, existing.raw), isOwned)...)
			break
		}
		if existing != nil {
			container = append(container, slices.DeleteFunc(slices.Clone(existing.raw), func(e field.Entry) bool { return isOwned(e.Key) })...)
		}
		added = &at
	case env != "":
		if keep = b.editProxy(env); keep == nil {
			container = append(b.declaration(), field.Entry{Key: "env", Value: field.List{envVar(env)}})
			added = &pod.Ref{Index: len(b.in.Template.Spec.Containers)}
		}
	}
	b.removeHolders(keep, added)
	if added != nil {
		b.edit(field.Edit{Op: field.Insert, Path: b.containerPath(*added), Before: "containers", Value: container})
	}
}

// answeredByUs reports whether a probe-proxy is to make rewritten probes.
func (b *knowledge) answeredByUs() bool {
	return b.inspection.answerer.who == AnsweredByProbeProxy
}

// existingProbeProxy returns the probe-proxy to update. If there are several,
// it prefers the one with the configured name.
func (b *view) existingProbeProxy() *originalsHolder {
	var found *originalsHolder
	for _, k := range b.holders {
		if k.ours && !k.proxy && (found == nil || k.container.Name == b.p.opts.ProbeProxy.Name) {
			found = k
		}
	}
	return found
}

// native reports whether probe-proxy must be a native sidecar: as the options
// say, unless the kind's API has none.
func (b *view) native() bool {
	return b.p.opts.ProbeProxy.Placement == PlacementNative && !b.in.Shape.NoNativeSidecars
}

// probeProxyPlace returns where probe-proxy is to be. One that exists stays if it is in the
// configured list, and before every container that needs it. A native sidecar is added
// before all other init containers. An ordinary container comes last, since
// kubectl exec and logs take the first, unless a postStart hook needs probe-proxy:
// then it comes first, because such a hook delays the containers that follow.
func (b *view) probeProxyPlace(existing *originalsHolder, toRewrite []*handlerSite) pod.Ref {
	isLate := func(s *handlerSite) bool { return s.atStart() && existing.at.StartsAfter(s.at) }
	switch {
	case existing != nil && existing.at.Init == b.native() && !slices.ContainsFunc(toRewrite, isLate):
		return existing.at
	case b.native():
		return pod.Ref{Init: true}
	case !b.firstIsApp() && slices.ContainsFunc(toRewrite, func(s *handlerSite) bool { return s.name == prober.PostStart }):
		return pod.Ref{}
	}
	return pod.Ref{Index: len(b.in.Template.Spec.Containers)}
}

// firstIsApp reports whether the first container is taken for the app.
func (b *view) firstIsApp() bool { return b.in.Shape.FirstIsApp || b.p.mesh.firstIsApp }

// editProxy plans the env var of the mesh's proxy and returns where the proxy is; nil if
// there is none.
func (b *draft) editProxy(value string) *pod.Ref {
	at, proxy := b.proxyOf(b.p.mesh.isProxy)
	if proxy == nil { // use the one that we declared earlier
		for _, k := range b.holders {
			if k.proxy && k.ours && !k.at.Init {
				at, proxy = k.at, k.container
				b.editDeclared(k)
			}
		}
	}
	if proxy == nil {
		return nil
	}
	b.setEnv(b.containerPath(at).Key("env"), proxy, value)
	return &at
}

// editDeclared updates the image, the resources and the securityContext of a proxy that we
// declared.
func (b *draft) editDeclared(k *originalsHolder) {
	edits := diff(k.path, k.raw, b.declaration(), func(key string) bool { return key == "resources" || key == "securityContext" })
	for i := range edits {
		edits[i].Before = "env" // where a new field comes
	}
	b.edit(edits...)
}

// setEnv sets the env var in a container's list at path. If there are several with its name,
// the last stays.
func (b *draft) setEnv(path field.Path, c *pod.Container, value string) {
	at := c.EnvVars(prober.EnvName)
	if len(at) == 0 {
		b.edit(field.Edit{Op: field.Insert, Path: path.Index(len(c.Env)), Value: envVar(value)})
		return
	}
	last := len(at) - 1
	for _, i := range at[:last] {
		b.edit(field.Edit{Op: field.Delete, Path: path.Index(i)})
	}
	if pod.Deref(c.Env[at[last]].Value) != value {
		b.edit(field.Edit{Op: field.Set, Path: path.Index(at[last]).Key("value"), Value: value})
	}
}

// removeHolders plans the removal of every holder of originals except for the
// container at keep (nil for none): of the whole container if it is ours, else of
// its env var. A list that loses its last item goes too, unless a container is added to it.
func (b *draft) removeHolders(keep, added *pod.Ref) {
	spec := &b.in.Template.Spec
	left := map[bool]int{true: len(spec.InitContainers), false: len(spec.Containers)} // by containerRef.init
	var gone []pod.Ref
	for _, k := range b.holders {
		kept := keep != nil && k.at == *keep
		switch {
		case k.container == nil: // undoAll takes the annotation away
		case kept && (k.ours || !k.earlier()):
		case kept || !k.ours:
			b.removeEnv(k, kept)
		case !slices.Contains(gone, k.at):
			gone = append(gone, k.at)
			left[k.at.Init]--
		}
	}
	for _, at := range gone {
		switch {
		case left[at.Init] > 0 || added != nil && added.Init == at.Init:
			b.edit(field.Edit{Op: field.Delete, Path: b.containerPath(at)})
		case left[at.Init] == 0:
			b.edit(b.record.Emptied(b.spec.Key(at.List())))
			left[at.Init] = -1 // it is gone with its list
		}
	}
}

// removeEnv plans the removal of a holder's env var, and of its list if that has no
// other. added is set if another env var is added to the list.
func (b *draft) removeEnv(k *originalsHolder, added bool) {
	path, at := k.path.Key("env"), k.container.EnvVars(k.env)
	if len(at) == len(k.container.Env) && !added {
		b.edit(b.record.Emptied(path))
		return
	}
	for _, i := range at {
		b.edit(field.Edit{Op: field.Delete, Path: path.Index(i)})
	}
}
