package transformer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// withExcluded returns the user's annotations with the ports that the mesh must not
// capture, and with what restore needs.
func (w *draft) withExcluded(user field.Noted) field.Noted {
	list := w.mesh.excluded
	want := w.withInherited(user)
	var added []string
	for _, port := range w.excluded {
		if !list.has(want, port) {
			want = list.with(want, port)
			added = append(added, strconv.Itoa(port))
		}
	}
	if len(added) == 0 {
		return user
	}
	var r Record
	r.Add(recordExcluded, field.Entry{Key: list.key, Value: strings.Join(added, ",")})
	if v, set := user.Lookup(list.key); set {
		r.Add(recordAnnotations, field.Entry{Key: list.key, Value: v})
	} else if v, set := w.inspection.inherited.Lookup(list.key); set {
		r.Add(recordInherited, field.Entry{Key: list.key, Value: v})
	}
	w.noteEmptyMetadata(&r)
	return w.withRecord(want, r)
}

// editAnnotations plans the annotations that the mesh needs. If annotations or
// metadata become empty that we filled, they are removed.
func (w *draft) editAnnotations() {
	if w.metadata == nil {
		return // there is no known place for annotations, and none is needed
	}
	have := w.in.Template.Metadata.Annotations
	wanted := w.withExcluded(w.userAnnotations)
	if len(w.toRewrite) > 0 {
		user := wanted
		wanted = w.withDefaultContainer(
			w.mesh.annotate(w.withInherited(user), w.annotations(), w.demand()),
			w.toRewrite,
		)
		wanted = w.withRecord(wanted, w.recordFor(w.toRewrite, user.Unnoted(), wanted.Unnoted()))
	}
	byKey := func(p, q field.KeyValue) int {
		return strings.Compare(p.Key, q.Key)
	}
	want := field.KeyValues(slices.SortedFunc(slices.Values(wanted.Unnoted()), byKey))
	isThere := func(p field.KeyValue) bool {
		return slices.Contains(have, p)
	}
	w.addedAnnotations = slices.DeleteFunc(slices.Clone(want), isThere)
	path := w.metadata.Key("annotations")
	_, noted := w.record.Section(RecordEmpty).Get("annotations")
	switch {
	case len(have) == 0 &&
		len(want) > 0 &&
		w.sourceMap(w.metadata) == nil:
		metadata := field.Map{{Key: "annotations", Value: want.Map()}}
		w.edit(field.Edit{Op: field.Set, Path: w.metadata, Before: "spec", Value: metadata})
		return
	case len(want) == 0 &&
		len(w.sourceMap(w.metadata)) == 1 &&
		!noted:
		path = w.metadata // it has nothing else
	}
	w.edit(w.record.AnnotationEdits(path, have, want)...)
}

// withInherited returns the user's annotations with what [inspection].inherited has.
func (w *draft) withInherited(user field.Noted) field.Noted {
	for _, p := range w.inspection.inherited {
		if _, own := user.Lookup(p.Key); !own {
			user = user.With(p.Key, p.Value)
		}
	}
	return user
}

// defaultContainer is the annotation that names the container which kubectl takes for
// exec, logs and attach. Without it, that is the first container.
const defaultContainer = "kubectl.kubernetes.io/default-container"

// withDefaultContainer returns the annotations with one that keeps the app's first
// container the default if probe-proxy comes before it. Restore takes it back, since it
// is noted like the annotations of a Namespace that the template repeats.
func (w *draft) withDefaultContainer(annotations field.Noted, toRewrite []*site) field.Noted {
	if w.native() || !w.answeredByUs() {
		return annotations
	}
	if _, set := annotations.Lookup(defaultContainer); set {
		return annotations
	}
	at := w.probeProxyPlace(w.existingProbeProxy(w.opts), toRewrite)
	for first, c := range w.containers() {
		if !first.Init {
			if at.Index <= first.Index {
				annotations = annotations.With(defaultContainer, c.Name)
			}
			break
		}
	}
	return annotations
}

// withRecord returns the annotations with the record, unless that is empty or not wanted. The
// originals of what an Envoy answers are always wanted: its configuration is made from them.
func (w *draft) withRecord(annotations field.Noted, r Record) field.Noted {
	if _, had := w.annotations().Lookup(OriginalsAnnotation); w.in.Unrecorded && !had {
		r = slices.DeleteFunc(r, func(e field.Entry) bool {
			return e.Key != recordEnvoy
		})
	}
	value := r.Encode()
	if value == "" {
		return annotations
	}
	return annotations.With(OriginalsAnnotation, value)
}
