package wire_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

// said has the reasons for which the tests saw responses refused.
var said = golden.Sentences{}

// TestMain runs all tests, and fails if a reason is not in testdata/sentences.txt, unless only
// some of the tests were requested.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && !testutil.Partly() {
		if err := said.Compare("testdata/sentences.txt"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
