package yaml

import (
	"math/rand/v2"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/yamljudge"
)

// TestParse_styled reads values in every style that a document may mix.
func TestParse_styled(t *testing.T) {
	read := 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 5))
		want := yamljudge.Tangled(r)
		text := yamljudge.Styled(r, want)
		agreeOnText(t, text)
		checked, err := Check(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		start, _ := checked.NextDocument(0)
		var tr Parser
		if !tr.Parse(text[start:], 0) {
			t.Fatalf("seed %d is refused: %v\n%s", seed, tr.Refused, text)
		}
		if got := tr.Any(1); !field.Same(yamljudge.Sorted(got), yamljudge.Sorted(want)) {
			t.Fatalf("seed %d is read as %v, want %v\n%s", seed, got, want, text)
		}
		if tr.Special {
			read++
		}
	}
	if read < 700 {
		t.Errorf("only %d texts have an alias, a merge key or the like", read)
	}
}
