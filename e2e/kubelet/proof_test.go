package kubelet

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/e2e/proof"
)

// A seen is a row of the results page.
type seen struct{ test, expected, saw string }

var (
	mu   sync.Mutex // guards rows
	rows []seen
)

// note keeps what a test saw for the results page.
func note(t *testing.T, expected, saw string) {
	mu.Lock()
	defer mu.Unlock()
	rows = append(rows, seen{t.Name(), expected, saw})
}

// writeProof writes the suite's section of the results page, unless only
// some of the tests ran.
func writeProof(page string) error {
	mu.Lock()
	defer mu.Unlock()
	if len(rows) < 2*len(pods) {
		return nil
	}
	slices.SortStableFunc(rows, func(a, b seen) int { return strings.Compare(a.test, b.test) })
	var b strings.Builder
	fmt.Fprintf(&b, "## A real kubelet under enforced mTLS\n\n"+
		"Kubernetes v1.35.4's kubelet with containerd, Istio's redirection rules and an HAProxy that demands client certificates;\n"+
		"the pods of `e2e/pods` as they are and through `rewrite-probes`. Run again: `make e2e`. %d verdicts, %s.\n\n"+
		"| pod | expected | seen |\n|---|---|---|\n", len(rows), time.Now().UTC().Format(time.DateOnly))
	for _, r := range rows {
		_, name, found := strings.Cut(r.test, "/")
		if !found {
			name = words(r.test)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, r.expected, strings.ReplaceAll(r.saw, "\n", " "))
	}
	return proof.Write(page, "kubelet", b.String())
}

// words makes a sentence of a test's name.
func words(name string) string {
	var b strings.Builder
	for i, r := range strings.TrimPrefix(name, "Test") {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteString(strings.ToLower(string(r)))
	}
	return b.String()
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
