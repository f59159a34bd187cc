package transformer

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// A handlerSite is one probe or hook of a container as it was read, with its original. It does
// not change after [read].
type handlerSite struct {
	at        pod.Ref
	container *pod.Container
	name      prober.ProbeType
	key       string // as [prober.Key] returns it
	path      field.Path
	timeout   int // seconds, the API's default filled in; 0 for hooks

	current          *pod.Handler     // as it was read
	source           field.Map        // the whole probe or hook as it was read
	original         *pod.Handler     // as its author wrote it: current, unless that is our rewriting
	form             field.Map        // its fields as they were written; nil if not known
	texts            field.KeyValues  // what its text was, of fields that restore would write in another way
	alreadyRewritten bool             // current is our rewriting of original
	foreign          bool             // it is of another form than ours
	holder           *originalsHolder // carries the original; nil if there is none
	entry            *prober.Prober   // the original as the holder has it; nil without a holder
	lost             bool             // a mesh's own tool has rewritten it, and the template does not have its original
	port             int              // of original, resolved; 0 if it has none
	portErr          error            // why it has none
}

// atStart reports whether containers that start later wait for the probe or hook, or the
// kubelet restarts its own container because of it before they have started.
func (s *handlerSite) atStart() bool {
	return s.gates() || s.at.Init && s.name == prober.Liveness
}

// gates reports whether the containers after that of the probe or hook wait for it.
func (s *handlerSite) gates() bool {
	return s.name == prober.PostStart || s.at.Init && s.name == prober.Startup
}

// needsStart reports whether the probe or hook depends on what happens while init containers
// start: it gates them, or a native probe-proxy, which has a startupProbe, answers it.
func (s *handlerSite) needsStart() bool {
	k := s.holder
	return s.at.Init && s.gates() || k != nil && k.container != nil && !k.proxy && k.at.Init
}

// neverWorks reports whether nobody makes the probe or hook of a kind: the API server allows
// none on an init container that ends, and the kubelet has no hooks but httpGet that dial.
func (s *handlerSite) neverWorks(kind string) bool {
	return s.at.Init && !pod.IsSidecar(s.at, s.container) || s.name.IsHook() && kind != pod.KindHTTPGet
}

// containers returns the containers of the template that we did not add.
func (b *template) containers() iter.Seq2[pod.Ref, *pod.Container] {
	return func(yield func(pod.Ref, *pod.Container) bool) {
		for at, c := range b.in.Template.Spec.All() {
			if !b.isOurs(at) && !yield(at, c) {
				return
			}
		}
	}
}

// sitesOf returns the probes and hooks that a container of a pod spec has.
func sitesOf(spec field.Path, at pod.Ref, c *pod.Container) []*handlerSite {
	var sites []*handlerSite
	container := spec.Item(at.List(), at.Index)
	add := func(name prober.ProbeType, current *pod.Handler, timeout int, keys ...string) {
		s := &handlerSite{at: at, container: c, name: name, key: prober.Key(c.Name, name), path: container.Key(keys...), timeout: timeout, current: current}
		sites = append(sites, s)
	}
	for _, x := range [...]struct {
		name  prober.ProbeType
		probe *pod.Probe
	}{{prober.Readiness, c.ReadinessProbe}, {prober.Liveness, c.LivenessProbe}, {prober.Startup, c.StartupProbe}} {
		if x.probe == nil {
			continue
		}
		timeout := 1
		if t := x.probe.TimeoutSeconds; t != nil && *t != 0 {
			timeout = int(*t)
		}
		add(x.name, &x.probe.Handler, timeout, x.name.Field())
	}
	if l := c.Lifecycle; l != nil && l.PostStart != nil {
		add(prober.PostStart, l.PostStart, 0, "lifecycle", prober.PostStart.Field())
	}
	if l := c.Lifecycle; l != nil && l.PreStop != nil {
		add(prober.PreStop, l.PreStop, 0, "lifecycle", prober.PreStop.Field())
	}
	return sites
}

// dialed returns the port to which a probe goes as it was read; 0 if there is none.
func (s *handlerSite) dialed() int {
	n, _ := s.current.Resolve(s.container)
	return n
}

// rewritten returns what the handler becomes: an httpGet of a path that names its container
// and type, on one port for all. It is what Istio's injector makes of it.
func (s *handlerSite) rewritten(port int) *pod.HTTPGet {
	h := &pod.HTTPGet{Path: s.key, Port: field.Number(port)}
	if o := s.original.HTTPGet; o != nil {
		h.Scheme, h.HTTPHeaders = o.Scheme, o.HTTPHeaders
		if s.isHTTPS() {
			h.Scheme = "HTTP"
		}
	}
	return h
}

func (s *handlerSite) isHTTPS() bool {
	return s.original.HTTPGet != nil && s.original.HTTPGet.Scheme == "HTTPS"
}

// prober returns the env var's entry for the original of the probe.
func (s *handlerSite) prober() *prober.Prober {
	p := s.original.Entry(field.Number(s.port))
	p.TimeoutSeconds = s.timeout
	return p
}

// decodeEnv returns the originals in an env var of a container; nil if the container has no
// such env var.
func decodeEnv(c *pod.Container, env string) (map[string]*prober.Prober, error) {
	at := c.EnvVars(env)
	if len(at) == 0 {
		return nil, nil
	}
	value := c.Env[at[len(at)-1]].Value // of several, the last one counts
	if value == nil {
		return nil, fmt.Errorf("%s must have its value here, not come from elsewhere", env)
	}
	text := strings.ReplaceAll(*value, "$$", "$")
	if env != prober.EnvName {
		return decodeEarlier(env, text)
	}
	return decodeOriginals(text)
}

// decodeOriginals returns the originals in a text; an entry that is wrong is an error.
func decodeOriginals(text string) (map[string]*prober.Prober, error) {
	originals, bad, err := prober.Decode(text)
	if len(bad) > 0 {
		err = bad[0]
	}
	return originals, err
}

// edits returns the edits that make the handler want. If another form added a
// scheme, that is removed.
func (s *handlerSite) edits(want *pod.Handler) []field.Edit {
	var form field.Map
	if s.original.Kind() == want.Kind() {
		form = s.form
	}
	edits := pod.HandlerEdits(s.path, s.current, want, form)
	if want == s.original {
		edits = s.withTexts(edits)
		for i := range edits {
			edits[i].Texts = s.texts
		}
	}
	if h := s.current.HTTPGet; s.foreign && h != nil && h.Scheme != "" && want.HTTPGet != nil && want.HTTPGet.Scheme == "" {
		edits = append(edits, field.Edit{Op: field.Delete, Path: s.path.Key(pod.KindHTTPGet, "scheme")})
	}
	return edits
}

// withTexts returns the edits that restore the original, with one for each field that has
// been given its original value by hand, and whose text is known.
func (s *handlerSite) withTexts(edits []field.Edit) []field.Edit {
	kind := s.current.Kind()
	now := field.As[field.Map](s.source, kind)
	for _, text := range s.texts {
		named := slices.ContainsFunc(edits, func(e field.Edit) bool { return e.Op == field.Rename || e.Path[len(e.Path)-1].Key == text.Key })
		_, has := now.Get(text.Key)
		if value, had := s.before(text.Key); has && had && !named {
			edits = append(edits, field.Edit{Op: field.Set, Path: s.path.Key(kind, text.Key), Value: value})
		}
	}
	return edits
}

// before returns a field of the original, as it was written if that is known.
func (s *handlerSite) before(key string) (v field.Value, had bool) {
	if s.form != nil {
		return s.form.Get(key)
	}
	return s.original.Value().Get(key)
}

// isDangling reports whether a probe looks rewritten and was not recognised.
func (s *handlerSite) isDangling() bool {
	h := s.current.HTTPGet
	if h == nil || s.alreadyRewritten {
		return s.lost
	}
	_, _, ok := prober.ParseKey(h.Path)
	return s.lost || ok || presentKey(h.Path) != "" || isHealthcheck(h)
}
