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
	Object
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
	found := pods.selects(l.MatchLabels)
	for _, x := range l.MatchExpressions {
		v, set := pods.label(x.Key)
		if !set && (pods.Labels == nil || pods.getsLater(x.Key)) {
			found = min(found, certain.Maybe)
			continue
		}
		in := set && slices.Contains(x.Values, v)
		holds := map[string]bool{
			"In":           in,
			"NotIn":        !in,
			"Exists":       set,
			"DoesNotExist": !set,
		}
		found = min(found, certain.Of(holds[x.Operator]))
	}
	return found
}

// admits reports whether the rule lets in an address that no pod has, to a port of pods.
func (r *NetworkRule) admits(from netip.Addr, pods *Pods, port int) bool {
	within := func(cidr string) bool {
		block, err := netip.ParsePrefix(cidr)
		return err == nil && block.Contains(from)
	}
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

// ShutBy returns a NetworkPolicy that certainly selects the pods although none that may select
// them lets an address in to a port of theirs; "" if there is none.
func (s *Surroundings) ShutBy(from netip.Addr, pods *Pods, port int) (policy string) {
	for _, p := range NetworkPolicies.near(s) {
		found := p.PodSelector.selects(pods)
		if found == certain.Never {
			continue
		}
		admits := func(r NetworkRule) bool {
			return r.admits(from, pods, port)
		}
		if slices.ContainsFunc(p.Ingress, admits) {
			return ""
		}
		if found == certain.Always && policy == "" {
			policy = p.words("NetworkPolicy")
		}
	}
	return policy
}
