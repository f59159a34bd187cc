package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// A template is a pod template as it was read, with the originals of what was rewritten in it
// before. It is the same for every mesh, and nothing of it changes after [read].
type template struct {
	in       *Input
	metadata field.Path // with the pods' labels and annotations; nil if not known
	spec     field.Path
	names    []string       // of all containers
	named    map[string]int // how many containers have a name
	sites    []*site
	holders  []*holder // what carries originals
	record   Record    // what the annotations carry for an exact restore
	mistakes []Finding // in what carries originals

	// What is asked of labels and annotations is asked here.
	ofPods, ofWorkload, ofNamespace field.NotedMetadata
	knowsNamespace                  bool
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
type originalFinder func(t *template, s *site) (original *pod.Handler, found bool)

func (r *reader) report(f Finding) {
	r.mistakes = append(r.mistakes, f)
}

func (t *template) containerPath(at pod.Ref) field.Path {
	return t.spec.Item(at.List(), at.Index)
}

// sourceMap returns the mapping at a path; nil if there is none.
func (t *template) sourceMap(path field.Path) field.Map {
	v, _ := t.in.Source(path)
	m, _ := v.(field.Map)
	return m
}

// existingProbeProxy returns the probe-proxy of the template. If there are several, it prefers the
// one with the configured name; nil if there is none.
func (t *template) existingProbeProxy(o *Options) *holder {
	var found *holder
	for _, h := range t.holders {
		if h.ours &&
			!h.proxy &&
			(found == nil || h.container.Name == o.ProbeProxy.Name) {
			found = h
		}
	}
	return found
}

// previousAnswerers returns the answerers of the probes that were rewritten.
func (t *template) previousAnswerers() []answerer {
	var past []answerer
	for _, h := range t.holders {
		past = append(past, h.answerer())
	}
	return past
}

// isInjectorsWork reports whether Istio's injector rewrote what is rewritten, and its mark is there but nothing of ours: such as
// `istioctl kube-inject` prints, or a cluster.
func (t *template) isInjectorsWork() bool {
	if len(t.holders) != 1 || !t.holders[0].proxy || len(t.record) > 0 {
		return false
	}
	_, injected := t.annotations().Lookup(istioInjected)
	_, decided := t.annotations().Lookup(istioRewrite)
	return injected && !decided && t.holders[0].used() && t.holders[0].container.Image != autoImage
}

// hasOurs reports whether the template carries our rewriting.
func (t *template) hasOurs() bool {
	isOurs := func(h *holder) bool {
		return h.used() || h.ours
	}
	return len(t.record) > 0 || slices.ContainsFunc(t.holders, isOurs)
}

func (t *template) isOurs(at pod.Ref) bool {
	return slices.ContainsFunc(t.holders, func(h *holder) bool { return h.ours && h.at == at })
}

func (t *template) annotations() field.Noted { return t.ofPods.Annotations }

func (t *template) labels() field.Noted { return t.ofPods.Labels }

// noteMetadata opens the metadata that says something of the pods: what is asked of it goes into the
// notes of the input, if it has any.
func (t *template) noteMetadata() {
	in := t.in
	t.ofNamespace, t.knowsNamespace = in.Around.Namespaced()
	var pods, workload *field.MetadataKeys
	if n := in.Notes; n != nil {
		pods, workload = &n.Pods, &n.Workload
	}
	t.ofPods, t.ofWorkload = in.Template.Metadata.Note(pods), in.Workload.Note(workload)
}

func (t *template) declares(port int) bool {
	for _, c := range t.containers() {
		if c.Declares(port) {
			return true
		}
	}
	return false
}

// exposed returns a Service that leads to a port of the pod, or may do so; "" if there is none.
func (t *template) exposed(port int) (service string) {
	return t.in.Around.Exposed(t.pods(), port)
}

// pods returns what selectors see of the template's pods.
func (t *template) pods() *surroundings.Pods {
	in := t.in
	pods := &surroundings.Pods{
		Namespace: in.NamespaceName, Kind: in.Kind, Name: in.Workload.Name,
		Labels: in.Template.Metadata.Labels, Spec: &in.Template.Spec,
	}
	if in.Notes != nil {
		pods.Asked = &in.Notes.Pods.Labels
	}
	return pods
}

// uses reports whether one of the containers declares a port, or a Service leads to it.
func (t *template) uses(port int) bool {
	return t.declares(port) || t.exposed(port) != ""
}

// hasOwnMetadata reports whether the object has other metadata than its pods: a Pod
// has not.
func (t *template) hasOwnMetadata() bool {
	return len(t.metadata) != 1
}

// proxyOf returns a mesh's proxy that the template has, and where; nil if it has none, or we
// added the container.
func (t *template) proxyOf(isProxy func(*pod.Container) bool) (at pod.Ref, proxy *pod.Container) {
	for at, c := range t.containers() {
		if isProxy(c) {
			return at, c
		}
	}
	return at, nil
}

// namespace returns the metadata of the pod's Namespace, and whether that is known; empty if not.
func (t *template) namespace() (m *field.NotedMetadata, known bool) {
	return &t.ofNamespace, t.knowsNamespace
}

func (t *template) annotationFinding(why reason.Key, key, format string, args ...any) Finding {
	return metadataFinding(
		why,
		t.metadata.Key("annotations", key),
		t.in.Template.Metadata.Annotations.Get(key),
		format,
		args...,
	)
}
