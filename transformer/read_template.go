package transformer

import (
	"cmp"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// A template is a pod template as it was read, with the originals of what was rewritten in it
// before. It is the same for every mesh, and nothing of it changes after [read].
type template struct {
	in       *Input
	metadata field.Path // with the pods' labels and annotations; nil if not known
	spec     field.Path
	names    []string // of all containers
	sites    []*handlerSite
	holders  []*originalsHolder // what carries originals
	record   Record             // what the annotations carry for an exact restore
	mistakes []Finding          // in what carries originals
}

// A reader makes a template.
type reader struct {
	*template
	opts    *Options
	finders []originalFinder
}

// An originalFinder understands a probe that a mesh's own tool has rewritten in another form
// than ours, and for which no container of the template carries originals. found reports
// whether the probe is one; original is nil if the template does not say what it was.
type originalFinder func(b *template, s *handlerSite) (original *pod.Handler, found bool)

func (b *reader) report(f Finding) { b.mistakes = append(b.mistakes, f) }

func (b *template) containerPath(at pod.Ref) field.Path {
	return b.spec.Item(at.List(), at.Index)
}

// sourceMap returns the mapping at a path; nil if there is none.
func (b *template) sourceMap(path field.Path) field.Map {
	v, _ := b.in.Source(path)
	m, _ := v.(field.Map)
	return m
}

// previousAnswerers returns the answerers of the probes that were rewritten.
func (b *template) previousAnswerers() []answerer {
	var past []answerer
	for _, k := range b.holders {
		past = append(past, k.answerer())
	}
	return past
}

// hasOurs reports whether the template carries our rewriting.
func (b *template) hasOurs() bool {
	return len(b.record) > 0 || slices.ContainsFunc(b.holders, func(k *originalsHolder) bool { return k.used() || k.ours })
}

func (b *template) isOurs(at pod.Ref) bool {
	return slices.ContainsFunc(b.holders, func(k *originalsHolder) bool { return k.ours && k.at == at })
}

func (b *template) annotations() field.KeyValues { return b.in.Template.Metadata.Annotations }

func (b *template) declares(port int) bool {
	for _, c := range b.containers() {
		if c.Declares(port) {
			return true
		}
	}
	return false
}

// exposed returns a Service that leads to a port of the pod, or may do so; "" if there is none.
func (b *template) exposed(port int) (service string) {
	t := &b.in.Template
	return b.in.Around.Exposed(t.Metadata.Labels, &t.Spec, port)
}

// uses reports whether one of the containers declares a port, or a Service leads to it.
func (b *template) uses(port int) bool { return b.declares(port) || b.exposed(port) != "" }

// hasOwnMetadata reports whether the object has other metadata than its pods: a Pod
// has not.
func (b *template) hasOwnMetadata() bool { return len(b.metadata) != 1 }

// proxyOf returns a mesh's proxy that the template has, and where; nil if it has none, or we
// added the container.
func (b *template) proxyOf(isProxy func(*pod.Container) bool) (at pod.Ref, proxy *pod.Container) {
	for at, c := range b.containers() {
		if isProxy(c) {
			return at, c
		}
	}
	return at, nil
}

// namespace returns the metadata of the pod's Namespace; empty if that is not known.
func (b *template) namespace() *field.Metadata {
	return cmp.Or(b.in.Around.Namespace, unknownNamespace)
}

var unknownNamespace = &field.Metadata{}

func (b *template) annotationFinding(reason, key, format string, args ...any) Finding {
	return metadataFinding(reason, b.metadata.Key("annotations", key), b.annotations().Get(key), format, args...)
}
