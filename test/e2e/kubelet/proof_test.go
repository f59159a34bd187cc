package kubelet

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// A result is what a test saw, for docs/proof/kubelet.md.
type result struct {
	test, expected, saw string
}

// A cell is what the page says of a result: what was expected, which is compared,
// or what was seen, with times that no second run has.
type cell func(result) string

func wanted(r result) string { return r.expected }
func seen(r result) string   { return r.saw }

var (
	mu   sync.Mutex // guards rows
	rows []result
)

// note keeps what a test saw for the results page.
func note(t *testing.T, expected, saw string) {
	mu.Lock()
	defer mu.Unlock()
	rows = append(rows, result{t.Name(), expected, strings.ReplaceAll(saw, "\n", " ")})
}

// expected lists the tests that must have noted what they saw.
func expected() []string {
	var all []string
	add := func(test string, cases ...string) {
		if cases == nil {
			all = append(all, test)
		}
		for _, c := range cases {
			all = append(all, test+"/"+strings.ReplaceAll(c, " ", "_"))
		}
	}
	for _, p := range pods {
		add("TestPodsFareAsExpectedAsTheyAreAndRewritten", p.name+"/native")
		for _, config := range configsOf(p.configs) {
			add("TestPodsFareAsExpectedAsTheyAreAndRewritten", p.name+"/rewritten-"+config)
		}
		if !p.notIstios {
			add("TestIstiosStatusServerGivesTheSameVerdicts", p.name+"/istio-status")
		}
	}
	for _, mesh := range otherMeshes {
		for _, c := range meshCases {
			add("TestPodsFareAsExpectedInOtherMeshes", mesh+"/"+c.variant())
		}
		add("TestPodsFareAsExpectedInOtherMeshes", mesh+"/certificate")
	}
	for _, c := range hookOrders {
		add("TestHooksReachTheAppOnceEachAndInOrder", hookVariant(c.pod, c.config))
	}
	for _, c := range endings {
		add("TestEndingAPodTakesNoLongerThanWithoutUs", c.name)
	}
	for _, c := range starts {
		add("TestNoProbeOrHookComesBeforeProbeProxyListens", c.name)
	}
	add("TestAnAppThatHangsIsRestartedByItsLivenessProbe", hangingPods...)
	add("TestAnAppThatNoLongerListensBecomesNotReady", dyingPods...)
	add("TestAnAppThatIsKilledIsRestartedAndTheSidecarStays")
	add("TestKillingTheSidecarUnderLoadLosesNoVerdictForLongerThanAPeriod")
	add("TestTheMeshDemandsAClientCertificate")
	for _, w := range worlds {
		add("TestTheModelOfTheWorldsIsRight", w.name)
	}
	return all
}

// complete returns an error that names the expected tests that noted nothing, and
// those that were not expected.
func complete() error {
	noted := map[string]bool{}
	for _, r := range rows {
		noted[r.test] = true
	}
	var wrong []string
	for _, test := range expected() {
		if !noted[test] {
			wrong = append(wrong, test+" noted nothing")
		}
		delete(noted, test)
	}
	for _, test := range slices.Sorted(maps.Keys(noted)) {
		wrong = append(wrong, test+" is not among the expected rows")
	}
	if len(wrong) > 0 {
		return errors.New("docs/proof/kubelet.md: " + strings.Join(wrong, "; "))
	}
	return nil
}

// prove compares the results page with the run. A test without a row is an error.
func prove() error {
	mu.Lock()
	defer mu.Unlock()
	if err := complete(); err != nil {
		return err
	}
	slices.SortFunc(rows, func(a, b result) int { return strings.Compare(a.test, b.test) })
	tables := func(of cell) string {
		return sideBySide(of) + "\n" + inMeshes(of) + "\n" + broken(of)
	}
	page := testutil.ProofPage(root, "kubelet")
	return errors.Join(
		page.Prove("verdicts", fmt.Sprintf("Kubernetes %s, %d verdicts.\n\n", kubernetes, len(rows))+tables(wanted)),
		page.Keep("seen", tables(seen)))
}

// sideBySide shows how each pod fared as it is, rewritten, and with
// Istio's status server in the place of probe-proxy.
func sideBySide(of cell) string {
	var b strings.Builder
	b.WriteString("| pod | as it is | rewritten, answered by probe-proxy | rewritten, answered by Istio's status server |\n|---|---|---|---|\n")
	cells := map[string][]string{} // by pod and variant
	for _, r := range rows {
		test := strings.Split(r.test, "/")
		if len(test) != 3 {
			continue
		}
		saw, variant := of(r), test[2]
		if config, ok := strings.CutPrefix(variant, "rewritten-"); ok {
			variant = "rewritten"
			if config != "default" {
				saw = config + ": " + saw
			}
		}
		key := test[1] + "/" + variant
		cells[key] = append(cells[key], saw)
	}
	for _, p := range pods {
		native := strings.Join(cells[p.name+"/native"], "")
		if p.lies {
			native = "falsely " + native
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", p.name, native,
			strings.Join(cells[p.name+"/rewritten"], "<br>"), strings.Join(cells[p.name+"/istio-status"], ""))
	}
	return b.String()
}

// inMeshes shows how pods fared in the other meshes, a column each.
func inMeshes(of cell) string {
	var b strings.Builder
	b.WriteString("| pod | Linkerd | Kuma | Consul |\n|---|---|---|---|\n")
	write := func(title, variant string, lies bool) {
		fmt.Fprintf(&b, "| %s |", title)
		for _, mesh := range otherMeshes {
			for _, r := range rows {
				if r.test != "TestPodsFareAsExpectedInOtherMeshes/"+mesh+"/"+variant {
					continue
				}
				saw := of(r)
				if lies {
					saw = "falsely " + saw
				}
				fmt.Fprintf(&b, " %s |", saw)
			}
		}
		b.WriteString("\n")
	}
	write("clients", "certificate", false)
	for _, c := range meshCases {
		write(c.title(), c.variant(), c.lies)
	}
	return b.String()
}

// broken shows what came of things that were broken on purpose.
func broken(of cell) string {
	var b strings.Builder
	b.WriteString("| tried | it |\n|---|---|\n")
	for _, r := range rows {
		test := strings.Split(r.test, "/")
		if len(test) == 3 {
			continue
		}
		name := sentence(test[0])
		if len(test) == 2 {
			name += ": " + strings.ReplaceAll(test[1], "_", " ")
		}
		fmt.Fprintf(&b, "| %s | %s |\n", name, of(r))
	}
	return b.String()
}

// sentence returns the name of a test as a sentence.
func sentence(name string) string {
	var b strings.Builder
	for i, r := range strings.TrimPrefix(name, "Test") {
		if i == 0 {
			b.WriteRune(r)
			continue
		}
		if r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteString(strings.ToLower(string(r)))
	}
	return strings.NewReplacer("istios", "Istio's", "a p i", "API").Replace(b.String())
}
