package transformer

import (
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/resources"
)

type planBuilder struct {
	p                *Planner
	in               *Input
	metadata         field.Path // with the pods' labels and annotations; nil if not known
	spec             field.Path
	names            []string // of all containers
	sites            []*handlerSite
	holders          []*originalsHolder // what carries originals
	record           Record             // what the annotations carry for an exact restore
	userAnnotations  field.KeyValues    // without what was added for past answerers in any mesh
	detected         detection
	inspection       inspection
	pod              *resources.Pod // nil until they are needed
	edits            []field.Edit
	addedAnnotations field.KeyValues // those that the edits set
	excluded         []int           // the ports on which the app itself answers
	findings         []Finding
}

// newPlanBuilder reads the template: first the holders of originals, then the probes
// and hooks, with their originals.
func newPlanBuilder(p *Planner, in *Input) *planBuilder {
	b := &planBuilder{p: p, in: in, metadata: in.MetadataPath(), spec: in.SpecPath(), names: pod.Names(in.Template.Spec.All()), edits: make([]field.Edit, 0, 8)}
	b.findHolders()
	for at, c := range b.containers() {
		for _, s := range sitesOf(b.spec, at, c) {
			s.original = s.current
			s.source = b.sourceMap(s.path)
			s.form = s.readForm()
			b.recognise(s)
			s.port, s.portErr = s.original.Resolve(c)
			b.sites = append(b.sites, s)
		}
	}
	b.keepOriginals()
	b.holders = slices.DeleteFunc(b.holders, func(k *originalsHolder) bool { return !k.goes() })
	b.userAnnotations = b.withoutOurs()
	return b
}

func (b *planBuilder) containerPath(at pod.Ref) field.Path {
	return b.spec.Item(at.List(), at.Index)
}

// sourceMap returns the mapping at a path; nil if there is none.
func (b *planBuilder) sourceMap(path field.Path) field.Map {
	v, _ := b.in.Source(path)
	m, _ := v.(field.Map)
	return m
}

// previousAnswerers returns the answerers of the probes that were rewritten.
func (b *planBuilder) previousAnswerers() []answerer {
	var past []answerer
	for _, k := range b.holders {
		if !k.earlier() { // whose mesh needed no annotation
			past = append(past, k.answerer())
		}
	}
	return past
}

// hasOurs reports whether the template carries our rewriting.
func (b *planBuilder) hasOurs() bool {
	return len(b.record) > 0 || slices.ContainsFunc(b.holders, func(k *originalsHolder) bool { return k.used() || k.ours || k.container == nil })
}

func (b *planBuilder) isOurs(at pod.Ref) bool {
	return slices.ContainsFunc(b.holders, func(k *originalsHolder) bool { return k.ours && k.at == at })
}

func (b *planBuilder) annotations() field.KeyValues { return b.in.Template.Metadata.Annotations }

func (b *planBuilder) declares(port int) bool {
	for _, c := range b.containers() {
		if c.Declares(port) {
			return true
		}
	}
	return false
}

// exposed returns a Service that leads to a port of the pod, or may do so; "" if there is none.
func (b *planBuilder) exposed(port int) (service string) {
	t := &b.in.Template
	return b.in.Around.Exposed(t.Metadata.Labels, &t.Spec, port)
}

// uses reports whether one of the containers declares a port, or a Service leads to it.
func (b *planBuilder) uses(port int) bool { return b.declares(port) || b.exposed(port) != "" }

// hasOwnMetadata reports whether the object has other metadata than its pods: a Pod
// has not.
func (b *planBuilder) hasOwnMetadata() bool { return len(b.metadata) != 1 }

func (b *planBuilder) addFinding(f Finding) { b.findings = append(b.findings, f) }

func (b *planBuilder) failed() bool { return FirstError(b.findings) != nil }

// FirstError returns the first finding that is an error; nil if there is none.
func FirstError(findings []Finding) *Finding {
	i := slices.IndexFunc(findings, func(f Finding) bool { return f.Severity == Error })
	if i < 0 {
		return nil
	}
	return &findings[i]
}

// NewFinding returns a finding with the severity of its reason. The message
// begins with the path, if that is not empty.
func NewFinding(key string, path field.Path, format string, args ...any) Finding {
	f := Finding{Severity: reason.SeverityOf(key), Reason: key, Field: path}
	f.Message = fmt.Sprintf(format, args...)
	if len(path) > 0 {
		f.Message = fmt.Sprintf("`%s`: %s", path, f.Message)
	}
	return f
}

func containerFinding(key string, path field.Path, container, format string, args ...any) Finding {
	f := NewFinding(key, path, format, args...)
	f.Container = container
	return f
}

// metadataFinding returns a finding about the value of a label or an annotation.
func metadataFinding(reason string, path field.Path, value, format string, args ...any) Finding {
	f := NewFinding(reason, path, "%q "+format, append([]any{value}, args...)...)
	f.Current = value
	return f
}

func (b *planBuilder) annotationFinding(reason, key, format string, args ...any) Finding {
	return metadataFinding(reason, b.metadata.Key("annotations", key), b.annotations().Get(key), format, args...)
}
