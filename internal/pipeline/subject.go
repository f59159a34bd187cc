package pipeline

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A subject is an object that a run works on, with what the run has read of it.
type subject struct {
	*manifest.Object
	index int               // in its stream
	class workload.Class    // once classified
	meta  *field.Metadata   // once chosen
	ref   *report.ObjectRef // see refer
}

// subjects yields all objects.
func (in *inputs) subjects() iter.Seq[*subject] {
	return func(yield func(*subject) bool) {
		for _, s := range in.streams {
			for i, o := range s.Objects() {
				if !yield(&subject{Object: o, index: i}) {
					return
				}
			}
		}
	}
}

// makesPods reports whether the kind of an object is known to make pods, or stands for virtual machines.
func (s *subject) makesPods() bool {
	return s.class == workload.Known || s.class == workload.WorkloadGroup
}

// inList reports whether an object is an item of a ResourceList.
func (s *subject) inList() bool { return s.Stream().IsResourceList() }

// inFile reports whether an object has lines: those of an item of a ResourceList are not known.
func (s *subject) inFile() bool { return !s.inList() && !s.Stream().FromCluster }

// refer names an object, in the same value each time. The file of an item of a ResourceList is the
// one that kpt or kustomize have noted on it; that of any other object is the stream.
func (s *subject) refer() *report.ObjectRef {
	if s.ref != nil {
		return s.ref
	}
	s.ref = &report.ObjectRef{
		Source:     s.Stream().Name(),
		APIVersion: s.APIVersion(),
		Kind:       s.Kind(),
		Namespace:  s.Namespace(),
		Name:       s.Name(),
	}
	switch {
	case s.inList():
		s.ref.File, s.ref.Index = s.File()
	case s.inFile():
		s.ref.File, s.ref.Index, s.ref.Line = s.ref.Source, s.index, s.Line()
	}
	return s.ref
}

// message returns the message about a finding.
func (s *subject) message(f transformer.Finding) report.Message {
	m := report.NewMessage(f.Reason, f.Text)
	m.Object = s.refer()
	m.Field, m.Container, m.Current, m.Proposed = f.Field, f.Container, f.Current, f.Proposed
	if s.inFile() {
		m.Line = s.FieldLine(f.Field)
	}
	return m
}

// failure returns the message about what keeps an object from being understood or edited.
func (s *subject) failure(err error) report.Message {
	if p, ok := errors.AsType[placeholder](err); ok {
		return s.message(p.Finding)
	}
	e, ok := errors.AsType[*manifest.Error](err)
	if !ok {
		return s.message(transformer.NewFinding(reason.InvalidManifest, nil, "%v", err))
	}
	what := e.Message()
	if strings.HasPrefix(what, "must ") {
		what = "it " + what
	}
	f := transformer.NewFinding(reason.InvalidManifest, e.Path, "%s", what)
	if s.hasVariable(e.Path) {
		f.Reason = reason.HelmTemplate
		f.Text.Fix = substituteFix
	}
	if errors.Is(err, manifest.ErrNotKey) {
		f.Text.Fix = "Render the template first, such as with `helm template`"
	}
	m := s.message(f)
	if e.Line > 0 && s.inFile() {
		m.Line = e.Line
	}
	return m
}

// hasVariable reports whether the value of a field looks like it has a variable.
func (s *subject) hasVariable(path field.Path) bool {
	v, _ := s.Value(path)
	text, _ := v.(string)
	return pod.IsVariable(text)
}

// notice returns the message about lines that were changed although no edit names them. In
// an item of a ResourceList they are counted from the start of the item.
func (s *subject) notice(n manifest.Notice) report.Message {
	before := 0
	of := " of the object"
	if s.inFile() {
		before = s.Line() - 1
		of = ""
	}
	lines := fmt.Sprintf("line %d%s", before+n.Line, of)
	if n.End > n.Line {
		lines = fmt.Sprintf("lines %d to %d%s", before+n.Line, before+n.End, of)
	}
	m := s.message(transformer.NewFinding(reason.WrittenAnew, nil, "%s: %s", lines, n.Text))
	if s.inFile() {
		m.Line = before + n.Line
	}
	return m
}
