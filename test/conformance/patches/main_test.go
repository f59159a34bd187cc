package patches

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

func TestMain(m *testing.M) {
	os.Exit(testutil.RunAndProve(m, prove))
}

// prove compares the page with what was found, or writes it. A run of another size than the page's
// two is compared with nothing.
func prove() error {
	page := testutil.ProofPage("../../..", "patches")
	switch [2]int{*trees, *eachKind} {
	case [2]int{manyTrees, manyOfEach}:
		return page.Prove("many", counts())
	case [2]int{fewTrees, fewOfEach}:
	default:
		return nil
	}
	var byKind strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(&byKind, "- %s: %d\n", kind, kinds[kind])
	}
	return errors.Join(page.Prove("results", counts()), page.Prove("kinds", byKind.String()))
}

// counts returns the table of all results. Nothing that is silently wrong is a line too.
func counts() string {
	results[silentlyWrong] += 0
	var b strings.Builder
	b.WriteString("| what | how many |\n|---|---|\n")
	for _, what := range slices.Sorted(maps.Keys(results)) {
		fmt.Fprintf(&b, "| %s | %d |\n", what, results[what])
	}
	return b.String()
}

func documents(text []byte) []string { return strings.Split("\n"+string(text), "\n---\n") }
