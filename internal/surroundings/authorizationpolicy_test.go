package surroundings

import (
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
				Name:      fmt.Sprint("p", i),
				Namespace: []string{"shop", "shop", "istio-system", ""}[rnd.IntN(4)],
				Action:    actions[rnd.IntN(len(actions))],
				Rules:     rules[rnd.IntN(len(rules))],
				Far:       rnd.IntN(2) == 0,
			}
			all = append(all, p)
			if !p.Far {
				near = append(near, p)
			}
			p.Far = false
			told = append(told, p)
		}
		refuses := func(policies []AuthorizationPolicy) Refusal {
			return (&Surroundings{AuthorizationPolicies: policies}).Refuses("istio-system", pods, q)
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
			return p.Far && p.Action == authz.Allow && strings.HasSuffix(got.Unless, p.Name)
		}) {
			t.Fatalf("%+v: it is open because of %q", all, got.Unless)
		}
	}
	if open < 200 {
		t.Errorf("%d refusals are open", open)
	}
}
