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

// The page is made from the rows that `rewrite-probes reasons` prints.
func TestPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Reason keys\n\nThe key in brackets at the end of a message, and in the tags of a result. `rewrite-probes reasons KEY` prints the same.\n\n| key | severity | cause | fix |\n|---|---|---|---|\n")
	for _, d := range reason.All() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Key, d.Severity, d.Cause, d.FixOrNothing())
	}
	golden.Compare(t, "../../docs/reasons.md", []byte(b.String()))
}

// A key without a row of its own would have no severity.
func TestRows(t *testing.T) {
	all := reason.All()
	if !slices.IsSortedFunc(all, func(a, b reason.Doc) int { return strings.Compare(a.Key.String(), b.Key.String()) }) {
		t.Error("the rows are not sorted by key")
	}
	for i, d := range all {
		if i > 0 && all[i-1].Key == d.Key {
			t.Errorf("%s has two rows", d.Key)
		}
		if d.Severity.Rank() < 0 || d.Of == "" || !strings.HasSuffix(d.Cause, ".") || !strings.HasSuffix(d.FixOrNothing(), ".") {
			t.Errorf("the row of %s lacks something: %+v", d.Key, d)
		}
		if key, known := reason.Parse(d.Key.String()); !known || key != d.Key || key.Doc().Cause != d.Cause {
			t.Errorf("%s is read as %s", d.Key, key)
		}
	}
	for _, text := range []string{"", "no-such-reason"} {
		if key, known := reason.Parse(text); known || key.Severity() != "" {
			t.Errorf("%q is read as a reason", text)
		}
	}
}

func TestText_String(t *testing.T) {
	for _, c := range []struct {
		text reason.Text
		want string
	}{
		{reason.NewText("%s fails", "it"), "it fails"},
		{reason.Text{What: "it fails", Why: "Because."}, "it fails. Because."},
		{reason.Text{What: "it fails", Fix: "Run it"}, "it fails. Run it."},
		{reason.Text{What: "Is it?", Why: "Nobody knows", Fix: "Say so"}, "Is it? Nobody knows. Say so."},
	} {
		if got := c.text.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A literal key that is in no row would have no severity: code names the constants, which the compiler checks.
func TestKey_noLiterals(t *testing.T) {
	literal := regexp.MustCompile(`\b(?:NewFinding|containerFinding|metadataFinding|annotationFinding|NewMessage)\("([a-z-]+)"|\b(?:aboutFile|note|skip)\([\w.]+, "([a-z-]+)"`)
	constant := regexp.MustCompile(`\b(?:NewFinding|containerFinding|metadataFinding|annotationFinding|NewMessage)\(reason\.[A-Z]|\b(?:aboutFile|note|skip)\([\w.]+, reason\.[A-Z]`)
	seen := 0
	root := os.DirFS("../..")
	for _, folder := range []string{"cmd", "fn", "internal", "transformer"} {
		err := fs.WalkDir(root, folder, func(file string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			text, err := fs.ReadFile(root, file)
			for _, m := range literal.FindAllStringSubmatch(string(text), -1) {
				t.Errorf("%s: %q must be a constant of package reason", file, m[1]+m[2])
			}
			seen += len(constant.FindAll(text, -1))
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
