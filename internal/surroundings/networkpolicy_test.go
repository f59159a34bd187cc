package surroundings

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// The labels are none that pods get later, so that all is known.
func TestALabelSelectorSelectsWhatTheAPIsDoes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 4))
	word := func(from string) string { return from[rnd.IntN(len(from)):][:1] }
	selected := 0
	for range 5000 {
		var ours LabelSelector
		theirs := metav1.LabelSelector{MatchLabels: map[string]string{}}
		for range rnd.IntN(2) {
			key, value := word("abc"), word("xyz")
			theirs.MatchLabels[key] = value
			ours.MatchLabels = ours.MatchLabels.With(key, value)
		}
		for range rnd.IntN(3) {
			x := metav1.LabelSelectorRequirement{Key: word("abc"), Operator: metav1.LabelSelectorOperator([]string{"In", "NotIn", "Exists", "DoesNotExist"}[rnd.IntN(4)])}
			if x.Operator == "In" || x.Operator == "NotIn" {
				x.Values = []string{word("xyz"), word("xyz")}
			}
			theirs.MatchExpressions = append(theirs.MatchExpressions, x)
			ours.MatchExpressions = append(ours.MatchExpressions, struct {
				Key      string   `json:"key"`
				Operator string   `json:"operator"`
				Values   []string `json:"values"`
			}{x.Key, string(x.Operator), x.Values})
		}
		pods := &Pods{Kind: "Deployment", Labels: field.KeyValues{}}
		set := labels.Set{}
		for range rnd.IntN(4) {
			key, value := word("abc"), word("xyz")
			set[key] = value
			pods.Labels = pods.Labels.With(key, value)
		}
		selector, err := metav1.LabelSelectorAsSelector(&theirs)
		if err != nil {
			t.Fatal(err)
		}
		want := certain.Of(selector.Matches(set))
		if got := ours.selects(pods); got != want {
			t.Fatalf("%s selects %v: %v, want %v", selector, set, got, want)
		}
		if want == certain.Always {
			selected++
		}
	}
	if selected < 1000 || selected > 4000 {
		t.Errorf("%d of 5000 are selected", selected)
	}
}

func TestARangeOfPortsHasItsEnds(t *testing.T) {
	number := func(n int64) *field.IntOrString { return &field.IntOrString{Int: n} }
	for _, c := range []struct {
		port        NetworkPort
		first, last int // of those that are let in, from 1 to 20
	}{
		{NetworkPort{}, 1, 20},
		{NetworkPort{Port: number(8)}, 8, 8},
		{NetworkPort{Port: number(8), EndPort: 8}, 8, 8},
		{NetworkPort{Port: number(8), EndPort: 9}, 8, 9},
		{NetworkPort{Port: number(8), EndPort: 12, Protocol: "TCP"}, 8, 12},
		{NetworkPort{Port: number(8), EndPort: 12, Protocol: "UDP"}, 1, 0},
	} {
		for port := 1; port <= 20; port++ {
			if got, want := c.port.has(&Pods{}, port), c.first <= port && port <= c.last; got != want {
				t.Errorf("%v, %d to %d has %d: %t", c.port.Port, c.first, c.last, port, got)
			}
		}
	}
}

func TestABlockLacksEveryException(t *testing.T) {
	peer := NetworkPeer{IPBlock: &struct {
		CIDR   string   `json:"cidr"`
		Except []string `json:"except"`
	}{"10.0.0.0/8", []string{"10.1.0.0/16", "10.2.0.0/16", "nonsense"}}}
	rule := NetworkRule{From: []NetworkPeer{{}, peer}}
	for address, want := range map[string]bool{"10.0.0.1": true, "10.1.0.1": false, "10.2.0.1": false, "10.3.0.1": true, "11.0.0.1": false} {
		if got := rule.admits(netip.MustParseAddr(address), &Pods{}, 80); got != want {
			t.Errorf("%s: %t", address, got)
		}
	}
}

// A policy that may be about the pods may let in what another keeps out, and keeps nothing out itself.
func TestOnlyASurePolicyKeepsOut(t *testing.T) {
	later := LabelSelector{MatchLabels: field.KeyValues{{Key: "istio.io/rev", Value: "canary"}}}
	shut, open := NetworkPolicy{Neighbour: named("", "shut")}, NetworkPolicy{Neighbour: named("", "open"), Ingress: []NetworkRule{{}}}
	mayShut, mayOpen := shut, open
	mayShut.PodSelector, mayOpen.PodSelector = later, later
	for _, c := range []struct {
		policies []NetworkPolicy
		want     string
	}{
		{nil, ""}, {[]NetworkPolicy{shut}, "NetworkPolicy shut"}, {[]NetworkPolicy{open}, ""}, {[]NetworkPolicy{mayShut}, ""}, {[]NetworkPolicy{mayOpen}, ""},
		{[]NetworkPolicy{mayShut, shut, {Neighbour: named("", "another")}}, "NetworkPolicy shut"}, {[]NetworkPolicy{{Neighbour: named("", "another")}, shut}, "NetworkPolicy another"},
		{[]NetworkPolicy{shut, open}, ""}, {[]NetworkPolicy{shut, mayOpen}, ""}, {[]NetworkPolicy{mayOpen, shut}, ""}, {[]NetworkPolicy{mayShut, shut}, "NetworkPolicy shut"},
	} {
		s := around(c.policies...)
		pods := &Pods{Kind: "Deployment", Labels: field.KeyValues{{Key: "app", Value: "web"}}}
		if got, is := s.ShutBy(netip.MustParseAddr("169.254.7.127"), pods, 80); got.Name != c.want || is != certain.Of(c.want != "") {
			t.Errorf("%v: %q, %d, want %q", c.policies, got, is, c.want)
		}
	}
}

// A label that pods get later, and any label of pods that are not known, leaves it open; what does not hold, holds nowhere.
func TestALabelThatIsNotKnownLeavesItOpen(t *testing.T) {
	web := field.KeyValues{{Key: "app", Value: "web"}}
	for _, operator := range []string{"In", "NotIn", "Exists", "DoesNotExist"} {
		for _, c := range []struct {
			labels field.KeyValues
			match  field.KeyValues
			keys   []string
			want   certain.Certainty
		}{
			{web, nil, []string{"istio.io/rev"}, certain.Maybe},
			{web, web, []string{"istio.io/rev"}, certain.Maybe},
			{web, field.KeyValues{{Key: "app", Value: "other"}}, []string{"istio.io/rev"}, certain.Never},
			{nil, nil, []string{"tier"}, certain.Maybe},
			{nil, web, []string{"istio.io/rev"}, certain.Maybe},
			{web, nil, []string{"istio.io/rev", "pod-template-hash"}, certain.Maybe},
		} {
			l := LabelSelector{MatchLabels: c.match}
			for _, key := range c.keys {
				l.MatchExpressions = append(l.MatchExpressions, struct {
					Key      string   `json:"key"`
					Operator string   `json:"operator"`
					Values   []string `json:"values"`
				}{key, operator, []string{"x"}})
			}
			if got := l.selects(&Pods{Kind: "Deployment", Labels: c.labels}); got != c.want {
				t.Errorf("%s of %v beside %v, with the labels %v: %v, want %v", operator, c.keys, c.match, c.labels, got, c.want)
			}
		}
	}
}
