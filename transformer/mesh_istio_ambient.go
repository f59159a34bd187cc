package transformer

import (
	"net/netip"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// ambientKubelet is the address from which Istio's CNI agent has the kubelet's connections to
// pods in ambient mode come (HOST_PROBE_SNAT_IP in Istio's cni/pkg/config).
var ambientKubelet = netip.MustParseAddr("169.254.7.127")

// checkNetworkPolicies warns of the first probe of a pod in ambient mode that a NetworkPolicy keeps
// from its port.
func (v *view) checkNetworkPolicies(report func(Finding)) {
	if v.in.Template.Spec.HostNetwork {
		return
	}
	for _, s := range v.sites {
		if s.dialed() == 0 {
			continue
		}
		policy := v.in.Around.ShutBy(ambientKubelet, v.pods(), s.dialed())
		if policy == "" {
			continue
		}
		report(containerFinding(reason.AmbientNetworkPolicy, s.path, s.container.Name,
			"%s does not let the kubelet's probes in to port %d", policy, s.dialed()).
			Why("In ambient mode they come from %s", ambientKubelet).
			Fix("Add `from: [{ipBlock: {cidr: %s/32}}]` to a rule", ambientKubelet))
		return
	}
}
