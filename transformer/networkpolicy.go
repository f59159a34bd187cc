package transformer

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A NetworkPolicy says what may connect to the pods that it selects.
type NetworkPolicy struct {
	Name, Namespace string
	PodSelector     LabelSelector
	Ingress         []NetworkRule
	At              fmt.Stringer // "file:line"
}

// A LabelSelector selects pods by their labels; all if it is empty.
type LabelSelector struct {
	MatchLabels      field.KeyValues           `json:"matchLabels"`
	MatchExpressions []NodeSelectorRequirement `json:"matchExpressions"` // of the pod's labels
}

// A NetworkRule lets peers in to ports; all of them if there are none.
type NetworkRule struct {
	From  []NetworkPeer `json:"from"`
	Ports []struct {
		Protocol string             `json:"protocol"` // "" is TCP
		Port     *field.IntOrString `json:"port"`     // nil stands for all
		EndPort  int64              `json:"endPort"`
	} `json:"ports"`
}

// A NetworkPeer is a block of addresses, or it is pods; then IPBlock is nil.
type NetworkPeer struct {
	IPBlock *struct {
		CIDR   string   `json:"cidr"`
		Except []string `json:"except"`
	} `json:"ipBlock"`
}

// ambientKubelet is the address from which Istio's CNI agent has the kubelet's
// connections to pods in ambient mode come (HOST_PROBE_SNAT_IP).
var ambientKubelet = netip.MustParseAddr("169.254.7.127")

// selects returns whether the selector selects a pod. Nil labels are unknown.
func (l *LabelSelector) selects(labels field.KeyValues) certainty {
	found := selects(l.MatchLabels, labels)
	for _, x := range l.MatchExpressions {
		if labels == nil {
			return min(found, maybe)
		}
		v, set := labels.Lookup(x.Key)
		in := set && slices.Contains(x.Values, v)
		if !map[string]bool{"In": in, "NotIn": !in, "Exists": set, "DoesNotExist": !set}[x.Operator] {
			return never
		}
	}
	return found
}

// admits reports whether the rule lets an address in to a port of a pod. Pods never have
// the address.
func (r *NetworkRule) admits(from netip.Addr, spec *PodSpec, port int) bool {
	within := func(cidr string) bool {
		p, _ := netip.ParsePrefix(cidr) // without an address if it is none
		return p.Contains(from)
	}
	if len(r.From) > 0 && !slices.ContainsFunc(r.From, func(p NetworkPeer) bool {
		return p.IPBlock != nil && within(p.IPBlock.CIDR) && !slices.ContainsFunc(p.IPBlock.Except, within)
	}) {
		return false
	}
	for _, p := range r.Ports {
		switch {
		case cmp.Or(p.Protocol, "TCP") != "TCP":
		case p.Port == nil:
			return true
		case p.Port.IsString:
			to := ServicePort{TargetPort: *p.Port} // a named port means the same in both
			if to.leadsTo(spec, port) {
				return true
			}
		case p.Port.Int <= int64(port) && int64(port) <= max(p.Port.Int, p.EndPort):
			return true
		}
	}
	return len(r.Ports) == 0
}

// shuts returns a NetworkPolicy that selects a pod although none of those that do lets an
// address in to a port of the pod; "" if there is none.
func (s *Surroundings) shuts(from netip.Addr, labels field.KeyValues, spec *PodSpec, port int) (policy string) {
	for _, p := range listed(s.NetworkPolicies) {
		found := p.PodSelector.selects(labels)
		if found == never {
			continue
		}
		if slices.ContainsFunc(p.Ingress, func(r NetworkRule) bool { return r.admits(from, spec, port) }) {
			return ""
		}
		if found == always && policy == "" {
			policy = objectAt("NetworkPolicy", p.Namespace, p.Name, p.At)
		}
	}
	return policy
}

// checkAmbientPolicies warns of the first probe of a pod in ambient mode that a
// NetworkPolicy keeps from its port.
func (b *planBuilder) checkAmbientPolicies() {
	for _, s := range b.sites {
		if s.dialed() == 0 {
			continue
		}
		policy := b.in.Around.shuts(ambientKubelet, b.in.Template.Metadata.Labels, &b.in.Template.Spec, s.dialed())
		if policy == "" {
			continue
		}
		b.addFinding(containerFinding("ambient-network-policy", s.path, s.container.Name,
			"%s does not let in %s, from which the kubelet's probes come in ambient mode, to port %d; a rule must have `from: [{ipBlock: {cidr: %s/32}}]`", policy, ambientKubelet, s.dialed(), ambientKubelet))
		return
	}
}
