package meshes

import (
	"os"
	"os/exec"
	"testing"

	redirected "github.com/rewrite-probes/rewrite-probes/test/conformance/mesh"
)

// TestTheRulesOfTheStandInAreTheMeshes has the code of Linkerd's proxy-init and
// of Kuma's transparent proxy say which rules they make.
func TestTheRulesOfTheStandInAreTheMeshes(t *testing.T) {
	sources := os.Getenv("MESH_SOURCES")
	if sources == "" {
		sources = root + "/.meshes"
	}
	for name, m := range map[string]mesh{
		"linkerd": {name: "linkerd-rules", title: "Linkerd's proxy-init", module: "linkerd2-proxy-init"},
		"kuma":    {name: "kuma-rules", title: "Kuma", module: "kuma", drop: kumaDrop},
	} {
		t.Run(name, func(t *testing.T) {
			program := m.build(t, sources)
			for _, excluded := range [][]string{nil, {"15020"}, {"15020", "9090"}} {
				theirs, err := exec.Command(program, excluded...).Output()
				if err != nil {
					t.Fatal(err)
				}
				redirected.Compare(t, name, 8, excluded, string(theirs))
			}
		})
	}
}
