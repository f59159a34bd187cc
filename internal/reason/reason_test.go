package reason_test

import (
	"fmt"
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
		fmt.Fprintf(&b, "| [\x60%s\x60](#%s) | %s | %s |\n", d.Name, d.Name, d.Severity, strings.TrimSuffix(first, "."))
	}
	for _, d := range reason.All() {
		fmt.Fprintf(&b, "\n## %s\n\nSeverity: %s\n\n%s\n\n**Fix.** %s\n", d.Name, d.Severity, d.Cause, d.FixOrNothing())
		if text := example.Text(d.Name); text != "" {
			fmt.Fprintf(&b, "\n\x60\x60\x60diff\n%s\x60\x60\x60\n", text)
		}
	}
	golden.Compare(t, "../../docs/reasons.md", []byte(b.String()))
}

// Each constant has a row of its own, in the order of the names, in which docs/reasons.md has them.
func TestRows(t *testing.T) {
	byName := func(a, b reason.Doc) int { return strings.Compare(a.Name, b.Name) }
	all := reason.All()
	if !slices.IsSortedFunc(all, byName) {
		t.Error("the rows are not sorted by name")
	}
	for i, d := range all {
		if d.Name == "" {
			t.Errorf("key %d has no row", i+1)
			continue
		}
		if i > 0 && all[i-1].Name == d.Name {
			t.Errorf("%s has two rows", d.Name)
		}
		if d.Severity.Rank() < 0 || d.Of == "" || !strings.HasSuffix(d.Cause, ".") || !strings.HasSuffix(d.FixOrNothing(), ".") {
			t.Errorf("the row of %s lacks something: %+v", d.Name, d)
		}
		if key, known := reason.Parse(d.Name); !known || key.String() != d.Name || key.Doc().Cause != d.Cause {
			t.Errorf("%s is read as %s", d.Name, key)
		}
	}
	for _, text := range []string{"", "no-such-reason"} {
		if key, known := reason.Parse(text); known || key != reason.None || key.Severity() != "" {
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
