package yaml

import (
	"os"
	"regexp"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

// said has the reasons for which the tests saw texts and values refused.
var said = golden.Sentences{}

func TestMain(m *testing.M) { os.Exit(testutil.RunAndCheck(m, said.Compare)) }

var tagOrAlias = regexp.MustCompile(`(tag !|alias \*)\S*`)

// saidOf notes why a text is refused, or cannot be edited.
func saidOf(t *Parser) {
	said.Say("refused", tagOrAlias.ReplaceAllString(t.Refused.Why, "${1}x"))
	said.Say("not edited", t.ReadOnly.Why)
}
