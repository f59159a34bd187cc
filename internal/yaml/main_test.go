package yaml

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

// said has the reasons for which the tests saw texts and values refused.
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

var tagOrAlias = regexp.MustCompile(`(tag !|alias \*)\S*`)

// saidOf notes why a text is refused, or cannot be edited.
func saidOf(t *Tree) {
	said.Say("refused", tagOrAlias.ReplaceAllString(t.Refused.Why, "${1}x"))
	said.Say("not edited", t.Fixed.Why)
}
