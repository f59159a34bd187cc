package kubelet

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/test/e2e/proof"
)

// A seen is what a test saw, for the results page.
type seen struct {
	test, expected, saw string
	failed              bool
}

var (
	mu   sync.Mutex // guards rows
	rows []seen
)

// note keeps what a test saw for the results page.
func note(t *testing.T, expected, saw string) { keep(seen{t.Name(), expected, saw, t.Failed()}) }

func keep(s seen) {
	mu.Lock()
	defer mu.Unlock()
	s.saw = strings.ReplaceAll(s.saw, "\n", " ")
	rows = append(rows, s)
}

// writeProof writes the suite's section of the results page, unless only
// some of the tests ran.
func writeProof(page string) error {
	mu.Lock()
	defer mu.Unlock()
	if len(rows) < 3*len(pods) {
		return nil
	}
	slices.SortFunc(rows, func(a, b seen) int { return strings.Compare(a.test, b.test) })
	failed := 0
	for _, r := range rows {
		if r.failed {
			failed++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `## A real kubelet under enforced mTLS

Kubernetes v1.35.4's kubelet with containerd, Istio's redirection rules and an HAProxy that demands client certificates
(with one the app answers, without one it does not: that is tried too). The pods are those of [test/e2e/pods](../test/e2e/pods).
Run again: `+"`make e2e`"+`. %s: %d verdicts, %d not as expected (bold).

`, time.Now().UTC().Format(time.DateOnly), len(rows), failed)
	writeSideBySide(&b)
	writeBroken(&b)
	return proof.Write(page, "kubelet", b.String())
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
		saw := r.saw
		if r.failed {
			saw = "**" + saw + "**"
		}
		variant := test[2]
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

// writeBroken shows what was seen of things that were broken on purpose.
func writeBroken(b *strings.Builder) {
	b.WriteString("\n| tried | expected | seen |\n|---|---|---|\n")
	for _, r := range rows {
		test := strings.Split(r.test, "/")
		if len(test) == 3 {
			continue
		}
		saw := r.saw
		if r.failed {
			saw = "**" + saw + "**"
		}
		name := sentence(test[0])
		if len(test) == 2 {
			name += ": " + strings.ReplaceAll(test[1], "_", " ")
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, r.expected, saw)
	}
}

// sentence makes one of a test's name.
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

// eventually tries until it works or the time is over.
func eventually(limit time.Duration, try func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := try()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}
