package transformer

import (
	"iter"
	"reflect"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// readForm returns the fields of the handler as they were read, without its headers.
func (s *site) readForm() field.Map {
	form := field.WithWholeNumbers(field.As[field.Map](s.source, s.current.Kind()))
	if headers, _ := form.Get(pod.HeadersField); headers != nil {
		return field.Merge(form, field.Map{{Key: pod.HeadersField, Value: field.List{}}})
	}
	return form
}

// A site is one probe or hook of a container as it was read, with its original. It does
// not change after [read].
type site struct {
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
	texts            field.KeyValues  // how the author wrote the fields that restore would write in another way, such as with other quotes
	alreadyRewritten bool             // current is our rewriting of original
	foreign          bool             // it is of another form than ours
	inForm           bool             // it is in Open Service Mesh's form
	byEnvoy          bool             // it is in that form, and an Envoy of the template answers it
	holder           *holder          // carries the original; nil if there is none
	entry            *prober.Original // the original as the holder has it; nil without a holder
	lost             bool             // a mesh's own tool has rewritten it, and the template does not have its original
	made             int              // the port that the kind's controller gives the probe; 0 if it leaves it
	port             int              // of original, resolved; 0 if it has none
	portErr          error            // why it has none
}

// atStart reports whether containers that start later wait for the probe or hook, or the
// kubelet restarts its own container because of it before they have started.
func (s *site) atStart() bool {
	return s.gates() || s.at.Init && s.name == prober.Liveness
}

// gates reports whether the containers after that of the probe or hook wait for it.
func (s *site) gates() bool {
	return s.name == prober.PostStart || s.at.Init && s.name == prober.Startup
}

// needsStart reports whether the probe or hook depends on what happens while init containers
// start, since it gates them.
func (s *site) needsStart() bool {
	return s.at.Init && s.gates()
}

// neverWorks reports whether nobody makes the probe or hook of a kind: the API server allows
// none on an init container that ends, and the kubelet has no hooks but httpGet that dial.
func (s *site) neverWorks(kind string) bool {
	return s.at.Init && !pod.IsSidecar(s.at, s.container) ||
		s.name.IsHook() && kind != pod.KindHTTPGet
}

// noun returns what s is: "probe" or "hook".
func (s *site) noun() string {
	if s.name.IsHook() {
		return "hook"
	}
	return "probe"
}

// isTCPHook reports whether s is a tcpSocket hook, which the kubelet does not run. Istio's injector
// makes an httpGet hook of it (since Istio 1.25, pkg/kube/inject/app_probe.go).
func (s *site) isTCPHook() bool {
	isRun := !s.at.Init || pod.IsSidecar(s.at, s.container)
	return s.name.IsHook() && s.original.TCPSocket != nil && isRun
}

// containers returns the containers of the template that we did not add.
func (t *template) containers() iter.Seq2[pod.Ref, *pod.Container] {
	return func(yield func(pod.Ref, *pod.Container) bool) {
		for at, c := range t.in.Template.Spec.All() {
			if !t.isOurs(at) && !yield(at, c) {
				return
			}
		}
	}
}

// sitesOf returns the probes and hooks that a container of a pod spec has.
func sitesOf(spec field.Path, at pod.Ref, c *pod.Container) []*site {
	var sites []*site
	container := spec.Item(at.List(), at.Index)
	add := func(name prober.ProbeType, current *pod.Handler, timeout int, keys ...string) {
		s := &site{at: at, container: c, name: name, timeout: timeout, current: current}
		s.key = prober.Key(c.Name, name)
		s.path = container.Key(keys...)
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
func (s *site) dialed() int {
	if s.made != 0 {
		return s.made
	}
	n, _ := s.current.Resolve(s.container)
	return n
}

func (s *site) isHTTPS() bool {
	return s.original.HTTPGet != nil && s.original.HTTPGet.Scheme == "HTTPS"
}

// before returns a field of the original, as it was written if that is known.
func (s *site) before(key string) (v field.Value, had bool) {
	if s.form != nil {
		return s.form.Get(key)
	}
	return s.original.Value().Get(key)
}

// isDangling reports whether a probe looks rewritten and was not recognised.
func (s *site) isDangling() bool {
	h := s.current.HTTPGet
	if h == nil || s.alreadyRewritten {
		return s.lost
	}
	_, _, ok := prober.ParseKey(h.Path)
	return s.lost || ok || isInjected(h) && !s.byEnvoy
}

// has reports whether a probe, as it was read, is an original. Headers and the
// timeout are not compared: rewriting leaves them in the probe.
func (s *site) has(original *prober.Original) bool {
	n := s.dialed()
	if s.current.Kind() == "" || n == 0 {
		return false
	}
	want := pod.HandlerOf(original, &pod.HTTPGet{})
	_, host := s.current.Endpoint()
	wantPort, wantHost := want.Endpoint()
	return host == wantHost &&
		reflect.DeepEqual(s.current.Entry(field.Number(n)), want.Entry(*wantPort))
}

// in returns the path of a field of the original's handler.
func (s *site) in(keys ...string) field.Path {
	return s.path.Key(slices.Concat([]string{s.original.Kind()}, keys)...)
}

const danglingText = "it looks rewritten, but no container of the pod stores its original"

// rewritten returns what the handler becomes: an httpGet of a path that names its container
// and type, on one port for all. It is what Istio's injector makes of it.
func (s *site) rewritten(port int) *pod.HTTPGet {
	h := &pod.HTTPGet{Path: s.key, Port: field.Number(port)}
	if o := s.original.HTTPGet; o != nil {
		h.Scheme, h.HTTPHeaders = o.Scheme, o.HTTPHeaders
		if s.isHTTPS() {
			h.Scheme = "HTTP"
		}
	}
	return h
}

// prober returns the env var's entry for the original of the probe.
func (s *site) prober() *prober.Original {
	p := s.original.Entry(field.Number(s.port))
	p.TimeoutSeconds = s.timeout
	return p
}

// originalsOf returns the env var's entries for the originals of probes.
func originalsOf(sites []*site) map[string]*prober.Original {
	entries := make(map[string]*prober.Original, len(sites))
	for _, s := range sites {
		entries[s.key] = s.prober()
	}
	return entries
}
