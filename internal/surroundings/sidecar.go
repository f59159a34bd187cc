package surroundings

import (
	"fmt"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A Sidecar is Istio's configuration of the proxies of pods (networking.istio.io), as far as it says
// where apps listen.
type Sidecar struct {
	Name, Namespace string
	MatchLabels     field.KeyValues
	Endpoints       map[int]string // where Envoy sends what comes to a port: "127.0.0.1:8080"
	At              fmt.Stringer   // "file:line"
}

// ListensLocally returns the Sidecar that has Envoy send what comes to a port of pods to the same
// port of 127.0.0.1, so that the app may listen nowhere else; "" if there is none. An app that listens
// on all addresses is there too, so a Sidecar that only may be about the pods counts.
func (s *Surroundings) ListensLocally(pods *Pods, port int) (sidecar string) {
	local := fmt.Sprintf("127.0.0.1:%d", port)
	for _, c := range listed(s.Sidecars) {
		if c.Endpoints[port] == local && pods.selects(c.MatchLabels) != certain.Never {
			return objectAt("Sidecar", c.Namespace, c.Name, c.At)
		}
	}
	return ""
}

// HasSidecars reports whether a Sidecar with an ingress is in the namespace.
func (s *Surroundings) HasSidecars() bool { return len(listed(s.Sidecars)) > 0 }
