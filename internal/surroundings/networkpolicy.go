package surroundings

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A NetworkPolicy says what may connect to the pods that it selects.
type NetworkPolicy struct {
	Neighbour
	PodSelector LabelSelector `json:"podSelector"`
	PolicyTypes []string      `json:"policyTypes"`
	Ingress     []NetworkRule `json:"ingress"`
}

// complete reports whether the policy is about what comes in.
func (p *NetworkPolicy) complete() bool {
	return len(p.PolicyTypes) == 0 || slices.Contains(p.PolicyTypes, "Ingress")
}

// A LabelSelector selects pods by their labels; all if it is empty.
type LabelSelector struct {
	MatchLabels      field.KeyValues `json:"matchLabels"`
	MatchExpressions []Requirement   `json:"matchExpressions"`
}

// A Requirement is an expression that labels must meet.
type Requirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"` // In, NotIn, Exists or DoesNotExist
	Values   []string `json:"values"`
}

// A NetworkRule lets peers in to ports; all of them if there are none.
type NetworkRule struct {
	From  []NetworkPeer `json:"from"`
	Ports []NetworkPort `json:"ports"`
}

// A NetworkPort is a port of a pod, or a range of them.
type NetworkPort struct {
	Protocol string             `json:"protocol"` // "" is TCP
	Port     *field.IntOrString `json:"port"`     // nil stands for all
	EndPort  int64              `json:"endPort"`
}

// A NetworkPeer is a block of addresses, or it is pods; then IPBlock is nil.
type NetworkPeer struct {
	IPBlock *struct {
		CIDR   string   `json:"cidr"`
		Except []string `json:"except"`
	} `json:"ipBlock"`
}

// selects returns whether the selector selects pods.
func (l *LabelSelector) selects(pods *Pods) certain.Certainty {
	return min(pods.selects(l.MatchLabels), meet(l.MatchExpressions, pods.look))
}

// look returns the value of a label, and whether the pods have it.
func (p *Pods) look(key string) (value string, set certain.Certainty) {
	value, known := p.label(key)
	if !known && (p.Labels == nil || p.getsLater(key)) {
		return "", certain.Maybe
	}
	return value, certain.Of(known)
}

// meet returns whether labels meet all requirements. look returns one of them.
func meet(all []Requirement, look func(string) (string, certain.Certainty)) certain.Certainty {
	found := certain.Always
	for _, x := range all {
		value, set := look(x.Key)
		in := min(set, certain.Of(slices.Contains(x.Values, value)))
		if set == certain.Maybe {
			in = certain.Maybe
		}
		holds, known := map[string]certain.Certainty{"In": in, "NotIn": -in, "Exists": set, "DoesNotExist": -set}[x.Operator]
		if !known {
			holds = min(certain.Never, found)
		}
		found = min(found, holds)
	}
	return found
}

// admits reports whether the rule lets in an address that no pod has, to a port of pods.
func (r *NetworkRule) admits(from netip.Addr, pods *Pods, port int) bool {
	within := func(cidr string) bool { return contains(cidr, from) }
	isPeer := func(p NetworkPeer) bool {
		return p.IPBlock != nil &&
			within(p.IPBlock.CIDR) &&
			!slices.ContainsFunc(p.IPBlock.Except, within)
	}
	if len(r.From) > 0 && !slices.ContainsFunc(r.From, isPeer) {
		return false
	}
	isPort := func(p NetworkPort) bool { return p.has(pods, port) }
	return len(r.Ports) == 0 || slices.ContainsFunc(r.Ports, isPort)
}

// has reports whether a port of pods is the port, or in its range.
func (p *NetworkPort) has(pods *Pods, port int) bool {
	switch {
	case cmp.Or(p.Protocol, "TCP") != "TCP":
		return false
	case p.Port == nil:
		return true
	case p.Port.IsString:
		named := ServicePort{TargetPort: *p.Port} // a port's name means the same in a Service
		return named.leadsTo(pods.Spec, port)
	}
	return p.Port.Int <= int64(port) &&
		int64(port) <= max(p.Port.Int, p.EndPort)
}

// contains reports whether a network has an address. Cilium and Calico take a single address for one; for an ipBlock, the API
// server refuses that.
func contains(network string, a netip.Addr) bool {
	if single, err := netip.ParseAddr(network); err == nil {
		return single == a
	}
	prefix, err := netip.ParsePrefix(network)
	return err == nil && prefix.Contains(a)
}

// gate returns what the policy does to connections from an address that no pod has.
func (p *NetworkPolicy) gate(from netip.Addr, pods *Pods, port int) gate {
	g := gate{
		Barrier: Barrier{p.words("NetworkPolicy"), "Add `from: [{ipBlock: {cidr: " + prefixOf(from) + "}}]` to a rule"},
		order:   orderOfNetworkPolicies,
		selects: p.PodSelector.selects(pods),
		shuts:   true,
	}
	for _, r := range p.Ingress {
		g.rules = append(g.rules, gateRule{allow, certain.Of(r.admits(from, pods, port))})
	}
	return g
}

// prefixOf returns the network that has only an address.
func prefixOf(a netip.Addr) string { return netip.PrefixFrom(a, a.BitLen()).String() }
