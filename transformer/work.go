package transformer

import (
	"fmt"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// work is one plan in the making.
type work struct {
	p         *Planner
	in        *Input
	template  field.Path
	spec      field.Path
	slots     []*slot
	carriers  []*carrier
	annotated []annotated
	mesh      mesh
	edits     []field.Edit
	findings  []Finding
	restoring bool
}

// A carrier is a container that carries the originals of rewritten probes.
type carrier struct {
	dialect   dialect
	at        place
	container *Container
	path      field.Path
	originals map[string]*prober.Prober
	listens   []int
	port      int // where probes that it answers go
	proxy     bool
	ours      bool // the whole container, not only its env var
	used      bool // some probe is answered by it
	raw       field.Map
}

// annotated are originals that annotations carry.
type annotated struct {
	dialect   dialect
	originals map[string]*prober.Prober
}

func (c *carrier) answerer() answerer {
	if c.proxy {
		return answerer{AnsweredByIstioProxy, c.port}
	}
	return answerer{AnsweredByProbeProxy, c.port}
}

// newWork reads the template: its carriers first, then its slots with their
// originals.
func newWork(p *Planner, in *Input) *work {
	w := &work{p: p, in: in, template: in.Path, spec: in.Path.Key("spec"), edits: make([]field.Edit, 0, 8)}
	spec := &in.Template.Spec
	containers(spec, func(at place, c *Container) {
		d, originals, err := p.carried(c)
		if err != nil {
			w.say(w.finding("env-unreadable", w.containerPath(at).Key("env"), c.Name, "%v; the originals of the rewritten probes cannot be known", err))
			return
		}
		if d == nil {
			return
		}
		path := w.containerPath(at)
		k := &carrier{dialect: d, at: at, container: c, path: path, originals: originals, proxy: d.isProxy(c), listens: d.listens(w, c)}
		k.port = k.listens[0]
		k.raw = w.rawMap(path)
		k.ours = p.isOurs(k)
		w.carriers = append(w.carriers, k)
	})
	for _, d := range p.dialects {
		originals, err := d.annotated(w.annotations())
		if err != nil {
			w.say(w.finding("env-unreadable", w.template.Key("metadata", "annotations"), "", "%v; the originals of the rewritten probes cannot be known", err))
		}
		if originals != nil {
			w.annotated = append(w.annotated, annotated{d, originals})
		}
	}
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
			if !p.dialect.isProxy(c) {
				w.recognise(s, names)
			}
			w.slots = append(w.slots, s)
		}
	})
	// An env var that no probe points to and that is in nobody's sidecar is
	// not ours to take away.
	w.carriers = slices.DeleteFunc(w.carriers, func(k *carrier) bool { return !k.ours && !k.used && !k.proxy })
	return w
}

// carried gives the originals that a container carries and in which dialect,
// nil where it carries none. A template that was rewritten in another dialect
// than the planner's is brought to that like any other change.
func (p *Planner) carried(c *Container) (dialect, map[string]*prober.Prober, error) {
	for _, d := range p.dialects {
		if originals, found, err := d.decode(c); found {
			return d, originals, err
		}
	}
	return nil, nil, nil
}

// recognise finds the original of a slot that carries our rewriting: its path
// is one that a container carries, and its port one on which that container answers.
func (w *work) recognise(s *slot, names []string) {
	h := s.current.HTTPGet
	if kind, ok := s.current.kind(); !ok || kind != kindHTTPGet || h.Port.IsString {
		return
	}
	for _, k := range w.carriers {
		p := k.dialect.original(k.originals, s, names)
		if p == nil || !slices.Contains(k.listens, int(h.Port.Int)) {
			continue
		}
		s.original, s.carried = handlerOf(p, h), true
		s.foreign = k.dialect != w.p.dialect
		k.used, k.port = true, int(h.Port.Int)
		return
	}
	for _, a := range w.annotated {
		if p := a.dialect.original(a.originals, s, names); p != nil {
			s.original, s.carried, s.foreign = handlerOf(p, h), true, a.dialect != w.p.dialect
			return
		}
	}
}

func (w *work) containerPath(at place) field.Path {
	return w.spec.Item(at.list(), at.index)
}

// rawMap gives the mapping at a path as it was read; nil where it is none or
// cannot be known.
func (w *work) rawMap(path field.Path) field.Map {
	if w.in.Raw == nil {
		return nil
	}
	v, err := w.in.Raw(path)
	if err != nil {
		return nil
	}
	m, _ := v.(field.Map)
	return m
}

// past gives who answered the probes of the template that were rewritten in a
// dialect.
func (w *work) past(d dialect) []answerer {
	var past []answerer
	for _, k := range w.carriers {
		if k.dialect == d && (k.used || k.ours) {
			past = append(past, k.answerer())
		}
	}
	return past
}

// carrying tells whether the template carries our rewriting.
func (w *work) carrying() bool {
	return len(w.annotated) > 0 || slices.ContainsFunc(w.carriers, func(k *carrier) bool { return k.used || k.ours })
}

// isOurs tells whether the container at a place was added by us.
func (w *work) isOurs(at place) bool {
	return slices.ContainsFunc(w.carriers, func(k *carrier) bool { return k.ours && k.at == at })
}

func (w *work) annotations() field.Strings { return w.in.Template.Metadata.Annotations }

// hasOwnMetadata tells whether the object has metadata besides its
// template's: a Pod has not.
func (w *work) hasOwnMetadata() bool { return len(w.template) > 0 }

func (w *work) say(f Finding) { w.findings = append(w.findings, f) }

func (w *work) failed() bool {
	return slices.ContainsFunc(w.findings, func(f Finding) bool { return f.Severity == Error })
}

// finding makes a finding of the severity that its reason has.
func (w *work) finding(reason string, path field.Path, container, format string, args ...any) Finding {
	f := Finding{Severity: severityOf(reason), Reason: reason, Field: path, Container: container}
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
	return w.metadataFinding(reason, w.template.Key("metadata", "annotations", key), w.annotations().Get(key), format, args...)
}
