package surroundings

import "github.com/rewrite-probes/rewrite-probes/internal/certain"

// A SecurityGroupPolicy gives pods on EKS an interface of their own, with security groups of AWS.
type SecurityGroupPolicy struct {
	Neighbour
	PodSelector            *LabelSelector `json:"podSelector"`
	ServiceAccountSelector *LabelSelector `json:"serviceAccountSelector"`
}

// LinkLocalShutBy returns what may keep connections from a link-local address away from pods, whatever port they ask: the VPC CNI
// drops these in its mode strict, since they cannot be routed over that interface (Istio's page on EKS). Its mode is not known.
func LinkLocalShutBy(s *Surroundings, pods *Pods) (by Barrier, is certain.Certainty) {
	for _, p := range SecurityGroupPolicies.near(s) {
		if p.PodSelector != nil && p.ServiceAccountSelector == nil && p.PodSelector.selects(pods) == certain.Always {
			return Barrier{p.words("SecurityGroupPolicy"), "Set `POD_SECURITY_GROUP_ENFORCING_MODE` of the VPC CNI to `standard`"}, certain.Maybe
		}
	}
	return Barrier{}, certain.Never
}
