package injector

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/istio"
)

const goMod = root + "/test/go.mod"

// What the tests of this run found.
var (
	comparisons []column
	passed      []row
	declared    []mesh // whose effects are as they must be
)

// A column is one comparison with Istio's injector.
type column struct {
	title string
	real  bool // of manifests of the real world
	*tally
}

// A row is one passage through Istio's injector.
type row struct {
	title string
	*passage
}

func TestMain(m *testing.M) { os.Exit(testutil.RunAndProve(m, prove)) }

func prove() error {
	if len(comparisons) != 4 || len(passed) != 2 || len(declared) != len(meshes) {
		return testutil.ErrPartly
	}
	istioVersion, err := testutil.ModuleVersion(goMod, "istio.io/istio")
	if err != nil {
		return err
	}
	kubernetesVersion, err := testutil.ModuleVersion(goMod, "k8s.io/kubernetes")
	if err != nil {
		return err
	}
	page := testutil.ProofPage(root, "injector")
	if os.Getenv(workloadsEnv) != "" {
		page.Missing("all", workloadsEnv+" changes the number of random workloads")
		return nil
	}
	versions := fmt.Sprintf("istio.io/istio %s, k8s.io/kubernetes %s.\n\n", istioVersion, kubernetesVersion)
	err = errors.Join(page.Prove("random", versions+compared(false)), page.Prove("restricted", restricted()))
	files, corpusErr := testutil.Corpus(root)
	if len(files) == 0 {
		page.Missing("real-world", "the real-world manifests are not here")
		return errors.Join(err, corpusErr)
	}
	return errors.Join(err, corpusErr, page.Prove("real-world", compared(true)), page.Prove("reverse", reverse()))
}

// compared returns the tables of the comparisons, of random workloads or of manifests
// of the real world.
func compared(real bool) string {
	columns := slices.DeleteFunc(slices.Clone(comparisons), func(c column) bool { return c.real != real })
	var b strings.Builder
	table(&b, columns, "| |", func(c column) string { return c.title })
	b.WriteString("|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, r := range []struct {
		title string
		count func(*tally) int
	}{
		{"pods compared", func(s *tally) int { return s.pods }},
		{"probes and hooks compared", func(s *tally) int { return s.places }},
		{"equal", func(s *tally) int { return s.equal }},
		{"explained", func(s *tally) int { return s.explainedAll }},
		{"**unexplained**", func(s *tally) int { return len(s.unexplained) }},
		{"probes and hooks that are others in our output", func(s *tally) int { return s.rewritten }},
		{"pod templates of custom kinds, which only we look at (mistake 12)", func(s *tally) int { return s.custom }},
		{"WorkloadGroups, which no injector sees", func(s *tally) int { return s.groups }},
		{"pods in namespaces without injection, left as they are", func(s *tally) int { return s.uninjected }},
		{"pods that the webhook refuses, of which we say why or change nothing", func(s *tally) int { return s.refusedBoth }},
		{"pods that the API server refuses as they are, not compared", func(s *tally) int { return s.invalid }},
	} {
		table(&b, columns, "| "+r.title+" |", func(c column) string { return fmt.Sprint(r.count(c.tally)) })
	}
	b.WriteString("\nMistakes of Istio's rewriting that are not repeated, and how often each is the explanation:\n\n")
	table(&b, columns, "| no. | mistake |", func(c column) string { return c.title })
	b.WriteString("|---|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, m := range slices.SortedStableFunc(slices.Values(mistakes), func(a, b *mistake) int { return cmp.Compare(a.number, b.number) }) {
		table(&b, columns, fmt.Sprintf("| %s | %s |", m.no(), m.what), func(c column) string { return fmt.Sprint(c.explained[m]) })
	}
	for _, reason := range slices.Sorted(maps.Keys(refusals)) {
		r := refusals[reason]
		table(&b, columns, fmt.Sprintf("| %s | %s; we refuse the pod (`%s`) |", r.no(), r.what, reason), func(c column) string { return fmt.Sprint(c.refused[reason]) })
	}
	return b.String()
}

func reverse() string {
	var b strings.Builder
	b.WriteString("| rewritten with | pods, ordinary mode | pods, native mode | probes and hooks in each pod as they were | changed or lost |\n|---|---|---|---|---|\n")
	for _, p := range passed {
		fmt.Fprintf(&b, "| %s | %d | %d | %d and %d | %d |\n", p.title, p.pods[istio.Ordinary], p.pods[istio.Native], p.kept[istio.Ordinary], p.kept[istio.Native], len(p.problems))
	}
	return b.String()
}

func restricted() string {
	var b strings.Builder
	b.WriteString("| mesh, or pod | effect, if runAsNonRoot and seccompProfile are in the pod's securityContext | if they are in every container's |\n|---|---|---|\n")
	for _, m := range declared {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", m.name, m.byPod, m.byContainer)
	}
	return b.String()
}

// table writes one row with a cell for every comparison.
func table(b *strings.Builder, columns []column, head string, cell func(column) string) {
	b.WriteString(head)
	for _, c := range columns {
		b.WriteString(" " + cell(c) + " |")
	}
	b.WriteString("\n")
}
