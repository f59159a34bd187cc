package pipeline_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
)

var update = flag.Bool("update", false, "rewrite docs/reasons.md")

// The page is made from the table that `rewrite-probes reasons` prints.
func TestThePageOfReasonsFollowsTheCode(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Reason keys\n\nThe key in brackets at the end of a message, and in the tags of a result. `rewrite-probes reasons KEY` prints the same.\n\n| key | severity | cause | cure |\n|---|---|---|---|\n")
	seen := make(map[string]bool)
	for _, r := range pipeline.Reasons() {
		if seen[r.Key] || r.Cause == "" || r.Cure == "" {
			t.Errorf("reason %q stands twice, or has no cause or cure", r.Key)
		}
		seen[r.Key] = true
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Key, r.Severity, r.Cause, r.Cure)
	}
	const page = "../../docs/reasons.md"
	text, err := os.ReadFile(page)
	if err == nil && string(text) == b.String() {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the code says; run go test ./internal/pipeline -update", page)
	}
	if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
