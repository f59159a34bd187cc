package surroundings

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
)

// Over random gates, the answer is that of all worlds: in each, a rule that may be about the connections is or is not, another
// tier passes at its end or denies, and tiers come in some order.
func TestGatesKeepOutWhatEveryWorldDoes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	seen := make(map[certain.Certainty]int)
	for range 8000 {
		gates := randomGates(rnd)
		opens, shuts := false, false
		for world := range 1 << 8 {
			for _, order := range [][]string{{"a", "b", ""}, {"b", "a", ""}} {
				if letsIn(gates, order, world) {
					opens = true
				} else {
					shuts = true
				}
			}
		}
		want := certain.Maybe
		if opens != shuts {
			want = certain.Of(shuts)
		}
		if _, got := keptOut(slices.Clone(gates)); got != want && !(want == certain.Always && got == certain.Maybe) {
			t.Fatalf("%+v: %d, want %d", gates, got, want)
		}
		seen[want]++
	}
	if min(seen[certain.Never], seen[certain.Maybe], seen[certain.Always]) < 500 {
		t.Errorf("of each answer: %v", seen)
	}
}

func randomGates(rnd *rand.Rand) (gates []gate) {
	for range rnd.IntN(4) {
		g := gate{
			tier:    []string{"", "", "a", "b"}[rnd.IntN(4)],
			order:   float64(rnd.IntN(3)),
			selects: certain.Of(rnd.IntN(4) > 0),
			shuts:   rnd.IntN(4) > 0,
		}
		for range rnd.IntN(3) {
			g.rules = append(g.rules, gateRule{action(rnd.IntN(3)), certain.Certainty(rnd.IntN(3) - 1)})
		}
		gates = append(gates, g)
	}
	return gates
}

// letsIn has the rules of Calico word by word, in a world: its bits are what is open, of the rules and then of the tiers.
func letsIn(gates []gate, order []string, world int) bool {
	ordered := slices.Clone(gates)
	slices.SortStableFunc(ordered, func(a, b gate) int { return cmp.Compare(a.order, b.order) })
	for _, tier := range order {
		isIn, decision := false, ""
		bit := 0
		for _, g := range ordered {
			for _, r := range g.rules {
				is := r.is == certain.Always || r.is == certain.Maybe && world>>(bit%6)&1 == 1
				bit++
				if g.tier == tier && g.selects == certain.Always && is && decision == "" {
					decision = []string{"allow", "deny", "pass"}[r.action]
				}
			}
			isIn = isIn || g.tier == tier && g.selects == certain.Always && g.shuts
		}
		if isIn && decision == "" {
			decision = "deny"
			if tier != "" && world>>(6+int(tier[0]-'a'))&1 == 1 {
				decision = "pass"
			}
		}
		switch decision {
		case "allow":
			return true
		case "deny":
			return false
		}
	}
	return true
}

// A policy that may select the pods can let them in, and never keeps out.
func TestAPolicyThatMaySelectOnlyLetsIn(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 5000 {
		gates := randomGates(rnd)
		with := slices.Clone(gates)
		_, before := keptOut(gates)
		maybe := randomGates(rnd)
		for i := range maybe {
			maybe[i].selects = certain.Maybe
			maybe[i].tier = ""
		}
		if _, after := keptOut(append(with, maybe...)); after > before {
			t.Fatalf("%+v beside %+v: %d, want %d at most", maybe, gates, after, before)
		}
	}
}
