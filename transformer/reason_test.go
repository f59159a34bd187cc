package transformer_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// said has the sentences of the plans that the tests made: of those that differ only in
// paths, values and numbers, the first in order.
var said = make(map[string]string)

var variable = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|[0-9]+")

// note notes what a plan says to people.
func note(p transformer.Plan) {
	say := func(what, text string) {
		if text = what + ": " + text; !strings.HasSuffix(text, ": ") {
			shape := variable.ReplaceAllString(text, "_")
			if before, known := said[shape]; !known || text < before {
				said[shape] = text
			}
		}
	}
	for _, f := range slices.Concat(p.Findings, p.Repairs) {
		say(f.Reason, f.Message)
	}
	for _, v := range p.Probes {
		say(string(v.StrictTLS), v.Why)
		say(string(v.StrictTLS)+" if", v.If)
	}
	say("known", p.Known)
	say("because", p.Answer.Because)
}

// TestMain runs all tests and then fails if there is a reason that none of
// them produced, or a sentence that is not in testdata/sentences.txt, unless only some of
// the tests were requested.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && !testutil.Partly() {
		for _, d := range reason.OfPlan() {
			if !seen[d.Key] {
				fmt.Fprintf(os.Stderr, "%s is produced by no test\n", d.Key)
				code = 1
			}
		}
	}
	if code == 0 && !testutil.Partly() {
		if err := compareSentences("testdata/sentences.txt"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// compareSentences compares what was said with a file; with -update it writes the file.
func compareSentences(file string) error {
	got := strings.Join(slices.Sorted(maps.Values(said)), "\n") + "\n"
	if *golden.Update {
		return os.WriteFile(file, []byte(got), 0o644)
	}
	want, err := os.ReadFile(file)
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); err == nil && d != "" {
		err = fmt.Errorf("%s has other sentences than the plans of the tests; if the change is meant, run them with -update:\n%s", file, d)
	}
	return err
}
