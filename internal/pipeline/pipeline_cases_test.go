package pipeline_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/release"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// TestWhatIsSaidOfManifests has everything that runs say of manifests. In the file the
// functionConfig's spec may be above a manifest, and what is said is below it; -update writes that.
func TestWhatIsSaidOfManifests(t *testing.T) {
	own := golden.Sentences{} // of this package, and not of a plan
	compareAnswers(t, "testdata/said.txtar", "said", func(c *config.RewriteProbes, f txtar.File) string {
		return said(t, c, f, own)
	})
	if err := own.Compare(); err != nil {
		t.Error(err)
	}
}

// compareAnswers compares an archive with what answer returns for each of its manifests: it is the file of that name below
// the manifest, above which the spec of its functionConfig may be. With -update it is written.
func compareAnswers(t *testing.T, file, name string, answer func(*config.RewriteProbes, txtar.File) string) {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	var out []txtar.File
	c := config.Default()
	for _, f := range a.Files {
		out = append(out, f)
		if f.Name == "spec" {
			o, err := manifest.Read("spec", slices.Concat([]byte("apiVersion: rewrite-probes.io/v1alpha1\nkind: RewriteProbes\nspec:\n"), f.Data))
			if err != nil {
				t.Fatal(err)
			}
			if c, err = config.Decode(o.Objects()[0]); err != nil {
				t.Fatal(err)
			}
			continue
		}
		out = append(out, txtar.File{Name: name, Data: []byte(answer(c, f))})
		c = config.Default()
	}
	a.Files = out
	golden.Compare(t, file, txtar.Format(a))
}

// said returns what is said of a manifest: each line behind the modes that say it, rewrite (w),
// restore (r), inspect (i) and check (c). Messages that are not of a plan are noted.
func said(t *testing.T, c *config.RewriteProbes, f txtar.File, own golden.Sentences) string {
	t.Helper()
	c.Spec.ProbeProxy.Image = "example.com/probe-proxy:v1"
	var all []string
	modes := make(map[string]string)
	say := func(mode, line string) {
		if modes[line] == "" {
			all = append(all, line)
		}
		modes[line] += mode
	}
	for i, mode := range []pipeline.Wants{pipeline.Rewrite, pipeline.Restore, pipeline.Inspect, pipeline.Gate} {
		_, r := runWith(t, c, f.Name, slices.Clone(f.Data), mode)
		letter := "wric"[i : i+1]
		for _, m := range r.Messages {
			say(letter, words(m))
			if !m.InPlan {
				own.Say(m.Reason.String(), m.Reason.Complete(m.Text).String())
			}
		}
		if mode == pipeline.Gate {
			say(letter, r.CheckSummary())
			continue
		}
		say(letter, r.Summary(mode != pipeline.Inspect))
	}
	var b strings.Builder
	for _, line := range all {
		fmt.Fprintf(&b, "%-3s %s\n", modes[line], line)
	}
	return b.String()
}

// words returns a message with the values that a ResourceList has beside it.
func words(m report.Message) string {
	s := m.String()
	if m.Current != nil || m.Proposed != nil {
		s += fmt.Sprintf(" (%s is %v, %v is proposed)", m.Field, cmp.Or(m.Current, any("nothing")), cmp.Or(m.Proposed, any("nothing")))
	}
	return s
}

// A build that is no release does not know an image of probe-proxy: that is said once, if it writes one.
func TestImage_ofUnreleasedBuild(t *testing.T) {
	image, released := release.Image()
	want := "warning: This build (" + release.Version() + ") is not a release. It writes the image of the next release, " + image +
		", and pods cannot start until that exists. Set `probeProxy.image`, or install a release. [unreleased-image]\n"
	if released {
		want = ""
	}
	pod := func(annotations, containers string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: web, annotations: {" + annotations + "}, labels: {sidecar.istio.io/inject: \"true\"}}\nspec:\n  containers:\n" + containers
	}
	const app = "  - {name: a, image: a, livenessProbe: {httpGet: {path: /, port: 80}}}\n"
	const none = "  - {name: a, image: a, livenessProbe: {exec: {command: [a]}}}\n"
	rewritten := func(text string) string {
		c := config.Default()
		c.Spec.AnsweredBy = "probe-proxy"
		s, _ := runWith(t, c, "web.yaml", []byte(text), pipeline.Rewrite)
		return string(written(t, s))
	}
	again := rewritten(pod("", app))
	leaving := strings.Replace(again, "annotations: {", "annotations: {rewrite-probes.io/rewrite: \"false\", ", 1)
	for _, c := range []struct {
		name, text, answeredBy, image string
		modes                         []pipeline.Wants // those that say it
	}{
		{"a pod", pod("", app), "probe-proxy", "", []pipeline.Wants{pipeline.Rewrite, pipeline.Inspect}},
		{"two pods", pod("", app) + "---\n" + pod("", app), "probe-proxy", "", []pipeline.Wants{pipeline.Rewrite, pipeline.Inspect}},
		{"two pods, the second with nothing to do", pod("", app) + "---\n" + pod("", none), "probe-proxy", "", []pipeline.Wants{pipeline.Rewrite, pipeline.Inspect}},
		{"an image that is given", pod("", app), "probe-proxy", "example.com/p:v1", nil},
		{"istio-proxy answers", pod("", app), "istio-proxy", "", nil},
		{"the app answers", pod("", app), "app", "", nil},
		{"nothing to rewrite", pod("", none), "probe-proxy", "", nil},
		{"nothing to change", again, "probe-proxy", "", nil},
		{"the original is put back", leaving, "probe-proxy", "", nil},
	} {
		for _, mode := range []pipeline.Wants{pipeline.Rewrite, pipeline.Restore, pipeline.Inspect, pipeline.Judge, pipeline.Gate} {
			conf := config.Default()
			conf.Spec.AnsweredBy, conf.Spec.ProbeProxy.Image = c.answeredBy, c.image
			_, r := runWith(t, conf, "web.yaml", []byte(c.text), mode)
			got, said := "", ""
			for _, m := range r.Messages {
				if m.Reason.String() == "unreleased-image" {
					got += m.String() + "\n"
				}
			}
			if slices.Contains(c.modes, mode) {
				said = want
			}
			if got != said {
				t.Errorf("%s, mode %+v: %q, want %q", c.name, mode, got, said)
			}
			conf.Spec.Strict = true // the manifests are not at fault
			if _, r := runWith(t, conf, "web.yaml", []byte(c.text), mode); mode == pipeline.Rewrite && r.Failed() {
				t.Errorf("%s, in a strict run: %v", c.name, r.Messages)
			}
		}
	}
}

// TestAnObjectWithOneRefusedTemplateStaysAsItIs: half a rewriting helps nobody.
func TestAnObjectWithOneRefusedTemplateStaysAsItIs(t *testing.T) {
	c := config.Default()
	c.Spec.AnsweredBy = transformer.AnsweredByProbeProxy
	c.Spec.Port = 15097
	template := func(name, ports string) string {
		return "  - name: " + name + "\n    template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: " + name + ", image: x" + ports + ", livenessProbe: {httpGet: {path: /, port: 80}}}]}}}}\n"
	}
	const head = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: set}\nspec:\n  replicatedJobs:\n"
	good, taken := template("good", ""), template("taken", ", ports: [{containerPort: 15097}]")
	noted := strings.Replace(good, "spec: {restartPolicy", "metadata: {annotations: {rewrite-probes.io/skip-containers: nobody}}, spec: {restartPolicy", 1)
	for _, text := range []string{head + good + taken, head + taken + good, head + noted + taken, head + taken + noted} {
		s, r := runWith(t, c, "<stdin>", []byte(text), pipeline.Rewrite)
		if got := string(written(t, s)); got != text || s.Changed() || report.Count(r.Messages, transformer.Error) != 1 || r.Messages[0].Reason.String() != "port-taken" {
			t.Errorf("%v, written:\n%s", r.Messages, got)
		}
	}
	for _, text := range []string{head + good, head + noted, head + noted + good} {
		s, r := runWith(t, c, "<stdin>", []byte(text), pipeline.Rewrite)
		isNoted := len(about(r, reason.UnknownContainer)) > 0
		if !s.Changed() || isNoted != strings.Contains(text, "nobody") {
			t.Errorf("without the other it is not rewritten: %v\n%s", r.Messages, text)
		}
	}
}

// TestAnObjectWhoseEditsCannotBeMadeIsNotCounted: what is said to be changed was changed.
func TestAnObjectWhoseEditsCannotBeMadeIsNotCounted(t *testing.T) {
	const shared = `apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: a}
  spec: &pod {containers: [{name: app, livenessProbe: {httpGet: {port: 80}}}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: b}
  spec: *pod
- apiVersion: v1
  kind: Pod
  metadata: {name: c}
  spec: {containers: [{name: app, livenessProbe: {httpGet: {port: 80}}}]}
`
	s, r := runWith(t, config.Default(), "<stdin>", []byte(shared), pipeline.Rewrite)
	if n := report.Count(r.Messages, transformer.Error); n != 2 {
		t.Errorf("%d errors, want one for each of the two that share a spec: %v", n, r.Messages)
	}
	if changed := changedObjects(s); changed != 1 || r.Changed != 1 {
		t.Errorf("%d objects changed, and %d are said to be; want 1", changed, r.Changed)
	}
}
