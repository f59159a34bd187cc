package transformer

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// osmFormFlag has probe-proxy answer requests in Open Service Mesh's form too.
const osmFormFlag = "--form=osm"

// envoyName is the name of Open Service Mesh's proxy, and of one that is configured by hand.
const envoyName = "envoy"

// answersOSM reports whether a container is a probe-proxy that answers Open Service Mesh's form.
func answersOSM(c *pod.Container) bool {
	if slices.Contains(c.Args, osmFormFlag) {
		return true
	}
	i := slices.Index(c.Args, "--form")
	return i >= 0 &&
		i+1 < len(c.Args) &&
		c.Args[i+1] == "osm"
}

// osmOriginal returns the original of a probe in Open Service Mesh's form that h carries, and its
// key; nil if there is none. What the request has of the original must still be so: the port in
// the header, or the path of what is passed on as TLS.
func (h *holder) osmOriginal(s *site, route prober.OSMRoute, names []string) (key string, p *prober.Original) {
	for _, key := range append([]string{s.key}, slices.Sorted(maps.Keys(h.routes))...) {
		container, of, _ := prober.ParseKey(key)
		isOwn := key == s.key || of == s.name && !slices.Contains(names, container)
		p := h.originals[key]
		if !isOwn || !slices.Contains(h.routes[key], route) {
			continue
		}
		if !route.IsTLS() ||
			cmp.Or(s.current.HTTPGet.Path, "/") == p.HTTPGet.Path {
			return key, p
		}
	}
	return "", nil
}

// inOSMForm returns the request to a route of Open Service Mesh's form that replaces the probe.
// It keeps the headers and, where TLS is passed on to the app, the path.
func (s *site) inOSMForm(r prober.OSMRoute) *pod.HTTPGet {
	h := &pod.HTTPGet{Path: r.Path, Port: field.Number(r.Port)}
	switch o := s.original.HTTPGet; {
	case o == nil:
		h.Scheme = "HTTP"
		h.HTTPHeaders = []pod.HTTPHeader{{Name: prober.OSMPortHeader, Value: strconv.Itoa(s.port)}}
	case r.IsTLS():
		h.Path, h.Scheme, h.HTTPHeaders = o.Path, o.Scheme, o.HTTPHeaders
	default:
		h.Scheme, h.HTTPHeaders = o.Scheme, o.HTTPHeaders
	}
	return h
}

// isByEnvoy reports whether an Envoy of the template answers a probe that was not recognised: the
// probe is in Open Service Mesh's form, as its injector or a hand-written manifest has it.
func (r *reader) isByEnvoy(s *site) bool {
	if _, inForm := prober.OSMRouteOf(s.current.HTTPGet); !inForm {
		return false
	}
	isEnvoy := func(c *pod.Container) bool { return c.Name == envoyName }
	if _, envoy := r.proxyOf(isEnvoy); envoy == nil {
		return false
	}
	isProbeProxy := func(h *holder) bool {
		return h.routes != nil && !h.isAnnotation()
	}
	return !slices.ContainsFunc(r.holders, isProbeProxy)
}
