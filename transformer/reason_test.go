package transformer_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// TestMain runs all tests and then fails if there is a reason that none of
// them produced, unless only some of the tests were asked for.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && !testutil.Partly() {
		for _, d := range transformer.Reasons() {
			if !seen[d.Key] {
				fmt.Fprintf(os.Stderr, "%s is produced by no test\n", d.Key)
				code = 1
			}
		}
	}
	os.Exit(code)
}

func TestReasonsAreSortedAndWordedAsSentences(t *testing.T) {
	docs := transformer.Reasons()
	if !slices.IsSortedFunc(docs, func(a, b transformer.ReasonDoc) int { return strings.Compare(a.Key, b.Key) }) {
		t.Error("reasons must be sorted by key")
	}
	for _, d := range docs {
		if !strings.HasSuffix(d.Cause, ".") || !strings.HasSuffix(d.Cure, ".") {
			t.Errorf("%s: cause and cure must be sentences", d.Key)
		}
	}
}
