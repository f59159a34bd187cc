package transformer_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// said has the sentences of the plans that the tests made.
var said = golden.Sentences{}

// left has, for each reason for which a test's plan left a probe as it is, whether such a plan rewrote another probe.
var left = map[reason.Key]bool{}

// note notes what a plan says to people.
func note(p transformer.Plan) {
	isRewritten := func(v transformer.Verdict) bool {
		return v.State == transformer.WouldRewrite && v.Reason == reason.None
	}
	rewrites := slices.ContainsFunc(p.Probes, isRewritten)
	for _, v := range p.Probes {
		left[v.Reason] = left[v.Reason] || rewrites
	}
	for _, f := range slices.Concat(p.Findings, p.Repairs) {
		said.Say(f.Reason.String(), textOf(f))
	}
	for _, v := range p.Probes {
		said.Say(string(v.StrictTLS), v.Why)
		said.Say(string(v.StrictTLS)+" if", v.If)
	}
	said.Say("known", p.Known)
	said.Say("because", p.Answer.Because)
}

// wrongExtent returns what the tests' plans show of a reason, if its row says otherwise.
func wrongExtent(d *reason.Doc) error {
	key, _ := reason.Parse(d.Name)
	rewrites, leaves := left[key]
	switch {
	case d.Leaves != 0 && leaves != (d.Leaves != reason.NoProbe):
		return fmt.Errorf("%s has the extent %d, and leaves a probe alone: %t", d.Name, d.Leaves, leaves)
	case d.Leaves == reason.WholePod && rewrites:
		return fmt.Errorf("%s leaves a whole pod alone, but another probe of the pod is rewritten", d.Name)
	case d.Leaves == reason.OneProbe && !rewrites && key != reason.ExcludedPort && key != reason.NotRewritten: // no run with these rewrites
		return fmt.Errorf("%s leaves one probe alone, but no test has a pod with another that is rewritten", d.Name)
	}
	return nil
}

// TestMain runs all tests and then fails if there is a reason that none of
// them produced, or whose row has another extent than their plans, or a sentence that is not in testdata/sentences.txt, unless only some of
// the tests were requested.
func TestMain(m *testing.M) {
	os.Exit(testutil.RunAndCheck(m, func() error {
		var missing []error
		for _, d := range reason.Of(reason.Plan) {
			if !seen[d.Name] {
				missing = append(missing, fmt.Errorf("%s is produced by no test", d.Name))
			}
			if err := wrongExtent(&d); err != nil {
				missing = append(missing, err)
			}
		}
		if missing != nil {
			return errors.Join(missing...)
		}
		return said.Compare()
	}))
}

// mostWords is how many words a message has at most in all its parts.
const mostWords = 45

func TestMessage_words(t *testing.T) {
	if *golden.Update {
		t.Skip("the file is written after all tests")
	}
	text, err := os.ReadFile("testdata/sentences.txt")
	if err != nil {
		t.Fatal(err)
	}
	measured := 0
	for line := range strings.Lines(string(text)) {
		key, message, _ := strings.Cut(line, ": ")
		if _, isMessage := reason.Parse(key); !isMessage {
			continue
		}
		if _, withoutPath, hasPath := strings.Cut(message, "`: "); hasPath && message[0] == '`' {
			message = withoutPath
		}
		measured++
		if n := len(strings.Fields(message)); n > mostWords {
			t.Errorf("%d words, and %d may be: %s", n, mostWords, line)
		}
	}
	if measured < 100 {
		t.Errorf("only %d messages were measured", measured)
	}
}
