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
	"github.com/rewrite-probes/rewrite-probes/internal/reason/example"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

// The page has what `rewrite-probes reasons KEY` prints. Every key is a heading, so that a message
// can link to it.
func TestPage(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Reason keys

Every message ends in a key in brackets. A result has the key in its tags. The table lists all keys. Each key has its own section with
the cause, the fix, and for errors and warnings an example. Lines with a minus are before the fix, lines with a plus after it.
` + "`rewrite-probes reasons KEY`" + ` prints the section.

| key | severity | meaning |
|---|---|---|
`)
	for _, d := range reason.All() {
		first, _, _ := strings.Cut(d.Cause, ". ")
		fmt.Fprintf(&b, "| [\x60%s\x60](#%s) | %s | %s |\n", d.Key, d.Key, d.Severity, strings.TrimSuffix(first, "."))
	}
	for _, d := range reason.All() {
		fmt.Fprintf(&b, "\n## %s\n\nSeverity: %s\n\n%s\n\n**Fix.** %s\n", d.Key, d.Severity, d.Cause, d.FixOrNothing())
		if text := example.Text(d.Key); text != "" {
			fmt.Fprintf(&b, "\n\x60\x60\x60diff\n%s\x60\x60\x60\n", text)
		}
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
