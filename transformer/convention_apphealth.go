package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// appHealth is Istio's convention: every rewritten probe becomes an httpGet of
// a path that names its container and type, on one port, and one env var
// carries the originals. It can express every handler that opens a connection.
type appHealth struct{}

var appHealthConvention = &convention{format: prober.Istio, byPath: true, conventionRules: appHealth{}}

func (appHealth) skipUnsupported(*planBuilder, []*handlerSite) {}

func (appHealth) assign(s *handlerSite, _ []*handlerSite, a answerer) *HTTPGet {
	h := &HTTPGet{Path: s.key, Port: field.Number(a.port)}
	if o := s.original.HTTPGet; o != nil {
		h.Scheme, h.HTTPHeaders = o.Scheme, o.HTTPHeaders
		if o.Scheme == "HTTPS" {
			h.Scheme = "HTTP"
		}
	}
	return h
}

func (appHealth) looksRewritten(h *HTTPGet) bool {
	_, _, ok := prober.ParseKey(h.Path)
	return ok
}

func (appHealth) unrewritten(h *HTTPGet) *HTTPGet { return h }

func (appHealth) key(s *handlerSite) string { return s.key }

// original: a path belongs to the probe that it names. If it names a container
// that the pod does not have, it belongs to the probe that has the path: a renamed
// container keeps the paths of its old name.
func (appHealth) original(originals map[string]*prober.Prober, s *handlerSite, names []string) (string, *prober.Prober) {
	path := s.current.HTTPGet.Path
	container, _, _ := prober.ParseKey(path)
	if path != s.key && slices.Contains(names, container) {
		return "", nil
	}
	return path, originals[path]
}
