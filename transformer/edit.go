package transformer

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// editAll plans the edits: annotations, containers, probes.
func (w *work) editAll(chosen []*slot) {
	var now *answerer
	var value string
	if len(chosen) > 0 {
		now = &w.mesh.answerer
		value = w.p.dialect.encode(chosen, *now)
	}
	w.editAnnotations(now, chosen, value)
	w.editContainers(chosen, now, value)
	for _, s := range w.slots {
		switch {
		case s.becomes != nil:
			w.edit(s.changes()...)
		case s.carried:
			w.edit(s.edits(s.original)...)
		}
	}
}

func (w *work) edit(edits ...field.Edit) { w.edits = append(w.edits, edits...) }

// editAnnotations makes the annotations of the template what the dialect
// wants; a mapping that is emptied by that goes, and so does metadata.
func (w *work) editAnnotations(now *answerer, chosen []*slot, env string) {
	have := w.annotations()
	want := w.userAnnotations()
	if now != nil {
		user := want
		want = w.p.dialect.annotate(user, have, w.mesh, *now, chosen)
		if w.metadata != nil { // else there is no place for annotations
			if value := w.formsFor(chosen, env, user, want).encode(); value != "" {
				want = want.With(ownOriginals, value)
			}
		}
	}
	added := difference(want, have)
	w.addedAnnotations = added
	removed := slices.DeleteFunc(difference(have, want), func(p field.KeyValue) bool { _, stays := want.Lookup(p.Key); return stays })
	if len(added)+len(removed) == 0 {
		return
	}
	if len(have) > 0 && len(want) == 0 {
		path := w.metadata
		if raw := w.sourceMap(path); len(raw) != 1 || !w.hasOwnMetadata() {
			path = path.Key(annotationsField)
		}
		if _, noted := w.forms.empty.Get(annotationsField); noted {
			path = w.metadata.Key(annotationsField)
		}
		w.edit(w.emptied(path))
		return
	}
	path := w.metadata.Key("annotations")
	if w.lacksMetadata() {
		m := field.Map{}
		for _, p := range added {
			m = append(m, field.Entry{Key: p.Key, Value: p.Value})
		}
		w.edit(field.Edit{Op: field.Set, Path: w.metadata, Before: "spec", Value: field.Map{{Key: "annotations", Value: m}}})
		return
	}
	for _, p := range added {
		w.edit(field.Edit{Op: field.Set, Path: path.Key(p.Key), Value: p.Value})
	}
	for _, p := range removed {
		w.edit(field.Edit{Op: field.Delete, Path: path.Key(p.Key)})
	}
}

// userAnnotations returns the annotations of the template without what was
// added for those that answered before, in any dialect.
func (w *work) userAnnotations() field.KeyValues {
	user := w.annotations().Without(ownOriginals)
	for i, d := range w.p.dialects {
		m := w.mesh
		if i > 0 {
			m = mesh{}
		}
		user = d.undo(user, m, w.past(d), w.forms.annotations)
	}
	return user
}

// difference gives what a has and b has not, or with another value, by key.
func difference(a, b field.KeyValues) field.KeyValues {
	var only field.KeyValues
	for _, p := range a {
		if v, ok := b.Lookup(p.Key); !ok || v != p.Value {
			only = append(only, p)
		}
	}
	slices.SortFunc(only, func(p, q field.KeyValue) int { return strings.Compare(p.Key, q.Key) })
	return only
}

// lacksMetadata tells whether the template is known to have no metadata at
// all; then they are added in their customary place.
func (w *work) lacksMetadata() bool {
	return w.in.Source != nil && w.hasOwnMetadata() && w.sourceMap(w.metadata) == nil
}

// editContainers puts the env var where the answerer finds it, and takes away
// what is there of us besides.
func (w *work) editContainers(chosen []*slot, now *answerer, value string) {
	var keep *place
	added := make(map[bool]bool) // by place.init: something is inserted there
	var inserts []field.Edit
	insert := func(at place, v field.Value) {
		added[at.init] = true
		inserts = append(inserts, field.Edit{Op: field.Insert, Path: w.containerPath(at), Before: "containers", Value: v})
	}
	switch {
	case w.adds(chosen):
		want := w.probeProxy(value)
		existing := w.existingProbeProxy()
		at := w.probeProxyPlace(chosen)
		if existing != nil && w.staysInPlace(existing, chosen) {
			keep = &existing.at
			w.editProbeProxy(existing, want)
			break
		}
		if existing != nil {
			for _, e := range existing.raw {
				if !slices.Contains(ownedKeys, e.Key) {
					want = append(want, e)
				}
			}
		}
		insert(at, want)
	case value != "":
		keep = w.editProxy(value, insert)
	}
	w.removeHolders(keep, added)
	w.edit(inserts...)
}

// adds tells whether a container of ours answers some of the slots.
func (w *work) adds(chosen []*slot) bool {
	return slices.ContainsFunc(chosen, w.answeredByUs)
}

func (w *work) answeredByUs(s *slot) bool {
	who := w.mesh.answerer.who
	return who == AnsweredByProbeProxy || who == AnsweredByEnvoy && s.original.TCPSocket != nil
}

// existingProbeProxy gives the probe-proxy to be brought up to date, of
// several the one that has the wanted name.
func (w *work) existingProbeProxy() *originalsHolder {
	var found *originalsHolder
	for _, k := range w.holders {
		if k.ours && !k.proxy && (found == nil || k.container.Name == w.p.opts.ProbeProxy.Name) {
			found = k
		}
	}
	return found
}

// native reports whether probe-proxy is to be a native sidecar: as the options
// want it, unless the kind's API has none.
func (w *work) native() bool {
	return w.p.opts.ProbeProxy.Placement == PlacementNative && !w.in.Shape.NoNativeSidecars
}

// probeProxyPlace gives where probe-proxy is added: natively before all other
// init containers. As an ordinary container it is last, since kubectl's exec
// and logs take the first, but first where a postStart hook needs it: those
// hold up the containers that follow.
func (w *work) probeProxyPlace(chosen []*slot) place {
	if w.native() {
		return place{init: true}
	}
	if slices.ContainsFunc(chosen, func(s *slot) bool { return s.name == prober.PostStart && !s.at.init }) {
		return place{}
	}
	return place{index: len(w.in.Template.Spec.Containers)}
}

// staysInPlace tells whether a probe-proxy is where its placement wants it
// and before every container that needs it to be.
func (w *work) staysInPlace(k *originalsHolder, chosen []*slot) bool {
	return k.at.init == w.native() && !slices.ContainsFunc(chosen, func(s *slot) bool {
		needed := s.at.init || s.name == prober.PostStart
		return needed && k.at.startsAfter(s.at)
	})
}

func (w *work) editProbeProxy(k *originalsHolder, want field.Map) {
	if k.raw == nil {
		w.edit(field.Edit{Op: field.Set, Path: k.path, Value: want})
		return
	}
	w.edit(diff(k.path, k.raw, want, func(key string) bool { return slices.Contains(ownedKeys, key) })...)
}

// editProxy puts the env var on the mesh's proxy, declaring one if there is
// none, and returns where the proxy is unless it is declared now.
func (w *work) editProxy(value string, insert func(place, field.Value)) *place {
	at, ok := w.proxyPlace()
	if !ok { // one that we declared earlier will do
		for _, k := range w.holders {
			if k.proxy && k.ours && !k.at.init && k.dialect == w.p.dialect {
				at, ok = k.at, true
				w.editDeclared(k)
			}
		}
	}
	if !ok {
		env := field.List{w.p.envVar(value)}
		insert(place{index: len(w.in.Template.Spec.Containers)}, append(w.declaration(), field.Entry{Key: "env", Value: env}))
		return nil
	}
	c := &w.in.Template.Spec.Containers
	if at.init {
		c = &w.in.Template.Spec.InitContainers
	}
	w.setEnv(w.containerPath(at).Key("env"), (*c)[at.index].Env, value)
	return &at
}

// editDeclared brings the securityContext of a proxy that we declared up to
// date.
func (w *work) editDeclared(k *originalsHolder) {
	path := k.path.Key("securityContext")
	have, has := k.raw.Get("securityContext")
	want, wanted := w.declaration().Get("securityContext")
	switch {
	case has && wanted:
		w.edit(diff(path, have, want, nil)...)
	case has:
		w.edit(field.Edit{Op: field.Delete, Path: path})
	case wanted:
		w.edit(field.Edit{Op: field.Set, Path: path, Before: "env", Value: want})
	}
}

// setEnv sets one env var; of several with its name one stays.
func (w *work) setEnv(path field.Path, env []EnvVar, value string) {
	last := -1
	for i, e := range env {
		if e.Name != w.p.dialect.envName() {
			continue
		}
		if last >= 0 {
			w.edit(field.Edit{Op: field.Delete, Path: path.Index(last)})
		}
		last = i
	}
	switch {
	case last < 0:
		w.edit(field.Edit{Op: field.Insert, Path: path.Index(len(env)), Value: w.p.envVar(value)})
	case text(env[last].Value) != value:
		w.edit(field.Edit{Op: field.Set, Path: path.Index(last).Key("value"), Value: value})
	}
}

// removeHolders removes every holder of originals but the one in the container
// at keep (nil for none): the whole container if it is ours, else its env var.
// A list that is emptied goes too.
func (w *work) removeHolders(keep *place, added map[bool]bool) {
	size := map[bool]int{true: len(w.in.Template.Spec.InitContainers), false: len(w.in.Template.Spec.Containers)}
	var gone []*originalsHolder
	deleted := make(map[bool]bool) // by place.init: the list as a whole
	for _, k := range w.holders {
		kept := keep != nil && k.at == *keep
		switch {
		case kept && (k.dialect == w.p.dialect || !k.proxy && k.ours):
		case kept:
			w.removeEnv(k, true)
		case !k.ours:
			w.removeEnv(k, false)
		case !slices.ContainsFunc(gone, func(g *originalsHolder) bool { return g.at == k.at }):
			gone = append(gone, k)
			size[k.at.init]--
		}
	}
	for _, k := range gone {
		if size[k.at.init] > 0 || added[k.at.init] {
			w.edit(field.Edit{Op: field.Delete, Path: k.path})
		} else if !deleted[k.at.init] {
			deleted[k.at.init] = true
			w.edit(w.emptied(w.spec.Key(k.at.list())))
		}
	}
}

// removeEnv removes the env var of a holder, and a list that is emptied unless
// another env var is added to it.
func (w *work) removeEnv(k *originalsHolder, added bool) {
	path, env := k.path.Key("env"), k.container.Env
	var at []int
	for i, e := range env {
		if e.Name == k.dialect.envName() {
			at = append(at, i)
		}
	}
	if len(at) == len(env) && !added {
		w.edit(w.emptied(path))
		return
	}
	for _, i := range at {
		w.edit(field.Edit{Op: field.Delete, Path: path.Index(i)})
	}
}
