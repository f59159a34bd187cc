package vm

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// What the tests of this run found.
var (
	validated              string
	asWritten, asRewritten []verdict
)

// A verdict is what Istio's agent says of a probe.
type verdict struct{ probe, what, said string }

func TestMain(m *testing.M) { os.Exit(testutil.RunAndProve(m, prove)) }

func prove() error {
	if validated == "" || asWritten == nil || asRewritten == nil {
		return testutil.ErrPartly
	}
	version, err := testutil.ModuleVersion("../../go.mod", "istio.io/istio")
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "istio.io/istio %s. %s\n\n| `spec.probe` | what rewrite-probes says | what Istio's agent says |\n|---|---|---|\n", version, strings.TrimSpace(validated))
	for _, v := range append(asWritten, asRewritten...) {
		quote := "`"
		if strings.Contains(v.probe, quote) {
			quote = "``"
		}
		fmt.Fprintf(&b, "| %s%s%s | %s | %s |\n", quote, v.probe, quote, v.what, strings.ReplaceAll(v.said, "|", "\\|"))
	}
	return testutil.ProofPage("../../..", "workloadgroups").Prove("agent", b.String())
}
