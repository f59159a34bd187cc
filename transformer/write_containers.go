package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// editContainers plans the env var for the answerer to read, and the removal of
// whatever else we added.
func (w *draft) editContainers(env string) {
	var keep, added *pod.Ref // what stays of the holders, and where a container is inserted
	var container field.Map
	switch {
	case len(w.staying) > 0 && len(w.toRewrite) == 0:
		keep = w.editProxy(env)
	case w.isAnsweredBy(AnsweredByEnvoy): // the annotation has the originals
	case env != "" && w.answeredByUs():
		container = w.withKeptImage(w.probeProxy(env, w.toRewrite))
		isOwned := func(key string) bool { return slices.Contains(ownedKeys, key) }
		existing := w.existingProbeProxy(w.opts)
		at := w.probeProxyPlace(existing, w.toRewrite)
		if existing != nil {
			container = withLifecycle(container, existing.raw)
		}
		if existing != nil && existing.at == at {
			keep = &existing.at
			w.proxyEdits = diff(existing.path, existing.raw, w.withImmutable(container, existing.raw), isOwned)
			w.edit(w.proxyEdits...)
			break
		}
		if existing != nil {
			isWritten := func(e field.Entry) bool { return isOwned(e.Key) }
			container = append(container, slices.DeleteFunc(slices.Clone(existing.raw), isWritten)...)
		}
		added = &at
	case env != "":
		if keep = w.editProxy(env); keep == nil {
			container = append(w.declaration(), field.Entry{Key: "env", Value: field.List{envVar(env)}})
			added = &pod.Ref{Index: len(w.in.Template.Spec.Containers)}
		}
	}
	w.removeHolders(keep, added)
	if added != nil {
		w.edit(field.Edit{
			Op:     field.Insert,
			Path:   w.containerPath(*added),
			Before: "containers",
			Value:  container,
		})
	}
}

// withKeptImage returns the container with the image that stays, if one does.
func (w *draft) withKeptImage(container field.Map) field.Map {
	image := w.keptImage()
	if image == "" {
		return container
	}
	return field.Merge(container, field.Map{{Key: "image", Value: image}})
}

// probeProxyPlace returns where probe-proxy is to be. One that exists stays if it is in the
// configured list, and before every container that needs it. A native sidecar is added
// before all other init containers. An ordinary container comes last, since
// kubectl exec and logs take the first, unless a postStart hook needs probe-proxy:
// then it comes first, because such a hook delays the containers that follow.
func (w *draft) probeProxyPlace(existing *holder, toRewrite []*site) pod.Ref {
	isLate := func(s *site) bool {
		return s.atStart() && existing.at.StartsAfter(s.at)
	}
	switch {
	case existing != nil &&
		existing.at.Init == w.native() &&
		!slices.ContainsFunc(toRewrite, isLate):
		return existing.at
	case w.native():
		return pod.Ref{Init: true}
	case !w.firstIsApp() &&
		slices.ContainsFunc(toRewrite, func(s *site) bool {
			return s.name == prober.PostStart
		}):
		return pod.Ref{}
	}
	return pod.Ref{Index: len(w.in.Template.Spec.Containers)}
}

// editProxy plans the env var of the mesh's proxy and returns where the proxy is; nil if
// there is none.
func (w *draft) editProxy(value string) *pod.Ref {
	at, proxy := w.proxyAt, w.proxy
	if proxy == nil { // use the one that we declared earlier
		for _, h := range w.holders {
			if h.proxy && h.ours && !h.at.Init {
				at, proxy = h.at, h.container
				w.editDeclared(h)
			}
		}
	}
	if proxy == nil {
		return nil
	}
	w.setEnv(w.containerPath(at).Key("env"), proxy, value)
	return &at
}

// editDeclared updates the image, the resources and the securityContext of a proxy that we
// declared.
func (w *draft) editDeclared(h *holder) {
	edits := diff(
		h.path,
		h.raw,
		w.declaration(),
		func(key string) bool { return key == "resources" || key == "securityContext" },
	)
	for i := range edits {
		edits[i].Before = "env" // where a new field comes
	}
	w.edit(edits...)
}

// setEnv sets the env var in a container's list at path. If there are several with its name,
// the last stays.
func (w *draft) setEnv(path field.Path, c *pod.Container, value string) {
	at := c.EnvVars(prober.EnvName)
	if len(at) == 0 {
		path = path.Index(len(c.Env))
		w.edit(field.Edit{Op: field.Insert, Path: path, Value: envVar(value)})
		return
	}
	last := len(at) - 1
	for _, i := range at[:last] {
		w.edit(field.Edit{Op: field.Delete, Path: path.Index(i)})
	}
	if pod.Deref(c.Env[at[last]].Value) != value {
		path = path.Index(at[last]).Key("value")
		w.edit(field.Edit{Op: field.Set, Path: path, Value: value})
	}
}

// removeHolders plans the removal of every holder of originals except for the
// container at keep (nil for none): of the whole container if it is ours, else of
// its env var. A list that loses its last item goes too, unless a container is added to it.
func (w *draft) removeHolders(keep, added *pod.Ref) {
	spec := &w.in.Template.Spec
	left := map[string]int{
		"initContainers": len(spec.InitContainers),
		"containers":     len(spec.Containers),
	}
	var gone []pod.Ref
	for _, h := range w.holders {
		kept := keep != nil && h.at == *keep
		switch {
		case kept, h.isAnnotation():
		case !h.ours:
			w.removeEnv(h)
		case !slices.Contains(gone, h.at):
			gone = append(gone, h.at)
			left[h.at.List()]--
		}
	}
	for _, at := range gone {
		switch {
		case left[at.List()] > 0 || added != nil && added.Init == at.Init:
			w.edit(field.Edit{Op: field.Delete, Path: w.containerPath(at)})
		case left[at.List()] == 0:
			w.edit(w.record.Emptied(w.spec.Key(at.List())))
			left[at.List()] = -1 // it is gone with its list
		}
	}
}

// removeEnv plans the removal of a holder's env var, and of its list if that has no
// other.
func (w *draft) removeEnv(h *holder) {
	path, at := h.path.Key("env"), h.container.EnvVars(prober.EnvName)
	if len(at) == len(h.container.Env) {
		w.edit(w.record.Emptied(path))
		return
	}
	for _, i := range at {
		w.edit(field.Edit{Op: field.Delete, Path: path.Index(i)})
	}
}

// immutableKeys are the fields of a Job's probe-proxy that stay as they are.
var immutableKeys = []string{"image", "imagePullPolicy", "resources", "securityContext"}

// withImmutable returns the container with what an existing probe-proxy has, if that is a
// Job's or a JobSet's: the API server refuses every change of a Job's template, and the
// webhook of JobSet (pkg/webhooks/jobset_webhook.go, ValidateUpdate) that of one that is
// not suspended, so that another version of probe-proxy would keep the manifest from being
// applied.
func (w *draft) withImmutable(want, have field.Map) field.Map {
	if w.in.Kind != "Job" && w.in.Kind != "JobSet" {
		return want
	}
	want = slices.DeleteFunc(
		want,
		func(e field.Entry) bool {
			return slices.Contains(immutableKeys, e.Key)
		},
	)
	for _, e := range have {
		if slices.Contains(immutableKeys, e.Key) {
			want = append(want, e)
		}
	}
	return want
}
