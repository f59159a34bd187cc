package vm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/beside"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// everything is what [Plan] rewrites by default.
var everything = []string{"httpGet", "tcpSocket", "grpc"}

// A subject is a group in a manifest of its own.
type subject struct {
	*Group
	stream *manifest.Stream
}

// A workload is one that a group may take its probe from.
type workload struct {
	name   string // its kind and name
	probes []transformer.OriginalProbe
}

// read reads the manifest of one group, in whose namespace the workloads are.
func read(t *testing.T, text string, workloads ...workload) subject {
	t.Helper()
	s, err := manifest.Read("", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := s.Objects()[0]
	meta, err := o.Metadata()
	if err != nil {
		t.Fatal(err)
	}
	g := &Group{Metadata: *meta, Source: o.Value}
	if _, err := o.Decode(field.NewPath("spec"), &g.Spec); err != nil {
		t.Fatal(err)
	}
	g.Probes = func(kind, name string) ([]transformer.OriginalProbe, string, error) {
		i := slices.IndexFunc(workloads, func(w workload) bool { return w.name == kind+" "+name })
		if i < 0 {
			return nil, "", fmt.Errorf("no %s %s", kind, name)
		}
		return workloads[i].probes, workloads[i].name, nil
	}
	return subject{g, s}
}

// plan returns the plan with the texts that its edits replace.
func (s subject) plan(rewrite []string) transformer.Plan {
	p := transformer.WithTexts(func(texts []field.WrittenText) transformer.Plan {
		s.Texts = texts
		return Plan(s.Group, rewrite)
	}, s.stream.Objects()[0].Texts)
	note(p)
	return p
}

// apply returns the manifest with the edits of a plan.
func (s subject) apply(t *testing.T, plan transformer.Plan) string {
	t.Helper()
	if err := s.stream.Objects()[0].Apply(plan.Edits); err != nil {
		t.Fatal(err)
	}
	text, err := s.stream.Text()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func reasons(plan transformer.Plan) []string {
	var keys []string
	for _, f := range plan.Findings {
		keys = append(keys, f.Reason.String())
	}
	return keys
}

// group returns a manifest with lines under metadata and a probe; no probe if that is "".
func group(metadata, probe string) string {
	text := "kind: WorkloadGroup\nmetadata:\n  name: reviews\n" + metadata + "spec:\n  template: {}\n"
	if probe != "" {
		text += "  probe: " + probe + "\n"
	}
	return text
}

const (
	httpsProbe = "{failureThreshold: 3, httpGet: {port: 8443, scheme: HTTPS}}"
	grpcProbe  = "{failureThreshold: 3, grpc: {port: 9000}}"

	// rewritten is httpsProbe after a run, and its annotation.
	rewritten           = "{failureThreshold: 3, httpGet: {path: /app-health/reviews/readyz, port: 15020, scheme: HTTP}, timeoutSeconds: 2}"
	rewrittenAnnotation = "  annotations:\n    proxy.istio.io/config: |\n      proxyMetadata:\n        ISTIO_KUBE_APP_PROBERS: '{\"/app-health/reviews/readyz\":{\"httpGet\":{\"path\":\"/\",\"port\":8443,\"scheme\":\"HTTPS\"},\"timeoutSeconds\":1}}'\n"
	rewrittenRecord     = "    rewrite-probes.io/originals: '{\"probe\":{\"httpGet\":{\"port\":8443,\"scheme\":\"HTTPS\"}}}'\n"
)

func TestTheVerdictSaysWhatBecomesOfTheProbe(t *testing.T) {
	off := "    rewrite-probes.io/rewrite: \"false\"\n"
	taken := "    rewrite-probes.io/probe-from: Pod/a\n    rewrite-probes.io/originals: '{\"derived\":{\"tcpSocket\":{\"port\":1},\"initialDelaySeconds\":0,\"timeoutSeconds\":1,\"periodSeconds\":10,\"successThreshold\":1,\"failureThreshold\":3}}'\n"
	for _, tt := range []struct {
		name, text string
		restore    bool
		want       transformer.Verdict
		findings   []string
	}{
		{"an https probe is rewritten", group("", httpsProbe), false,
			transformer.Verdict{State: transformer.WouldRewrite, Before: "httpGet https :8443/", After: ":15020/app-health/reviews/readyz"}, nil},
		{"what a run has rewritten is rewritten", group(rewrittenAnnotation+rewrittenRecord, rewritten), false,
			transformer.Verdict{State: transformer.Rewritten, Before: "httpGet https :8443/", After: ":15020/app-health/reviews/readyz"}, nil},
		{"what a run has rewritten is restored", group(rewrittenAnnotation+rewrittenRecord, rewritten), true,
			transformer.Verdict{State: transformer.WouldRestore, Before: "httpGet :15020/app-health/reviews/readyz", After: "httpGet https :8443/", Reason: reason.NotRewritten}, nil},
		{"a probe that works is left alone", group("", "{failureThreshold: 3, tcpSocket: {port: 1}}"), false,
			transformer.Verdict{State: transformer.LeftAlone, Before: "tcpSocket :1", Reason: reason.VMProbeWorks}, nil},
		{"a grpc probe is rewritten", group("", "{failureThreshold: 3, grpc: {port: 9000, service: a}}"), false,
			transformer.Verdict{State: transformer.WouldRewrite, Before: "grpc :9000 a", After: ":15020/app-health/reviews/readyz"}, nil},
		{"a tcpSocket probe of a host is left alone", group("", "{failureThreshold: 3, tcpSocket: {port: 1, host: a}}"), false,
			transformer.Verdict{State: transformer.LeftAlone, Before: "tcpSocket a:1", Reason: reason.VMProbeWorks}, nil},
		{"a probe that nobody rewrote is left alone by restore", group("", httpsProbe), true,
			transformer.Verdict{State: transformer.LeftAlone, Before: "httpGet https :8443/", Reason: reason.NotRewritten}, nil},
		{"a grpc probe that nobody rewrote is left alone by restore", group("", grpcProbe), true,
			transformer.Verdict{State: transformer.LeftAlone, Before: "grpc :9000", Reason: reason.NotRewritten}, nil},
		{"an opt-out leaves the probe alone", group("  annotations:\n"+off, httpsProbe), false,
			transformer.Verdict{State: transformer.LeftAlone, Before: "httpGet https :8443/", Reason: reason.OptOut}, []string{"opt-out"}},
		{"an opt-out restores the probe", group(rewrittenAnnotation+rewrittenRecord+off, rewritten), false,
			transformer.Verdict{State: transformer.WouldRestore, Before: "httpGet :15020/app-health/reviews/readyz", After: "httpGet https :8443/", Reason: reason.OptOut}, []string{"opt-out"}},
		{"an opt-out takes out a probe that was taken", group("  annotations:\n"+off+taken, "{failureThreshold: 3, tcpSocket: {port: 1}}"), false,
			transformer.Verdict{State: transformer.WouldRestore, Before: "tcpSocket :1", After: "none", Reason: reason.OptOut}, []string{"opt-out"}},
		{"an error in a probe leaves it alone", group("", "{failureThreshold: 3, exec: {}}"), false,
			transformer.Verdict{State: transformer.LeftAlone, Before: "exec", Reason: reason.VMNoHandler}, []string{"vm-no-handler"}},
		{"an error about a probe that would be rewritten refuses it", group("", "{failureThreshold: 3, httpGet: {port: 8443, scheme: HTTPS, httpHeaders: [{name: host, value: a}]}}"), false,
			transformer.Verdict{State: transformer.Refused, Before: "httpGet https :8443/", Reason: reason.VMHeaderCase}, []string{"vm-header-case"}},
		{"an error about a probe that is rewritten refuses it", group(rewrittenAnnotation+"    rewrite-probes.io/originals: \"[\"\n", rewritten), true,
			transformer.Verdict{State: transformer.Refused, Before: "httpGet https :8443/", Reason: reason.EnvUnreadable}, []string{"env-unreadable"}},
		{"an error about a probe that was taken refuses to take it out", group("  annotations:\n    proxy.istio.io/config: \"[\"\n"+taken, "{failureThreshold: 3, tcpSocket: {port: 1}}"), true,
			transformer.Verdict{State: transformer.Refused, Before: "none", Reason: reason.VMConfigInvalid}, []string{"vm-config-invalid"}},
		{"an error comes before a warning, and names the reason", group("", "{httpGet: {port: 1, host: 10.1.2.3}}"), false,
			transformer.Verdict{State: transformer.LeftAlone, Before: "httpGet 10.1.2.3:1/", Reason: reason.VMHostRemote}, []string{"vm-host-remote", "vm-threshold-default"}},
		{"a rewritten probe without its original is left alone", group("", rewritten), false,
			transformer.Verdict{State: transformer.LeftAlone, Before: "httpGet :15020/app-health/reviews/readyz", Reason: reason.Dangling}, []string{"dangling"}},
		{"a rewritten probe without its original is not restored", group("", rewritten), true,
			transformer.Verdict{State: transformer.LeftAlone, Before: "httpGet :15020/app-health/reviews/readyz", Reason: reason.Dangling}, []string{"dangling"}},
	} {
		s := read(t, tt.text)
		plan := s.plan(everything)
		if tt.restore {
			plan = Restore(s.Group)
			note(plan)
		}
		tt.want.Container, tt.want.ProbeType, tt.want.Field, tt.want.StrictTLS = "reviews", "readyz", probePath, world.Unaffected
		if d := cmp.Diff([]transformer.Verdict{tt.want}, plan.Probes); d != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, d)
		}
		if d := cmp.Diff(tt.findings, reasons(plan)); d != "" {
			t.Errorf("%s: findings: -want +got\n%s", tt.name, d)
		}
		changes := tt.want.State == transformer.WouldRewrite || tt.want.State == transformer.WouldRestore
		if changes != (len(plan.Edits) > 0) {
			t.Errorf("%s: %d edits", tt.name, len(plan.Edits))
		}
	}
}

func TestAGroupWithoutAProbeHasNoVerdict(t *testing.T) {
	for _, metadata := range []string{"", "  annotations: {rewrite-probes.io/rewrite: \"false\"}\n"} {
		if plan := read(t, group(metadata, "")).plan(everything); plan.Probes != nil || plan.Edits != nil || plan.Findings != nil {
			t.Errorf("%q: %+v", metadata, plan)
		}
	}
}

// A patch tests what the plan was made from: by what anybody could opt out, and what a run has noted.
func TestWhatAPlanReadsIsNamed(t *testing.T) {
	var got []string
	s := read(t, group("  annotations: {rewrite-probes.io/probe-from: Deployment/web}\n", "null"))
	s.Notes = new(transformer.Notes)
	s.plan(everything)
	for _, path := range Reads(s.Group).Fields {
		got = append(got, path.String())
	}
	for _, want := range []string{
		"spec", "metadata.annotations[proxy.istio.io/config]", "metadata.annotations[rewrite-probes.io/probe-from]",
		"metadata.annotations[rewrite-probes.io/originals]", "metadata.annotations[rewrite-probes.io/rewrite]",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not among %q", want, got)
		}
	}
}

func TestTheOptOutOfANamespaceCounts(t *testing.T) {
	s := read(t, group("", httpsProbe))
	s.Around = beside.Of(&surroundings.Namespace{Neighbour: surroundings.Neighbour{Name: "shop", Annotations: field.KeyValues{{Key: "rewrite-probes.io/rewrite", Value: "false"}}}})
	plan := s.plan(everything)
	if len(plan.Edits) > 0 || len(plan.Findings) != 1 || !strings.HasSuffix(plan.Findings[0].Text.String(), ". Its probe is not rewritten") {
		t.Errorf("%+v", plan)
	}
}

func TestTheMessageOfAnOptOutSaysWhatBecomesOfTheProbe(t *testing.T) {
	off := "    rewrite-probes.io/rewrite: \"false\"\n"
	taken := "    rewrite-probes.io/probe-from: Pod/a\n    rewrite-probes.io/originals: '{\"derived\":{\"tcpSocket\":{\"port\":1},\"initialDelaySeconds\":0,\"timeoutSeconds\":1,\"periodSeconds\":10,\"successThreshold\":1,\"failureThreshold\":3}}'\n"
	for _, tt := range []struct{ name, text, want string }{
		{"a probe of the author's", group("  annotations:\n"+off, httpsProbe), ". Its probe is not rewritten"},
		{"a probe that is rewritten", group(rewrittenAnnotation+off, rewritten), ". Its probe is restored"},
		{"a probe that was taken from a workload", group("  annotations:\n"+off+taken, "{failureThreshold: 3, tcpSocket: {port: 1}}"), ". Its probe is taken out again"},
	} {
		if f := read(t, tt.text).plan(everything).Findings; len(f) != 1 || !strings.HasSuffix(f[0].Text.String(), tt.want) {
			t.Errorf("%s: %+v", tt.name, f)
		}
	}
}

func TestAnAnnotationThatCannotBeReadIsAnErrorInEveryRun(t *testing.T) {
	for _, tt := range []struct{ annotation, reason, path string }{
		{"proxy.istio.io/config: '['", "vm-config-invalid", "metadata.annotations[proxy.istio.io/config]"},
		{"rewrite-probes.io/originals: '['", "env-unreadable", "metadata.annotations[rewrite-probes.io/originals]"},
	} {
		s := read(t, group("  annotations:\n    "+tt.annotation+"\n", grpcProbe))
		for _, plan := range []transformer.Plan{s.plan(everything), Restore(s.Group)} {
			if len(plan.Findings) != 1 || plan.Findings[0].Reason.String() != tt.reason || plan.Findings[0].Field.String() != tt.path || plan.Edits != nil {
				t.Errorf("%s: %+v", tt.annotation, plan)
			}
		}
	}
	plan := read(t, group("  annotations:\n    rewrite-probes.io/rewrite: maybe\n", grpcProbe)).plan(everything)
	if !slices.Equal(reasons(plan), []string{"annotation-invalid"}) || plan.Edits != nil {
		t.Errorf("an opt-out that is neither true nor false: %+v", plan)
	}
}

func TestTheAnswerSaysWhoAnswersAndWhatIsAdded(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		by         string
		port       int
		adds       []string
	}{
		{"both annotations are new", group("", httpsProbe), answeredBy, 15020, []string{ConfigAnnotation, transformer.OriginalsAnnotation}},
		{"an annotation that is there is not added", group("  annotations: {proxy.istio.io/config: \"statusPort: 15031\"}\n", httpsProbe), answeredBy, 15031, []string{transformer.OriginalsAnnotation}},
		{"a second run adds nothing", group(rewrittenAnnotation+rewrittenRecord, rewritten), answeredBy, 15020, nil},
		{"a probe that is left alone has no answerer", group("", "{failureThreshold: 3, tcpSocket: {port: 1}}"), "", 0, nil},
		{"a probe that is refused has no answerer", group("", "{failureThreshold: 3, httpGet: {port: 1, scheme: HTTPS, httpHeaders: [{name: host, value: a}]}}"), "", 0, nil},
	} {
		a := read(t, tt.text).plan(everything).Answer
		var adds []string
		for _, kv := range a.AddsAnnotations {
			adds = append(adds, kv.Key)
		}
		if a.By != tt.by || a.Port != tt.port || !slices.Equal(adds, tt.adds) {
			t.Errorf("%s: %+v", tt.name, a)
		}
	}
}

func TestOnlyTheFirstRunRepairsAMistake(t *testing.T) {
	workload := workload{"Pod a", []transformer.OriginalProbe{original(t, "a", "{httpGet: {port: 8443, scheme: HTTPS}}")}}
	const local = "{failureThreshold: 3, httpGet: {host: localhost, port: 8443, scheme: HTTPS}}"
	s := read(t, group("", local))
	localRewritten := s.apply(t, s.plan(everything))
	for _, tt := range []struct {
		name, text, want string
	}{
		{"an https probe", group("", httpsProbe), "vm-https-verified"},
		{"a grpc probe", group("", grpcProbe), "vm-grpc-refused"},
		{"a probe that is rewritten already", group(rewrittenAnnotation+rewrittenRecord, rewritten), ""},
		{"a probe of localhost", group("", local), "vm-https-verified"},
		{"a probe of localhost that is rewritten already", localRewritten, ""},
		{"a probe of localhost whose variable was removed since", strings.Replace(localRewritten, localhostEnv, "OTHER", 1), "vm-config-invalid"},
		{"a probe of localhost whose variable was switched off since", strings.Replace(localRewritten, localhostEnv+": \"true\"", localhostEnv+": \"false\"", 1), "vm-config-invalid"},
		{"a probe of the machine's address needs no variable", group(rewrittenAnnotation+rewrittenRecord, rewritten), ""},
		{"a probe that is taken from a workload", group("  annotations: {rewrite-probes.io/probe-from: Pod/a}\n", ""), ""},
		{"a probe that works", group("", "{failureThreshold: 3, tcpSocket: {port: 1}}"), ""},
		{"a probe with an error", group("", "{failureThreshold: 3, httpGet: {port: 1, scheme: HTTPS, httpHeaders: [{name: host, value: a}]}}"), ""},
	} {
		got := ""
		for _, f := range read(t, tt.text, workload).plan(everything).Repairs {
			got += f.Reason.String()
		}
		if got != tt.want {
			t.Errorf("%s: repairs %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestARewrittenProbeIsRecognised has edits by hand of a rewritten probe.
func TestARewrittenProbeIsRecognised(t *testing.T) {
	annotations := rewrittenAnnotation + rewrittenRecord
	for _, tt := range []struct {
		name, metadata, probe string
		before                string // what the verdict says; the original if it is known
		restored              string
	}{
		{"as it was written", annotations, rewritten, "httpGet https :8443/", httpsProbe},
		{"with a longer timeout, of which the original has a second less", annotations, strings.Replace(rewritten, "timeoutSeconds: 2", "timeoutSeconds: 9", 1),
			"httpGet https :8443/", "{failureThreshold: 3, httpGet: {port: 8443, scheme: HTTPS}, timeoutSeconds: 8}"},
		{"with a timeout of 1, which is the original's too", annotations, strings.Replace(rewritten, "timeoutSeconds: 2", "timeoutSeconds: 1", 1),
			"httpGet https :8443/", "{failureThreshold: 3, httpGet: {port: 8443, scheme: HTTPS}, timeoutSeconds: 1}"},
		{"without a timeout, for which the agent takes 1", annotations, strings.Replace(rewritten, ", timeoutSeconds: 2", "", 1),
			"httpGet https :8443/", httpsProbe},
		{"without the record, when every field is written out", rewrittenAnnotation, rewritten,
			"httpGet https :8443/", "{failureThreshold: 3, httpGet: {path: /, port: 8443, scheme: HTTPS}}"},
		{"with a record of another original, which is not used", rewrittenAnnotation + strings.Replace(rewrittenRecord, "8443", "8444", 1), rewritten,
			"httpGet https :8443/", "{failureThreshold: 3, httpGet: {path: /, port: 8443, scheme: HTTPS}}"},
		{"with other headers, which are kept", annotations, strings.Replace(rewritten, "scheme: HTTP}", "scheme: HTTP, httpHeaders: [{name: A, value: b}]}", 1),
			"httpGet https :8443/", "{failureThreshold: 3, httpGet: {port: 8443, scheme: HTTPS, httpHeaders: [{name: A, value: b}]}}"},
		{"not on another path", annotations, "{failureThreshold: 3, httpGet: {path: /other, port: 15020}}", "httpGet :15020/other", ""},
	} {
		s := read(t, group(tt.metadata, tt.probe))
		plan := Restore(s.Group)
		got := plan.Probes[0]
		before := got.After
		if got.State == transformer.LeftAlone {
			before = got.Before
		}
		if before != tt.before {
			t.Errorf("%s: the original is %q, want %q", tt.name, before, tt.before)
		}
		if tt.restored == "" {
			tt.restored = tt.probe
		}
		if text := s.apply(t, plan); text != group("", tt.restored) {
			t.Errorf("%s: restored is\n%swant the probe\n%s", tt.name, text, tt.restored)
		}
	}
}

func TestAPathThatLooksRewrittenNeedsItsOriginal(t *testing.T) {
	for _, tt := range []struct {
		name, metadata, httpGet string
		want                    bool
	}{
		{"without the annotation", "", "{path: /app-health/reviews/readyz, port: 15020}", true},
		{"of another group", rewrittenAnnotation, "{path: /app-health/other/readyz, port: 15020}", true},
		{"on another port", "", "{path: /app-health/reviews/readyz, port: 15021}", false},
		{"on the status port of the annotation", "  annotations: {proxy.istio.io/config: \"statusPort: 15021\"}\n", "{path: /app-health/reviews/readyz, port: 15021}", true},
		{"of another probe", "", "{path: /app-health/reviews/livez, port: 15020}", false},
		{"of the user's own env var", "  annotations:\n    proxy.istio.io/config: |\n      proxyMetadata:\n        ISTIO_KUBE_APP_PROBERS: '{\"/app-health/reviews/readyz\":{\"tcpSocket\":{\"port\":1}}}'\n", "{path: /app-health/reviews/readyz, port: 15020}", false},
	} {
		plan := read(t, group(tt.metadata, "{failureThreshold: 3, httpGet: "+tt.httpGet+"}")).plan(everything)
		if got := slices.Contains(reasons(plan), "dangling"); got != tt.want {
			t.Errorf("%s: dangling is %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestEveryProbeComesBack has plans applied, made again, and undone.
func TestEveryProbeComesBack(t *testing.T) {
	var probes []string
	for _, timing := range []string{"", "timeoutSeconds: 1, ", "timeoutSeconds: 7, initialDelaySeconds: 1, "} {
		for _, handler := range []string{
			"httpGet: {path: /, port: 8443, scheme: HTTPS}", "httpGet: {port: 8443, scheme: HTTPS}", "httpGet: {scheme: HTTPS, path: /a, port: 8443}", "httpGet: {host: 127.0.0.1, port: 1, scheme: HTTPS, httpHeaders: [{name: A, value: b}]}",
			"grpc: {port: 9000}", "grpc: {service: a, port: 9000}", "grpc: {port: 9000, service: \"\"}",
		} {
			probes = append(probes, "{"+timing+handler+", failureThreshold: 3}")
		}
	}
	for _, metadata := range []string{
		"", "  annotations:\n", "  annotations: {}\n", "  annotations: {a: b}\n", "  annotations: {proxy.istio.io/config: \"\"}\n",
		"  annotations: {proxy.istio.io/config: \"proxyMetadata:\"}\n", "  annotations: {proxy.istio.io/config: \"{concurrency: 2, proxyMetadata: {}}\"}\n",
		"  annotations:\n    proxy.istio.io/config: |-\n      proxyMetadata: {A: b}\n      statusPort: 15031\n",
	} {
		for _, probe := range probes {
			in := group(metadata, probe)
			s := read(t, in)
			out := s.apply(t, s.plan(everything))
			if again := read(t, out); out == in || again.apply(t, again.plan(everything)) != out {
				t.Errorf("a second run changes\n%s", out)
			}
			back := read(t, out)
			if got := back.apply(t, Restore(back.Group)); got != in {
				t.Errorf("restored is\n%swant\n%s", got, in)
			}
		}
	}
}
