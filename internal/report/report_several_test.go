package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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

// several is a report of several namespaces, in which much is said more than once.
func several() *Report {
	const long = "the sidecar demands a certificate, and the kubelet has none to show"
	const depends = "Istio injects its sidecar into the pods of this namespace"
	containers := field.NewPath("spec", "template", "spec")
	at := func(i int, keys ...string) field.Path { return containers.Item("containers", i).Key(keys...) }
	object := func(namespace, name string, line int) *ObjectRef {
		file := ""
		if line > 0 {
			file = name + ".yaml"
		}
		return &ObjectRef{Source: name, APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: name, File: file, Line: line}
	}
	probe := func(container string, i int, before string, why, unless string) transformer.Verdict {
		return transformer.Verdict{
			Container: container, ProbeType: prober.Liveness, Field: at(i, "livenessProbe"), Before: before, After: ":15099/app-health/" + container + "/livez",
			State: transformer.WouldRewrite, StrictTLS: world.Fails, Why: why, If: unless,
		}
	}
	web, db, old, bare := object("shop", "web", 3), object("shop", "db", 1), object("", "old", 2), object("shop", "bare", 9)
	edits := []field.Edit{
		{Op: field.Set, Path: at(0, "livenessProbe", "httpGet", "port"), Value: 15099},
		{Op: field.Delete, Path: at(0, "livenessProbe", "httpGet", "scheme")},
		{Op: field.Rename, Path: at(1, "livenessProbe", "tcpSocket"), NewKey: "httpGet", Value: field.Map{{Key: "path", Value: "/a"}, {Key: "headers", Value: field.Map{{Key: "x", Value: 1}}}}},
		{Op: field.Set, Path: at(0, "livenessProbes"), Value: "of another name"},
		{Op: field.Insert, Path: containers.Item("initContainers", 0), Value: field.Map{{Key: "name", Value: "probe-proxy"}}},
	}
	r := &Report{}
	text := func() (before, after []byte, err error) {
		return []byte("a: 1\nb: 2\nc: 3\nd: 4\ne: 5\n"), []byte("a: 1\nb: <2>\nc: 3\nd: 4\ne: 5\nf: 6\n"), nil
	}
	r.Add("web", PlannedTemplate{Object: web, Path: field.NewPath("spec", "template"), Lines: []int{4, 5}, Text: text, Plan: transformer.Plan{
		Known: "known: the shop; the mesh", Edits: edits, Probes: []transformer.Verdict{probe("web", 0, "httpGet https :1/", long, ""), probe("log", 1, "tcpSocket :2", "", depends)},
		Answer: transformer.Answer{By: "probe-proxy", Port: 80, AppWouldDo: true},
		Findings: []transformer.Finding{
			{Severity: transformer.Warning, Reason: reason.MayFail, Field: at(1, "livenessProbe"), Container: "log", Text: reason.Text{What: "may fail", Why: "because of <b>", Fix: "Do `this`"}},
			{Severity: transformer.Error, Reason: reason.PortTaken, Field: at(1).Item("ports", 0), Container: "log", Text: reason.Text{What: "takes the port"}},
		},
	}}, true)
	r.Add("db", PlannedTemplate{Object: db, Path: field.NewPath("spec", "template"), Plan: transformer.Plan{
		Known: "known: the shop; the mesh", Probes: []transformer.Verdict{
			probe("db", 0, "grpc :3", long, ""), probe("db2", 1, "grpc :4", "", depends), probe("db3", 2, "grpc :5", "a short reason", ""), probe("db4", 3, "grpc :6", "a short reason", ""),
			{Container: "vm", ProbeType: prober.Readiness, State: transformer.LeftAlone, Reason: reason.OptOut, StrictTLS: world.Unaffected, Absent: true},
		},
	}}, true)
	r.Add("old", PlannedTemplate{Object: old, Path: field.NewPath("spec", "template"), Plan: transformer.Plan{
		Known: "known: no namespace; the mesh", Probes: []transformer.Verdict{{Container: "old", ProbeType: prober.PostStart, Before: "httpGet :7/", After: "httpGet :8/", State: transformer.WouldRestore, StrictTLS: world.FalselyPasses, Why: long}},
	}}, true)
	r.Add("bare", PlannedTemplate{Object: bare}, true)
	r.Add("bare", PlannedTemplate{Object: bare, Plan: transformer.Plan{Findings: []transformer.Finding{{Severity: transformer.Info, Reason: reason.OptOut, Text: reason.Text{What: "has opted out"}}}}}, true)
	alike := func(key reason.Key, o *ObjectRef, unless string, n int) {
		for range n {
			m := NewMessage(key, reason.NewText("message %d", len(r.Messages)))
			m.Object, m.Doubt = o, &Doubt{If: unless}
			r.Messages = append(r.Messages, m)
		}
	}
	alike(reason.MayFail, web, "it is injected", 3)
	alike(reason.MayFail, db, "it is not", 2)
	alike(reason.PortUnresolved, db, "it is injected", 3)
	alike(reason.HelmTemplate, &ObjectRef{Source: "chart", File: "chart.yaml"}, "", 4)
	alike(reason.OptOut, web, "", 2)
	in := Message{Severity: transformer.Error, Reason: reason.PortTaken, Text: reason.Text{What: "is shown with its template", Why: "because\x1b"}, Object: web, Field: at(0), InPlan: true}
	late := NewMessage(reason.TwoMeshes, reason.Text{What: "is an error that comes late", Why: "because\x1b"})
	r.Messages = append(r.Messages, in, late)
	return r
}

// TestSeveralNamespacesAreWrittenDown has what each format makes of them: -update writes it.
func TestSeveralNamespacesAreWrittenDown(t *testing.T) {
	a := &txtar.Archive{}
	once, twice := []bool{false}, []bool{false, true}
	add := func(name string, known []bool, write func(r *Report, w io.Writer) error) {
		t.Helper()
		for _, same := range known {
			r := several()
			if same { // what is known is the same in all namespaces, and is then said once
				for i := range r.Templates {
					r.Templates[i].Known = "known: all"
				}
			}
			var b bytes.Buffer
			if err := write(r, &b); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			if _, rest, isPage := strings.Cut(text, "</style>\n"); isPage {
				text, _, _ = strings.Cut(rest, `<p id="none"`)
			}
			a.Files = append(a.Files, txtar.File{Name: fmt.Sprintf("%s, the same is known of all: %t", name, same), Data: []byte(strings.TrimSpace(text) + "\n")})
		}
	}
	add("explain", twice, func(r *Report, w io.Writer) error { return r.writeText(w, Screen{}) })
	add("explain on 60 columns", once, func(r *Report, w io.Writer) error { return r.writeText(w, Screen{Verbose: true, Width: 60}) })
	add("page", twice, func(r *Report, w io.Writer) error { return r.writeHTML(w, "apps", "v1") })
	add("markdown", twice, (*Report).writeMarkdown)
	add("json", once, func(r *Report, w io.Writer) error { return r.writeJSON(w, r.CheckSummary()) })
	add("junit", once, (*Report).writeJUnit)
	add("sarif", once, func(r *Report, w io.Writer) error { return r.writeSARIF(w, "v1", sampleReasons) })
	add("line", once, func(r *Report, w io.Writer) error {
		for _, templates := range [][]PlannedTemplate{r.Templates, r.Templates[1:3], r.Templates[3:], nil} {
			fmt.Fprintf(w, "%s\n", Line(templates))
		}
		return nil
	})
	add("parts", once, func(r *Report, w io.Writer) error {
		printParts(w, r.Messages, false, false)
		return nil
	})
	golden.Compare(t, "testdata/several.txtar", txtar.Format(a))
}

// What a message is about is said in the words of people: the probe and its container, or the field in the spec.
func TestSubjectsAreSaidInWords(t *testing.T) {
	spec := field.NewPath("spec", "template", "spec")
	web := spec.Item("containers", 1)
	for _, c := range []struct {
		path      field.Path
		container string
		want      string
	}{
		{nil, "", ""}, {field.NewPath("spec"), "", ""}, {field.NewPath("kind"), "", "`kind`"}, {field.NewPath("metadata", "name"), "", "`metadata.name`"},
		{field.NewPath("metadata", "annotations", "a.b/c"), "", "annotation `a.b/c`"}, {field.NewPath("spec", "template", "metadata", "annotations", "a"), "web", "annotation `a`"}, {field.NewPath("metadata", "labels", "app"), "", "label `app`"},
		{field.NewPath("metadata", "annotations"), "", "`metadata.annotations`"}, {field.NewPath("labels"), "", "`labels`"}, {field.NewPath("metadata", "annotations").Index(0), "", "`metadata.annotations[0]`"},
		{web.Key("livenessProbe"), "web", "liveness probe of web"}, {web.Key("readinessProbe", "httpGet", "port"), "web", "readiness probe of web"}, {web.Key("lifecycle", "preStop", "httpGet"), "web", "preStop hook of web"},
		{web.Key("lifecycle"), "web", "container web"}, {web.Item("ports", 0), "web", "container web"}, {web, "web", "container web"}, {web.Key("livenessProbe"), "", "`containers[1].livenessProbe`"},
		{spec.Item("initContainers", 0).Key("startupProbe"), "init", "startup probe of init"}, {spec.Item("ephemeralContainers", 0).Key("env"), "debug", "container debug"}, {spec.Key("containers"), "web", "`containers`"},
		{spec.Item("volumes", 0), "web", "`volumes[0]`"}, {spec.Key("hostNetwork"), "", "`hostNetwork`"},
		{field.NewPath("spec", "probe"), "", "probe"}, {field.NewPath("spec", "probe", "httpGet"), "vm", "probe"}, {field.NewPath("spec", "probes"), "", "`probes`"},
		{field.NewPath("spec").Item("jobs", 0).Key("spec", "a"), "", "`a`"}, {field.NewPath("spec", "podSpec", "x"), "", "`podSpec.x`"}, {field.NewPath("pods").Item("containers", 0).Key("livenessProbe"), "a", "liveness probe of a"},
	} {
		if got := Subject(c.path, c.container); got != c.want {
			t.Errorf("%s of %q: %s, want %s", c.path, c.container, got, c.want)
		}
	}
}

// A result says where its object is, of what was there before it nothing.
func TestAResultHasNothingOfTheOneBefore(t *testing.T) {
	web := &ObjectRef{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "web", File: "web.yaml", Index: 2}
	db := &ObjectRef{APIVersion: "v1", Kind: "Pod", Name: "db"}
	chart := &ObjectRef{File: "chart.yaml"}
	want := map[*ObjectRef]string{
		web:   `"resourceRef":{"apiVersion":"v1","kind":"Pod","namespace":"shop","name":"web"},"field":{"path":"a","currentValue":1},"file":{"path":"web.yaml","index":2},`,
		db:    `"resourceRef":{"apiVersion":"v1","kind":"Pod","name":"db"},"field":{"path":"a","currentValue":1},`,
		chart: `"file":{"path":"chart.yaml","index":0},`,
		nil:   ``,
	}
	for _, first := range []*ObjectRef{web, db, chart, nil} {
		for _, second := range []*ObjectRef{web, db, chart, nil} {
			r := &Report{}
			for i, o := range []*ObjectRef{first, second, first} {
				key := []reason.Key{reason.PortTaken, reason.None, reason.OptOut}[i]
				r.Messages = append(r.Messages, Message{Severity: transformer.Error, Reason: key, Object: o, Field: field.NewPath("a"), Current: 1, Text: reason.Text{What: "x", Fix: "y"}})
			}
			i := 0
			for result := range r.Results() {
				text := string(field.AppendJSON(nil, result))
				m := r.Messages[i]
				tags := []string{`"tags":{"reason":"port-taken"}`, ``, `"tags":{"reason":"opt-out"}`}[i]
				wanted := fmt.Sprintf(`{"message":%s,"severity":"error",%s%s`, field.AppendJSON(nil, m.Sentence()), want[m.Object], tags)
				if wanted = strings.TrimSuffix(wanted, ",") + "}"; text != wanted {
					t.Errorf("%s\nwant\n%s", text, wanted)
				}
				i++
			}
		}
	}
}

// Every part of a report may be empty, and what is written is JSON all the same.
func TestTheJSONOfAnyReportCanBeRead(t *testing.T) {
	full := several()
	for templates := range 3 {
		for messages := range 3 {
			for _, config := range []string{"", "a.yaml"} {
				r := &Report{Templates: full.Templates[:templates], Messages: full.Messages[:messages], Config: config}
				for name, write := range map[string]func(io.Writer) error{
					"json":  func(w io.Writer) error { return r.writeJSON(w, "<summary>") },
					"sarif": func(w io.Writer) error { return r.writeSARIF(w, "v1", sampleReasons) },
				} {
					var b bytes.Buffer
					if err := write(&b); err != nil {
						t.Fatal(err)
					}
					var got struct {
						Config    *string
						Summary   string
						Templates []struct{ Probes []any }
						Messages  []struct{ Message string }
						Runs      []struct{ Results []any }
					}
					if err := json.Unmarshal(b.Bytes(), &got); err != nil {
						t.Fatalf("%s of %d templates and %d messages: %v\n%s", name, templates, messages, err, &b)
					}
					var again bytes.Buffer
					_ = json.Indent(&again, b.Bytes(), "", "  ")
					if again.String() != b.String() {
						t.Errorf("%s of %d templates and %d messages is not indented:\n%s", name, templates, messages, &b)
					}
					if name == "sarif" {
						if len(got.Runs) != 1 || len(got.Runs[0].Results) != messages {
							t.Errorf("%d messages: %s", messages, &b)
						}
						continue
					}
					if len(got.Templates) != templates || len(got.Messages) != messages || got.Summary != "<summary>" || (got.Config != nil) != (config != "") || !strings.Contains(b.String(), "<summary>") {
						t.Errorf("%d templates, %d messages: %s", templates, messages, &b)
					}
				}
			}
		}
	}
}

// Of a sentence only what is between two back-quotes is code.
func TestWhatIsBetweenTwoBackQuotesIsCode(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a": "a", "a `b` c": "a `b` c", "`a`": "`a`", "`a` `b`": "`a` `b`", "a ` b": "a  b", "`a": "a", "a`": "a", "`a` b ` *c*": "`a` b  \\*c\\*", "``": "", "`*a*` *b*": "`*a*` \\*b\\*", "`a|b`|": "`a\\|b`\\|", "a\n": "a\\\\n",
	} {
		if got := prose(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"": "", "a": "<code>a</code>", "a<b": "<code>a&lt;b</code>"} {
		if got := rich("x `" + in + "` y"); string(got) != "x "+map[bool]string{true: "<code></code>", false: want}[in == ""]+" y" {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// What a probe does today is said in the same way wherever it is sorted, counted or shown.
func TestWhatAProbeDoesToday(t *testing.T) {
	for _, c := range []struct {
		v            transformer.Verdict
		class        class
		today, whyIs string
	}{
		{transformer.Verdict{StrictTLS: world.Fails, Why: "why"}, failsToday, "fails", ": why"},
		{transformer.Verdict{StrictTLS: world.FalselyPasses, Why: "why"}, failsToday, "passes falsely", ": why"},
		{transformer.Verdict{StrictTLS: world.Fails, Why: "why", If: "x"}, mayFail, "may fail", " if x"},
		{transformer.Verdict{StrictTLS: world.FalselyPasses, If: "x"}, mayFail, "may pass falsely", " if x"},
		{transformer.Verdict{StrictTLS: world.Fails, State: transformer.LeftAlone}, failsToday, "fails", ""},
		{transformer.Verdict{StrictTLS: world.Fails, State: transformer.LeftAlone, If: "x"}, mayFail, "may fail", " if x"},
		{transformer.Verdict{StrictTLS: world.Unaffected, State: transformer.LeftAlone}, leftAlone, "not affected", ""},
		{transformer.Verdict{StrictTLS: world.Unaffected, State: transformer.LeftAlone, NeverWorks: "why"}, failsToday, "never works", ": why"},
		{transformer.Verdict{StrictTLS: world.Unaffected, State: transformer.Rewritten}, works, "works", ""},
		{transformer.Verdict{StrictTLS: world.Unaffected, State: transformer.WouldRewrite, Works: "why"}, works, "works", ": why"},
		{transformer.Verdict{StrictTLS: world.Unaffected, State: transformer.Refused}, works, "works", ""},
		{transformer.Verdict{StrictTLS: world.Unaffected, State: transformer.WouldRewrite, Absent: true}, leftAlone, "not probed", ": without a probe, Istio counts every machine of the group as healthy"},
		{transformer.Verdict{StrictTLS: world.Unaffected, State: transformer.LeftAlone, Absent: true}, leftAlone, "not probed", ": without a probe, Istio counts every machine of the group as healthy"},
	} {
		if class, does, why := today(&c.v); class != c.class || does != c.today || why != c.whyIs {
			t.Errorf("%+v: %s, %s, %s", c.v, class, does, why)
		}
	}
}

// A fix that several reasons share is printed with all their keys, and what could not be written is an error of the summary.
func TestAFixThatReasonsShareHasTheirKeys(t *testing.T) {
	var messages []Message
	for _, key := range []reason.Key{reason.TwoMeshes, reason.MayFail, reason.PortTaken, reason.MayFail} {
		messages = append(messages, Message{Severity: transformer.Error, Reason: key, Text: reason.Text{What: "x", Fix: "Do it"}})
	}
	var b bytes.Buffer
	printParts(&b, messages, false, false)
	const want = "error: x [two-meshes]\nerror: x [may-fail]\nerror: x [port-taken]\nerror: x [may-fail]\nfix [may-fail, port-taken, two-meshes]: Do it.\n"
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", &b, want)
	}
	r := &Report{Messages: messages[:1], Unwritten: 2}
	if got := r.Summary(true); got != "0 pod templates, 0 objects changed; 3 errors, 0 warnings" {
		t.Errorf("the summary is %s", got)
	}
}

// explain warns once of all probes that hang on Istio's injector alone, but for those that somebody asked to leave.
func TestTheInjectorsWarningLeavesOutWhatIsOnPurpose(t *testing.T) {
	for _, why := range []reason.Key{reason.IstioOptOut, reason.OptedOut, reason.PortUnresolved, reason.ExcludedPort} {
		for _, state := range []transformer.State{transformer.LeftAlone, transformer.WouldRewrite} {
			for _, unless := range []string{world.InjectorAlone, ""} {
				r := &Report{Templates: []PlannedTemplate{{}}}
				r.Templates[0].Probes = []transformer.Verdict{{State: state, Reason: why, If: unless}}
				r.WarnOfInjector()
				want := unless != "" && !(state == transformer.LeftAlone && why.Doc().OnPurpose)
				if got := len(r.Messages) > 0; got != want {
					t.Errorf("%s, %s, %q: %v", why, state, unless, r.Messages)
				}
			}
		}
	}
}
