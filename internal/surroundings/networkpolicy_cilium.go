package surroundings

import (
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A CiliumPolicy is a CiliumNetworkPolicy or a CiliumClusterwideNetworkPolicy: pkg/policy/api in Cilium has its rules.
type CiliumPolicy struct {
	Neighbour
	Spec  *ciliumRule  `json:"spec"`
	Specs []ciliumRule `json:"specs"`
}

type ciliumRule struct {
	EndpointSelector  *LabelSelector  `json:"endpointSelector"` // nil if the rule is about nodes
	Ingress           []ciliumIngress `json:"ingress"`
	IngressDeny       []ciliumIngress `json:"ingressDeny"`
	EnableDefaultDeny struct {
		Ingress *bool `json:"ingress"`
	} `json:"enableDefaultDeny"`
}

// A ciliumIngress is about peers and ports. Without either it is about nothing.
type ciliumIngress struct {
	FromEndpoints []LabelSelector `json:"fromEndpoints"`
	FromRequires  []LabelSelector `json:"fromRequires"`
	FromCIDR      []string        `json:"fromCIDR"`
	FromCIDRSet   []ciliumCIDR    `json:"fromCIDRSet"`
	FromEntities  []string        `json:"fromEntities"`
	FromGroups    []field.Value   `json:"fromGroups"`
	FromNodes     []field.Value   `json:"fromNodes"`
	ToPorts       []ciliumPorts   `json:"toPorts"`
	ICMPs         []field.Value   `json:"icmps"`
	Authenticated struct {
		Mode string `json:"mode"`
	} `json:"authentication"`
}

type ciliumCIDR struct {
	CIDR     string      `json:"cidr"`
	Except   []string    `json:"except"`
	Ref      string      `json:"cidrGroupRef"`
	Selector field.Value `json:"cidrGroupSelector"`
}

type ciliumPorts struct {
	Ports []struct {
		Port     field.IntOrString `json:"port"`
		EndPort  int64             `json:"endPort"`
		Protocol string            `json:"protocol"`
	} `json:"ports"`
	Rules       field.Value `json:"rules"`
	ServerNames []string    `json:"serverNames"`
	Listener    field.Value `json:"listener"`
}

// gates returns what the policy does: what a rule denies, no rule of any policy allows.
func (p *CiliumPolicy) gates(s *Surroundings, from netip.Addr, pods *Pods, port int) (all []gate) {
	rules := p.Specs
	if p.Spec != nil {
		rules = append([]ciliumRule{*p.Spec}, rules...)
	}
	name, cidr := p.words(p.Kind), "`{fromCIDR: ["+prefixOf(from)+"]}`"
	isWide := p.Kind == "CiliumClusterwideNetworkPolicy"
	for i := range rules {
		r := &rules[i]
		if r.EndpointSelector == nil {
			continue
		}
		selects := ciliumSelects(r.EndpointSelector, s, pods)
		shuts := len(r.Ingress)+len(r.IngressDeny) > 0
		if set := r.EnableDefaultDeny.Ingress; set != nil {
			shuts = *set
		}
		denies := gate{Barrier: Barrier{name, "Take " + from.String() + " out of its `ingressDeny`"}, order: math.Inf(-1), selects: selects}
		allows := gate{Barrier: Barrier{name, "Add " + cidr + " to its `ingress`"}, order: orderOfNetworkPolicies, selects: selects, shuts: shuts}
		for _, x := range r.IngressDeny {
			denies.rules = append(denies.rules, gateRule{deny, x.isAbout(from, pods, port, isWide)})
		}
		for _, x := range r.Ingress {
			allows.rules = append(allows.rules, gateRule{allow, x.isAbout(from, pods, port, isWide)})
		}
		all = append(all, denies, allows)
	}
	return all
}

// isAbout returns whether the rule is about connections of an address that Cilium knows nothing of. isWide says that an empty
// selector is about more than the pods of a namespace.
func (r *ciliumIngress) isAbout(from netip.Addr, pods *Pods, port int, isWide bool) certain.Certainty {
	isOpen := func(l LabelSelector) bool { return mayBeOutside(&l, isWide) }
	is := r.isFrom(from)
	if slices.ContainsFunc(r.FromEndpoints, isOpen) {
		is = max(is, certain.Maybe)
	}
	if mode := r.Authenticated.Mode; mode != "" && mode != "disabled" {
		is = min(is, certain.Maybe)
	}
	return min(is, r.hasPort(pods, port))
}

func (r *ciliumIngress) isFrom(from netip.Addr) certain.Certainty {
	within := func(cidr string) bool { return contains(cidr, from) }
	is := certain.Of(r.hasNoPeers() && len(r.ToPorts) > 0 || slices.ContainsFunc(r.FromCIDR, within))
	for _, c := range r.FromCIDRSet {
		in := certain.Of(within(c.CIDR) && !slices.ContainsFunc(c.Except, within))
		if c.Ref != "" || c.Selector != nil {
			in = certain.Maybe
		}
		is = max(is, in)
	}
	for _, entity := range r.FromEntities {
		isVersion := entity == "world-ipv4" && from.Is4() || entity == "world-ipv6" && from.Is6()
		is = max(is, certain.Of(entity == "all" || entity == "world" || isVersion))
	}
	if len(r.FromGroups)+len(r.FromRequires) > 0 {
		is = max(is, certain.Maybe)
	}
	return is
}

func (r *ciliumIngress) hasNoPeers() bool {
	named := len(r.FromEndpoints) + len(r.FromRequires) + len(r.FromEntities)
	others := len(r.FromGroups) + len(r.FromNodes) + len(r.FromCIDR) + len(r.FromCIDRSet)
	return named+others == 0
}

// mayBeOutside reports whether a selector of peers may be about what is no pod.
func mayBeOutside(l *LabelSelector, isWide bool) bool {
	isReserved := func(key string) bool { return strings.HasPrefix(key, "reserved") }
	ofLabel := func(m field.KeyValue) bool { return isReserved(m.Key) }
	ofRequirement := func(x Requirement) bool { return isReserved(x.Key) }
	isEmpty := len(l.MatchLabels)+len(l.MatchExpressions) == 0
	return isEmpty && isWide ||
		slices.ContainsFunc(l.MatchLabels, ofLabel) ||
		slices.ContainsFunc(l.MatchExpressions, ofRequirement)
}

func (r *ciliumIngress) hasPort(pods *Pods, port int) certain.Certainty {
	if len(r.ToPorts) == 0 {
		return certain.Of(len(r.ICMPs) == 0)
	}
	has := certain.Never
	for _, to := range r.ToPorts {
		in := certain.Of(len(to.Ports) == 0)
		for _, p := range to.Ports {
			number, err := strconv.Atoi(p.Port.String())
			x := NetworkPort{Protocol: strings.TrimPrefix(p.Protocol, "ANY"), EndPort: p.EndPort}
			switch {
			case err != nil:
				x.Port = &p.Port
			case number != 0: // 0 is all
				x.Port = &field.IntOrString{Int: int64(number)}
			}
			in = max(in, certain.Of(x.has(pods, port)))
		}
		if to.Rules != nil || len(to.ServerNames) > 0 || to.Listener != nil {
			in = min(in, certain.Maybe)
		}
		has = max(has, in)
	}
	return has
}

// ciliumSelects returns whether a selector selects pods by the labels that Cilium gives them.
func ciliumSelects(l *LabelSelector, s *Surroundings, pods *Pods) certain.Certainty {
	look := func(key string) (string, certain.Certainty) {
		if source, rest, sourced := strings.Cut(key, ":"); sourced {
			if source != "k8s" && source != "any" {
				return "", certain.Never
			}
			key = rest
		}
		label, ofNamespace := strings.CutPrefix(key, "io.cilium.k8s.namespace.labels.")
		switch {
		case ofNamespace:
			return lookNamespace(s, pods, label)
		case key == "io.kubernetes.pod.namespace":
			return lookNamespace(s, pods, "kubernetes.io/metadata.name")
		case strings.HasPrefix(key, "io.cilium."):
			return "", certain.Maybe
		}
		return pods.look(key)
	}
	all := slices.Clone(l.MatchExpressions)
	for _, m := range l.MatchLabels {
		all = append(all, Requirement{m.Key, "In", []string{m.Value}})
	}
	return meet(all, look)
}

// lookNamespace returns the value of a label of the pods' Namespace, and whether it has it.
func lookNamespace(s *Surroundings, pods *Pods, key string) (string, certain.Certainty) {
	m, known := s.Namespaced()
	value, set := m.Labels.Lookup(key)
	switch {
	case key == "kubernetes.io/metadata.name":
		return pods.Namespace, max(certain.Maybe, certain.Of(pods.Namespace != ""))
	case !known:
		return "", certain.Maybe
	}
	return value, certain.Of(set)
}
