package transformer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// osm is the convention of Open Service Mesh (osm, main of July 2023): a
// listener for each type of probe. An httpGet probe of scheme HTTP goes to the
// listener's own path, one of scheme HTTPS keeps its path and is passed
// through, and every tcpSocket probe becomes an httpGet of one path, with the
// port in a header. There is no form for grpc and for hooks.
type osm struct{}

// The annotations of Open Service Mesh.
const (
	osmInjection    = "openservicemesh.io/sidecar-injection"
	osmExcludePorts = "openservicemesh.io/inbound-port-exclusion-list"
)

// osmOriginals is an annotation of ours: what the ConfigMap beside the
// workload tells Envoy, in the form of the env var.
const osmOriginals = "rewrite-probes.io/osm-probers"

// osmHealthcheckName is the name of probe-proxy where Envoy answers all but
// tcpSocket, as OSM names the container that does the same.
const osmHealthcheckName = "osm-healthcheck"

const osmProxyName = "envoy"

// osmReserved are the ports of the mesh's own proxy: admin, outbound, inbound
// and metrics.
var osmReserved = []int{15000, 15001, 15003, 15010}

// osmPorts are the ports of rewritten probes, which the mesh never captures.
var osmPorts = prober.OSMPorts()

func (osm) answerers() []string {
	return []string{AnsweredByAuto, AnsweredByProbeProxy, AnsweredByEnvoy}
}

func (osm) checkPort(port int) error {
	if port != prober.DefaultPort {
		return fmt.Errorf("port %d must not be given in the dialect osm, whose ports are fixed: %s", port, joinPorts(osmPorts))
	}
	return nil
}

func (osm) ports(answerer) []int { return osmPorts }

func (osm) healthPort(*Options) int { return prober.OSMHealthcheckPort }

// args: the name of the env var tells probe-proxy the dialect.
func (osm) args(*Options) field.List { return nil }

func (osm) proxyID() int64 { return prober.OSMProxyID }

func (osm) isProxy(c *Container) bool { return c.Name == osmProxyName }

// declare: nobody but probe-proxy answers by the env var, so that no proxy is
// ever declared. Envoy is told by an object of its own.
func (osm) declare() field.Map { return nil }

func (osm) privileged(field.KeyValues) bool { return false }

func (d osm) survey(w *work) mesh {
	ports, _, _ := listedPorts(w.annotations(), osmExcludePorts)
	d.checkPortList(w)
	who := AnsweredByProbeProxy
	if w.p.opts.AnsweredBy == AnsweredByEnvoy {
		who = AnsweredByEnvoy
	}
	optOut := d.optOut(w)
	return mesh{
		answerer:     answerer{who, prober.OSMHealthcheckPort},
		present:      d.isPresent(w),
		optOut:       optOut,
		passesProbes: optOut != nil,
		captures: func(port int) bool {
			return !slices.Contains(osmReserved, port) && !slices.Contains(osmPorts, port) && !slices.Contains(ports, port)
		},
		warnings: d.warnings(w),
	}
}

func (d osm) isPresent(w *work) bool {
	found := false
	containers(&w.in.Template.Spec, func(_ place, c *Container) { found = found || d.isProxy(c) })
	return found
}

// osmSwitch reads an annotation that switches injection, in the words that
// the mesh's injector takes; set is false for any other.
func osmSwitch(annotations field.KeyValues) (on, set bool) {
	switch strings.ToLower(annotations.Get(osmInjection)) {
	case "enabled", "yes", "true":
		return true, true
	case "disabled", "no", "false":
		return false, true
	}
	return false, false
}

// optOut finds what keeps the mesh out of the pod. A template that holds the
// proxy already has its injection switched off for that reason.
func (d osm) optOut(w *work) *Finding {
	if d.isPresent(w) {
		return nil
	}
	const what = "the mesh does not capture this pod"
	on, set := osmSwitch(w.annotations())
	if set && !on {
		f := w.annotationFinding("injection-off", osmInjection, "switches injection off, so "+what)
		return &f
	}
	if ns := w.in.Namespace; !set && ns != nil {
		if on, set := osmSwitch(ns.Annotations); set && !on {
			f := w.finding("namespace-not-injected", nil, "", "Namespace %q has the annotation `%s: %s`, so %s", ns.Name, osmInjection, ns.Annotations.Get(osmInjection), what)
			return &f
		}
	}
	return nil
}

// warnings tells of the mesh's injector: it knows no rewritten probe, and
// would send this one to itself.
func (osm) warnings(w *work) []Finding {
	const what = "OSM's own injector rewrites probes too, knows no rewritten ones and sends them to themselves; leave this object to the injector (`rewrite-probes.io/rewrite: \"false\"`), or switch the injection off"
	on, set := osmSwitch(w.annotations())
	if on {
		return []Finding{w.annotationFinding("osm-injector", osmInjection, "has the proxy injected, and "+what)}
	}
	if ns := w.in.Namespace; !set && ns != nil {
		if on, _ := osmSwitch(ns.Annotations); on {
			return []Finding{w.finding("osm-injector", nil, "", "Namespace %q has the annotation `%s: %s`, and %s", ns.Name, osmInjection, ns.Annotations.Get(osmInjection), what)}
		}
	}
	return nil
}

func (osm) checkPortList(w *work) {
	v, set := w.annotations().Lookup(osmExcludePorts)
	for item := range strings.SplitSeq(v, ",") {
		if n, err := strconv.Atoi(strings.TrimSpace(item)); set && (err != nil || n < 1 || n > 65535) {
			w.say(w.annotationFinding("port-list-invalid", osmExcludePorts, "must be ports joined by commas, and %q is none", item))
			return
		}
	}
}

// limit: one listener for each type passes TLS on to one port, since nothing
// in a stream of the kubelet's tells for which container it is.
func (osm) limit(w *work, slots []*slot) {
	first := make(map[prober.Slot]*slot)
	for _, s := range slots {
		kind, _ := s.original.kind()
		switch {
		case s.name.IsHook() || kind == kindGRPC:
			what := "grpc probe"
			cure := "an exec probe (grpc_health_probe -addr=:" + strconv.Itoa(s.port) + ") works"
			if s.name.IsHook() {
				what, cure = "hook", "an exec hook works"
			}
			w.leave(s, "osm-no-form", s.path.Key(kind), "Open Service Mesh rewrites no %s, so this one fails under strict mTLS; %s, and so does the port in the annotation `%s`", what, cure, osmExcludePorts)
		case w.mesh.answerer.who == AnsweredByEnvoy && s.newerThanProxies() != "":
			w.leaveToProbeProxy(s, "Envoy")
		case !s.isTLS():
		case first[s.name] == nil:
			first[s.name] = s
		case first[s.name].port != s.port:
			f := first[s.name]
			w.leave(s, "osm-one-https", s.path.Key(kind), "port %d already passes TLS on to port %d, for container %q, and streams to another port cannot be told apart; this probe must go to the same port, or be of scheme HTTP, or exec",
				prober.OSMPort(s.name), f.port, f.container.Name)
		}
	}
}

// isTLS tells whether the probe is one that is passed through.
func (s *slot) isTLS() bool {
	return s.original.HTTPGet != nil && text(s.original.HTTPGet.Scheme) == "HTTPS"
}

func (osm) assign(slots []*slot, _ answerer) []*Handler {
	plain := make(map[prober.Slot]int) // probes that are told apart by path
	for _, s := range slots {
		if s.original.HTTPGet != nil && !s.isTLS() {
			plain[s.name]++
		}
	}
	handlers := make([]*Handler, len(slots))
	for i, s := range slots {
		port := field.IntOrString{Int: int64(prober.OSMPort(s.name))}
		var h HTTPGet
		switch {
		case s.original.TCPSocket != nil:
			h = osmHealthcheck(s.port)
		case s.isTLS():
			h = *s.original.HTTPGet
			h.Port = port
		default:
			h = *s.original.HTTPGet
			h.Protocol = ""
			path := prober.OSMKey(s.name, "")
			if plain[s.name] > 1 {
				path = prober.OSMKey(s.name, s.container.Name)
			}
			h.Path, h.Port = &path, port
		}
		handlers[i] = &Handler{HTTPGet: &h}
	}
	return handlers
}

// osmHealthcheck gives the request that stands for a tcpSocket probe.
func osmHealthcheck(port int) HTTPGet {
	path, scheme := prober.OSMHealthcheckPath, "HTTP"
	return HTTPGet{
		Path: &path, Port: field.IntOrString{Int: prober.OSMHealthcheckPort}, Scheme: &scheme,
		HTTPHeaders: []HTTPHeader{{Name: prober.OSMHealthcheckHeader, Value: strconv.Itoa(port)}},
	}
}

// osmHealthcheckOf reads the port back; ok is false where it is no such
// request.
func osmHealthcheckOf(h *HTTPGet) (port int, ok bool) {
	if text(h.Path) != prober.OSMHealthcheckPath {
		return 0, false
	}
	for _, x := range h.HTTPHeaders {
		if strings.EqualFold(x.Name, prober.OSMHealthcheckHeader) {
			n, err := strconv.Atoi(x.Value)
			return n, err == nil && n > 0 && n <= 65535
		}
	}
	return 0, false
}

func (osm) looksRewritten(h *HTTPGet) bool {
	if _, ok := osmHealthcheckOf(h); ok {
		return true
	}
	_, _, ok := prober.ParseOSMKey(text(h.Path))
	return ok
}

func (osm) envName() string { return prober.OSMEnvName }

func (osm) encode(slots []*slot, a answerer) string {
	return encodeEnv(osmProbers(slots, func(s *slot) bool {
		return a.who != AnsweredByEnvoy || s.original.TCPSocket != nil
	}))
}

// osmProbers gives the entries of the slots that are wanted.
func osmProbers(slots []*slot, want func(*slot) bool) map[string]*prober.Prober {
	probers := make(map[string]*prober.Prober, len(slots))
	for _, s := range slots {
		if !want(s) {
			continue
		}
		key := prober.OSMKey(s.name, s.container.Name)
		if s.original.HTTPGet != nil && !s.isTLS() {
			key = text(s.becomes.HTTPGet.Path)
		}
		probers[key] = s.prober()
	}
	return probers
}

// forEnvoy tells whether Envoy answers the probe.
func forEnvoy(s *slot) bool { return s.original.HTTPGet != nil }

func (osm) decode(c *Container) (map[string]*prober.Prober, bool, error) {
	return decodeEnv(c, prober.OSMEnvName, prober.DecodeOSM)
}

func (osm) parseKey(key string) (string, prober.Slot, bool) { return prober.ParseOSMKey(key) }

// original: the probe's own fields win over its entry, so that a change that
// was made after the rewriting is known.
func (osm) original(originals map[string]*prober.Prober, s *slot, names []string) (string, *prober.Prober) {
	h := s.current.HTTPGet
	if s.name.IsHook() {
		return "", nil
	}
	if port, ok := osmHealthcheckOf(h); ok {
		return prober.OSMKey(s.name, s.container.Name), &prober.Prober{TCPSocket: &prober.TCPSocket{Port: prober.Port(port)}}
	}
	if text(h.Scheme) == "HTTPS" {
		return osmPassedThrough(originals, s)
	}
	path := text(h.Path)
	container, slot, ok := prober.ParseOSMKey(path)
	if !ok || slot != s.name || container != "" && container != s.container.Name && slices.Contains(names, container) {
		return "", nil
	}
	p := originals[path]
	if p == nil || p.HTTPGet == nil || p.HTTPGet.Scheme == "HTTPS" {
		return "", nil
	}
	return path, p
}

// osmPassedThrough returns the original of a probe of scheme HTTPS, whose path
// was kept, so that only its port says that it was rewritten: all of one type
// go to the same port.
func osmPassedThrough(originals map[string]*prober.Prober, s *slot) (string, *prober.Prober) {
	if h := s.current.HTTPGet; h.Port.IsString || h.Port.Int != int64(prober.OSMPort(s.name)) {
		return "", nil
	}
	own := prober.OSMKey(s.name, s.container.Name)
	keys := slices.Sorted(maps.Keys(originals))
	if originals[own] != nil {
		keys = append([]string{own}, keys...)
	}
	for _, key := range keys {
		_, slot, _ := prober.ParseOSMKey(key)
		if p := originals[key]; slot == s.name && p.HTTPGet != nil && p.HTTPGet.Scheme == "HTTPS" {
			path := text(s.current.HTTPGet.Path)
			if path == "" {
				path = "/"
			}
			return key, &prober.Prober{HTTPGet: &prober.HTTPGet{Path: path, Port: p.HTTPGet.Port, Scheme: "HTTPS", Protocol: s.current.HTTPGet.Protocol}}
		}
	}
	return "", nil
}

func (osm) listens(*work, *Container) []int { return osmPorts }

func (osm) undo(annotations field.KeyValues, _ mesh, _ []answerer, _ field.KeyValues) field.KeyValues {
	return annotations.Without(osmOriginals)
}

// annotate: the mesh captures none of the ports, whoever answers there. What
// Envoy is told is noted.
func (osm) annotate(user, _ field.KeyValues, _ mesh, now answerer, slots []*slot) field.KeyValues {
	if now.who == AnsweredByEnvoy {
		if value := prober.Encode(osmProbers(slots, forEnvoy)); value != "" {
			return user.With(osmOriginals, value)
		}
	}
	return user
}

func (osm) annotated(annotations field.KeyValues) (map[string]*prober.Prober, error) {
	value, set := annotations.Lookup(osmOriginals)
	if !set {
		return nil, nil
	}
	originals, bad, err := prober.DecodeOSM(value)
	if err == nil && len(bad) > 0 {
		err = bad[0]
	}
	return originals, err
}

// beside: Envoy is told by a ConfigMap.
func (osm) beside(w *work, slots []*slot) *Beside {
	probers := osmProbers(slots, forEnvoy)
	if w.mesh.answerer.who != AnsweredByEnvoy || len(probers) == 0 {
		return nil
	}
	resources, err := envoyResourcesOf(probers)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return envoyConfigMap(w.in.Kind, w.in.Workload.Name, w.in.NamespaceName, resources)
}
