package surroundings

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/authz"
	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// Policies of other folders change no refusal by those that are near. If they would let the request in, Unless names one
// of them that allows it.
func TestFarPoliciesOnlyMakeARefusalOpen(t *testing.T) {
	rnd := rand.New(rand.NewPCG(16, 37))
	pods := &Pods{Namespace: "shop", Kind: "Deployment", Name: "web", Labels: field.KeyValues{{Key: "app", Value: "web"}}}
	q := &authz.Request{Method: "GET", Path: authz.Known("/healthz"), Host: authz.HostOf("8080"), Port: 8080}
	to := func(ports ...field.Value) *authz.Rule {
		r := new(authz.Rule)
		r.To = append(r.To, struct {
			Operation field.Map `json:"operation"`
		}{field.Map{{Key: "ports", Value: field.List(ports)}}})
		return r
	}
	// The last rule may match: nobody knows this field.
	rules := [][]*authz.Rule{nil, {to("8080")}, {to("9090")}, {to(8080)}}
	actions := []authz.Action{authz.Allow, authz.Allow, authz.Deny, authz.Custom, authz.Audit}
	open := 0
	for range 20000 {
		var all, near, told []AuthorizationPolicy
		for i := range 1 + rnd.IntN(4) {
			p := AuthorizationPolicy{
				Neighbour: named([]string{"shop", "shop", "istio-system", ""}[rnd.IntN(4)], fmt.Sprint("p", i)),
				Action:    actions[rnd.IntN(len(actions))],
				Rules:     rules[rnd.IntN(len(rules))],
			}
			p.Far = rnd.IntN(2) == 0
			all = append(all, p)
			if !p.Far {
				near = append(near, p)
			}
			p.Far = false
			told = append(told, p)
		}
		refuses := func(policies []AuthorizationPolicy) Refusal {
			return around(policies...).Refuses("istio-system", pods, q)
		}
		got := refuses(all)
		if alone := refuses(near); got.Is != alone.Is || got.By != alone.By || alone.Unless != "" {
			t.Fatalf("%+v: %+v; without those that are far %+v", all, got, alone)
		}
		isOpen := got.Is == certain.Always && refuses(told).Is != certain.Always
		if isOpen != (got.Unless != "") {
			t.Fatalf("%+v: %+v; if all were near %+v", all, got, refuses(told))
		}
		if !isOpen {
			continue
		}
		open++
		if !slices.ContainsFunc(all, func(p AuthorizationPolicy) bool {
			lets := authz.Matches(p.Rules, p.Action, q) > certain.Never && p.Namespace != "other"
			return p.Far && p.Action == authz.Allow && lets && strings.HasSuffix(got.Unless, p.Name)
		}) {
			t.Fatalf("%+v: it is open because of %q", all, got.Unless)
		}
	}
	if open < 200 {
		t.Errorf("%d refusals are open", open)
	}
}

// A refusal is certain if the request is refused in every cluster, and possible if it is in one: a policy that may be about
// the pods is or is not, a rule that may match does or does not, and the server of a CUSTOM policy refuses or does not.
func TestARefusalIsThatOfEveryCluster(t *testing.T) {
	rnd := rand.New(rand.NewPCG(20, 12))
	web := field.KeyValues{{Key: "app", Value: "web"}}
	labels := []field.KeyValues{nil, web, {{Key: "istio.io/rev", Value: "canary"}}, {{Key: "app", Value: "other"}}}
	q := &authz.Request{Method: "GET", Path: authz.Known("/healthz"), Host: authz.HostOf("8080"), Port: 8080}
	rules := make([][]*authz.Rule, 4)
	for i, port := range []field.Value{"8080", "9090", 8080} { // the last may match: it is no text
		r := new(authz.Rule)
		r.To = append(r.To, struct {
			Operation field.Map `json:"operation"`
		}{field.Map{{Key: "ports", Value: field.List{port}}}})
		rules[i+1] = []*authz.Rule{r}
	}
	actions := []authz.Action{authz.Allow, authz.Allow, authz.Deny, authz.Custom, authz.Audit}
	count := map[certain.Certainty]int{}
	for range 6000 {
		pods := &Pods{Namespace: []string{"shop", "shop", ""}[rnd.IntN(3)], Kind: "Deployment", Labels: web}
		var policies []AuthorizationPolicy
		for i := range rnd.IntN(5) {
			p := AuthorizationPolicy{Neighbour: named([]string{pods.Namespace, pods.Namespace, "istio-system", "other"}[rnd.IntN(4)], fmt.Sprint("p", i))}
			p.Selector.MatchLabels, p.Action, p.Rules, p.Disputed = labels[rnd.IntN(4)], actions[rnd.IntN(len(actions))], rules[rnd.IntN(4)], rnd.IntN(5) == 0
			policies = append(policies, p)
		}
		want := refusalOfEveryCluster(policies, pods, q)
		got := around(policies...).Refuses("istio-system", pods, q)
		if got != want {
			t.Fatalf("%+v\nin %q: %+v, want %+v", policies, pods.Namespace, got, want)
		}
		count[got.Is]++
	}
	for _, c := range []certain.Certainty{certain.Never, certain.Maybe, certain.Always} {
		if count[c] < 500 {
			t.Errorf("%v in %d cases", c, count[c])
		}
	}
}

func refusalOfEveryCluster(policies []AuthorizationPolicy, pods *Pods, q *authz.Request) Refusal {
	type known struct {
		action           authz.Action
		applies, matches certain.Certainty
		words            string
	}
	var all []known
	for _, p := range policies {
		if p.Namespace != "istio-system" && p.Namespace != pods.Namespace {
			continue
		}
		k := known{p.Action, pods.selects(p.Selector.MatchLabels), authz.Matches(p.Rules, p.Action, q), "AuthorizationPolicy " + strings.TrimPrefix(p.Namespace+"/", "/") + p.Name}
		if p.Disputed || p.Namespace == "" {
			k.applies = min(k.applies, certain.Maybe)
		}
		if p.Action == authz.Custom {
			k.matches = min(k.matches, certain.Maybe)
		}
		all = append(all, k)
	}
	first := func(is func(known) bool) string {
		if i := slices.IndexFunc(all, is); i >= 0 {
			return all[i].words
		}
		return ""
	}
	some, every := false, true
	for cluster := range 1 << (2 * len(all)) {
		denied, limited, allowed, isPossible := false, false, false, true
		for i, k := range all {
			applies, matches := cluster>>(2*i)&1 == 1, cluster>>(2*i)&2 == 2
			isPossible = isPossible && (k.applies == certain.Maybe || certain.Of(applies) == k.applies) && (k.matches == certain.Maybe || certain.Of(matches) == k.matches)
			switch {
			case !applies:
			case k.action == authz.Deny, k.action == authz.Custom:
				denied = denied || matches
			case k.action == authz.Allow:
				limited, allowed = true, allowed || matches
			}
		}
		if isPossible {
			refused := denied || limited && !allowed
			some, every = some || refused, every && refused
		}
	}
	denies := func(c certain.Certainty) func(known) bool {
		return func(k known) bool {
			return (k.action == authz.Deny || k.action == authz.Custom) && min(k.applies, k.matches) == c
		}
	}
	switch {
	case !some:
		return Refusal{Is: certain.Never}
	case every:
		limits := func(k known) bool { return k.action == authz.Allow && k.applies == certain.Always }
		return Refusal{Is: certain.Always, By: cmp.Or(first(denies(certain.Always)), first(limits))}
	}
	mayLimit := func(k known) bool {
		return k.action == authz.Allow && k.applies != certain.Never && k.matches != certain.Always
	}
	return Refusal{Is: certain.Maybe, By: cmp.Or(first(denies(certain.Maybe)), first(mayLimit))}
}
