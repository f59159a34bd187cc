package kubelet

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// A result is what a test saw, for docs/proof.md.
type result struct {
	test, expected, saw string
	failed              bool
}

// cell returns what the test saw, bold if that was not expected.
func (r result) cell() string {
	if r.failed {
		return "**" + r.saw + "**"
	}
	return r.saw
}

var (
	mu   sync.Mutex // guards rows
	rows []result
)

// note keeps what a test saw for the results page.
func note(t *testing.T, expected, saw string) {
	mu.Lock()
	defer mu.Unlock()
	rows = append(rows, result{t.Name(), expected, strings.ReplaceAll(saw, "\n", " "), t.Failed()})
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
	for _, p := range osmPods {
		add("TestPodsFareAsExpectedInTheDialectOSM", p.name)
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
	add("TestAnAppThatHangsIsRestartedByItsLivenessProbe", hangingPods...)
	add("TestAnAppThatNoLongerListensBecomesNotReady", dyingPods...)
	add("TestAnAppThatIsKilledIsRestartedAndTheSidecarStays")
	add("TestKillingTheSidecarUnderLoadLosesNoVerdictForLongerThanAPeriod")
	add("TestTheMeshDemandsAClientCertificate")
	return all
}

// complete adds a row for each expected test that noted nothing, for example
// after a fatal error. It returns an error that names these tests and those
// that were not expected.
func complete() error {
	noted := map[string]bool{}
	for _, r := range rows {
		noted[r.test] = true
	}
	var wrong []string
	for _, test := range expected() {
		if !noted[test] {
			wrong = append(wrong, test+" noted nothing")
			rows = append(rows, result{test: test, saw: "no verdict", failed: true})
		}
		delete(noted, test)
	}
	for _, test := range slices.Sorted(maps.Keys(noted)) {
		wrong = append(wrong, test+" is not among the expected rows")
	}
	if len(wrong) > 0 {
		return errors.New("docs/proof.md: " + strings.Join(wrong, "; "))
	}
	return nil
}

// writeProof writes the suite's section of the results page. A test without a
// row is an error.
func writeProof(page string) error {
	mu.Lock()
	defer mu.Unlock()
	incomplete := complete()
	slices.SortFunc(rows, func(a, b result) int { return strings.Compare(a.test, b.test) })
	failed := 0
	for _, r := range rows {
		if r.failed {
			failed++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `## A real kubelet under enforced mTLS

Kubernetes %s's kubelet with containerd, Istio's redirection rules and an HAProxy that demands client certificates
(with one the app answers, without one it does not: that is tried too). The pods are those of [test/e2e/pods](../test/e2e/pods).
Run again: `+"`make e2e`"+`. %s: %d verdicts, %d not as expected (bold).

`, kubernetes, time.Now().UTC().Format(time.DateOnly), len(rows), failed)
	writeSideBySide(&b)
	writeMeshes(&b)
	writeBroken(&b)
	return errors.Join(incomplete, testutil.ReplaceSection(page, "kubelet", b.String()))
}

// writeSideBySide shows how each pod fared as it is, rewritten, and with
// Istio's status server in the place of probe-proxy.
func writeSideBySide(b *strings.Builder) {
	b.WriteString("| pod | as it is | rewritten, answered by probe-proxy | rewritten, answered by Istio's status server |\n|---|---|---|---|\n")
	cells := map[string][]string{} // by pod and variant
	for _, r := range rows {
		test := strings.Split(r.test, "/")
		if len(test) != 3 {
			continue
		}
		saw, variant := r.cell(), test[2]
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
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", p.name, native,
			strings.Join(cells[p.name+"/rewritten"], "<br>"), strings.Join(cells[p.name+"/istio-status"], ""))
	}
}

// writeMeshes shows how pods fared in the other meshes, a column each.
func writeMeshes(b *strings.Builder) {
	b.WriteString(`
The same kubelet, with the redirection of other meshes in the place of Istio's, as their own code makes it
([what holds the rules against that](../test/conformance/meshes/doc.go)). Behind it is the same HAProxy, with the uid and the ports of
the mesh's proxy. It is no such proxy: it only demands client certificates. It has no policy as Linkerd's, which lets plain ` + "`httpGet`" + ` probes
in ([Linkerd](guides/linkerd.md)), and pods as they are have not been through the rewriters of Kuma and Consul, which see to some probes
([Kuma](guides/kuma.md), [Consul](guides/consul.md)).

| pod | Linkerd | Kuma | Consul |
|---|---|---|---|
`)
	write := func(title, variant string, lies bool) {
		fmt.Fprintf(b, "| %s |", title)
		for _, mesh := range otherMeshes {
			for _, r := range rows {
				if r.test != "TestPodsFareAsExpectedInOtherMeshes/"+mesh+"/"+variant {
					continue
				}
				saw := r.cell()
				if lies {
					saw = "falsely " + saw
				}
				fmt.Fprintf(b, " %s |", saw)
			}
		}
		b.WriteString("\n")
	}
	write("clients", "certificate", false)
	for _, c := range meshCases {
		write(c.title(), c.variant(), c.lies)
	}
}

// writeBroken shows what was seen of things that were broken on purpose.
func writeBroken(b *strings.Builder) {
	b.WriteString("\n| tried | expected | seen |\n|---|---|---|\n")
	for _, r := range rows {
		test := strings.Split(r.test, "/")
		if len(test) == 3 {
			continue
		}
		name := sentence(test[0])
		if len(test) == 2 {
			name += ": " + strings.ReplaceAll(test[1], "_", " ")
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, r.expected, r.cell())
	}
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
	return strings.NewReplacer("istios", "Istio's", "a p i", "API", "o s m", "OSM").Replace(b.String())
}
