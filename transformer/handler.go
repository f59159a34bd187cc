package transformer

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// A handlerSite is one probe or hook of a container, and what the plan decides
// about it.
type handlerSite struct {
	at        containerRef
	container *Container
	name      prober.ProbeType
	key       string // as [prober.Key] returns it
	path      field.Path
	timeout   int // seconds, the API's default filled in; 0 for hooks

	current          *Handler         // as it was read
	source           field.Map        // the whole probe or hook as it was read
	original         *Handler         // as its author wrote it: current, unless that is our rewriting
	form             field.Map        // its fields as they were written; nil if not known
	texts            field.KeyValues  // what its text was, of fields that restore would write in another way
	alreadyRewritten bool             // current is our rewriting of original
	foreign          bool             // it is of another form than ours
	holder           *originalsHolder // carries the original; nil if there is none
	entry            *prober.Prober   // the original as the holder has it; nil without a holder
	lost             bool             // a mesh's own tool has rewritten it, and the template does not have its original
	reason           string           // why it is left alone; "" if it is rewritten
	port             int              // of original, resolved; 0 if it has none
	portErr          error            // why it has none
	target           *Handler         // what it is rewritten to; nil if it is left alone
	changes          []field.Edit     // from current to target
}

type containerRef struct {
	init  bool
	index int
}

func (r containerRef) list() string {
	if r.init {
		return "initContainers"
	}
	return "containers"
}

// atStart reports whether containers that start later wait for the probe or hook, or the
// kubelet restarts its own container because of it before they have started.
func (s *handlerSite) atStart() bool {
	return s.gates() || s.at.init && s.name == prober.Liveness
}

// gates reports whether the containers after that of the probe or hook wait for it.
func (s *handlerSite) gates() bool {
	return s.name == prober.PostStart || s.at.init && s.name == prober.Startup
}

// needsStart reports whether the probe or hook depends on what happens while init containers
// start: it gates them, or a native probe-proxy, which has a startupProbe, answers it.
func (s *handlerSite) needsStart() bool {
	k := s.holder
	return s.at.init && s.gates() || k != nil && k.container != nil && !k.proxy && k.at.init
}

// neverWorks reports whether nobody makes the probe or hook of a kind: the API server allows
// none on an init container that ends, and the kubelet has no hooks but httpGet that dial.
func (s *handlerSite) neverWorks(kind string) bool {
	return s.at.init && !isSidecar(s.at, s.container) || s.name.IsHook() && kind != kindHTTPGet
}

// isSidecar reports whether a container is a native sidecar.
func isSidecar(at containerRef, c *Container) bool { return at.init && c.RestartPolicy == "Always" }

// startsAfter reports whether the container starts after another one. Init
// containers start first, and each list in its order.
func (r containerRef) startsAfter(other containerRef) bool {
	if r.init != other.init {
		return other.init
	}
	return r.index > other.index
}

// containers returns every container and where it is, init containers first.
func (spec *PodSpec) containers() iter.Seq2[containerRef, *Container] {
	return func(yield func(containerRef, *Container) bool) {
		for i := range spec.InitContainers {
			if !yield(containerRef{true, i}, &spec.InitContainers[i]) {
				return
			}
		}
		for i := range spec.Containers {
			if !yield(containerRef{false, i}, &spec.Containers[i]) {
				return
			}
		}
	}
}

// containers returns the containers of the template that we did not add.
func (b *planBuilder) containers() iter.Seq2[containerRef, *Container] {
	return func(yield func(containerRef, *Container) bool) {
		for at, c := range b.in.Template.Spec.containers() {
			if !b.isOurs(at) && !yield(at, c) {
				return
			}
		}
	}
}

// sitesOf returns the probes and hooks that a container of a pod spec has.
func sitesOf(spec field.Path, at containerRef, c *Container) []*handlerSite {
	var sites []*handlerSite
	container := spec.Item(at.list(), at.index)
	add := func(name prober.ProbeType, current *Handler, timeout int, keys ...string) {
		s := &handlerSite{at: at, container: c, name: name, key: prober.Key(c.Name, name), path: container.Key(keys...), timeout: timeout, current: current}
		sites = append(sites, s)
	}
	for _, x := range [...]struct {
		name  prober.ProbeType
		probe *Probe
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

// text returns what a pointer points to, or "".
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// resolve returns the number of the port that the handler dials, as the kubelet finds it among
// the ports of the same container; 0 if there is none. The error completes a message about it.
//
// The kubelet would take a string of digits too, but the API server refuses
// one: a port's name must hold a letter. It refuses every name in a grpc probe.
func (h *Handler) resolve(c *Container) (int, error) {
	port, _ := h.endpoint()
	switch {
	case port == nil:
		return 0, nil
	case !port.IsString:
		return inRange(port.Int)
	}
	for _, p := range c.Ports {
		if p.Name == port.Str && p.Name != "" {
			n, err := inRange(p.ContainerPort)
			if err == nil && h.GRPC != nil {
				return 0, fmt.Errorf("is the name %q, which the API server refuses in a grpc probe; it must be the number, %d", port.Str, n)
			}
			return n, err
		}
	}
	if port.Str != "" && strings.Trim(port.Str, "0123456789") == "" {
		return 0, fmt.Errorf("is the string %q, which the API server refuses; a number must not be quoted", port.Str)
	}
	if isVariable(port.Str) {
		return 0, fmt.Errorf("is %q, which looks like a variable; rewrite-probes must run after the substitution", port.Str)
	}
	names := "has no named port"
	var known []string
	for _, p := range c.Ports {
		if p.Name != "" {
			known = append(known, fmt.Sprintf("%q", p.Name))
		}
	}
	if len(known) > 0 {
		names = "names " + strings.Join(known, ", ")
	}
	return 0, fmt.Errorf("names the port %q, but container %q %s; it must be a port's name or number", port.Str, c.Name, names)
}

// isVariable reports whether a text looks like it has a variable that Flux or envsubst will
// substitute.
func isVariable(text string) bool { return strings.Contains(text, "${") }

// dialed returns the port to which a probe goes as it was read; 0 if there is none.
func (s *handlerSite) dialed() int {
	n, _ := s.current.resolve(s.container)
	return n
}

func inRange(port int64) (int, error) {
	if port < 1 || port > 65535 {
		return 0, outOfRange(port)
	}
	return int(port), nil
}

// outOfRange is a number that is no port.
type outOfRange int64

func (n outOfRange) Error() string {
	if n == 0 {
		return "is missing or 0, but must be a port from 1 to 65535"
	}
	return fmt.Sprintf("is %d, but must be a port from 1 to 65535", int64(n))
}

// rewritten returns what the handler becomes: an httpGet of a path that names its container
// and type, on one port for all. It is what Istio's injector makes of it.
func (s *handlerSite) rewritten(port int) *HTTPGet {
	h := &HTTPGet{Path: s.key, Port: field.Number(port)}
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
	p := s.original.entry(field.Number(s.port))
	p.TimeoutSeconds = s.timeout
	return p
}

// decodeEnv returns the originals in an env var of a container; nil if the container has no
// such env var.
func decodeEnv(c *Container, env string) (map[string]*prober.Prober, error) {
	at := c.envVars(env)
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

// envVars returns the indexes of those of a name.
func (c *Container) envVars(name string) (at []int) {
	for i := range c.Env {
		if c.Env[i].Name == name {
			at = append(at, i)
		}
	}
	return at
}

// decodeOriginals returns the originals in a text; an entry that is wrong is an error.
func decodeOriginals(text string) (map[string]*prober.Prober, error) {
	originals, bad, err := prober.Istio.Decode(text)
	if len(bad) > 0 {
		err = bad[0]
	}
	return originals, err
}

// edits returns the edits that make the handler want. If another form added a
// scheme, that is removed.
func (s *handlerSite) edits(want *Handler) []field.Edit {
	var form field.Map
	if s.original.Kind() == want.Kind() {
		form = s.form
	}
	edits := HandlerEdits(s.path, s.current, want, form)
	if want == s.original {
		edits = s.withTexts(edits)
		for i := range edits {
			edits[i].Texts = s.texts
		}
	}
	if h := s.current.HTTPGet; s.foreign && h != nil && h.Scheme != "" && want.HTTPGet != nil && want.HTTPGet.Scheme == "" {
		edits = append(edits, field.Edit{Op: field.Delete, Path: s.path.Key(kindHTTPGet, "scheme")})
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

// HandlerEdits returns the edits that change the handler of the probe or hook at
// path from have to want. Within httpGet only the fields that differ are touched.
// form has the fields of want as they were written; nil if that does not matter.
func HandlerEdits(path field.Path, have, want *Handler, form field.Map) []field.Edit {
	from, to := have.Kind(), want.Kind()
	if from != to {
		value := form
		if value == nil {
			value = want.Value()
		}
		return []field.Edit{{Op: field.Rename, Path: path.Key(from), NewKey: to, Value: value}}
	}
	if to != kindHTTPGet {
		return nil
	}
	edits := make([]field.Edit, 0, 3)
	h, w := have.HTTPGet, want.HTTPGet
	if h.Port != w.Port {
		edits = append(edits, field.Edit{Op: field.Set, Path: path.Key(from, "port"), Value: w.Port.Value()})
	}
	for _, f := range [...]struct{ key, before, have, want string }{
		{"path", "port", h.Path, w.Path},
		{"scheme", "", h.Scheme, cmp.Or(w.Scheme, h.Scheme)},
		{"protocol", following(form, "protocol"), h.Protocol, w.Protocol},
	} {
		switch asWritten, known := form.Get(f.key); {
		case f.have == f.want:
		case f.want != "":
			edits = append(edits, field.Edit{Op: field.Set, Path: path.Key(from, f.key), Before: f.before, Value: f.want})
		case known && (asWritten == nil || asWritten == ""):
			edits = append(edits, field.Edit{Op: field.Set, Path: path.Key(from, f.key), Value: asWritten})
		default:
			edits = append(edits, field.Edit{Op: field.Delete, Path: path.Key(from, f.key)})
		}
	}
	if !slices.Equal(h.HTTPHeaders, w.HTTPHeaders) {
		edits = append(edits, headerEdits(path.Key(from, headersField), h.HTTPHeaders, w.HTTPHeaders, form)...)
	}
	return edits
}

// headerEdits returns the edits that change the headers at path, which differ. Those that
// stay are not touched.
func headerEdits(path field.Path, have, want []HTTPHeader, form field.Map) []field.Edit {
	switch wasEmpty, noted := form.Get(headersField); {
	case len(want) == 0 && noted:
		return []field.Edit{{Op: field.Set, Path: path, Value: wasEmpty}}
	case len(want) == 0:
		return []field.Edit{{Op: field.Delete, Path: path}}
	case len(have) == 0:
		return []field.Edit{{Op: field.Set, Path: path, Value: headerList(want)}}
	}
	var edits []field.Edit
	same := 0 // how many of want are there, in front of the header at hand
	for i, x := range have {
		if same < len(want) && want[same] == x {
			same++
		} else {
			edits = append(edits, field.Edit{Op: field.Delete, Path: path.Index(i)})
		}
	}
	for _, v := range headerList(want[same:]) {
		edits = append(edits, field.Edit{Op: field.Insert, Path: path.Index(len(have)), Value: v})
	}
	return edits
}

// following returns the key that follows another; "" if it is the last.
func following(form field.Map, key string) string {
	for i, e := range form[:max(0, len(form)-1)] {
		if e.Key == key {
			return form[i+1].Key
		}
	}
	return ""
}
