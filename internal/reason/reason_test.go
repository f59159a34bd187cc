package reason_test

import (
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

// The page is made from the table that `rewrite-probes reasons` prints.
func TestThePageOfReasonsFollowsTheCode(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Reason keys\n\nThe key in brackets at the end of a message, and in the tags of a result. `rewrite-probes reasons KEY` prints the same.\n\n| key | severity | cause | cure |\n|---|---|---|---|\n")
	seen := make(map[string]bool)
	for _, r := range reason.All() {
		if seen[r.Key] || !strings.HasSuffix(r.Cause, ".") || !strings.HasSuffix(r.Cure, ".") {
			t.Errorf("reason %q is there twice, or has no sentence for cause or cure", r.Key)
		}
		seen[r.Key] = true
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Key, r.Severity, r.Cause, r.Cure)
	}
	golden.Compare(t, "../../docs/reasons.md", []byte(b.String()))
}

// Each table is sorted, so that a binary search finds its rows, and so that two
// people seldom add theirs in the same place.
func TestTheTablesAreSorted(t *testing.T) {
	for _, table := range [][]reason.Doc{reason.OfPlan, reason.OfGroup, reason.OfRun, reason.All()} {
		if !slices.IsSortedFunc(table, func(a, b reason.Doc) int { return strings.Compare(a.Key, b.Key) }) {
			t.Errorf("not sorted: %v", table)
		}
	}
}

// A key that is in no table would have no severity.
func TestEveryKeyInTheCodeIsInATable(t *testing.T) {
	key := regexp.MustCompile(`\b(?:NewFinding|containerFinding|metadataFinding|annotationFinding|NewMessage)\("([^"]*)"|\b(?:aboutFile|note|skip)\([\w.]+, "([^"]*)"`)
	seen := 0
	root := os.DirFS("../..")
	for _, folder := range []string{"cmd", "fn", "internal", "transformer"} {
		err := fs.WalkDir(root, folder, func(file string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			text, err := fs.ReadFile(root, file)
			for _, m := range key.FindAllStringSubmatch(string(text), -1) {
				if seen++; reason.SeverityOf(m[1]+m[2]) == "" {
					t.Errorf("%s: %q is no reason", file, m[1]+m[2])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 100 {
		t.Errorf("%d keys were seen", seen)
	}
}
