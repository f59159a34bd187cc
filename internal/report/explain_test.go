package report

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// mixed returns a report of n workloads in three namespaces, whose probes are in each class in turn.
func mixed(n int) *Report {
	verdicts := []transformer.Verdict{
		{State: transformer.LeftAlone, Reason: reason.NoNetwork, StrictTLS: world.Unaffected},
		{State: transformer.WouldRewrite, StrictTLS: world.Unaffected, Works: "mTLS is PERMISSIVE"},
		{State: transformer.WouldRewrite, StrictTLS: world.Fails, If: "Istio injects"},
		{State: transformer.WouldRewrite, StrictTLS: world.Fails, Why: "the kubelet has no client certificate"},
		{State: transformer.LeftAlone, Reason: reason.PortUnresolved, StrictTLS: world.Unaffected, NeverWorks: "the port name does not exist"},
	}
	r := &Report{}
	for i := range n {
		v := verdicts[i%len(verdicts)]
		v.Container, v.ProbeType, v.Before, v.After = "app", prober.Readiness, fmt.Sprintf("httpGet :%d/", i), ":15099/app-health/app/readyz"
		t := PlannedTemplate{Object: &ObjectRef{Kind: "Deployment", Namespace: fmt.Sprint("ns", i%3), Name: fmt.Sprint("web", i)}}
		t.Probes, t.Answer.By, t.Known = []transformer.Verdict{v}, "probe-proxy", "known: injected: a label"
		r.Add("", t, true)
	}
	return r
}

// Whatever comes first in the input, people read first what fails, then what may, then the rest. Machines get
// the input's order.
func TestPeopleReadTheWorstFirst(t *testing.T) {
	for n := range 12 {
		r := mixed(n)
		var text, table, page, machine bytes.Buffer
		if r.writeText(&text, Screen{Verbose: true}) != nil || r.writeMarkdown(&table) != nil || r.writeHTML(&page, "", "") != nil || r.writeJSON(&machine, "") != nil {
			t.Fatal("a buffer fails")
		}
		signs := regexp.MustCompile(`(?m)^  app .*|^\| .* ([✗?✓–]) .*|^<tr class.*`)
		for name, b := range map[string]string{"text": text.String(), "Markdown": table.String(), "page": page.String()} {
			var ranks []int
			for _, line := range signs.FindAllString(b, -1) {
				ranks = append(ranks, slices.IndexFunc(classes, func(c struct {
					class
					sign  string
					color string
				}) bool {
					return strings.Contains(line, c.sign+" ")
				}))
			}
			if len(ranks) != n || !slices.IsSorted(ranks) || slices.Contains(ranks, -1) {
				t.Errorf("%d workloads: %s has the ranks %v", n, name, ranks)
			}
		}
		at := 0
		for i := range n {
			next := strings.Index(machine.String()[at:], fmt.Sprintf(`"name": "web%d"`, i))
			if next < 0 {
				t.Fatalf("JSON has web%d in another place", i)
			}
			at += next
		}
	}
}

// Each cause is said once, and counts the probes that have it.
func TestACauseIsSaidOnce(t *testing.T) {
	var b bytes.Buffer
	if err := mixed(50).writeText(&b, Screen{Verbose: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"20 of 50 probes fail today. 10 more may fail. After this change: 10.\n",
		"(1) 10 fail: the kubelet has no client certificate\n", "(2) 10 never work: the port name does not exist\n", "(3) 10 may fail if Istio injects\n",
		"\n20 probes work or are not affected\n", "(1) 10 work: mTLS is PERMISSIVE\n", "(2) 10 not affected: the kubelet runs it in the container [no-network]\n",
	} {
		if strings.Count(b.String(), want) != 1 {
			t.Errorf("%d times %q:\n%s", strings.Count(b.String(), want), want, &b)
		}
	}
	if got := strings.Count(b.String(), "injected: a label"); got != 2 { // once in what needs attention, once in the rest
		t.Errorf("what is known is said %d times", got)
	}
}

// Lines keep the width of a terminal, except for words that are longer, and lose nothing that has a place.
func TestExplainKeepsTheWidth(t *testing.T) {
	for _, width := range []int{40, 60, 80, 100, 200} {
		for _, r := range []*Report{mixed(10), several(), everything()} {
			var b bytes.Buffer
			if err := r.writeText(&b, Screen{Verbose: true, Width: width}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				line = strings.TrimRight(line, "\n")
				if utf8.RuneCountInString(line) > width && strings.Contains(strings.TrimLeft(line, " "), " ") && !strings.HasPrefix(line, "  ") {
					t.Errorf("%d columns: %q", width, line)
				}
			}
			if got := len(regexp.MustCompile(`(?m)^  \S+ +(liveness|readiness|startup|preStop|postStart)  `).FindAllString(b.String(), -1)); got != countOf(r).probes+countOf(r).hooks {
				t.Errorf("%d columns: %d rows:\n%s", width, got, &b)
			}
		}
	}
}

func TestWrapped(t *testing.T) {
	for _, c := range []struct {
		text          string
		first, others int
		want          string
	}{
		{"", 10, 10, ""}, {"one two", 7, 7, "one two"}, {"one two", 6, 6, "one|two"}, {"  one two", 8, 6, "  one|two"},
		{"one two three", 7, 5, "one two|three"}, {"longer than", 3, 3, "longer|than"}, {"one two", 6, 0, "one two"}, {"żółw ma", 7, 7, "żółw ma"},
	} {
		if got := strings.Join(wrapped(c.text, c.first, c.others), "|"); got != c.want {
			t.Errorf("%q in %d, %d: %q, want %q", c.text, c.first, c.others, got, c.want)
		}
	}
}

// What most workloads have in common is said once, unless the others would be said to have it too.
func TestHoistedNotes(t *testing.T) {
	for _, c := range []struct{ notes, common, left string }{
		{"", "", ""},
		{"a: 1", "a: 1", ""},
		{"a: 1,b: 1 a: 1,b: 2", "a: 1", "b: 1 b: 2"},
		{"a: 1 a: 1 not a: 2", "a: 1", "  not a: 2"},
		{"a: 1 a: 1 b: 2", "", "a: 1 a: 1 b: 2"},
		{"a: 1 a: 1 ", "", "a: 1 a: 1 "},
	} {
		var all []*workload
		for _, notes := range splitNotes(c.notes) {
			all = append(all, &workload{Notes: notes})
		}
		common := hoisted(all)
		var left []string
		for _, w := range all {
			left = append(left, strings.Join(w.Notes, ","))
		}
		if got, was := strings.Join(common, ","), strings.Join(left, " "); got != c.common || strings.TrimSpace(was) != strings.TrimSpace(c.left) {
			t.Errorf("%q: %q and %q", c.notes, got, was)
		}
	}
}

// splitNotes reads the notes of workloads, which a digit and a space end.
func splitNotes(text string) (all [][]string) {
	for _, w := range regexp.MustCompile(`(?:(?:not )?\w: \d,?)+|^$| $`).FindAllString(text, -1) {
		all = append(all, slices.DeleteFunc(strings.Split(strings.TrimSpace(w), ","), func(s string) bool { return s == "" }))
	}
	return all
}

// The verdict counts what fails today, what hangs on Istio's injector or another unknown fact, and what stays so.
func TestTheVerdict(t *testing.T) {
	fails, rewritten := transformer.Verdict{ProbeType: prober.Liveness, StrictTLS: world.Fails, State: transformer.LeftAlone}, transformer.Verdict{ProbeType: prober.Liveness, StrictTLS: world.Fails, State: transformer.WouldRewrite}
	of := func(v transformer.Verdict, unless string) transformer.Verdict { v.If = unless; return v }
	hook := transformer.Verdict{ProbeType: prober.PreStop, StrictTLS: world.Unaffected, State: transformer.LeftAlone}
	for _, c := range []struct {
		probes []transformer.Verdict
		unread int
		want   string
	}{
		{nil, 0, "There is no probe and no hook."},
		{nil, 1, "There is no probe and no hook. 1 object was not read."},
		{[]transformer.Verdict{hook}, 0, "The probe or hook does not fail today."},
		{[]transformer.Verdict{hook, hook}, 0, "None of 2 probes and hooks fails today."},
		{[]transformer.Verdict{fails}, 2, "1 of 1 probe fails today. 2 objects were not read."},
		{[]transformer.Verdict{rewritten, rewritten, fails}, 0, "3 of 3 probes fail today. After this change: 1."},
		{[]transformer.Verdict{of(rewritten, world.InjectorAlone), hook}, 0, "1 of 2 probes and hooks works only if Istio's injector rewrites it. After this change: 0."},
		{[]transformer.Verdict{of(rewritten, world.InjectorAlone), of(rewritten, world.InjectorAlone), of(fails, "x"), rewritten}, 0,
			"1 of 4 probes fails today. 2 more work only if Istio's injector rewrites them. 1 more may fail. After this change: 0, and 1 may."},
	} {
		r := &Report{Templates: []PlannedTemplate{{Plan: transformer.Plan{Probes: c.probes}}}}
		for range c.unread {
			r.Messages = append(r.Messages, NewMessage(reason.NotBuilt, reason.NewText("x")))
		}
		if got := verdictOf(r); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// Four probes of two workloads, of which a long unknown fact decides, fit on twelve lines of a terminal.
func TestFourProbesAreTwelveLines(t *testing.T) {
	r := &Report{Changed: 2}
	unless := "Istio injects its sidecar but rewrites no probes (unknown: set `istio.injectedNamespaces: [\"*\"]`, or `metadata.namespace` and its Namespace; set `istio.injectorRewrites`)"
	for name, probes := range map[string][]prober.ProbeType{"ledger": {prober.Readiness}, "web": {prober.Readiness, prober.Liveness, prober.PreStop}} {
		w := PlannedTemplate{Object: &ObjectRef{Kind: "Deployment", Namespace: "shop", Name: name, File: "examples/app/deploy/" + name + ".yaml", Line: 1}}
		w.Answer.By, w.Known = "probe-proxy", "unknown: whether Istio injects its sidecar"
		for _, p := range probes {
			w.Probes = append(w.Probes, transformer.Verdict{
				Container: name, ProbeType: p, Before: "httpGet https :https/ready?deep=true", After: ":15099/app-health/" + name + "/readyz",
				State: transformer.WouldRewrite, StrictTLS: world.Fails, If: unless,
			})
		}
		r.Add("", w, true)
	}
	var b bytes.Buffer
	if err := r.writeText(&b, Screen{Width: 80}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n > 12 || strings.Count(b.String(), "-> ") != 4 {
		t.Errorf("%d lines:\n%s", n, &b)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
