package transformer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// earlierPorts are those to which the probes went, and to which the injectors still send them.
var earlierPorts = []int{15901, 15902, 15903, 15904}

// earlierAnnotation had the originals of what an Envoy answered.
const earlierAnnotation = "rewrite-probes.io/osm-probers"

// earlierPaths are the keys of originals and, in OSM, the paths of their probes. The name of the
// container follows, unless it was the only one.
var earlierPaths = map[string]prober.ProbeType{
	"/osm-liveness-probe": prober.Liveness, "/osm-readiness-probe": prober.Readiness, "/osm-startup-probe": prober.Startup,
	"/fsm-liveness-probe": prober.Liveness, "/fsm-readiness-probe": prober.Readiness, "/fsm-startup-probe": prober.Startup,
}

// anyContainer stands in keys for the container that was the only one.
const anyContainer = "*"

// presentKey returns today's key for one of earlier; "" if it is none.
func presentKey(path string) string {
	container := anyContainer
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		path, container = path[:i], path[i+1:]
	}
	if t, ok := earlierPaths[path]; ok {
		return prober.Key(container, t)
	}
	return ""
}

// isHealthcheck reports whether headers say where an earlier request goes.
func isHealthcheck(h *pod.HTTPGet) bool {
	return (h.Path == "/osm-healthcheck" || h.Path == "/fsm-healthcheck") && slices.ContainsFunc(h.HTTPHeaders, isEarlierHeader)
}

func isEarlierHeader(x pod.HTTPHeader) bool {
	return slices.Contains([]string{"original-http-port", "original-http-path", "original-tcp-port"}, strings.ToLower(x.Name))
}

// decodeEarlier returns the originals in an env var or annotation of earlier, by today's keys.
func decodeEarlier(where, text string) (map[string]*prober.Prober, error) {
	var entries map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		return nil, fmt.Errorf("%s must be a JSON object of paths and probers: %w", where, err)
	}
	renamed := make(map[string]json.RawMessage, len(entries))
	for path, entry := range entries {
		renamed[presentKey(path)] = entry
	}
	if _, unknown := renamed[""]; unknown || len(renamed) < len(entries) {
		return nil, fmt.Errorf("%s must have the path of another probe in each entry", where)
	}
	present, _ := json.Marshal(renamed) // what was decoded can be encoded
	return decodeOriginals(string(present))
}

// earlierOriginal returns the original that k carries of a probe in an earlier form, and its
// key; nil if there is none, or it does not fit the request, which then has been edited.
func (k *originalsHolder) earlierOriginal(s *handlerSite) (key string, p *prober.Prober) {
	h := s.current.HTTPGet
	byPath := presentKey(h.Path)
	if k.originals[h.Path] != nil {
		byPath = h.Path // as the messages about edited probes propose
	}
	key = cmp.Or(byPath, s.key)
	p = k.originals[key]
	if p == nil || !s.owns(key) || !k.answersOn(int(h.Port.Int)) {
		return "", nil
	}
	port, _ := pod.HandlerOf(p, h).Endpoint()
	path := ""
	if p.HTTPGet != nil {
		path = p.HTTPGet.Path
	}
	fits := byPath != ""
	switch {
	case isHealthcheck(h):
		at := cmp.Or(pod.HeaderIn(h, "Original-Http-Port"), pod.HeaderIn(h, "Original-Tcp-Port"))
		fits = at == port.String() && pod.HeaderIn(h, "Original-Http-Path") == path
	case h.Scheme == "HTTPS": // it was passed through, by its port alone
		fits = p.HTTPGet != nil && p.HTTPGet.Scheme == "HTTPS" && cmp.Or(h.Path, "/") == path
	}
	if !fits {
		return "", nil
	}
	return key, p
}

// withoutEarlierHeaders returns a request without the headers that an earlier form adds.
func withoutEarlierHeaders(h *pod.HTTPGet) *pod.HTTPGet {
	out := *h
	out.HTTPHeaders = slices.DeleteFunc(slices.Clone(h.HTTPHeaders), isEarlierHeader)
	return &out
}
