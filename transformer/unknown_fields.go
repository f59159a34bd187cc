package transformer

import (
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// hasUnknown leaves a probe or hook alone, and returns true, if it has a field
// or a value that the planner does not know.
func (b *planBuilder) hasUnknown(s *handlerSite) bool {
	if path, known := pod.UnknownField(s.source); path != nil {
		b.skip(s, "handler-unknown", s.path.Join(path), "is a field that this version does not know (it knows %s), so the probe is left alone", strings.Join(known, ", "))
		return true
	}
	kind := s.original.Kind()
	name, problem := s.original.Unsupported()
	if kind == "" || name == "" {
		return false
	}
	b.skip(s, "handler-unknown", s.path.Key(kind, name), "%s", problem)
	return true
}

// skipNewer leaves alone the probes that the mesh's proxy would have to make but
// does not support.
func (b *planBuilder) skipNewer() {
	if b.answeredByUs() {
		return
	}
	for _, s := range b.sites {
		if newer := s.original.Newer(s.name.IsHook()); s.reason == "" && newer != "" {
			kind := s.original.Kind()
			b.skip(s, "proxy-cannot-answer", s.path.Key(kind), "has `%s.%s`, which %s does not know; probe-proxy makes such a probe (`answeredBy: %s`)", kind, newer, b.inspection.answerer.who, AnsweredByProbeProxy)
		}
	}
}
