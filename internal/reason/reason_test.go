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
		if isInfo := d.Of == reason.Plan && d.Severity == reason.Info; isInfo != (d.Leaves != 0) {
			t.Errorf("%s has the extent %d, which every info of a plan must have, and no other reason", d.Name, d.Leaves)
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

func TestEveryReasonIsOfOneScope(t *testing.T) {
	var names []string
	for _, scope := range []reason.Scope{reason.Plan, reason.Group, reason.Run} {
		of := reason.Of(scope)
		if len(of) == 0 {
			t.Errorf("no reason is of %s", scope)
		}
		for _, d := range of {
			if d.Of != scope {
				t.Errorf("%s is of %s, not of %s", d.Name, d.Of, scope)
			}
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	for i, d := range reason.All() {
		if i >= len(names) || names[i] != d.Name {
			t.Fatalf("%s is of no scope: %q", d.Name, names)
		}
	}
	if of := reason.Of("another"); len(of) != 0 {
		t.Errorf("%d reasons are of no known scope", len(of))
	}
}

// Whoever changes the rows changes copies.
func TestTheRowsAreCopies(t *testing.T) {
	for _, rows := range [][]reason.Doc{reason.All(), reason.Of(reason.Run)} {
		for i := range rows {
			rows[i].Name, rows[i].Fix = "changed", "changed"
		}
	}
	for _, d := range reason.All() {
		if d.Name == "changed" || d.Fix == "changed" {
			t.Fatal("a row of the registry has changed")
		}
	}
}

// A message's own fix is better than that of its reason.
func TestATextGetsTheFixOfItsReasonIfItHasNone(t *testing.T) {
	withFix, without := reason.None, reason.None
	for _, d := range reason.All() {
		key, _ := reason.Parse(d.Name)
		if d.Fix != "" {
			withFix = key
		} else {
			without = key
		}
	}
	if withFix == reason.None || without == reason.None {
		t.Fatalf("%s and %s", withFix, without)
	}
	for _, c := range []struct {
		key       reason.Key
		fix, want string
	}{
		{withFix, "", withFix.Doc().Fix}, {withFix, "Do it", "Do it"}, {without, "", ""}, {without, "Do it", "Do it"}, {reason.None, "", ""},
	} {
		got := c.key.Complete(reason.Text{What: "a", Why: "b", Fix: c.fix})
		if want := (reason.Text{What: "a", Why: "b", Fix: c.want}); got != want {
			t.Errorf("%s: %+v, want %+v", c.key, got, want)
		}
	}
	if got := without.Doc().FixOrNothing(); got != "Nothing to do." {
		t.Errorf("nothing to do is %q", got)
	}
}

func TestASentenceBeginsWithACapitalLetterAndEnds(t *testing.T) {
	for words, want := range map[string]string{
		"": "", "the pod": "The pod", "The pod": "The pod", "x": "X", "`x` is": "`x` is", "1 probe": "1 probe",
		"probe-proxy answers": "probe-proxy answers", "istio-proxy answers": "istio-proxy answers", "rewrite-probes does": "rewrite-probes does", "probes": "Probes", "istio": "Istio",
	} {
		if got := reason.Capital(words); got != want {
			t.Errorf("%q begins as %q, want %q", words, got, want)
		}
	}
	for part, want := range map[string]string{"": "", "a": "a.", "a.": "a.", "a?": "a?", "a!": "a!", "a:": "a:", "a;": "a;.", "a. b": "a. b.", "`a`": "`a`."} {
		if got := reason.Sentence(part); got != want {
			t.Errorf("%q ends as %q, want %q", part, got, want)
		}
	}
}

// What depends on a reason's class, such as whether check reports it and what a run folds, is decided by its row:
// testdata/classes.txt has the reasons of each, which -update writes.
func TestClasses(t *testing.T) {
	classes := []struct {
		name string
		has  func(d *reason.Doc) bool
	}{
		{"of the plan for a pod template", func(d *reason.Doc) bool { return d.Of == reason.Plan }},
		{"of the plan for a WorkloadGroup", func(d *reason.Doc) bool { return d.Of == reason.Group }},
		{"of a whole run", func(d *reason.Doc) bool { return d.Of == reason.Run }},
		{"on purpose", func(d *reason.Doc) bool { return d.OnPurpose }},
		{"let through", func(d *reason.Doc) bool { return d.LetThrough }},
		{"the first says it all", func(d *reason.Doc) bool { return d.SameFix }},
		{"may be built", func(d *reason.Doc) bool { return d.MayBeBuilt }},
		{"nothing to do", func(d *reason.Doc) bool { return d.Fix == "" }},
	}
	all := reason.All()
	var b strings.Builder
	for _, c := range classes {
		fmt.Fprintf(&b, "%s:\n", c.name)
		for i := range all {
			if c.has(&all[i]) {
				fmt.Fprintf(&b, "  %s\n", all[i].Name)
			}
		}
	}
	b.WriteString("reported by check and explain as another:\n")
	for _, d := range all {
		if d.Gate != reason.None {
			fmt.Fprintf(&b, "  %s: %s\n", d.Name, d.Gate)
		}
	}
	b.WriteString("in words in the table of explain:\n")
	for _, d := range all {
		if d.Words != "" {
			fmt.Fprintf(&b, "  %s: %s\n", d.Name, d.Words)
		}
	}
	golden.Compare(t, "testdata/classes.txt", []byte(b.String()))
}
