package transformer_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// TestMain runs all tests and then fails if there is a reason that none of
// them produced, unless only some of the tests were requested.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && !testutil.Partly() {
		for _, d := range reason.OfPlan() {
			if !seen[d.Key] {
				fmt.Fprintf(os.Stderr, "%s is produced by no test\n", d.Key)
				code = 1
			}
		}
	}
	os.Exit(code)
}
