package transformer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// withExcluded returns the user's annotations with the ports that the mesh must not
// capture, and with what restore needs.
func (b *draft) withExcluded(user field.KeyValues) field.KeyValues {
	list := b.mesh.excluded
	want := b.withInherited(user)
	var added []string
	for _, port := range b.excluded {
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
	} else if v, set := b.inspection.inherited.Lookup(list.key); set {
		r.Add(recordInherited, field.Entry{Key: list.key, Value: v})
	}
	b.noteEmptyMetadata(&r)
	return want.With(OriginalsAnnotation, r.Encode())
}

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
		want = b.withDefaultContainer(b.mesh.annotate(b.withInherited(user), have, b.inspection.answerer), b.toRewrite)
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

// withInherited returns the user's annotations with what [inspection].inherited has.
func (b *draft) withInherited(user field.KeyValues) field.KeyValues {
	for _, p := range b.inspection.inherited {
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
func (b *draft) withDefaultContainer(annotations field.KeyValues, toRewrite []*handlerSite) field.KeyValues {
	if _, set := annotations.Lookup(defaultContainer); set || b.native() || !b.answeredByUs() {
		return annotations
	}
	at := b.probeProxyPlace(b.existingProbeProxy(), toRewrite)
	for first, c := range b.containers() {
		if !first.Init {
			if at.Index <= first.Index {
				annotations = annotations.With(defaultContainer, c.Name)
			}
			break
		}
	}
	return annotations
}
