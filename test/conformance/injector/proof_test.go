package injector

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/istio"
)

// proofPage is the results page; the suites that ran own a section each,
// between two markers.
const (
	proofPage = root + "/docs/proof.md"
	goMod     = root + "/test/go.mod"
)

// What the tests of this run found.
var (
	comparisons []column
	passed      []row
	declared    []mesh // whose effects are as they must be
)

// A column is one comparison with Istio's injector.
type column struct {
	title string
	*tally
}

// A row is one passage through Istio's injector.
type row struct {
	title string
	*passage
}

func TestMain(m *testing.M) { os.Exit(testutil.RunAndProve(m, writeProof)) }

func writeProof() error {
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
	return testutil.ReplaceSection(proofPage, "injector", proof(istioVersion, kubernetesVersion))
}

func proof(istioVersion, kubernetesVersion string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `## Istio's injector

The webhook of istio.io/istio %s with what its charts render by default, after the defaulting of
k8s.io/kubernetes %s; and the same manifests, not defaulted, through rewrite-probes. Every probe and hook is compared,
and its entry in %s, decoded by Istio's types. A difference is explained if Istio's outcome, without
the mistakes below, is exactly ours; every other one is unexplained. Random workloads have the seeds 1 to %d.
Run again: `+"`make conformance`"+`. %s.

`, istioVersion, kubernetesVersion, istio.EnvName, workloads(), time.Now().UTC().Format(time.DateOnly))
	table(&b, "| |", func(c column) string { return c.title })
	b.WriteString("|---|" + strings.Repeat("---|", len(comparisons)) + "\n")
	for _, r := range []struct {
		title string
		count func(*tally) int
	}{
		{"pods compared", func(s *tally) int { return s.pods }},
		{"probes and hooks compared", func(s *tally) int { return s.places }},
		{"equal", func(s *tally) int { return s.equal }},
		{"explained", func(s *tally) int { return s.explainedAll }},
		{"**unexplained**", func(s *tally) int { return len(s.unexplained) }},
		{"probes and hooks rewritten by us", func(s *tally) int { return s.rewritten }},
		{"pod templates of custom kinds, which only we look at (mistake 12)", func(s *tally) int { return s.custom }},
		{"pods in namespaces without injection, left as they are", func(s *tally) int { return s.uninjected }},
		{"pods that the webhook refuses, of which we say why or change nothing", func(s *tally) int { return s.refusedBoth }},
		{"pods that the API server refuses as they are, not compared", func(s *tally) int { return s.invalid }},
	} {
		table(&b, "| "+r.title+" |", func(c column) string { return fmt.Sprint(r.count(c.tally)) })
	}
	b.WriteString("\nMistakes of Istio's rewriting that are not repeated, and how often each is the explanation:\n\n")
	table(&b, "| no. | mistake |", func(c column) string { return c.title })
	b.WriteString("|---|---|" + strings.Repeat("---|", len(comparisons)) + "\n")
	for _, m := range slices.SortedStableFunc(slices.Values(mistakes), func(a, b *mistake) int { return cmp.Compare(a.number, b.number) }) {
		table(&b, fmt.Sprintf("| %d | %s |", m.number, m.what), func(c column) string { return fmt.Sprint(c.explained[m]) })
	}
	for _, reason := range slices.Sorted(maps.Keys(refusals)) {
		r := refusals[reason]
		number := "by design"
		if r.number > 0 {
			number = strconv.Itoa(r.number)
		}
		table(&b, fmt.Sprintf("| %s | %s; we refuse the pod (`%s`) |", number, r.what, reason), func(c column) string { return fmt.Sprint(c.refused[reason]) })
	}
	b.WriteString(`
Other mistakes do not show in a single pod. 3, defaults are not filled in: the manifests here have none, and a default
missing in our entries would be a difference. 7, a second pass keeps stale entries or points at itself: every random
workload is rewritten twice, and the second run must write the same bytes. 12, custom kinds: counted above. 13, mistakes
of Istio's agent: see the section on the kubelet's probers.

The reverse: the output of rewrite-probes goes through the webhook twice. Every probe, hook and entry must come out as
it went in, with one istio-proxy, and the API server's validation must accept the pod.

| rewritten with | pods, ordinary mode | pods, native mode | probes and hooks in each pod as they were | changed or lost |
|---|---|---|---|---|
`)
	for _, p := range passed {
		fmt.Fprintf(&b, "| %s | %d | %d | %d and %d | %d |\n", p.title, p.pods[istio.Ordinary], p.pods[istio.Native], p.kept[istio.Ordinary], p.kept[istio.Native], len(p.problems))
	}
	b.WriteString(`
If all other containers of a pod satisfy Pod Security restricted, istio-proxy is declared with a securityContext. The
table shows what that changes in the injected pod, in ordinary and in native mode: nothing but the securityContext of
istio-proxy may differ, and its uid, gid and readOnlyRootFilesystem are the injector's. Some pods the API server then
refuses or the kubelet does not run, which is why ` + "`istioProxy: {restricted: false}`" + ` can be set: without the securityContext they run.

| mesh, or pod | effect, if runAsNonRoot and seccompProfile are in the pod's securityContext | if they are in every container's |
|---|---|---|
`)
	for _, m := range declared {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", m.name, m.byPod, m.byContainer)
	}
	return b.String()
}

// table writes one row with a cell for every comparison.
func table(b *strings.Builder, head string, cell func(column) string) {
	b.WriteString(head)
	for _, c := range comparisons {
		b.WriteString(" " + cell(c) + " |")
	}
	b.WriteString("\n")
}
