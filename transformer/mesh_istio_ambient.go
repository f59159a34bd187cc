package transformer

import (
	"net/netip"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// ambientKubelet is the address from which Istio's CNI agent has the kubelet's connections to
// pods in ambient mode come (HOST_PROBE_SNAT_IP in Istio's cni/pkg/config).
var ambientKubelet = netip.MustParseAddr("169.254.7.127")

// checkNetworkPolicies warns of the first probe of a pod in ambient mode that a policy of the network keeps, or may keep,
// from its port.
func (v *view) checkNetworkPolicies(report func(Finding)) {
	if v.in.Template.Spec.HostNetwork {
		return
	}
	for _, s := range v.sites {
		if s.dialed() == 0 {
			continue
		}
		by, is := v.in.Around.ShutBy(ambientKubelet, v.pods(), s.dialed())
		if is == certain.Never {
			by, is = surroundings.LinkLocalShutBy(&v.in.Around, v.pods())
		}
		does := "does"
		switch is {
		case certain.Never:
			continue
		case certain.Maybe:
			does = "may"
		}
		report(containerFinding(reason.AmbientNetworkPolicy, s.path, s.container.Name,
			"%s %s not let the kubelet's probes in to port %d", by.Name, does, s.dialed()).
			Why("In ambient mode they come from %s", ambientKubelet).
			Fix("%s", by.Fix))
		return
	}
}
