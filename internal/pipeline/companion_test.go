package pipeline_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// take runs one mode over a text and returns the result with its count of
// objects; ok is false if the text was refused.
func take(t *testing.T, text []byte, c *config.RewriteProbes, mode pipeline.Mode) (out []byte, objects, configMaps int, ok bool) {
	t.Helper()
	s, err := manifest.Read("input", bytes.Clone(text))
	if err != nil {
		return nil, 0, 0, false
	}
	r := pipeline.Run([]*manifest.Stream{s}, c, mode)
	if report.Count(r.Messages, transformer.Error) > 0 {
		return nil, 0, 0, false
	}
	var b bytes.Buffer
	if _, err := s.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	again, err := manifest.Read("output", b.Bytes())
	if err != nil {
		t.Fatalf("the result cannot be read: %v\n%s", err, &b)
	}
	for _, o := range again.Objects() {
		if o.Kind() == "ConfigMap" && o.Labels().Get("app.kubernetes.io/managed-by") == "rewrite-probes" {
			configMaps++
		}
	}
	return b.Bytes(), len(again.Objects()), configMaps, true
}

func TestCompanionsComeAndGoInAnyManifest(t *testing.T) {
	c := config.Default()
	c.Spec.Mesh, c.Spec.AnsweredBy = "osm", "envoy"
	added := 0
	for _, f := range append(testutil.Manifests(t, root), root+"/testdata/manifests/objects.json") {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		before, err := manifest.Read(f, bytes.Clone(text))
		if err != nil {
			continue
		}
		once, n, configMaps, ok := take(t, text, c, pipeline.Rewrite)
		if !ok {
			continue
		}
		added += configMaps
		if n != len(before.Objects())+configMaps {
			t.Errorf("%s: %d objects and %d ConfigMaps became %d", f, len(before.Objects()), configMaps, n)
		}
		if twice, _, _, _ := take(t, once, c, pipeline.Rewrite); !bytes.Equal(once, twice) {
			t.Errorf("%s: the second run changed the text: %s", f, firstDifference(once, twice))
		}
		back, n, configMaps, _ := take(t, once, c, pipeline.Restore)
		if n != len(before.Objects()) || configMaps != 0 || bytes.Contains(back, []byte("osm-")) && !bytes.Contains(text, []byte("osm-")) {
			t.Errorf("%s: restored to %d objects, want %d", f, n, len(before.Objects()))
		}
	}
	if added == 0 {
		t.Error("nothing was added anywhere")
	}
	t.Logf("%d ConfigMaps", added)
}

// TestTheSameNameInTwoNamespacesHasTwoCompanions: each workload finds its own again.
func TestTheSameNameInTwoNamespacesHasTwoCompanions(t *testing.T) {
	c := config.Default()
	c.Spec.Mesh, c.Spec.AnsweredBy = "osm", "envoy"
	workload := func(namespace, path string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: " + namespace + "}\nspec:\n  template:\n    spec:\n      containers:\n      - name: web\n        image: web\n        livenessProbe: {httpGet: {path: " + path + ", port: 80}}\n"
	}
	text := []byte(workload("a", "/a") + "---\n" + workload("b", "/b"))
	for range 2 {
		var objects, configMaps int
		var ok bool
		once := text
		if text, objects, configMaps, ok = take(t, text, c, pipeline.Rewrite); !ok || objects != 4 || configMaps != 2 {
			t.Fatalf("%d objects, %d of them ConfigMaps of ours, of\n%s", objects, configMaps, once)
		}
	}
	s, err := manifest.Read("output", bytes.Clone(text))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"Deployment a", "ConfigMap a", "Deployment b", "ConfigMap b"} {
		o := s.Objects()[i]
		if got := o.Kind() + " " + o.Namespace(); got != want {
			t.Errorf("object %d is %s, want %s", i, got, want)
		}
	}
	back, objects, configMaps, ok := take(t, text, c, pipeline.Restore)
	if !ok || objects != 2 || configMaps != 0 {
		t.Errorf("restored:\n%s", back)
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
	for _, text := range []string{head + good + taken, head + taken + good} {
		s, r := runWith(t, c, "<stdin>", []byte(text), pipeline.Rewrite)
		if got := string(written(t, s)); got != text || s.Changed() || report.Count(r.Messages, transformer.Error) != 1 || r.Messages[0].Reason != "port-taken" {
			t.Errorf("%v, written:\n%s", r.Messages, got)
		}
	}
	if s, _ := runWith(t, c, "<stdin>", []byte(head+good), pipeline.Rewrite); !s.Changed() {
		t.Error("the good template alone is not rewritten")
	}
}

// A workload without its ConfigMap would have no probe that works.
func TestAWorkloadWhoseCompanionCannotBeWrittenStaysAsItIs(t *testing.T) {
	c := config.Default()
	c.Spec.Mesh, c.Spec.AnsweredBy = "osm", "envoy"
	// Nothing can be put behind a document that is indented.
	const text = "  apiVersion: apps/v1\n  kind: Deployment\n  metadata: {name: web}\n  spec:\n    template:\n      spec:\n        containers:\n        - name: web\n          image: web\n          livenessProbe: {httpGet: {path: /, port: 80}}\n"
	s, r := runWith(t, c, "<stdin>", []byte(text), pipeline.Rewrite)
	if got := string(written(t, s)); got != text || s.Changed() || report.Count(r.Messages, transformer.Error) != 1 {
		t.Errorf("%v, written:\n%s", r.Messages, got)
	}
	c.Spec.AnsweredBy = transformer.AnsweredByProbeProxy
	if s, _ := runWith(t, c, "<stdin>", []byte(text), pipeline.Rewrite); !s.Changed() {
		t.Error("it is not rewritten for probe-proxy either")
	}
}

// Where a workload can have no ConfigMap of its own, it stays as it is, and so does that of others.
func TestAWorkloadThatCanHaveNoCompanionStaysAsItIs(t *testing.T) {
	c := config.Default()
	c.Spec.Mesh, c.Spec.AnsweredBy = "osm", "envoy"
	const spec = "spec: {containers: [{name: web, image: web, livenessProbe: {httpGet: {path: /, port: 80}}}]}"
	deployment := func(metadata string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {" + metadata + "}\nspec: {template: {" + spec + "}}\n"
	}
	job := "    template: {spec: {template: {" + spec + "}}}\n"
	s, _ := runWith(t, c, "<stdin>", []byte(deployment("name: web")), pipeline.Rewrite)
	again, err := manifest.Read("output", written(t, s))
	if err != nil || len(again.Objects()) != 2 {
		t.Fatalf("%v\n%s", err, written(t, s))
	}
	for text, reason := range map[string]string{
		deployment("name: web") + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + again.Objects()[1].Name() + "}\n": "envoy-config-taken",
		deployment("generateName: web-"): "envoy-unfit",
		"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: set}\nspec:\n  replicatedJobs:\n  - name: a\n" + job + "  - name: b\n" + job: "envoy-unfit",
	} {
		s, r := runWith(t, c, "<stdin>", []byte(text), pipeline.Rewrite)
		if got := string(written(t, s)); got != text || s.Changed() || report.Count(r.Messages, transformer.Error) != 1 || r.Messages[0].Reason != reason {
			t.Errorf("%s: %v, written:\n%s", reason, r.Messages, got)
		}
	}
}
