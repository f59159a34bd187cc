package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func sample() *Report {
	web := &ObjectRef{APIVersion: "v1", Kind: "Pod", Name: "web", File: filepath.Join("a b", "web#1.yaml"), Line: 1}
	stdin := &ObjectRef{APIVersion: "v1", Kind: "Pod", Name: "db", File: "<stdin>"}
	return &Report{
		Templates: []PlannedTemplate{{Object: web}, {Object: stdin}},
		first:     web,
		Messages: []Message{
			{Severity: transformer.Error, Reason: reason.WouldFail, Text: reason.Text{What: "fails & <how>"}, Object: web, Line: 7},
			{Severity: transformer.Warning, Reason: reason.PortUnresolved, Text: reason.Text{What: "names \"htpp\""}, Object: stdin},
			{Severity: transformer.Info, Reason: reason.HostNetwork, Text: reason.Text{What: "left alone"}, Object: stdin, Line: 1},
			{Severity: transformer.Warning, Reason: reason.HelmTemplate, Text: reason.Text{What: "passed over"}, Object: &ObjectRef{File: "/charts/x.yaml"}},
			{Severity: transformer.Info, Reason: reason.NoManifest, Text: reason.Text{What: "about the whole run"}},
		},
	}
}

var sampleReasons = []reason.Doc{
	{Name: "helm-template", Cause: "c", Fix: "d"},
	{Name: "no-manifest", Cause: "c", Fix: "d"},
	{Name: "host-network", Cause: "c", Fix: "d"},
	{Name: "windows", Cause: "c", Fix: "d"},
	{Name: "port-unresolved", Cause: "c", Fix: "d"},
	{Name: "would-fail", Cause: "c", Fix: "d"},
}

// A message about the whole run is shown at the first of the objects, if there
// is one.
func TestSARIFHasAPlaceForAMessageAboutTheRun(t *testing.T) {
	for file, want := range map[string]string{"web.yaml": `"uri": "web.yaml"`, "": `"results": [`} {
		r := &Report{Messages: []Message{{Severity: transformer.Warning, Reason: reason.NoManifest, Text: reason.Text{What: "about the whole run"}}}}
		if file != "" {
			r.Add("", PlannedTemplate{Object: &ObjectRef{Kind: "Pod", File: file}}, false)
		}
		var b bytes.Buffer
		if err := r.writeSARIF(&b, "v1.2.3", sampleReasons); err != nil || !strings.Contains(b.String(), want) || file == "" && strings.Contains(b.String(), "uri\": \"w") {
			t.Errorf("%q: %v\n%s", file, err, &b)
		}
	}
}

// TestSARIFHoldsWhatItsReadersRequire checks what the SARIF 2.1.0 schema marks
// as required, and what code scanning wants beyond it: a place for every
// result, and a rule for every ruleId.
func TestSARIFHoldsWhatItsReadersRequire(t *testing.T) {
	var b bytes.Buffer
	if err := sample().writeSARIF(&b, "v1.2.3", sampleReasons); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Schema  string `json:"$schema"`
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name, Version, InformationURI string

					Rules []struct {
						ID               string
						ShortDescription struct{ Text string }
						Help             struct{ Text string }
					}
				}
			}
			Results []struct {
				RuleID, Level string
				Message       struct{ Text string }
				Locations     []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           *struct{ StartLine int }
					}
				}
			}
		}
	}
	d := json.NewDecoder(&b)
	if err := d.Decode(&log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || !strings.Contains(log.Schema, "sarif-2.1.0") || len(log.Runs) != 1 {
		t.Fatalf("version %q, schema %q, %d runs", log.Version, log.Schema, len(log.Runs))
	}
	run := log.Runs[0]
	if run.Tool.Driver.Name != "rewrite-probes" || run.Tool.Driver.Version != "v1.2.3" || !strings.HasPrefix(run.Tool.Driver.InformationURI, "https://") {
		t.Errorf("driver is %+v", run.Tool.Driver)
	}
	var rules []string
	for _, r := range run.Tool.Driver.Rules {
		rules = append(rules, r.ID)
		if r.ShortDescription.Text == "" || r.Help.Text == "" {
			t.Errorf("rule %s has no text", r.ID)
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(rules)))) != len(rules) || slices.Contains(rules, "windows") {
		t.Errorf("rules must be unique and used, and are %q", rules)
	}
	if len(run.Results) != 3 { // and not its two infos, of which code scanning would make alerts
		t.Fatalf("%d results, want 3", len(run.Results))
	}
	for _, r := range run.Results {
		if r.Message.Text == "" || !slices.Contains(rules, r.RuleID) || !slices.Contains([]string{"error", "warning"}, r.Level) {
			t.Errorf("result %+v lacks text, rule or level", r)
		}
		if len(r.Locations) != 1 {
			t.Fatalf("result %s has %d locations, want 1", r.RuleID, len(r.Locations))
		}
		at := r.Locations[0].PhysicalLocation
		if u, err := url.Parse(at.ArtifactLocation.URI); err != nil || at.ArtifactLocation.URI == "" || strings.ContainsAny(at.ArtifactLocation.URI, " <>\\") || u.Fragment != "" {
			t.Errorf("%q is no URI of a file: %v", at.ArtifactLocation.URI, err)
		}
		if at.Region != nil && at.Region.StartLine < 1 {
			t.Errorf("startLine %d must be at least 1", at.Region.StartLine)
		}
	}
	if got := run.Results[0].Locations[0].PhysicalLocation; got.ArtifactLocation.URI != "a%20b/web%231.yaml" || got.Region.StartLine != 7 {
		t.Errorf("the first result is at %+v", got)
	}
}

func TestSARIFHasTheFirstLine(t *testing.T) {
	var b bytes.Buffer
	m := Message{Severity: transformer.Error, Reason: reason.Unreadable, Object: &ObjectRef{File: "a.yaml"}, Line: 1}
	if err := (&Report{Messages: []Message{m}}).writeSARIF(&b, "dev", sampleReasons); err != nil || !strings.Contains(b.String(), `"startLine": 1`) {
		t.Errorf("%v: %s", err, &b)
	}
}

func TestSARIFOfNothingIsAnEmptyListOfResults(t *testing.T) {
	var b bytes.Buffer
	if err := (&Report{}).writeSARIF(&b, "dev", sampleReasons); err != nil {
		t.Fatal(err)
	}
	// Code scanning takes an absent or null list for a broken file, and an
	// empty one for "all is well".
	for _, want := range []string{`"results": []`, `"rules": []`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s lacks %s", &b, want)
		}
	}
}

func TestJUnitCountsWarningsWhenStrict(t *testing.T) {
	for strict, failures := range map[bool]int{false: 1, true: 3} {
		var b bytes.Buffer
		r := sample()
		r.Strict = strict
		if err := r.writeJUnit(&b); err != nil {
			t.Fatal(err)
		}
		var suite struct {
			Name     string `xml:"name,attr"`
			Tests    int    `xml:"tests,attr"`
			Failures int    `xml:"failures,attr"`
			Cases    []struct {
				Class    string `xml:"classname,attr"`
				Name     string `xml:"name,attr"`
				Failures []struct {
					Type    string `xml:"type,attr"`
					Message string `xml:"message,attr"`
				} `xml:"failure"`
				Out string `xml:"system-out"`
			} `xml:"testcase"`
		}
		if err := xml.Unmarshal(b.Bytes(), &suite); err != nil {
			t.Fatal(err)
		}
		found, warnings := 0, 0
		for _, c := range suite.Cases {
			found += len(c.Failures)
			warnings += strings.Count(c.Out, "warning: ")
			if c.Name == "" || c.Class == "" {
				t.Errorf("a case has no name: %+v", c)
			}
		}
		if suite.Tests != len(suite.Cases) || suite.Tests != 3 || warnings != 3-failures || suite.Failures != failures || found != failures {
			t.Errorf("strict %t: %d tests, %d cases, %d warnings, %d failures said, %d found, want %d", strict, suite.Tests, len(suite.Cases), warnings, suite.Failures, found, failures)
		}
		if m := suite.Cases[0].Failures[0]; m.Message != "fails & <how>" || m.Type != "would-fail" {
			t.Errorf("the first failure is %+v", m)
		}
	}
}

func TestAnObjectIsNamedByItsKindFirst(t *testing.T) {
	for want, o := range map[string]ObjectRef{
		"":             {Name: "web", Namespace: "shop"},
		"Pod":          {Kind: "Pod", Namespace: "shop"},
		"Pod web":      {Kind: "Pod", Name: "web"},
		"Pod shop/web": {Kind: "Pod", Name: "web", Namespace: "shop"},
	} {
		if got := o.String(); got != want {
			t.Errorf("%#v is named %q", o, got)
		}
	}
}

func TestThePageOfExplainEscapesWhatTheManifestsSay(t *testing.T) {
	r := &Report{
		Templates: []PlannedTemplate{{
			Object: &ObjectRef{Kind: "Pod", Name: "<b>", File: "a&b.yaml", Line: 2},
			Plan: transformer.Plan{
				Probes:   []transformer.Verdict{{Container: "<i>", ProbeType: "livez", Before: "httpGet :80/<x>", State: transformer.LeftAlone, Reason: reason.HostNetwork, StrictTLS: world.Fails, Why: "no <certificate> `<y>`"}},
				Findings: []transformer.Finding{{Severity: transformer.Info, Reason: reason.HostNetwork, Text: reason.Text{What: "<u>"}}},
			},
			Text: func() (before, after []byte, err error) { return []byte("<old\n"), []byte("  <new\n"), nil },
		}},
		Messages: []Message{{Severity: transformer.Error, Reason: reason.Unreadable, Text: reason.Text{What: "<s>"}, Object: &ObjectRef{File: "<t>"}}, {Severity: transformer.Info, Text: reason.Text{What: "<u>"}, InPlan: true}},
	}
	var b bytes.Buffer
	if err := r.writeHTML(&b, "apps", "v1"); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, raw := range []string{"<b> ", "<b>:", "<b></", "<i>", "<x>", "<u>", "<s>", "<t>", "<y>", "<certificate>", "a&b"} {
		if strings.Contains(page, raw) {
			t.Errorf("the page has %s as it is", raw)
		}
	}
	// In every row a cell is below its heading.
	_, table, _ := strings.Cut(page, "<thead>")
	table, _, _ = strings.Cut(table, "</table>")
	want := `<tr><th>probe<th>today<th>after</tr></thead>
<tr class="left-alone" data-class="fail"><td>liveness <small>&lt;i&gt;</small><td><code>httpGet :80/&lt;x&gt;</code> <b>✗ fails</b><td>not rewritten: the pod uses the node&#39;s network [host-network]</tr>
`
	if table != want {
		t.Errorf("the table is\n%s\nwant\n%s", table, want)
	}
	for _, want := range []string{"<h1>1 of 1 probe fails today. 1 object was not read.</h1>", "<b class=\"fail\">✗ 1 fails</b>: no &lt;certificate&gt; <code>&lt;y&gt;</code>", "&lt;b&gt;", "a&amp;b.yaml:2", "&lt;u&gt;", "&lt;t&gt;", "<del>-&lt;old</del>\n<ins>+  &lt;new</ins>\n", `id="filter"`, "<script>", "</html>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// A comment on a pull request is written by whoever can send the change: what it says must stay words.
func TestMarkdown_escapes(t *testing.T) {
	const hostile = "a|b`c`[x](http://evil)<img src=x>@team *b* # h"
	r := &Report{
		Templates: []PlannedTemplate{{
			Object: &ObjectRef{Kind: "Pod", Name: hostile, Namespace: hostile},
			Plan: transformer.Plan{
				Known:    hostile,
				Probes:   []transformer.Verdict{{Container: hostile, ProbeType: "livez", Before: hostile, After: hostile, State: transformer.WouldRewrite, StrictTLS: world.Fails, Why: hostile}},
				Findings: []transformer.Finding{{Severity: transformer.Error, Reason: reason.PortTaken, Text: reason.Text{What: hostile}}},
			},
		}},
	}
	var b bytes.Buffer
	if err := r.writeMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	outside := regexp.MustCompile("`[^`\n]*`").ReplaceAllString(b.String(), "") // of code spans
	for _, live := range []string{"](", "<img", "@team", "*b*", "http://", "a|b"} {
		if strings.Contains(strings.ReplaceAll(outside, `\`+live[:1], ""), live) {
			t.Errorf("%q is live in\n%s", live, outside)
		}
	}
	for line := range strings.Lines(b.String()) {
		cells := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if strings.HasPrefix(line, "|") && cells != 5 {
			t.Errorf("a row has %d bars: %s", cells, line)
		}
	}
}

// A repository may have hundreds of templates, and each would be a line.
func TestManyMessagesAboutWhatIsNotRenderedAreTwoLines(t *testing.T) {
	message := func(i int) Message {
		m := Message{Severity: transformer.Warning, Reason: reason.HelmTemplate, Text: reason.Text{What: "passed over"}, Object: &ObjectRef{File: fmt.Sprint(i, ".yaml")}}
		if i == 1 {
			m.Reason = reason.PortUnresolved // which is about one thing each time
		}
		return m
	}
	for n, want := range map[int]string{
		3: "0.yaml 1.yaml 2.yaml",
		5: "0.yaml more 1.yaml",
	} {
		var messages []Message
		for i := range n {
			messages = append(messages, message(i))
		}
		shown := func(verbose bool) (words []string) {
			var b bytes.Buffer
			Print(&b, messages, verbose, false)
			for line := range strings.Lines(b.String()) {
				word := strings.Fields(line)[1]
				if strings.Contains(line, " more like this (-v lists them) [helm-template]") {
					if word != fmt.Sprint(n-2) {
						t.Errorf("of %d: %s", n, line)
					}
					word = "more"
				}
				words = append(words, strings.TrimSuffix(word, ":"))
			}
			return words
		}
		if got := strings.Join(shown(false), " "); got != want {
			t.Errorf("of %d: %q, want %q", n, got, want)
		}
		if got := len(shown(true)); got != n {
			t.Errorf("of %d: %d are shown if the run is verbose", n, got)
		}
	}
}

// A repository has hundreds of files that are no manifests, beside few that are.
func TestExplain_filesThatAreNoManifests(t *testing.T) {
	r := &Report{}
	for i := range 300 {
		for _, key := range []reason.Key{reason.NoManifest, reason.HelmTemplate} {
			r.Messages = append(r.Messages, Message{Severity: transformer.Info, Reason: key, Text: reason.Text{What: "is passed over"}, Object: &ObjectRef{File: fmt.Sprint(i, ".yaml")}})
		}
	}
	for verbose, want := range map[bool]int{false: 0, true: 600} {
		var b bytes.Buffer
		r.writeText(&b, Screen{Verbose: verbose})
		if got := strings.Count(b.String(), "info: "); got != want {
			t.Errorf("verbose %t: %d infos, want %d", verbose, got, want)
		}
	}
}

// A reason that no finding explains is said in the table.
func TestWhyAProbeIsLeftAloneIsSaid(t *testing.T) {
	for key, want := range map[reason.Key]string{
		reason.NoNetwork:      "the kubelet runs it in the container [no-network]",
		reason.VMProbeWorks:   "Istio's agent makes it as it is [vm-probe-works]",
		reason.NotSelected:    "`rewrite` of the functionConfig does not name its handler [not-selected]",
		reason.NotRewritten:   "it was not rewritten [not-rewritten]",
		reason.ProxyContainer: "it is the mesh proxy's own [proxy-container]",
		reason.OptOut:         "the annotation rewrite-probes.io/rewrite opts the pod out [opt-out]",
		reason.PortUnresolved: "the port name does not exist [port-unresolved]",
		reason.PortTaken:      "a container declares the port where rewritten probes are answered, or one of its probes asks it [port-taken]", // as in `reasons`
	} {
		r := &Report{Templates: []PlannedTemplate{{
			Object: &ObjectRef{Kind: "Pod", Name: "web"},
			Plan:   transformer.Plan{Probes: []transformer.Verdict{{Container: "web", ProbeType: "livez", Before: "exec", State: transformer.LeftAlone, Reason: key, StrictTLS: world.Unaffected}}},
		}}}
		var b bytes.Buffer
		r.writeText(&b, Screen{})
		if !strings.Contains(b.String(), "\n  1 not affected: "+want+"\n") {
			t.Errorf("%s:\n%s", key, &b)
		}
	}
}

func TestWhatFailsIsKnownBySource(t *testing.T) {
	a, b := &ObjectRef{Source: "a"}, &ObjectRef{Source: "b"}
	r := &Report{Messages: []Message{{Severity: transformer.Error, Object: a}, {Severity: transformer.Warning, Object: b}, {Severity: transformer.Info}}}
	if got, want := r.FailedSources(), map[string]bool{"a": true}; !maps.Equal(got, want) {
		t.Errorf("failed: %v, want %v", got, want)
	}
	r.Strict = true
	r.Messages = append(r.Messages, Message{Severity: transformer.Warning}) // about the whole run
	if got, want := r.FailedSources(), map[string]bool{"a": true, "b": true, "": true}; !maps.Equal(got, want) {
		t.Errorf("in a strict run failed: %v, want %v", got, want)
	}
}

// TestJUnitHasACaseForEachProbe: CI servers count cases, and show one failure of each.
func TestJUnitHasACaseForEachProbe(t *testing.T) {
	object := &ObjectRef{Kind: "Pod", Name: "web", File: "web.yaml"}
	container := field.NewPath("spec").Item("containers", 0)
	template := func(o *ObjectRef, probes ...string) PlannedTemplate {
		tmpl := PlannedTemplate{Object: o}
		for _, p := range probes {
			tmpl.Probes = append(tmpl.Probes, transformer.Verdict{Field: container.Key(p)})
		}
		return tmpl
	}
	message := func(o *ObjectRef, key reason.Key, at field.Path) Message {
		m := NewMessage(key, reason.NewText("text of %s", key))
		m.Object, m.Field, m.Container = o, at, "web"
		return m
	}
	probe := container.Key("livenessProbe")
	r := Report{
		Templates: []PlannedTemplate{template(object, "livenessProbe", "readinessProbe"), template(&ObjectRef{Kind: "Pod", Name: "bare"})},
		Messages: []Message{
			message(object, reason.WouldFail, probe), message(object, reason.PortTaken, container.Item("ports", 0).Key("containerPort")),
			message(object, reason.TwoMeshes, field.NewPath("metadata")), message(object, reason.EnvUnreadable, probe.Key("httpGet")), message(object, reason.OptOut, field.NewPath("spec")),
			message(nil, reason.WouldFail, nil), message(nil, reason.UnreleasedImage, nil), message(&ObjectRef{File: "a.yaml"}, reason.NoManifest, nil),
		},
	}
	var b bytes.Buffer
	if err := r.writeJUnit(&b); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Cases    []struct {
			Name     string   `xml:"name,attr"`
			Failures []string `xml:"failure"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range got.Cases {
		lines = append(lines, fmt.Sprintf("%s %q", c.Name, c.Failures))
	}
	want := []string{
		`Pod web: spec.containers[0].livenessProbe ["error: web.yaml: Pod web: liveness probe of web: text of would-fail. Run rewrite-probes. [would-fail]\nerror: web.yaml: Pod web: liveness probe of web: text of env-unreadable. Correct the value. Or take the manifest from before the rewriting. [env-unreadable]"]`,
		`Pod web: spec.containers[0].readinessProbe []`,
		`Pod bare []`,
		`Pod web ["error: web.yaml: Pod web: container web: text of port-taken. Set another ` + "`port`" + ` in the functionConfig, or move the app. [port-taken]\nerror: web.yaml: Pod web: ` + "`metadata`" + `: text of two-meshes. Remove one of the two. [two-meshes]"]`,
		`manifests ["error: text of would-fail. Run rewrite-probes. [would-fail]"]`,
	}
	if d := cmp.Diff(want, lines); d != "" || got.Tests != len(want) || got.Failures != 3 {
		t.Errorf("%d tests, %d failures; -want +got\n%s", got.Tests, got.Failures, d)
	}
}

func TestPrintParts_fix(t *testing.T) {
	warning := Message{Severity: transformer.Warning, Reason: reason.HelmTemplate}
	info := Message{Severity: transformer.Info, Reason: reason.HelmTemplate}
	for _, c := range []struct {
		messages []Message
		verbose  bool
		want     string // the lines, by their first letters; the fix that is shared is F
	}{
		{nil, true, ""}, {[]Message{info}, false, ""}, {[]Message{info}, true, "i f"}, {[]Message{warning}, false, "w f"},
		{[]Message{warning, info}, false, "w f"}, {[]Message{info, warning}, true, "i w F"}, {[]Message{warning, warning}, true, "w w F"},
	} {
		var b bytes.Buffer
		printParts(&b, c.messages, c.verbose, false)
		got := strings.ReplaceAll(b.String(), "fix [helm-template]: ", "F")
		var letters []string
		for line := range strings.Lines(got) {
			letters = append(letters, strings.TrimSpace(line)[:1])
		}
		if got := strings.Join(letters, " "); got != c.want {
			t.Errorf("%v, verbose %t: %s, want %s\n%s", c.messages, c.verbose, got, c.want, &b)
		}
	}
}

// One entry of the functionConfig names what differs in the indexes of lists only.
func TestUnknownKindsAreAlikeWhereOneFieldCuresThem(t *testing.T) {
	message := func(kind string, at field.Path) *Message {
		return &Message{Reason: reason.UnknownKind, Object: &ObjectRef{APIVersion: "a.io/v1", Kind: kind}, Field: at}
	}
	spec := field.NewPath("spec")
	for _, c := range []struct {
		a, b *Message
		want bool
	}{
		{message("A", spec.Item("pods", 0)), message("A", spec.Item("pods", 19)), true},
		{message("A", spec.Item("pods", 0).Key("a")), message("A", spec.Item("pods", 0).Key("b")), false},
		{message("A", spec.Key("pod1")), message("A", spec.Key("pod2")), false},
		{message("A", spec), message("B", spec), false},
	} {
		if got := c.a.alike() == c.b.alike(); got != c.want {
			t.Errorf("%s and %s of %s and %s are alike: %t", c.a.Field, c.b.Field, c.a.Object.Kind, c.b.Object.Kind, got)
		}
	}
}

// Of an object with several templates, one without probes has a case too. A failure of a probe is that
// probe's, whatever the order; one of anything else is the object's.
func TestAFailureOfAProbeIsInTheCaseOfThatProbe(t *testing.T) {
	web := &ObjectRef{Source: "a.yaml", File: "a.yaml", Kind: "LeaderWorkerSet", Name: "web"}
	probe := field.NewPath("spec").Item("workers", 1).Key("readinessProbe")
	none := PlannedTemplate{Object: web, Path: field.NewPath("spec")}
	with := none
	with.Probes = []transformer.Verdict{{Container: "web", Field: probe}}
	for _, templates := range [][]PlannedTemplate{{none, with}, {with, none}, {with}, {none, none, with}} {
		var b bytes.Buffer
		r := &Report{Templates: templates, Messages: []Message{
			{Severity: transformer.Error, Reason: reason.WouldFail, Object: web, Field: probe.Key("httpGet", "port"), Text: reason.NewText("port")},
			{Severity: transformer.Error, Reason: reason.PortTaken, Object: web, Field: field.NewPath("spec", "ports"), Text: reason.NewText("taken")},
		}}
		if err := r.writeJUnit(&b); err != nil {
			t.Fatal(err)
		}
		var suite struct {
			Cases []struct {
				Name     string `xml:"name,attr"`
				Failures []struct {
					Message string `xml:"message,attr"`
				} `xml:"failure"`
			} `xml:"testcase"`
		}
		if err := xml.Unmarshal(b.Bytes(), &suite); err != nil {
			t.Fatal(err)
		}
		got := make(map[string]string)
		for _, c := range suite.Cases {
			for _, f := range c.Failures {
				got[c.Name] += f.Message
			}
		}
		if want := map[string]string{"LeaderWorkerSet web: " + probe.String(): "port", "LeaderWorkerSet web": "taken"}; !maps.Equal(got, want) || len(suite.Cases) != len(want) {
			t.Errorf("%d templates: %d cases, the failures are %v, want %v", len(templates), len(suite.Cases), got, want)
		}
	}
}

// The page has a bound, however many pod templates there are: it shows those of the largest namespaces, and
// counts all.
func TestThePageIsBounded(t *testing.T) {
	r := &Report{}
	add := func(n int, namespace string, probes ...transformer.Verdict) {
		for range n {
			o := ObjectRef{Kind: "Pod", Namespace: namespace, Name: "a"}
			r.Templates = append(r.Templates, PlannedTemplate{Object: &o, Plan: transformer.Plan{Probes: probes}})
		}
	}
	fine := transformer.Verdict{Container: "c", State: transformer.LeftAlone, Reason: reason.HostNetwork, StrictTLS: world.Unaffected}
	fails := fine
	fails.StrictTLS = world.Fails
	add(3, "small", fine)
	add(mostOnPage-2, "large", fine)
	add(4, "medium", fine)
	add(1, "failing", fails)
	add(mostOnPage+7, "bare")
	for range mostOnPage + 2 {
		r.Messages = append(r.Messages, Message{Severity: transformer.Info, Reason: reason.NoManifest, Object: &ObjectRef{File: "a"}})
	}
	var b bytes.Buffer
	if err := r.writeHTML(&b, "apps", "v1"); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for words, want := range map[string]int{
		`<section class="workload"`: mostOnPage, "\n<li>Pod ": mostOnPage, "<li>and 7 more\n": 1, `<p class="dim">and 2 more</p>`: 1,
		"<h2>5007 without probes</h2>": 1, "<h2>5002 notes</h2>": 1, "<h2>5005 work or are not affected</h2>": 1,
		`<p class="dim">3 more pod templates are counted, and not shown: a page shows 5000. For the others, name fewer files.</p>`: 2,
	} {
		if got := strings.Count(page, words); got != want {
			t.Errorf("%q: %d times, want %d", words, got, want)
		}
	}
	last := -1
	for _, namespace := range []string{"failing", "large", "medium", "small"} {
		at := strings.Index(page, "Namespace "+namespace+"<")
		if at < last {
			t.Errorf("namespace %s begins at %d, the one before at %d", namespace, at, last)
		}
		last = at
	}
}

// The three lines of the header are no lines that go or come, and a line may begin as they do.
func TestColor_Diff(t *testing.T) {
	text := "diff a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n same\n--- gone\n+new\n"
	if got := string(Color(false).Diff([]byte(text))); got != text {
		t.Errorf("without colour: %q", got)
	}
	const want = "\x1b[1mdiff a/x b/x\x1b[0m\n\x1b[1m--- a/x\x1b[0m\n\x1b[1m+++ b/x\x1b[0m\n\x1b[36m@@ -1,3 +1,3 @@\x1b[0m\n same\n" +
		"\x1b[31m--- gone\x1b[0m\n\x1b[32m+new\x1b[0m\n"
	if got := string(Color(true).Diff([]byte(text))); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
