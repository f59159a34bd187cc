package meshes

import (
	"os/exec"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	standin "github.com/rewrite-probes/rewrite-probes/test/conformance/mesh"
)

// TestTheRulesOfTheStandInAreTheMeshes has the code of Linkerd's proxy-init and
// of Kuma's transparent proxy say which rules they make.
func TestTheRulesOfTheStandInAreTheMeshes(t *testing.T) {
	sources := checkouts(t)
	for name, m := range map[string]mesh{
		"linkerd": {name: "linkerd-rules", title: "Linkerd's proxy-init", module: "linkerd2-proxy-init"},
		"kuma":    {name: "kuma-rules", title: "Kuma", module: "kuma", drop: kumaDrop},
	} {
		t.Run(name, func(t *testing.T) {
			program := m.build(t, sources)
			for _, excluded := range [][]string{nil, {"15020"}, {"15020", "9090"}} {
				theirs, err := testutil.Output(exec.Command(program, excluded...))
				if err != nil {
					t.Fatal(err)
				}
				standin.Compare(t, name, 8, excluded, string(theirs))
			}
		})
	}
}
