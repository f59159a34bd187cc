package manifest

import (
	"math/rand/v2"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil/yamljudge"
)

// TestApply_styled edits documents that mix all styles, merge keys in braces too.
func TestApply_styled(t *testing.T) {
	for seed := range uint64(4000) {
		applyToStyled(t, seed, seed)
	}
}

func FuzzApplyToStyled(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, document, edits uint64) { applyToStyled(t, document, edits) })
}

func applyToStyled(t *testing.T, document, edits uint64) {
	r := rand.New(rand.NewPCG(document, 7))
	applyRandomly(t, yamljudge.Styled(r, yamljudge.Tangled(r)), edits)
}
