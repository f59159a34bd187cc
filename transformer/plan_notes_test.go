package transformer_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// What is asked aside is not noted, so no test of a patch covers it: it only warns. Without it every
// plan has the same edits and errors.
func TestWhatIsAskedAsideOnlyWarns(t *testing.T) {
	plans, differs := 0, 0
	for seed := range uint64(1500) {
		g := crowd{sampler{rand.New(rand.NewPCG(seed, 11)), 1 + int(seed%4)}}
		at, opts := g.scene(sampleMeshes[g.IntN(len(sampleMeshes))])
		if _, _, err := at.input(); err != nil {
			continue
		}
		p, err := transformer.New(options(opts...))
		if err != nil {
			continue
		}
		plans++
		plan := func(n *transformer.Notes) transformer.Plan {
			in, _, err := at.input()
			if err != nil {
				t.Fatal(err)
			}
			in.OnlyEdits = true
			in.Note(n)
			return p.Plan(in)
		}
		all, without := plan(new(transformer.Notes)), plan(transformer.NotAside())
		if d := cmp.Diff(all.Edits, without.Edits); d != "" {
			t.Fatalf("seed %d: an edit depends on it\n%s\n%s", seed, d, at.own)
		}
		if d := cmp.Diff(errorsOf(all), errorsOf(without)); d != "" {
			t.Fatalf("seed %d: an error depends on it\n%s\n%s", seed, d, at.own)
		}
		if len(all.Findings) != len(without.Findings) {
			differs++
		}
	}
	if plans < 1000 || differs < 20 {
		t.Errorf("of %d plans, %d warn of what is asked aside", plans, differs)
	}
}

// errorsOf returns the texts of the errors of a plan.
func errorsOf(p transformer.Plan) (texts []string) {
	for _, f := range p.Findings {
		if f.Severity == transformer.Error {
			texts = append(texts, f.Text.String())
		}
	}
	return texts
}
