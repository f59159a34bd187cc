package surroundings

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// orderOfNetworkPolicies is that of Kubernetes' in Calico's default tier (libcalico-go/lib/backend/k8s/conversion).
const orderOfNetworkPolicies = 1000

// A CalicoPolicy is a NetworkPolicy or a GlobalNetworkPolicy of Calico (api/pkg/apis/projectcalico/v3). Its rules are tried in order.
type CalicoPolicy struct {
	Neighbour
	Tier                   string       `json:"tier"`
	Order                  field.Value  `json:"order"` // nil is after all others
	Selector               string       `json:"selector"`
	NamespaceSelector      string       `json:"namespaceSelector"`
	ServiceAccountSelector string       `json:"serviceAccountSelector"`
	Types                  []string     `json:"types"`
	Ingress                []calicoRule `json:"ingress"`
	Egress                 []field.Map  `json:"egress"`
	DoNotTrack             bool         `json:"doNotTrack"` // this, like PreDNAT, is about hosts alone
	PreDNAT                bool         `json:"preDNAT"`
}

// complete reports whether the policy is about what comes in to pods.
func (p *CalicoPolicy) complete() bool {
	isIngress := slices.Contains(p.Types, "Ingress")
	if len(p.Types) == 0 {
		isIngress = len(p.Ingress) > 0 || len(p.Egress) == 0
	}
	return isIngress && !p.DoNotTrack && !p.PreDNAT
}

type calicoRule struct {
	Action      string             `json:"action"`
	IPVersion   int                `json:"ipVersion"`
	Protocol    *field.IntOrString `json:"protocol"`
	NotProtocol *field.IntOrString `json:"notProtocol"`
	HTTP        field.Value        `json:"http"`
	Source      calicoPeer         `json:"source"`
	Destination calicoPeer         `json:"destination"`
}

type calicoPeer struct {
	Nets              []string            `json:"nets"`
	NotNets           []string            `json:"notNets"`
	Selector          string              `json:"selector"`
	NotSelector       string              `json:"notSelector"`
	NamespaceSelector string              `json:"namespaceSelector"`
	ServiceAccounts   field.Value         `json:"serviceAccounts"`
	Services          field.Value         `json:"services"`
	Ports             []field.IntOrString `json:"ports"`
	NotPorts          []field.IntOrString `json:"notPorts"`
}

// A CalicoNetworkSet gives names to networks: a selector of a rule may mean them.
type CalicoNetworkSet struct {
	Neighbour
	Nets []string `json:"nets"`
}

// gate returns what the policy does. Where its tier is among others, and what it does at its end, is not known.
func (p *CalicoPolicy) gate(s *Surroundings, from netip.Addr, pods *Pods, port int) gate {
	rule := "`{action: Allow, source: {nets: [" + prefixOf(from) + "]}}`"
	g := gate{
		Barrier: Barrier{p.words("Calico's " + p.Kind), "Put " + rule + " first in its `ingress`"},
		tier:    p.Tier,
		order:   calicoOrder(p.Order),
		selects: p.selects(s, pods),
		shuts:   true,
	}
	if g.tier == "default" {
		g.tier = ""
	}
	inSet := slices.ContainsFunc(CalicoNetworkSets.near(s), func(x CalicoNetworkSet) bool {
		return slices.ContainsFunc(x.Nets, func(n string) bool { return contains(n, from) })
	})
	for i := range p.Ingress {
		r := &p.Ingress[i]
		does, known := calicoActions[strings.ToLower(r.Action)]
		if known { // Log decides nothing
			is := min(r.isFrom(from, inSet), r.isTo(s, pods, port))
			g.rules = append(g.rules, gateRule{does, is})
		}
	}
	return g
}

var calicoActions = map[string]action{"allow": allow, "deny": deny, "pass": pass}

// calicoOrder returns an order as a number. Nothing comes after all numbers that people write.
func calicoOrder(v field.Value) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	}
	return 1e300
}

// selects returns whether the policy is about pods.
func (p *CalicoPolicy) selects(s *Surroundings, pods *Pods) certain.Certainty {
	is := calicoSelects(p.Selector, calicoLabels(s, pods))
	if p.NamespaceSelector != "" && p.NamespaceSelector != "all()" {
		ofNamespace := func(key string) (string, certain.Certainty) {
			if key == "projectcalico.org/name" {
				key = "kubernetes.io/metadata.name"
			}
			return lookNamespace(s, pods, key)
		}
		is = min(is, calicoSelects(p.NamespaceSelector, ofNamespace))
	}
	if p.ServiceAccountSelector != "" && p.ServiceAccountSelector != "all()" {
		is = min(is, certain.Maybe)
	}
	return is
}

// calicoLabels looks up the labels that Calico gives pods.
func calicoLabels(s *Surroundings, pods *Pods) func(string) (string, certain.Certainty) {
	return func(key string) (string, certain.Certainty) {
		label, ofNamespace := strings.CutPrefix(key, "pcns.")
		switch {
		case ofNamespace:
			return lookNamespace(s, pods, label)
		case key == "projectcalico.org/namespace":
			return lookNamespace(s, pods, "kubernetes.io/metadata.name")
		case key == "projectcalico.org/orchestrator":
			return "k8s", certain.Always
		case strings.HasPrefix(key, "projectcalico.org/"), strings.HasPrefix(key, "pcsa."):
			return "", certain.Maybe
		}
		return pods.look(key)
	}
}

// isFrom returns whether the rule is about TCP from an address that no pod has. inSet says that a set of networks has it.
func (r *calicoRule) isFrom(from netip.Addr, inSet bool) certain.Certainty {
	source := &r.Source
	isVersion := r.IPVersion == 0 || r.IPVersion == 6 == from.Is6()
	if !isVersion || !r.isOfTCP() || !source.hasNet(from) {
		return certain.Never
	}
	switch {
	case source.ServiceAccounts != nil:
		return certain.Never
	case source.Selector != "" || source.NamespaceSelector != "":
		return min(certain.Of(inSet), certain.Maybe)
	case source.NotSelector != "" && inSet, r.HTTP != nil, len(source.Ports)+len(source.NotPorts) > 0:
		return certain.Maybe
	}
	return certain.Always
}

// hasNet reports whether the peer's networks have an address, as far as it has some.
func (p *calicoPeer) hasNet(a netip.Addr) bool {
	has := func(network string) bool { return contains(network, a) }
	return (len(p.Nets) == 0 || slices.ContainsFunc(p.Nets, has)) && !slices.ContainsFunc(p.NotNets, has)
}

func (r *calicoRule) isOfTCP() bool {
	return (r.Protocol == nil || isTCP(r.Protocol)) && (r.NotProtocol == nil || !isTCP(r.NotProtocol))
}

func isTCP(p *field.IntOrString) bool {
	return strings.EqualFold(p.String(), "TCP") || p.String() == "6"
}

// isTo returns whether the rule is about a port of pods. Their addresses are not known.
func (r *calicoRule) isTo(s *Surroundings, pods *Pods, port int) certain.Certainty {
	to := &r.Destination
	is := certain.Always
	isPort := func(p field.IntOrString) bool { return isCalicoPort(p, pods, port) }
	if len(to.Ports) > 0 {
		is = certain.Of(slices.ContainsFunc(to.Ports, isPort))
	}
	if slices.ContainsFunc(to.NotPorts, isPort) {
		return certain.Never
	}
	labels := calicoLabels(s, pods)
	if to.Selector != "" {
		is = min(is, calicoSelects(to.Selector, labels))
	}
	if to.NotSelector != "" {
		is = min(is, -calicoSelects(to.NotSelector, labels))
	}
	if to.isElsewhere() {
		is = min(is, certain.Maybe)
	}
	return is
}

// isElsewhere reports whether the peer is told by what a template does not show, such as its address.
func (p *calicoPeer) isElsewhere() bool {
	isAll := func(network string) bool { return network == "0.0.0.0/0" || network == "::/0" }
	isSome := len(p.Nets) > 0 && !slices.ContainsFunc(p.Nets, isAll)
	return isSome || len(p.NotNets) > 0 || p.NamespaceSelector != "" || p.ServiceAccounts != nil || p.Services != nil
}

// isCalicoPort reports whether a port is the number, the range ("80:90") or the name of one of pods.
func isCalicoPort(p field.IntOrString, pods *Pods, port int) bool {
	first, last, ranged := strings.Cut(p.String(), ":")
	a, err := strconv.Atoi(first)
	b, err2 := strconv.Atoi(last)
	switch {
	case ranged:
		return err == nil && err2 == nil && a <= port && port <= b
	case err == nil:
		return a == port
	}
	named := ServicePort{TargetPort: p}
	return named.leadsTo(pods.Spec, port)
}
