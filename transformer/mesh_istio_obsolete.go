package transformer

import (
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// What Istio's first authentication API was, of which Istio 1.6 reads nothing any more. A Service's
// annotation auth.istio.io/8080: NONE took its port out of mutual TLS, often for the sake of a probe.
const (
	oldAuthGroup  = "authentication.istio.io"
	oldAuthPrefix = "auth.istio.io/"
)

// MayBeObsolete reports whether [Obsolete] may find anything in an object of a kind, whose text may mention strings.
func MayBeObsolete(group, kind string, mayMention func(...string) bool) bool {
	switch kind {
	case "Policy", "MeshPolicy":
		return group == oldAuthGroup
	case "Service":
		return group == "" && mayMention(oldAuthPrefix)
	}
	return false
}

// Obsolete says that Istio ignores an object that [MayBeObsolete], or an annotation or label of one, which somebody may
// believe to keep mutual TLS from the probes.
func Obsolete(kind string, meta *field.Metadata) (found []Finding) {
	if kind != "Service" {
		return []Finding{NewFinding(reason.ObsoleteIstio, nil, "Istio 1.6 and later ignore this %s", kind).
			Fix("Replace it with a PeerAuthentication for mutual TLS, or a RequestAuthentication for tokens")}
	}
	path := field.NewPath("metadata")
	for _, x := range []struct {
		kind    string
		entries field.KeyValues
	}{{"annotations", meta.Annotations}, {"labels", meta.Labels}} {
		for _, e := range x.entries {
			if port, isOld := strings.CutPrefix(e.Key, oldAuthPrefix); isOld {
				found = append(found, obsoletePort(path.Key(x.kind, e.Key), e.Value, port))
			}
		}
	}
	return found
}

// obsoletePort returns the finding about an entry of a Service for a port.
func obsoletePort(path field.Path, value, port string) Finding {
	f := NewFinding(reason.ObsoleteIstio, path, "Istio 1.6 and later ignore `%s: %s`", oldAuthPrefix+port, value).
		Why("The port has the mesh's mutual TLS")
	f.Current = value
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		port = "PORT"
	}
	return f.Fix("Delete it. For callers other than probes, write a PeerAuthentication with a `selector` and `portLevelMtls: {%s: {mode: PERMISSIVE}}`", port)
}
