package vm

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// What the tests of this run found.
var (
	validated              string
	asWritten, asRewritten []verdict
)

// A verdict is what Istio's agent says of a probe.
type verdict struct{ probe, what, said string }

func TestMain(m *testing.M) { os.Exit(testutil.RunAndProve(m, writeProof)) }

func writeProof() error {
	if validated == "" || asWritten == nil || asRewritten == nil {
		return testutil.ErrPartly
	}
	version, err := testutil.ModuleVersion("../../go.mod", "istio.io/istio")
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## WorkloadGroups\n\nThe validation of istiod's webhook, and the health check and the status server of Istio's agent, of istio.io/istio\n%s, without Envoy. The files of a machine with a rewritten group are written by\n`istioctl x workload entry configure`. %s\n", version, validated)
	b.WriteString("The app has a certificate of its own, and its gRPC service `down` is not serving. Run again: `make conformance`. " + time.Now().Format(time.DateOnly) + ".\n\n")
	b.WriteString("| `spec.probe` | what rewrite-probes says | what Istio's agent says |\n|---|---|---|\n")
	for _, v := range append(asWritten, asRewritten...) {
		quote := "`"
		if strings.Contains(v.probe, quote) {
			quote = "``"
		}
		fmt.Fprintf(&b, "| %s%s%s | %s | %s |\n", quote, v.probe, quote, v.what, strings.ReplaceAll(v.said, "|", "\\|"))
	}
	return testutil.ReplaceSection("../../../docs/proof.md", "workloadgroups", b.String())
}
