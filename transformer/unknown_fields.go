package transformer

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// headersField is the list of headers in an httpGet.
const headersField = "httpHeaders"

// A handler with a field that is not known is never rewritten: the answerer
// would not make the request that the kubelet would have made. The fields of
// each type of handler are in handlerTypes.
var (
	probeFields = slices.Concat(fieldsOf[Handler](), []string{
		"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold", "terminationGracePeriodSeconds",
	})
	headerFields = fieldsOf[HTTPHeader]()
)

// hasUnknown leaves a probe or hook alone, and returns true, if it has a field
// or a value that the planner does not know.
func (b *planBuilder) hasUnknown(s *handlerSite) bool {
	if path, known := unknownField(s.source); path != nil {
		b.skip(s, "handler-unknown", s.path.Join(path), "is a field that this version does not know (it knows %s), so the probe is left alone", strings.Join(known, ", "))
		return true
	}
	kind := s.original.Kind()
	name, problem := s.original.unsupported()
	if kind == "" || name == "" {
		return false
	}
	b.skip(s, "handler-unknown", s.path.Key(kind, name), "%s", problem)
	return true
}

// unknownField returns the path of the first field of a probe or hook that is
// not known, and the fields that are known there; nil if all are known.
func unknownField(probe field.Map) (path field.Path, known []string) {
	if key := keyNotIn(probe, probeFields); key != "" {
		return field.NewPath(key), probeFields
	}
	for i := range handlerTypes {
		t := &handlerTypes[i]
		handler := field.As[field.Map](probe, t.name)
		if t.fields == nil {
			continue
		}
		if key := keyNotIn(handler, t.fields); key != "" {
			return field.NewPath(t.name, key), t.fields
		}
		for i, v := range field.As[field.List](handler, headersField) {
			header, _ := v.(field.Map)
			if key := keyNotIn(header, headerFields); key != "" {
				return field.NewPath(t.name).Item(headersField, i).Key(key), headerFields
			}
		}
	}
	return nil, nil
}

// keyNotIn returns the first key of m that is not among the known ones; "" if
// all are. A null field counts as absent.
func keyNotIn(m field.Map, known []string) string {
	for _, e := range m {
		if e.Value != nil && !slices.Contains(known, e.Key) {
			return e.Key
		}
	}
	return ""
}

// skipNewer leaves alone the probes that the mesh's proxy would have to make but
// does not support.
func (b *planBuilder) skipNewer() {
	if b.answeredByUs() {
		return
	}
	for _, s := range b.sites {
		if newer := s.original.newer(s.name.IsHook()); s.reason == "" && newer != "" {
			kind := s.original.Kind()
			b.skip(s, "proxy-cannot-answer", s.path.Key(kind), "has `%s.%s`, which %s does not know; probe-proxy makes such a probe (`answeredBy: %s`)", kind, newer, b.inspection.answerer.who, AnsweredByProbeProxy)
		}
	}
}
