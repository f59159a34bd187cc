package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
)

// The workloads are random, and before the group in the input or after it. What
// the group takes, or why it takes nothing, must not depend on whether the
// workload has been rewritten, and all of it can be undone.
func TestGroup_probeOfRewrittenWorkload(t *testing.T) {
	const group = "apiVersion: networking.istio.io/v1\nkind: WorkloadGroup\nmetadata:\n  name: vms\n  annotations:\n    rewrite-probes.io/probe-from: Deployment/web/%s\nspec:\n  template: {}\n"
	taken, rewritten := 0, 0
	for seed := range uint64(400) {
		h := &history{Rand: rand.New(rand.NewPCG(seed, 9))}
		deployment := historyHead + "      containers:\n"
		for i := range 1 + h.IntN(2) {
			deployment += h.container(fmt.Sprintf("c%d", i))
		}
		if !strings.Contains(deployment, "readinessProbe") {
			continue
		}
		c := h.randomConfig()
		together := func(workload string, groupFirst bool) string {
			g := fmt.Sprintf(group, "c0")
			if groupFirst {
				return g + "---\n" + workload
			}
			return workload + "---\n" + g
		}
		first := h.IntN(2) == 0
		in := together(deployment, first)
		// Alone, so that the group is not refused with it.
		alone, refused := runText(t, deployment, c, pipeline.Rewrite)
		if refused {
			continue
		}
		before, refusedBefore := derived(t, in, c)
		after, refusedAfter := derived(t, together(alone, first), c)
		if refusedBefore != refusedAfter || before != after {
			t.Fatalf("seed %d: from the original (refused: %t)\n%s\nfrom the rewritten (refused: %t)\n%s\nof\n%s", seed, refusedBefore, before, refusedAfter, after, alone)
		}
		if refusedBefore {
			continue
		}
		taken++
		if strings.Contains(before, "/app-health/vms/readyz") {
			rewritten++
		}
		once, _ := runText(t, in, c, pipeline.Rewrite)
		if twice, _ := runText(t, once, c, pipeline.Rewrite); twice != once {
			t.Fatalf("seed %d: a second run changes\n%s", seed, cmp.Diff(once, twice))
		}
		if back, refused := runText(t, once, c, pipeline.Restore); refused || back != in {
			t.Fatalf("seed %d: restored (refused: %t)\n%s", seed, refused, cmp.Diff(in, back))
		}
	}
	t.Logf("%d groups took a probe, %d of them one that is rewritten", taken, rewritten)
	if taken < 50 || rewritten < 15 {
		t.Errorf("only %d groups took a probe, %d of them one that is rewritten", taken, rewritten)
	}
}

// derived returns what a run makes of the WorkloadGroup in a text.
func derived(t *testing.T, text string, c *config.RewriteProbes) (group string, refused bool) {
	t.Helper()
	out, refused := runText(t, text, c, pipeline.Rewrite)
	for doc := range strings.SplitSeq(out, "---\n") {
		if strings.Contains(doc, "kind: WorkloadGroup") {
			group = doc
		}
	}
	return group, refused
}

// runText runs the pipeline over a text.
func runText(t *testing.T, text string, c *config.RewriteProbes, mode pipeline.Wants) (out string, refused bool) {
	t.Helper()
	d, err := do([]byte(text), c, mode)
	if err != nil {
		t.Fatal(err)
	}
	return string(d.text), d.refused != ""
}
