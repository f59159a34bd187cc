package pipeline_test

import (
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
)

func TestTheAgentIsConfiguredForTheOneGroupThatIsNamed(t *testing.T) {
	group := func(metadata, spec string) string {
		return "apiVersion: networking.istio.io/v1\nkind: WorkloadGroup\nmetadata: {" + metadata + "}\nspec: " + spec + "\n---\n"
	}
	const probe = "{template: {}, probe: {httpGet: {path: /ready, port: 80}, failureThreshold: 3}}"
	for _, c := range []struct{ name, text, want string }{
		{"vms", group("name: vms", probe), "WorkloadGroup vms: `namespace`: must be set"},
		{"vms", group("name: vms, namespace: shop", probe), ""},
		{"shop/vms", group("name: vms, namespace: shop", probe), ""},
		{"shop/vms", group("name: vms, namespace: shop", probe) + group("name: vms, namespace: other", probe), ""},
		{"other/vms", group("name: vms, namespace: shop", probe), `the input must have one WorkloadGroup "other/vms" (NAME or NAMESPACE/NAME), and has "shop/vms"`},
		{"vms", group("name: vms, namespace: shop", probe) + group("name: vms, namespace: other", probe) + group("name: more", probe),
			`the input must have one WorkloadGroup "vms" (NAME or NAMESPACE/NAME), and has "shop/vms", "other/vms", "more"`},
		{"web", "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n", `the input must have one WorkloadGroup "web" (NAME or NAMESPACE/NAME), and has none`},
		{"vms", group("name: vms, labels: [a]", probe), "vms.yaml:3: WorkloadGroup vms: `metadata.labels`: must be a mapping, not a list"},
		{"vms", group("name: vms", "{template: {}, probe: x}"), "vms.yaml:4: WorkloadGroup vms: `spec.probe`: must be a mapping, not the string \"x\""},
		{"vms", group("name: vms", "{template: {a: 1, a: 2}}"), "vms.yaml:4: WorkloadGroup vms: `spec.template.a`: key \"a\" must stand only once in its mapping, and is here again"},
		{"vms", group("name: vms", "{template: {}, x: {y: [{a: 1, a: 2}]}}"), "vms.yaml:4: WorkloadGroup vms: `spec.x.y[0].a`: key \"a\" must stand only once in its mapping, and is here again"},
		{"vms", group("name: vms, annotations: {rewrite-probes.io/probe-from: Pod/web}", "{template: {}}"), "WorkloadGroup vms: \"Pod/web\": the input must have one workload of that kind and name in the group's namespace, and has 0"},
	} {
		s, err := manifest.Read("vms.yaml", []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		out, err := pipeline.AgentConfig([]*manifest.Stream{s}, config.Default(), c.name)
		if err != nil {
			got = err.Error()
		}
		if got != c.want || (err == nil) == (out == nil) {
			t.Errorf("%s: %q, want %q, of\n%s", c.name, got, c.want, c.text)
		}
	}
}

func TestNothingRunsWithAConfigThatWasNotValidated(t *testing.T) {
	c := config.Default()
	c.Spec.AnsweredBy = "nobody"
	defer func() {
		if recover() == nil {
			t.Error("nobody answers")
		}
	}()
	pipeline.Run(nil, c, pipeline.Inspect)
}

// The results of a large list are many, and differ little: they have the same texts and paths.
func TestResultsThatAreAlikeShareTheirTexts(t *testing.T) {
	const pod = "- apiVersion: v1\n  kind: Pod\n  metadata: {name: web}\n  spec: {containers: [{name: a, livenessProbe: {httpGet: {port: 80}}}]}\n"
	_, r := run(t, "<stdin>", []byte("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"+pod+pod), pipeline.Rewrite)
	var first *int32
	n := 0
	for _, m := range r.Messages {
		if m.Reason.String() != "rewritten" {
			continue
		}
		if n++; first == nil {
			first = &m.Field[0].Index
		} else if first != &m.Field[0].Index {
			t.Errorf("%s has a path of its own", m)
		}
	}
	if n != 2 {
		t.Errorf("%d results", n)
	}
}
