package vm

import (
	"os"
	"slices"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// said has the sentences of the plans that the tests made.
var said = golden.Sentences{}

// note notes what a plan says to people.
func note(p transformer.Plan) {
	for _, f := range slices.Concat(p.Findings, p.Repairs) {
		said.Say(f.Reason.String(), f.Text.String())
	}
	for _, v := range p.Probes {
		said.Say(string(v.StrictTLS), v.Why)
	}
}

func TestMain(m *testing.M) { os.Exit(testutil.RunAndCheck(m, said.Compare)) }
