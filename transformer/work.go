package transformer

import (
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// work is one plan in the making.
type work struct {
	p         *Planner
	in        *Input
	metadata  field.Path // with the pods' labels and annotations; nil if not known
	spec      field.Path
	slots     []*slot
	holders   []*originalsHolder // containers
	annotated []*originalsHolder // annotations
	forms     forms              // what the annotations carry for an exact restore
	mesh      mesh
	edits     []field.Edit
	// addedAnnotations are those that the edits set.
	addedAnnotations field.KeyValues
	findings         []Finding
	restoring        bool
}

// newWork reads the template: its holders first, then its slots with their
// originals.
func newWork(p *Planner, in *Input) *work {
	w := &work{p: p, in: in, metadata: in.MetadataPath(), spec: in.SpecPath(), edits: make([]field.Edit, 0, 8)}
	spec := &in.Template.Spec
	w.findHolders()
	names := w.containerNames()
	containers(spec, func(at place, c *Container) {
		if w.isOurs(at) {
			return
		}
		if !c.hasSlots() {
			return
		}
		for _, s := range slotsOf(at, c, w.containerPath(at)) {
			s.original = s.current
			s.form = w.formOf(s)
			w.recognise(s, names)
			w.slots = append(w.slots, s)
		}
	})
	w.keepOriginals()
	// Keep an env var that no probe refers to, outside of containers that we
	// added: it may be the user's.
	w.holders = slices.DeleteFunc(w.holders, func(k *originalsHolder) bool { return !k.ours && !k.used() && !k.proxy })
	return w
}

func (w *work) containerPath(at place) field.Path {
	return w.spec.Item(at.list(), at.index)
}

// source returns the value of a field of the template's metadata or spec as it
// was read, and whether it is there.
func (w *work) source(path field.Path) (v field.Value, found bool) {
	switch {
	case w.in.Source == nil:
		return nil, false
	case hasPrefix(path, w.spec):
		v, found, path = w.in.Source.Spec, w.in.Source.Spec != nil, path[len(w.spec):]
	case w.metadata != nil && hasPrefix(path, w.metadata):
		v, found, path = w.in.Source.Metadata, w.in.Source.Metadata != nil, path[len(w.metadata):]
	}
	for _, step := range path {
		found = false
		switch x := v.(type) {
		case field.Map:
			if !step.IsIndex {
				v, found = x.Get(step.Key)
			}
		case field.List:
			if step.IsIndex && int(step.Index) < len(x) {
				v, found = x[step.Index], true
			}
		}
		if !found {
			return nil, false
		}
	}
	return v, found
}

func hasPrefix(path, prefix field.Path) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// sourceMap returns the mapping at a path; nil if there is none.
func (w *work) sourceMap(path field.Path) field.Map {
	v, _ := w.source(path)
	m, _ := v.(field.Map)
	return m
}

// past gives who answered the probes of the template that were rewritten in a
// dialect.
func (w *work) past(d dialect) []answerer {
	var past []answerer
	for _, k := range w.holders {
		if k.dialect == d && (k.used() || k.ours) {
			past = append(past, k.answerer())
		}
	}
	return past
}

// carrying tells whether the template carries our rewriting.
func (w *work) carrying() bool {
	return len(w.annotated) > 0 || w.forms.encode() != "" || slices.ContainsFunc(w.holders, func(k *originalsHolder) bool { return k.used() || k.ours })
}

// isOurs tells whether the container at a place was added by us.
func (w *work) isOurs(at place) bool {
	return slices.ContainsFunc(w.holders, func(k *originalsHolder) bool { return k.ours && k.at == at })
}

func (w *work) annotations() field.KeyValues { return w.in.Template.Metadata.Annotations }

// hasOwnMetadata reports whether the object has metadata besides those that
// its pods get: a Pod has not.
func (w *work) hasOwnMetadata() bool { return len(w.metadata) != 1 }

func (w *work) say(f Finding) { w.findings = append(w.findings, f) }

func (w *work) failed() bool {
	return slices.ContainsFunc(w.findings, func(f Finding) bool { return f.Severity == Error })
}

// finding makes a finding of the severity that its reason has.
func (w *work) finding(key string, path field.Path, container, format string, args ...any) Finding {
	f := Finding{Severity: reason.SeverityOf(key), Reason: key, Field: path, Container: container}
	f.Message = fmt.Sprintf(format, args...)
	if len(path) > 0 {
		f.Message = fmt.Sprintf("`%s`: %s", path, f.Message)
	}
	return f
}

// metadataFinding is a finding about the value of a label or an annotation.
func (w *work) metadataFinding(reason string, path field.Path, value, format string, args ...any) Finding {
	f := w.finding(reason, path, "", "%q "+format, append([]any{value}, args...)...)
	f.Current = value
	return f
}

func (w *work) annotationFinding(reason, key, format string, args ...any) Finding {
	return w.metadataFinding(reason, w.metadata.Key("annotations", key), w.annotations().Get(key), format, args...)
}
