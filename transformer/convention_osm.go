package transformer

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// osmConvention is the convention of Open Service Mesh (osm, main of July 2023): a
// listener for each type of probe. An httpGet probe of scheme HTTP goes to the
// listener's own path, one of scheme HTTPS keeps its path and is passed
// through, and every tcpSocket probe becomes an httpGet of one path, with the
// port in a header. It cannot express other handlers, nor hooks.
type osmConvention struct{}

// osmPorts are the ports of rewritten probes, which the mesh never captures.
var osmPorts = prober.OSMPorts()

var openServiceMeshConvention = &convention{fixedPorts: osmPorts, format: prober.OSM, byPath: true, conventionRules: osmConvention{}}

// skipUnsupported: the listener of each probe type passes TLS on to one port, since
// nothing in the kubelet's stream says which container it is for.
func (osmConvention) skipUnsupported(b *planBuilder, sites []*handlerSite) {
	for _, s := range sites {
		if skipInexpressible(b, s) || !s.isHTTPS() {
			continue
		}
		first := sites[slices.IndexFunc(sites, func(x *handlerSite) bool { return x.name == s.name && x.isHTTPS() })]
		if first.port != s.port {
			b.skip(s, "osm-one-https", s.path.Key(kindHTTPGet), "port %d already passes TLS on to port %d, for container %q, and streams to another port cannot be told apart; this probe must go to the same port, or be of scheme HTTP, or exec",
				prober.OSMPort(s.name), first.port, first.container.Name)
		}
	}
}

// skipInexpressible leaves alone a handler that the conventions of Open Service Mesh
// and its successor cannot express, and reports whether it is one.
func skipInexpressible(b *planBuilder, s *handlerSite) bool {
	kind := s.original.Kind()
	if !s.name.IsHook() && (kind == kindHTTPGet || kind == kindTCPSocket) {
		return false
	}
	what := kind + " probe"
	cure := "an exec probe (grpc_health_probe -addr=:" + strconv.Itoa(s.port) + ") works"
	if s.name.IsHook() {
		what, cure = "hook", "an exec hook works"
	}
	b.skip(s, "osm-no-form", s.path.Key(kind), "%s rewrites no %s, so this one fails under strict mTLS; %s, and so does the port in the annotation `%s`", b.p.mesh.title, what, cure, b.p.mesh.excluded.key)
	return true
}

func (s *handlerSite) isHTTPS() bool {
	return s.original.HTTPGet != nil && s.original.HTTPGet.Scheme == "HTTPS"
}

func (osmConvention) assign(s *handlerSite, sites []*handlerSite, _ answerer) *HTTPGet {
	if s.original.HTTPGet == nil {
		return &HTTPGet{
			Path: prober.OSMHealthcheckPath, Port: field.Number(prober.OSMHealthcheckPort), Scheme: "HTTP",
			HTTPHeaders: []HTTPHeader{{Name: prober.OSMHealthcheckHeader, Value: strconv.Itoa(s.port)}},
		}
	}
	h := *s.original.HTTPGet
	h.Port = field.Number(prober.OSMPort(s.name))
	if s.isHTTPS() {
		return &h
	}
	h.Protocol, h.Path = "", prober.OSMKey("", s.name)
	alike := func(x *handlerSite) bool {
		return x != s && x.name == s.name && x.original.HTTPGet != nil && !x.isHTTPS()
	}
	if slices.ContainsFunc(sites, alike) {
		h.Path = prober.OSMKey(s.container.Name, s.name)
	}
	return &h
}

// osmHealthcheckOf returns the port of a request that replaces a tcpSocket probe; ok is false
// if h is none.
func osmHealthcheckOf(h *HTTPGet) (port field.IntOrString, ok bool) {
	if h.Path != prober.OSMHealthcheckPath {
		return port, false
	}
	return portIn(headerIn(h, prober.OSMHealthcheckHeader))
}

func (osmConvention) looksRewritten(h *HTTPGet) bool {
	if _, ok := osmHealthcheckOf(h); ok {
		return true
	}
	_, _, ok := prober.ParseOSMKey(h.Path)
	return ok
}

func (osmConvention) unrewritten(h *HTTPGet) *HTTPGet { return h }

// key: the path where a probe is answered, if that tells it from others.
func (osmConvention) key(s *handlerSite) string {
	if s.original.HTTPGet != nil && !s.isHTTPS() {
		return s.target.HTTPGet.Path
	}
	return prober.OSMKey(s.container.Name, s.name)
}

// original: the probe's own fields win over its entry, so that later manual edits
// are kept.
func (osmConvention) original(originals map[string]*prober.Prober, s *handlerSite, names []string) (string, *prober.Prober) {
	h := s.current.HTTPGet
	if s.name.IsHook() {
		return "", nil
	}
	if port, ok := osmHealthcheckOf(h); ok {
		return prober.OSMKey(s.container.Name, s.name), &prober.Prober{TCPSocket: &TCPSocket{Port: port}}
	}
	if h.Scheme == "HTTPS" {
		return osmPassedThrough(originals, s)
	}
	path := h.Path
	container, probeType, ok := prober.ParseOSMKey(path)
	if !ok || probeType != s.name || container != s.container.Name && slices.Contains(names, container) {
		return "", nil
	}
	p := originals[path]
	if p == nil || p.HTTPGet == nil || p.HTTPGet.Scheme == "HTTPS" {
		return "", nil
	}
	return path, p
}

// osmPassedThrough returns the original of a probe of scheme HTTPS. Such a probe
// keeps its path, so that only its port says that it was rewritten; all HTTPS probes
// of one type go to the same port.
func osmPassedThrough(originals map[string]*prober.Prober, s *handlerSite) (string, *prober.Prober) {
	if h := s.current.HTTPGet; h.Port.IsString || h.Port.Int != int64(prober.OSMPort(s.name)) {
		return "", nil
	}
	own := prober.OSMKey(s.container.Name, s.name)
	for _, key := range append([]string{own}, slices.Sorted(maps.Keys(originals))...) {
		_, probeType, _ := prober.ParseOSMKey(key)
		if p := originals[key]; p != nil && probeType == s.name && p.HTTPGet != nil && p.HTTPGet.Scheme == "HTTPS" {
			return key, &prober.Prober{HTTPGet: &HTTPGet{Path: cmp.Or(s.current.HTTPGet.Path, "/"), Port: p.HTTPGet.Port, Scheme: "HTTPS", Protocol: s.current.HTTPGet.Protocol}}
		}
	}
	return "", nil
}
