package transformer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/beside"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// seen collects the reasons that any test has produced, for TestMain.
var seen = map[string]bool{}

// A result is what a planner made of a manifest with one pod template.
type result struct {
	transformer.Plan
	text string // the manifest with the edits applied
}

// has returns the first finding with the reason, and reports whether there is
// one.
func (r result) has(reason string) (transformer.Finding, bool) {
	for _, f := range r.Findings {
		if f.Reason.String() == reason {
			return f, true
		}
	}
	return transformer.Finding{}, false
}

func (r result) reasons() []string {
	var keys []string
	for _, f := range r.Findings {
		keys = append(keys, f.Reason.String())
	}
	return keys
}

// env returns the value of Istio's env var in the manifest.
func (r result) env() string { return r.envVar("ISTIO_KUBE_APP_PROBERS") }

// envVar returns the value of the first env var of a name in the manifest; "" if
// there is none.
func (r result) envVar(name string) string {
	_, v, ok := strings.Cut(r.text, name+"\n")
	if !ok {
		return ""
	}
	v, _, _ = strings.Cut(v, "\n")
	v = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(v), "value:"))
	return strings.Trim(v, "'")
}

type option func(*transformer.Options)

func answeredBy(who string) option {
	return func(o *transformer.Options) { o.AnsweredBy = who }
}
func injectorRewrites(o *transformer.Options)        { o.Istio.InjectorRewrites = true }
func injectorRewritesNothing(o *transformer.Options) { o.Istio.InjectorRewrites = false }
func injectorUnknown(o *transformer.Options)         { o.Istio.InjectorRewrites = "auto" }
func port(n int) option                              { return func(o *transformer.Options) { o.Port = n } }
func asContainer(o *transformer.Options) {
	o.ProbeProxy.Placement = transformer.PlacementContainer
}

func options(opts ...option) transformer.Options {
	o := transformer.Defaults()
	o.ProbeProxy.Image = "example/probe-proxy:v1"
	for _, f := range opts {
		f(&o)
	}
	return o
}

func plan(t testing.TB, yaml string, opts ...option) result {
	t.Helper()
	return run(t, yaml, (*transformer.Planner).Plan, opts...)
}

// onIstiosPort returns the manifest with its probes answered by a probe-proxy on the
// port of Istio's agent and without any annotation.
func onIstiosPort(t testing.TB, yaml string) string {
	t.Helper()
	return plan(t, yaml, answeredBy("probe-proxy"), port(15020), injects()).text
}

func restore(t testing.TB, yaml string, opts ...option) result {
	t.Helper()
	return run(t, yaml, (*transformer.Planner).Restore, opts...)
}

func run(t testing.TB, yaml string, do func(*transformer.Planner, transformer.Input) transformer.Plan, opts ...option) result {
	t.Helper()
	return runAmong(t, beside.Source{}, yaml, do, opts...)
}

// runAmong takes each template through a planner, with what objects near it say.
func runAmong(t testing.TB, around beside.Source, yaml string, do func(*transformer.Planner, transformer.Input) transformer.Plan, opts ...option) result {
	t.Helper()
	p, err := transformer.New(options(opts...))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := manifest.Read("test", []byte(yaml))
	if err != nil {
		t.Fatalf("%v in\n%s", err, yaml)
	}
	var r result
	hasNamespace := false
	for _, o := range stream.Objects() {
		meta, err := o.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		if o.Kind() == "Namespace" {
			namespace := surroundings.Neighbour{Name: meta.Name, Labels: meta.Labels, Annotations: meta.Annotations, At: around.At}
			around.Objects = append(around.Objects, &surroundings.Namespace{Neighbour: namespace})
			hasNamespace = true
			continue
		}
		for _, k := range []*surroundings.Kind{surroundings.LimitRanges.Kind, surroundings.Quotas.Kind} {
			if k.Is(o.APIVersion(), o.Kind()) {
				v, _ := k.Read(surroundings.Neighbour{Name: o.Name()}, o.Decode)
				around.Objects = append(around.Objects, v)
			}
		}
		if kind := o.Kind(); kind == "LimitRange" || kind == "ResourceQuota" {
			continue
		}
		refs, err := workload.Templates(o, []workload.Custom{{Group: "example.com", Kind: "Bare", Pattern: field.NewPath("spec", "pod")}})
		if err != nil || len(refs) != 1 {
			t.Fatalf("%d templates, %v in\n%s", len(refs), err, yaml)
		}
		in := transformer.Input{
			Kind: o.Kind(), APIVersion: o.APIVersion(), Workload: *meta, NamespaceName: meta.Namespace,
			Path: refs[0].Path, JobLike: refs[0].JobLike, Shape: refs[0].Shape,
		}
		var into any = &in.Template
		if in.Shape.BareSpec {
			into = &in.Template.Spec
		}
		if _, err := o.Decode(refs[0].Path, into); err != nil {
			t.Fatal(err)
		}
		if in.Shape.WorkloadMetadata {
			in.Template.Metadata = *meta
		}
		// The Namespace of a pod that says itself that it is injected is in the input, and has no label.
		labels := in.Template.Metadata.Labels
		objects := around
		if !hasNamespace && (labels.Get("sidecar.istio.io/inject") == "true" || labels.Get("istio.io/rev") != "") {
			objects.Objects = append(slices.Clone(objects.Objects), &surroundings.Namespace{Neighbour: surroundings.Neighbour{Name: meta.Namespace, At: around.At}})
		}
		in.Around = surroundings.New(&objects)
		in.Source = o.Value
		plan := func(texts []field.WrittenText) transformer.Plan {
			in.Texts = texts
			return do(p, in)
		}
		r.Plan = transformer.WithTexts(plan, o.Texts)
		if again := transformer.WithTexts(plan, o.Texts); !cmp.Equal(again, r.Plan) {
			t.Errorf("equal inputs give plans that differ:\n%s", cmp.Diff(r.Plan, again))
		}
		if err := o.Apply(r.Edits); err != nil {
			t.Fatalf("applying %v: %v to\n%s", r.Edits, err, yaml)
		}
	}
	out, err := stream.Text()
	if err != nil {
		t.Fatal(err)
	}
	r.text = string(out)
	failed := false
	note(r.Plan)
	for _, f := range r.Repairs {
		seen[f.Reason.String()] = true
	}
	for _, f := range r.Findings {
		seen[f.Reason.String()] = true
		failed = failed || f.Severity == transformer.Error
		if f.Reason.Severity() != f.Severity {
			t.Errorf("%s %q is not documented", f.Severity, f.Reason.String())
		}
		if f.Text.What == "" || strings.Contains(textOf(f), "\n") || strings.Contains(textOf(f), "%!") {
			t.Errorf("message %q must be one line", textOf(f))
		}
	}
	for i, e := range r.Edits {
		for _, other := range r.Edits[:i] {
			if e.Op != field.Insert && other.Op != field.Insert && (e.Path.HasPrefix(other.Path) || other.Path.HasPrefix(e.Path)) {
				t.Errorf("%s is edited twice: %v and %v", e.Path, other, e)
			}
		}
	}
	if failed && len(r.Edits) > 0 {
		t.Errorf("a plan with an error has edits: %v", r.Edits)
	}
	for _, v := range r.Probes {
		seen[v.Reason.String()] = true
	}
	return r
}

// pod returns a Deployment with the given metadata and pod spec of its template.
func podOf(metadata, spec string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  template:\n" +
		indent("metadata:", metadata, 4) + indent("spec:", spec, 4)
}

// indent returns a mapping's key, after n spaces, with the text as its value; "" if
// there is no text.
func indent(key, text string, n int) string {
	if text == "" {
		return ""
	}
	pad := strings.Repeat(" ", n)
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	for i, l := range lines {
		lines[i] = pad + "  " + l
	}
	return pad + key + "\n" + strings.Join(lines, "\n") + "\n"
}

// app returns a pod spec of one container, app, with the given fields.
func app(fields string) string {
	return "containers:\n- name: app\n  image: app\n" + strings.TrimPrefix(indent("", fields, 0), "\n")
}

func wantText(t *testing.T, r result, want string) {
	t.Helper()
	if d := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(r.text)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// wantParts checks that a text has each of the parts.
func wantParts(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s\nis not in\n%s", part, text)
		}
	}
}

// wantNoEdits checks that a further run has nothing to do.
func wantNoEdits(t *testing.T, again result) {
	t.Helper()
	if len(again.Edits) > 0 {
		t.Errorf("a further run edits %v", again.Edits)
	}
}

// wantReason returns the first finding with the reason. Without one the test fails.
func wantReason(t *testing.T, r result, reason string) transformer.Finding {
	t.Helper()
	f, ok := r.has(reason)
	if !ok {
		t.Fatalf("findings %v must have %q", r.Findings, reason)
	}
	return f
}

const injected = "labels:\n  sidecar.istio.io/inject: \"true\"\n"

// besideIstio are the annotations of a pod in which probe-proxy answers, on its own
// port, whether Istio injects or not.
const besideIstio = "annotations:\n  sidecar.istio.io/rewriteAppHTTPProbers: \"false\"\n  traffic.sidecar.istio.io/excludeInboundPorts: \"15099\"\n"

const httpProbe = "livenessProbe:\n  httpGet:\n    path: /foo\n    port: 8001\n"

// textOf returns what a finding says, with the field that it is about.
func textOf(f transformer.Finding) string {
	if len(f.Field) == 0 {
		return f.Reason.Complete(f.Text).String()
	}
	return fmt.Sprintf("`%s`: %s", f.Field, f.Reason.Complete(f.Text))
}
