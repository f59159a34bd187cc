package surroundings

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// kubeletOfAmbient is where the kubelet's connections come from in ambient mode.
var kubeletOfAmbient = netip.MustParseAddr("169.254.7.127")

// A drawing draws parts of a rule. It matches the connections as far as all that was drawn does.
type drawing struct {
	*rand.Rand
	is certain.Certainty
}

// draw returns one of some ways, by name, and takes over how far it matches. The names are in order, so that a seed draws the same.
func (d *drawing) draw(ways ...any) string {
	i := d.IntN(len(ways)/2) * 2
	d.is = min(d.is, ways[i+1].(certain.Certainty))
	return ways[i].(string)
}

const (
	sure = certain.Always
	open = certain.Maybe
	not  = certain.Never
)

func webPods() *Pods {
	spec := &pod.Spec{Containers: []pod.Container{{Ports: []pod.ContainerPort{{Name: "web", ContainerPort: 8001}, {Name: "dns", ContainerPort: 8001, Protocol: "UDP"}}}}}
	return &Pods{Namespace: "shop", Kind: "Deployment", Labels: field.KeyValues{{Key: "app", Value: "web"}}, Spec: spec}
}

func portNamed(name string) field.IntOrString { return field.IntOrString{IsString: true, Str: name} }

// Calico's reference: a rule is about connections if everything in it is. What no manifest shows leaves it open: whether a set of
// networks has a label, the port that the kubelet uses, what is asked by HTTP, where the pod is.
func TestARuleOfCalicoIsAboutWhatAllOfItIs(t *testing.T) {
	rnd := rand.New(rand.NewPCG(61, 21))
	seen := map[certain.Certainty]int{}
	for range 20_000 {
		hasSet := rnd.IntN(2) == 0
		var around []any
		setOpen, setNot := not, sure
		if hasSet {
			around = append(around, &CalicoNetworkSet{Nets: []string{"10.0.0.0/8", "169.254.7.127/32"}})
			setOpen, setNot = open, open
		} else {
			around = append(around, &CalicoNetworkSet{Nets: []string{"10.0.0.0/8"}})
		}
		p := CalicoPolicy{Selector: "app == 'web'"}
		var want []gateRule
		for range 1 + rnd.IntN(3) {
			var r calicoRule
			d := drawing{rnd, sure}
			for range rnd.IntN(4) {
				drawCalico(&d, &r, setOpen, setNot)
			}
			r.Action = []string{"Allow", "Deny", "Pass", "Log", "allow"}[rnd.IntN(5)]
			if r.Action != "Log" {
				want = append(want, gateRule{map[string]action{"Allow": allow, "allow": allow, "Deny": deny, "Pass": pass}[r.Action], d.is})
				seen[d.is]++
			}
			p.Ingress = append(p.Ingress, r)
		}
		s := New(given{objects: around})
		got := p.gate(&s, kubeletOfAmbient, webPods(), 8001)
		if !slices.Equal(got.rules, want) || !got.shuts || got.selects != sure {
			t.Fatalf("%+v: %+v, want %v", p.Ingress, got, want)
		}
	}
	if min(seen[sure], seen[open], seen[not]) < 2000 {
		t.Errorf("of each answer: %v", seen)
	}
}

// drawCalico adds a condition to a rule that has none of its kind; it takes over how far the condition holds.
func drawCalico(d *drawing, r *calicoRule, setOpen, setNot certain.Certainty) {
	from, to := &r.Source, &r.Destination
	text := func(s string) *field.IntOrString { return new(portNamed(s)) }
	switch kind := d.IntN(14); {
	case kind == 0 && r.IPVersion == 0:
		r.IPVersion = map[string]int{"4": 4, "6": 6}[d.draw("4", sure, "6", not)]
	case kind == 1 && r.Protocol == nil:
		r.Protocol = text(d.draw("TCP", sure, "tcp", sure, "6", sure, "UDP", not, "17", not))
	case kind == 2 && r.NotProtocol == nil:
		r.NotProtocol = text(d.draw("UDP", sure, "TCP", not))
	case kind == 3 && from.Nets == nil:
		from.Nets = []string{"10.0.0.0/8", d.draw("169.254.0.0/16", sure, "0.0.0.0/0", sure, "169.254.7.127", sure, "::/0", not, "169.254.8.0/24", not)}
	case kind == 4 && from.NotNets == nil:
		from.NotNets = []string{d.draw("10.0.0.0/8", sure, "169.254.7.127/32", not)}
	case kind == 5 && from.ServiceAccounts == nil:
		from.ServiceAccounts = field.Map{{Key: "names", Value: d.draw("a", not)}}
	case kind == 6 && from.Selector == "":
		from.Selector = d.draw("a == 'b'", setOpen, "all()", setOpen)
	case kind == 7 && from.NamespaceSelector == "":
		from.NamespaceSelector = d.draw("a == 'b'", setOpen)
	case kind == 8 && from.NotSelector == "":
		from.NotSelector = d.draw("a == 'b'", setNot)
	case kind == 9 && r.HTTP == nil:
		r.HTTP = field.Map{{Key: "methods", Value: field.List{d.draw("GET", open, "PUT", open)}}}
	case kind == 10 && from.Ports == nil:
		from.Ports = []field.IntOrString{portNamed(d.draw("1024:65535", open))}
	case kind == 11 && from.NotPorts == nil:
		from.NotPorts = []field.IntOrString{portNamed(d.draw("22", open))}
	case kind == 12 && to.Ports == nil:
		to.Ports = []field.IntOrString{field.Number(80), portNamed(d.draw("8001", sure, "8000:8001", sure, "8001:8001", sure, "web", sure, "8002", not, "8002:9000", not, "80:8000", not, "dns", not))}
	case kind == 13 && to.Selector == "":
		to.Selector = d.draw("app == 'web'", sure, "app != 'web'", not, "pod-template-hash == 'x'", open)
	}
}

// Cilium's reference: one of a rule's peers and one of its ports must be about the connections. Peers that are pods or nodes never are.
// Without peers and ports a rule is about nothing. Rules of both lists keep out what no rule lets in, unless the policy says otherwise.
func TestARuleOfCiliumIsAboutOneOfItsPeersAndPorts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(61, 22))
	seen := map[certain.Certainty]int{}
	for range 20_000 {
		isWide := rnd.IntN(2) == 0
		p := CiliumPolicy{Spec: &ciliumRule{EndpointSelector: &LabelSelector{MatchLabels: field.KeyValues{{Key: "app", Value: "web"}}}}}
		if p.Kind = "CiliumNetworkPolicy"; isWide {
			p.Kind = "CiliumClusterwideNetworkPolicy"
		}
		rules := func(does action) (all []ciliumIngress, want []gateRule) {
			for range rnd.IntN(3) {
				x, is := drawnCilium(rnd, isWide)
				all, want = append(all, x), append(want, gateRule{does, is})
				seen[is]++
			}
			return all, want
		}
		var denied, allowed []gateRule
		p.Spec.IngressDeny, denied = rules(deny)
		p.Spec.Ingress, allowed = rules(allow)
		shuts := len(denied) > 0 || len(allowed) > 0
		if n := rnd.IntN(6); n < 2 {
			shuts = n == 0
			p.Spec.EnableDefaultDeny.Ingress = &shuts
		}
		s := New(given{})
		got := p.gates(&s, kubeletOfAmbient, webPods(), 8001)
		if len(got) != 2 || !slices.Equal(got[0].rules, denied) || !slices.Equal(got[1].rules, allowed) {
			t.Fatalf("%+v: %+v, want %v and %v", *p.Spec, got, denied, allowed)
		}
		if got[0].order >= got[1].order || got[0].shuts || got[1].shuts != shuts || got[0].selects != sure || got[1].selects != sure {
			t.Fatalf("%+v: %+v, shuts %t", *p.Spec, got, shuts)
		}
	}
	if min(seen[sure], seen[open], seen[not]) < 2000 {
		t.Errorf("of each answer: %v", seen)
	}
}

func drawnCilium(rnd *rand.Rand, isWide bool) (x ciliumIngress, is certain.Certainty) {
	ofAll := not
	if isWide {
		ofAll = open
	}
	peers, has := 0, not
	peer := func(ways ...any) string {
		d := drawing{rnd, sure}
		word := d.draw(ways...)
		has = max(has, d.is)
		peers++
		return word
	}
	for range rnd.IntN(3) {
		switch rnd.IntN(7) {
		case 0:
			x.FromCIDR = append(x.FromCIDR, peer("10.0.0.0/8", not, "169.254.7.127/32", sure, "::/0", not))
		case 1:
			c := ciliumCIDR{CIDR: "169.254.0.0/16"}
			switch peer("whole", sure, "except", not, "but others", sure, "other", not, "group", open, "selected", open) {
			case "except":
				c.Except = []string{"10.0.0.0/8", "169.254.7.0/24"}
			case "but others":
				c.Except = []string{"169.254.8.0/24"}
			case "other":
				c.CIDR = "10.0.0.0/8"
			case "group":
				c = ciliumCIDR{Ref: "nodes"}
			case "selected":
				c = ciliumCIDR{Selector: field.Map{}}
			}
			x.FromCIDRSet = append(x.FromCIDRSet, c)
		case 2:
			x.FromEntities = append(x.FromEntities, peer("host", not, "cluster", not, "all", sure, "world", sure, "world-ipv4", sure, "world-ipv6", not, "remote-node", not))
		case 3:
			l := LabelSelector{}
			switch peer("every", ofAll, "pods", not, "reserved", open, "by an expression", open) {
			case "pods":
				l.MatchLabels = field.KeyValues{{Key: "app", Value: "a"}}
			case "reserved":
				l.MatchLabels = field.KeyValues{{Key: "reserved:world", Value: ""}}
			case "by an expression":
				l.MatchExpressions = []Requirement{{Key: "reserved:host", Operator: "DoesNotExist"}}
			}
			x.FromEndpoints = append(x.FromEndpoints, l)
		case 4:
			x.FromNodes = append(x.FromNodes, peer("a node", not))
		case 5:
			x.FromGroups = append(x.FromGroups, peer("of a cloud", open))
		case 6:
			peer("required", open)
			x.FromRequires = append(x.FromRequires, LabelSelector{})
		}
	}
	ports := sure
	for range rnd.IntN(3) {
		if len(x.ToPorts) == 0 {
			ports = not
		}
		to, in := drawnCiliumPorts(rnd)
		x.ToPorts, ports = append(x.ToPorts, to), max(ports, in)
	}
	if rnd.IntN(8) == 0 && len(x.ToPorts) == 0 {
		x.ICMPs, ports = []field.Value{"8"}, not
	}
	if peers == 0 {
		has = certain.Of(len(x.ToPorts) > 0)
	}
	is = min(has, ports)
	x.Authenticated.Mode = []string{"", "", "disabled", "required"}[rnd.IntN(4)]
	if x.Authenticated.Mode == "required" {
		is = min(is, open)
	}
	return x, is
}

func drawnCiliumPorts(rnd *rand.Rand) (to ciliumPorts, is certain.Certainty) {
	d := drawing{rnd, sure}
	word := d.draw("any", sure, "8001", sure, "8001 TCP", sure, "8001 ANY", sure, "8001 UDP", not, "8000-8001", sure, "8000-9000", sure, "80-8000", not, "80", not, "web", sure, "dns", not, "0", sure, "0 UDP", not)
	if word != "any" {
		to.Ports = append(to.Ports, struct {
			Port     field.IntOrString `json:"port"`
			EndPort  int64             `json:"endPort"`
			Protocol string            `json:"protocol"`
		}{})
		p := &to.Ports[0]
		var port string
		if n, _ := fmt.Sscanf(word, "%d-%d", &p.Port.Int, &p.EndPort); n < 2 {
			fmt.Sscan(word, &port, &p.Protocol)
			p.Port = portNamed(port)
		}
	}
	is = d.is
	switch rnd.IntN(8) {
	case 0:
		to.Rules = field.Map{}
	case 1:
		to.ServerNames = []string{"a"}
	case 2:
		to.Listener = field.Map{}
	default:
		return to, is
	}
	return to, min(is, open)
}
