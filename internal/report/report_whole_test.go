package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// everything is a report that has a value in each field, and an object that has as few as can be.
func everything() *Report {
	web := &ObjectRef{Source: "deploy", APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", File: filepath.Join("deploy", "web <1>.yaml"), Index: 2, Line: 10}
	vms := &ObjectRef{Source: "vms.yaml", APIVersion: "networking.istio.io/v1", Kind: "WorkloadGroup", Name: "vms", File: "vms.yaml", Line: 1}
	bare := &ObjectRef{Source: "<stdin>", APIVersion: "v1", Kind: "Pod", Name: "bare"}
	at := field.NewPath("spec").Item("containers", 0)
	r := &Report{Config: "near/by.yaml\x1b", Strict: true}
	r.Add("deploy", PlannedTemplate{
		Object: web, Path: field.NewPath("spec", "template"), Lines: []int{12, 13, 14, 0, 15, 16, 17},
		Plan: transformer.Plan{
			Known: "Istio injects its sidecar (the label <a> says so)",
			Answer: transformer.Answer{
				By: "probe-proxy", Mesh: "Istio", Port: 15099, Because: "a <hook> needs it", AppWouldDo: true, AddsContainer: "probe-proxy",
				AddsAnnotations: field.KeyValues{{Key: "a/b", Value: "1"}, {Key: "c/d", Value: "<2>"}},
			},
			Probes: []transformer.Verdict{
				{Container: "web", ProbeType: prober.Liveness, Field: at.Key("livenessProbe"), Before: "httpGet :80/<a>", After: ":15099/app-health/web/livez", State: transformer.WouldRewrite, StrictTLS: world.Fails, Why: "there is <no> certificate"},
				{Container: "web", ProbeType: prober.PreStop, Field: at.Key("lifecycle").Key("preStop"), Before: "httpGet :80/stop", After: ":15099/app-lifecycle/web/prestopz", State: transformer.WouldRewrite, StrictTLS: world.Fails, If: "it is injected"},
				{Container: "żółw", Init: true, ProbeType: prober.Startup, Field: field.NewPath("spec").Item("initContainers", 1).Key("startupProbe"), Before: "httpGet :15099/x", After: "httpGet :80/", State: transformer.WouldRestore, StrictTLS: world.Unaffected},
				{Container: "b", ProbeType: prober.Readiness, Field: field.NewPath("spec").Item("containers", 1).Key("readinessProbe"), Before: "grpc :81", After: ":15099/app-health/b/readyz", State: transformer.Rewritten, StrictTLS: world.Unaffected},
				{Container: "c\n", ProbeType: prober.Readiness, Field: field.NewPath("spec").Item("containers", 2).Key("readinessProbe"), Before: "tcpSocket :82", State: transformer.LeftAlone, Reason: reason.OptOut, StrictTLS: world.FalselyPasses, Why: "the proxy accepts", If: "the pod is injected"},
				{Container: "d", ProbeType: prober.Liveness, Field: field.NewPath("spec").Item("containers", 3).Key("livenessProbe"), Before: "exec", State: transformer.LeftAlone, Reason: reason.NoNetwork, StrictTLS: world.Unaffected},
				{Container: "e", ProbeType: prober.PostStart, Field: field.NewPath("spec").Item("containers", 4).Key("lifecycle", "postStart"), Before: "httpGet :83/", State: transformer.Refused, Reason: reason.PortTaken, StrictTLS: world.Fails},
			},
			Findings: []transformer.Finding{{Severity: transformer.Error, Reason: reason.PortTaken, Text: reason.Text{What: "declares <port>\r"}}, {Severity: transformer.Info, Reason: reason.OptOut, Text: reason.Text{What: "is left alone"}}},
		},
	}, true)
	r.Add("vms.yaml", PlannedTemplate{Object: vms, Path: field.NewPath("spec"), IsWorkloadGroup: true, Plan: transformer.Plan{
		Answer: transformer.Answer{By: "istio-agent", AddsAnnotations: field.KeyValues{{Key: "only/one", Value: ""}}},
		Probes: []transformer.Verdict{{Container: "vms", ProbeType: prober.Readiness, Field: field.NewPath("spec", "probe"), Before: "grpc :80", After: ":15020/app-health/vms/readyz", State: transformer.WouldRewrite, StrictTLS: world.Unaffected}},
	}}, true)
	r.Add("<stdin>", PlannedTemplate{Object: bare}, true)
	r.AddChange("deploy")
	r.AddChange("vms.yaml")
	r.Messages = []Message{
		{Severity: transformer.Info, Reason: reason.Rewritten, Object: web, Line: 12, Field: at.Key("livenessProbe"), Current: "httpGet :80/<a>", Proposed: ":15099/app-health/web/livez"},
		{Severity: transformer.Error, Reason: reason.PortTaken, Text: reason.Text{What: "`x`: declares\nthe port"}, Object: web, Line: 17, Field: at.Item("ports", 3), Current: field.Map{{Key: "containerPort", Value: 15099}}},
		{Severity: transformer.Warning, Reason: reason.MayFail, Text: reason.Text{What: "fails, if something holds"}, Object: vms, Field: field.NewPath("spec", "probe"), Doubt: &Doubt{If: "something holds"}, Proposed: "Host"},
		{Severity: transformer.Warning, Reason: reason.HelmTemplate, Text: reason.Text{What: "was not rendered"}, Object: &ObjectRef{Source: "chart", File: "chart/<web>.yaml", Index: 1}, Line: 3, Field: field.NewPath("a")},
		{Severity: transformer.Info, Reason: reason.UnreleasedImage, Text: reason.Text{What: "this build <dev>"}},
		{Severity: transformer.Error, Text: reason.Text{What: "no reason"}},
		{Severity: transformer.Info, Reason: reason.NoManifest, Text: reason.Text{What: "contains nothing"}, Object: &ObjectRef{Source: "none", File: "none.yaml"}, Line: 1},
		{Severity: transformer.Warning, Reason: reason.KindMisspelt, Text: reason.Text{What: "is no kind"}, Object: &ObjectRef{Source: "typo", APIVersion: "v1", Kind: "Podd", Name: "typo"}, Field: field.NewPath("kind")},
	}
	return r
}

// TestEveryFormatIsWrittenDown has what each format makes of one report: -update writes it.
func TestEveryFormatIsWrittenDown(t *testing.T) {
	r := everything()
	a := &txtar.Archive{Comment: []byte("Escapes of a terminal are shown as ESC.\n")}
	add := func(name string, write func(io.Writer) error) {
		t.Helper()
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(b.String(), "\x1b", "ESC")
		if _, rest, isPage := strings.Cut(text, "</style>\n"); isPage {
			body, _, _ := strings.Cut(rest, `<p id="none"`)
			text = "(the head of the page)\n" + body + "(the foot of the page)\n"
		}
		a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(strings.TrimSuffix(text, "\n") + "\n")})
	}
	add("explain", func(w io.Writer) error { return r.writeText(w, Screen{}) })
	add("explain in color, verbose", func(w io.Writer) error { return r.writeText(w, Screen{Verbose: true, Color: true}) })
	add("page", func(w io.Writer) error { return r.writeHTML(w, "apps", "v1") })
	add("markdown", r.writeMarkdown)
	add("json", func(w io.Writer) error { return r.writeJSON(w, r.CheckSummary()) })
	add("sarif", func(w io.Writer) error { return r.writeSARIF(w, "v1.2.3", sampleReasons) })
	add("junit", r.writeJUnit)
	for _, verbose := range []bool{false, true} {
		for _, color := range []bool{false, true} {
			add(fmt.Sprintf("lines, verbose %t, color %t", verbose, color), func(w io.Writer) error {
				Print(w, r.Messages, verbose, Color(color))
				return nil
			})
		}
		add(fmt.Sprintf("parts, verbose %t", verbose), func(w io.Writer) error {
			printParts(w, r.Messages, verbose, false)
			return nil
		})
	}
	add("results", func(w io.Writer) error {
		for result := range everything().Results() {
			for _, e := range result {
				fmt.Fprintf(w, "%s: %v\n", e.Key, e.Value)
			}
			fmt.Fprintln(w)
		}
		return nil
	})
	golden.Compare(t, "testdata/formats.txtar", txtar.Format(a))
}

// failing is a writer that fails.
type failing struct{}

var errFull = errors.New("no space left")

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestWhatCannotBeWrittenIsAnError(t *testing.T) {
	r := everything()
	for _, f := range slices.Concat(CheckFormats, ExplainFormats) {
		if err := f.Write(failing{}, r, Invocation{}); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

// A summary has no part about what is not there.
func TestTheSummaryCountsWhatIsThere(t *testing.T) {
	verdicts := func(states ...transformer.State) (all []transformer.Verdict) {
		for _, s := range states {
			all = append(all, transformer.Verdict{ProbeType: prober.Liveness, State: s})
		}
		return all
	}
	hook := transformer.Verdict{ProbeType: prober.PreStop, State: transformer.WouldRewrite}
	template := func(machines bool, probes ...transformer.Verdict) PlannedTemplate {
		return PlannedTemplate{IsWorkloadGroup: machines, Plan: transformer.Plan{Probes: probes}}
	}
	message := func(s transformer.Severity) Message { return Message{Severity: s} }
	for _, c := range []struct {
		name                    string
		templates               []PlannedTemplate // the first of the source a, others of b
		changed                 []string
		withheld                string
		messages                []Message
		strict                  bool
		written, wouldBe, check string
		subjects                int
	}{
		{name: "nothing", written: "0 pod templates, 0 objects changed", wouldBe: "0 pod templates, 0 objects would change", check: "0 pod templates, 0 probes, 0 hooks; 0 errors, 0 warnings"},
		{
			name: "one of each", templates: []PlannedTemplate{template(false, hook), template(true, verdicts(transformer.WouldRestore)...)}, changed: []string{"a"}, subjects: 2,
			messages: []Message{message(transformer.Error), message(transformer.Warning), message(transformer.Info)},
			written:  "1 pod template, 1 WorkloadGroup, 1 object changed; 1 hook rewritten; 1 probe restored; 1 error, 1 warning",
			wouldBe:  "1 pod template, 1 WorkloadGroup, 1 object would change; 1 hook would be rewritten; 1 probe would be restored; 1 error, 1 warning",
			check:    "1 pod template, 1 WorkloadGroup, 1 probe, 1 hook; 1 error, 1 warning",
		},
		{
			name: "groups only", templates: []PlannedTemplate{template(true), template(true)}, subjects: 2, strict: true, messages: []Message{message(transformer.Warning), message(transformer.Warning)},
			written: "2 WorkloadGroups, 0 objects changed; 0 errors, 2 warnings (strict: warnings fail too)",
			wouldBe: "2 WorkloadGroups, 0 objects would change; 0 errors, 2 warnings (strict: warnings fail too)",
			check:   "2 WorkloadGroups, 0 probes, 0 hooks; 0 errors, 2 warnings (strict: warnings fail too)",
		},
		{
			name: "every state", strict: true, messages: []Message{message(transformer.Error), message(transformer.Error)}, subjects: 1,
			templates: []PlannedTemplate{template(false, append(verdicts(transformer.WouldRewrite, transformer.WouldRewrite, transformer.WouldRestore, transformer.Rewritten, transformer.LeftAlone, transformer.Refused), hook, hook)...)},
			written:   "1 pod template, 0 objects changed; 2 probes and 2 hooks rewritten; 1 probe restored; 1 probe rewritten before; 1 probe left alone; 1 probe refused; 2 errors, 0 warnings",
			wouldBe:   "1 pod template, 0 objects would change; 2 probes and 2 hooks would be rewritten; 1 probe would be restored; 1 probe rewritten before; 1 probe left alone; 1 probe refused; 2 errors, 0 warnings",
			check:     "1 pod template, 6 probes, 2 hooks; 2 errors, 0 warnings",
		},
		{
			name: "changes that are not written", withheld: "a", changed: []string{"a", "a", "b"}, subjects: 3,
			templates: []PlannedTemplate{
				template(false, append(verdicts(transformer.WouldRewrite, transformer.WouldRestore, transformer.LeftAlone), hook)...),
				template(false, verdicts(transformer.WouldRewrite, transformer.Rewritten)...), template(true),
			},
			written: "2 pod templates, 1 WorkloadGroup, 1 object changed, 2 not written; 1 probe rewritten; 1 probe rewritten before; 1 probe left alone",
			wouldBe: "2 pod templates, 1 WorkloadGroup, 1 object would change, 2 not written; 1 probe would be rewritten; 1 probe rewritten before; 1 probe left alone",
			check:   "2 pod templates, 1 WorkloadGroup, 5 probes, 1 hook; 0 errors, 0 warnings",
		},
	} {
		r := &Report{Messages: c.messages, Strict: c.strict}
		for i, tmpl := range c.templates {
			r.Add([]string{"a", "b"}[min(i, 1)], tmpl, i == 1)
		}
		for _, source := range c.changed {
			r.AddChange(source)
		}
		if c.withheld != "" {
			r.Withhold(c.withheld)
		}
		for _, s := range [][2]string{{r.Summary(true), c.written}, {r.Summary(false), c.wouldBe}, {r.CheckSummary(), c.check}} {
			if s[0] != s[1] {
				t.Errorf("%s: %q, want\n%q", c.name, s[0], s[1])
			}
		}
		if r.Subjects() != c.subjects || r.Changed != len(c.changed) || len(r.Templates) != min(max(len(c.templates)-1, 0), 1) {
			t.Errorf("%s: %d subjects, %d changed, %d templates kept", c.name, r.Subjects(), r.Changed, len(r.Templates))
		}
	}
}

func TestNextIsWhatFailsThenTheChangeThenWhatWasLeft(t *testing.T) {
	left := func(state transformer.State, tls world.Outcome, unless string) PlannedTemplate {
		return PlannedTemplate{Object: &ObjectRef{Kind: "Pod", Name: "web"}, Plan: transformer.Plan{Probes: []transformer.Verdict{
			{ProbeType: prober.Liveness, State: transformer.LeftAlone, StrictTLS: world.Unaffected},
			{ProbeType: prober.Readiness, State: state, Reason: reason.OptOut, StrictTLS: tls, If: unless},
		}}}
	}
	failed, warned := Message{Severity: transformer.Error, Reason: reason.PortTaken}, Message{Severity: transformer.Warning, Reason: reason.MayFail}
	const change, fix = `"rewrite-probes -d PATH" shows the change, -w writes it`, `fix what fails first; "rewrite-probes reasons %s" explains it`
	for _, c := range []struct {
		want string
		r    Report
	}{
		{"nothing to do", Report{}},
		{`see the warning; "rewrite-probes reasons may-fail" explains it`, Report{Messages: []Message{warned}}},
		{fmt.Sprintf(fix, "may-fail"), Report{Messages: []Message{warned}, Strict: true, Changed: 1}},
		{fmt.Sprintf(fix, "port-taken"), Report{Messages: []Message{warned, failed}, Changed: 1}},
		{change, Report{Messages: []Message{warned}, Changed: 1, Templates: []PlannedTemplate{left(transformer.LeftAlone, world.Fails, "")}}},
		{`unless it is on purpose, have the readinessProbe of Pod web rewritten; "rewrite-probes reasons opt-out" says how`, Report{Templates: []PlannedTemplate{{}, left(transformer.LeftAlone, world.Fails, "")}}},
		{`unless it is on purpose, have the readinessProbe of Pod web rewritten; "rewrite-probes reasons opt-out" says how`, Report{Templates: []PlannedTemplate{left(transformer.LeftAlone, world.Fails, "it is injected")}}},
		{"nothing to do", Report{Templates: []PlannedTemplate{left(transformer.Rewritten, world.Fails, "")}}},
		{"nothing to do", Report{Templates: []PlannedTemplate{left(transformer.LeftAlone, world.Unaffected, "")}}},
	} {
		if got := c.r.next(); got != c.want {
			t.Errorf("next is %q, want %q", got, c.want)
		}
	}
}

func TestWhoAnswersIsSaidAsFarAsItIsKnown(t *testing.T) {
	for want, a := range map[string]transformer.Answer{
		"":                                      {Mesh: "Istio", Port: 1, AddsContainer: "x"},
		"a answers":                             {By: "a"},
		"a answers on port 1":                   {By: "a", Port: 1},
		"a answers in Kuma; added: container c": {By: "a", Mesh: "Kuma", AddsContainer: "c"},
		"a answers; added: annotation k":        {By: "a", AddsAnnotations: field.KeyValues{{Key: "k", Value: "v"}}},
		"a answers: why\n; added: container c, annotation k and annotation l":                                          {By: "a", AddsContainer: "c", AddsAnnotations: field.KeyValues{{Key: "k"}, {Key: "l"}}, Because: "why\n"},
		"a answers; you may not need probe-proxy: no Service uses these ports. Set `answeredBy: app` (one annotation)": {By: "a", AppWouldDo: true},
	} {
		if got := (&PlannedTemplate{Plan: transformer.Plan{Answer: a}}).answers(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Results leave the messages as they are, also for a reader that stops. Infos, which a run that is not verbose shows
// nowhere else, are then dropped, and the other messages keep their order.
func TestInfosAreDroppedAfterTheirResults(t *testing.T) {
	r := everything()
	n := 0
	for range r.Results() {
		if n++; n == 2 {
			break
		}
	}
	if !reflect.DeepEqual(r, everything()) {
		t.Error("results change the report")
	}
	var want []string
	for _, m := range r.Messages {
		if m.Severity != transformer.Info {
			want = append(want, m.String())
		}
	}
	r.DropInfos()
	var got []string
	for _, m := range r.Messages {
		got = append(got, m.String())
	}
	if !slices.Equal(got, want) || len(want) != len(everything().Messages)-3 {
		t.Errorf("%q are left, want %q", got, want)
	}
}

// Errors come first, whatever came in between, and each severity in its order.
func TestMessagesAreSortedBySeverityOnly(t *testing.T) {
	m := []Message{{Severity: transformer.Info, Text: reason.Text{What: "a"}}, {Severity: transformer.Warning, Text: reason.Text{What: "b"}}, {Severity: transformer.Error, Text: reason.Text{What: "c"}}, {Severity: transformer.Info, Text: reason.Text{What: "d"}}, {Severity: transformer.Warning, Text: reason.Text{What: "e"}}, {Severity: transformer.Error, Text: reason.Text{What: "f"}}}
	Sort(m)
	got := ""
	for i := range m {
		got += m[i].Text.What
	}
	if got != "cfbead" {
		t.Errorf("sorted to %s", got)
	}
	if n := Count(m, transformer.Warning); n != 2 {
		t.Errorf("%d warnings", n)
	}
}
