package transformer

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// headersField is the list of headers in an httpGet.
const headersField = "httpHeaders"

// handlerFields are the fields of each handler that the planner carries over
// or keeps, and under the key "" those of the probe or hook around it. A
// handler with any other field is never rewritten: the answerer would not make
// the request that the kubelet would have made.
var handlerFields = map[string][]string{
	"": {
		kindExec, kindHTTPGet, kindTCPSocket, kindGRPC, kindSleep,
		"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold", "terminationGracePeriodSeconds",
	},
	kindHTTPGet:   {"path", "port", "host", "scheme", headersField, "protocol"},
	kindTCPSocket: {"port", "host"},
	kindGRPC:      {"port", "service", "mode"},
	headersField:  {"name", "value"},
}

// hasUnknown leaves a probe or hook alone, and returns true, if it has a field
// or a value that the planner does not know.
func (b *planBuilder) hasUnknown(s *handlerSite) bool {
	path, known := unknownField(s.source, "")
	for _, kind := range []string{kindHTTPGet, kindTCPSocket, kindGRPC} {
		if path != nil {
			break
		}
		handler, _ := s.source.Get(kind)
		if path, known = unknownField(handler, kind); path != nil {
			path = field.NewPath(kind).Join(path)
		}
	}
	if path != nil {
		b.skip(s, "handler-unknown", s.path.Join(path), "is a field that this version does not know (it knows %s), so the probe is left alone", strings.Join(known, ", "))
		return true
	}
	const allowed = "%q must be %s or %s"
	grpc, http := s.original.GRPC, s.original.HTTPGet
	switch {
	case grpc != nil && grpc.Mode != "" && grpc.Mode != prober.GRPCPlaintext && grpc.Mode != prober.GRPCTLS:
		b.skip(s, "handler-unknown", s.path.Key(kindGRPC, "mode"), allowed, grpc.Mode, prober.GRPCPlaintext, prober.GRPCTLS)
	case http != nil && http.Protocol != "" && http.Protocol != prober.HTTP1 && http.Protocol != prober.HTTP2:
		b.skip(s, "handler-unknown", s.path.Key(kindHTTPGet, "protocol"), allowed, http.Protocol, prober.HTTP1, prober.HTTP2)
	case http != nil && http.Protocol == prober.HTTP2 && text(http.Scheme) == "HTTPS":
		b.skip(s, "handler-unknown", s.path.Key(kindHTTPGet, "protocol"), "%q needs the scheme HTTP, and the API server refuses it with HTTPS", prober.HTTP2)
	default:
		return false
	}
	return true
}

// unknownField returns the path, from v on, of the first field that is not in
// handlerFields under key, and the fields that are; nil if all are known. A
// null field counts as absent.
func unknownField(v field.Value, key string) (field.Path, []string) {
	m, _ := v.(field.Map)
	for _, e := range m {
		if e.Value != nil && !slices.Contains(handlerFields[key], e.Key) {
			return field.NewPath(e.Key), handlerFields[key]
		}
		headers, _ := e.Value.(field.List)
		for i, header := range headers {
			if e.Key != headersField {
				break
			}
			if p, known := unknownField(header, headersField); p != nil {
				return field.Path{}.Item(e.Key, i).Join(p), known
			}
		}
	}
	return nil, nil
}

// newerThanProxies returns the field by which a probe asks for what the
// proxies of the meshes cannot make; "" if there is none. The kubelet ignores
// httpGet.protocol in hooks.
func (s *handlerSite) newerThanProxies() string {
	switch o := s.original; {
	case o.GRPC != nil && o.GRPC.Mode == prober.GRPCTLS:
		return "grpc.mode"
	case o.HTTPGet != nil && o.HTTPGet.Protocol == prober.HTTP2 && !s.name.IsHook():
		return "httpGet.protocol"
	}
	return ""
}

// skipNewer leaves the probes alone that the mesh's proxy is to make
// and cannot.
func (b *planBuilder) skipNewer(sites []*handlerSite) {
	for _, s := range sites {
		if newer := s.newerThanProxies(); newer != "" && !b.answeredByUs(s) {
			kind, _ := s.original.kind()
			b.skip(s, "proxy-cannot-answer", s.path.Key(kind), "has `%s`, which %s does not know; probe-proxy makes such a probe (`answeredBy: %s`)", newer, b.mesh.answerer.who, AnsweredByProbeProxy)
		}
	}
}
