package pipeline

import (
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// deadAnnotation is the prefix of the annotations of a Service by which Istio before 1.6
// switched mutual TLS off for a port: auth.istio.io/8080: NONE.
const deadAnnotation = "auth.istio.io/"

const deadWords = "Istio has ignored it since 1.6; rewritten probes need nothing in its place, anything else on a port needs a PeerAuthentication with `portLevelMtls`"

// checkDeadIstio warns of exceptions from mutual TLS that Istio no longer reads.
func (r *run) checkDeadIstio(o *manifest.Object) {
	switch kind := o.Kind(); {
	case (kind == "Policy" || kind == "MeshPolicy") && o.Group() == "authentication.istio.io":
		m := r.addFinding(o, transformer.NewFinding(ReasonDeadIstio, field.NewPath("kind"), "%s of %s: %s", kind, o.APIVersion(), deadWords))
		m.Current, m.Proposed = kind, "PeerAuthentication"
	case kind == "Service" && o.APIVersion() == "v1" && o.MayMention(deadAnnotation):
		m, err := o.Metadata()
		if err != nil {
			return
		}
		for _, a := range m.Annotations {
			if strings.HasPrefix(a.Key, deadAnnotation) {
				at := field.NewPath("metadata", "annotations", a.Key)
				r.addFinding(o, transformer.NewFinding(ReasonDeadIstio, at, deadWords)).Current = a.Value
			}
		}
	}
}
