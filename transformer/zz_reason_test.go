package transformer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// TestEveryReasonIsProducedBySomeTest stands in the last file, so that it
// runs after all others; it is skipped where only some are run.
func TestEveryReasonIsProducedBySomeTest(t *testing.T) {
	docs := transformer.Reasons()
	if !slices.IsSortedFunc(docs, func(a, b transformer.ReasonDoc) int { return strings.Compare(a.Key, b.Key) }) {
		t.Error("reasons must be sorted by key")
	}
	missing := 0
	for _, d := range docs {
		if !strings.HasSuffix(d.Cause, ".") || !strings.HasSuffix(d.Cure, ".") {
			t.Errorf("%s: cause and cure must be sentences", d.Key)
		}
		if !seen[d.Key] {
			missing++
			t.Logf("%s is produced by no test", d.Key)
		}
	}
	if missing > len(docs)/2 {
		t.Skip("only some tests were run")
	}
	if missing > 0 {
		t.Fail()
	}
}
