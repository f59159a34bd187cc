package surroundings

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
)

// A Barrier keeps connections away from pods.
type Barrier struct {
	Name string // of the object, and where it is
	Fix  string // what lets the connections in
}

// A gate is what a policy of a network plugin does to connections of one address to one port of pods.
type gate struct {
	Barrier
	tier    string // of Calico; "" is its default one, in which Kubernetes' policies are
	order   float64
	selects certain.Certainty
	shuts   bool       // keeps out what no rule is about, of any policy that selects the pods
	rules   []gateRule // the first that is about the connections decides
}

// A gateRule does something to the connections, if it is about them.
type gateRule struct {
	action action
	is     certain.Certainty
}

type action int

const (
	allow action = iota
	deny
	pass // leaves it to the next tier
)

// A passage is what may become of connections.
type passage struct {
	open, passed bool
	shut         *gate // nil if they are not kept out
}

// ShutBy returns what keeps connections from an address that no pod has away from a port of pods: Always if no rule lets them in,
// Maybe if one does that is not understood. A policy that is not known to select the pods can only let them in.
func (s *Surroundings) ShutBy(from netip.Addr, pods *Pods, port int) (by Barrier, is certain.Certainty) {
	return keptOut(gatesOf(s, from, pods, port))
}

func keptOut(gates []gate) (by Barrier, is certain.Certainty) {
	slices.SortStableFunc(gates, func(a, b gate) int { return cmp.Compare(a.order, b.order) })
	var all passage
	reached := true // the default tier
	for i, g := range gates {
		isFirst := !slices.ContainsFunc(gates[:i], func(o gate) bool { return o.tier == g.tier })
		if g.tier != "" && isFirst {
			p := through(gates, g.tier)
			reached = reached && p.passed
			all.add(p)
		}
	}
	if reached {
		p := through(gates, "")
		p.open = p.open || p.passed // what passes the last tier is let in
		all.add(p)
	}
	switch {
	case all.shut == nil:
		return Barrier{}, certain.Never
	case all.open:
		return all.shut.Barrier, certain.Maybe
	}
	return all.shut.Barrier, certain.Always
}

func (p *passage) add(o passage) {
	p.open = p.open || o.open
	p.shut = cmp.Or(p.shut, o.shut)
}

// through returns what may become of connections at the gates of a tier.
func through(gates []gate, tier string) (p passage) {
	var last *gate
	for i := range gates {
		g := &gates[i]
		if g.tier != tier || g.selects == certain.Never {
			continue
		}
		if p.meet(g) {
			return p
		}
		if last == nil && g.shuts && g.selects == certain.Always {
			last = g
		}
	}
	p.shut = cmp.Or(p.shut, last)
	p.passed = p.passed || last == nil || tier != "" // the default of another tier may be to pass
	return p
}

// meet adds what a gate does, and reports whether it certainly decides.
func (p *passage) meet(g *gate) (decided bool) {
	for _, r := range g.rules {
		sure := r.is == certain.Always
		switch {
		case r.is == certain.Never:
			continue
		case r.action == allow:
			p.open = true
		case g.selects != certain.Always:
			if sure {
				return false
			}
			continue
		case r.action == deny:
			p.shut = cmp.Or(p.shut, g)
		default:
			p.passed = true
		}
		if sure {
			return true
		}
	}
	return false
}

// gatesOf returns those of all policies near.
func gatesOf(s *Surroundings, from netip.Addr, pods *Pods, port int) (all []gate) {
	for _, p := range NetworkPolicies.near(s) {
		all = append(all, p.gate(from, pods, port))
	}
	for _, p := range slices.Concat(CiliumPolicies.near(s), CiliumClusterPolicies.near(s)) {
		all = append(all, p.gates(s, from, pods, port)...)
	}
	for _, p := range slices.Concat(CalicoPolicies.near(s), CalicoGlobalPolicies.near(s)) {
		all = append(all, p.gate(s, from, pods, port))
	}
	return all
}
