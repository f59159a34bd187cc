package pipeline

import (
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/nearby"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// What Istio's first authentication API was, of which Istio 1.6 reads nothing any more. A Service's
// annotation auth.istio.io/8080: NONE took its port out of mutual TLS, often for the sake of a probe.
const (
	oldAuthGroup  = "authentication.istio.io"
	oldAuthPrefix = "auth.istio.io/"
)

// reportObsolete says that Istio ignores an object, or an annotation or label of one, which somebody
// may believe to keep mutual TLS from the probes.
func (r *run) reportObsolete(s *subject) {
	isPolicy := s.Group() == oldAuthGroup &&
		(s.Kind() == "Policy" || s.Kind() == "MeshPolicy")
	isService := s.Kind() == "Service" &&
		s.Group() == "" &&
		s.MayMention(oldAuthPrefix)
	if !isPolicy && !isService {
		return
	}
	meta, err := s.Metadata()
	if err != nil ||
		nearby.IsLocal(meta) ||
		!r.selects(s.Kind(), meta) {
		return
	}
	if isPolicy {
		r.addFinding(s, transformer.NewFinding(reason.ObsoleteIstio, nil, "Istio 1.6 and later ignore this %s", s.Kind()).
			Fix("Replace it with a PeerAuthentication for mutual TLS, or a RequestAuthentication for tokens"))
		return
	}
	path := field.NewPath("metadata")
	for _, x := range []struct {
		kind    string
		entries field.KeyValues
	}{{"annotations", meta.Annotations}, {"labels", meta.Labels}} {
		for _, e := range x.entries {
			if port, isOld := strings.CutPrefix(e.Key, oldAuthPrefix); isOld {
				r.addFinding(s, obsoletePort(path.Key(x.kind, e.Key), e.Value, port))
			}
		}
	}
}

// obsoletePort returns the finding about an entry of a Service for a port.
func obsoletePort(path field.Path, value, port string) transformer.Finding {
	f := transformer.NewFinding(reason.ObsoleteIstio, path, "Istio 1.6 and later ignore `%s: %s`", oldAuthPrefix+port, value).
		Why("The port has the mesh's mutual TLS")
	f.Current = value
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		port = "PORT"
	}
	return f.Fix("Delete it. For callers other than probes, write a PeerAuthentication with a `selector` and `portLevelMtls: {%s: {mode: PERMISSIVE}}`", port)
}
