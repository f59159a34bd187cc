package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

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

// existingProbeProxy returns the probe-proxy to update. If there are several,
// it prefers the one with the configured name.
func (b *draft) existingProbeProxy() *originalsHolder {
	var found *originalsHolder
	for _, k := range b.holders {
		if k.ours && !k.proxy && (found == nil || k.container.Name == b.opts.ProbeProxy.Name) {
			found = k
		}
	}
	return found
}

// probeProxyPlace returns where probe-proxy is to be. One that exists stays if it is in the
// configured list, and before every container that needs it. A native sidecar is added
// before all other init containers. An ordinary container comes last, since
// kubectl exec and logs take the first, unless a postStart hook needs probe-proxy:
// then it comes first, because such a hook delays the containers that follow.
func (b *draft) probeProxyPlace(existing *originalsHolder, toRewrite []*handlerSite) pod.Ref {
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

// editProxy plans the env var of the mesh's proxy and returns where the proxy is; nil if
// there is none.
func (b *draft) editProxy(value string) *pod.Ref {
	at, proxy := b.proxyOf(b.mesh.isProxy)
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
		case kept:
		case !k.ours:
			b.removeEnv(k)
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
// other.
func (b *draft) removeEnv(k *originalsHolder) {
	path, at := k.path.Key("env"), k.container.EnvVars(prober.EnvName)
	if len(at) == len(k.container.Env) {
		b.edit(b.record.Emptied(path))
		return
	}
	for _, i := range at {
		b.edit(field.Edit{Op: field.Delete, Path: path.Index(i)})
	}
}

// immutableKeys are the fields of a Job's probe-proxy that stay as they are.
var immutableKeys = []string{"image", "imagePullPolicy", "resources", "securityContext"}

// withImmutable returns the container with what an existing probe-proxy has, if that is a
// Job's or a JobSet's: the API server refuses every change of a Job's template, and the
// webhook of JobSet (pkg/webhooks/jobset_webhook.go, ValidateUpdate) that of one that is
// not suspended, so that another version of probe-proxy would keep the manifest from being
// applied.
func (b *draft) withImmutable(want, have field.Map) field.Map {
	if b.in.Kind != "Job" && b.in.Kind != "JobSet" {
		return want
	}
	want = slices.DeleteFunc(want, func(e field.Entry) bool { return slices.Contains(immutableKeys, e.Key) })
	for _, e := range have {
		if slices.Contains(immutableKeys, e.Key) {
			want = append(want, e)
		}
	}
	return want
}
