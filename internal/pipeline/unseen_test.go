package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

var someKinds = [][2]string{
	{"v1", "Pod"}, {"apps/v1", "Deployment"}, {"batch/v1", "CronJob"}, {"jobset.x-k8s.io/v1alpha2", "JobSet"},
	{"serving.knative.dev/v1", "Service"}, {"kubeflow.org/v1", "Notebook"}, {"argoproj.io/v1alpha1", "Rollout"},
	{"argoproj.io/v1alpha1", "Workflow"}, {"tekton.dev/v1", "Task"}, {"serving.kserve.io/v1beta1", "InferenceService"},
	{"apps/v1", "Deploymnt"}, {"apps/v1", "deployment"}, {"batch/v1", "CronJobb"}, {"v1", "Deployment"}, {"apps/v1", "Other"},
	{"example.com/v1", "Thing"}, {"", "Thing"},
}

// planter grows a random object and notes where it has put probes.
type planter struct {
	*rand.Rand
	probes []field.Path
}

func (p *planter) mapping(path field.Path, depth int) map[string]any {
	keys := []string{"spec", "template", "jobTemplate", "replicatedJobs", "containers", "initContainers", "ephemeralContainers", "sidecars",
		"container", "stepTemplate", "predictor", "a.b", "x", "lifecycle", "livenessProbe"}
	m := make(map[string]any)
	for range p.IntN(4) {
		key := keys[p.IntN(len(keys))]
		if _, taken := m[key]; taken || key == "lifecycle" || key == "livenessProbe" {
			continue
		}
		m[key] = p.value(path.Key(key), depth-1)
	}
	if len(path) > 0 && p.IntN(3) == 0 {
		p.container(path, m)
	}
	return m
}

func (p *planter) value(path field.Path, depth int) any {
	switch n := p.IntN(8); {
	case depth <= 0 || n == 0:
		return []any{"text", 1, nil, true}[p.IntN(4)]
	case n < 4 || strings.HasSuffix(path.String(), "ontainers"):
		list := []any{}
		for i := range 1 + p.IntN(2) {
			list = append(list, p.mapping(path.Index(i), depth-1))
		}
		return list
	}
	return p.mapping(path, depth)
}

// container makes a container with a probe or a hook of a mapping.
func (p *planter) container(path field.Path, m map[string]any) {
	m["image"] = "app"
	if p.IntN(2) == 0 {
		m["name"] = fmt.Sprintf("c%d", p.IntN(100))
	}
	if p.IntN(4) == 0 {
		m["restartPolicy"] = "Always"
	}
	handler := []map[string]any{
		{"httpGet": map[string]any{"port": 80}}, {"tcpSocket": map[string]any{"port": "http"}}, {"grpc": map[string]any{}},
		{"exec": map[string]any{}}, {"httpGet": nil},
	}
	i := p.IntN(len(handler))
	site := [][]string{{"livenessProbe"}, {"readinessProbe"}, {"startupProbe"}, {"lifecycle", "preStop"}, {"lifecycle", "postStart"}, {"livenesProbe"}, {"probe", "spec"}}[p.IntN(7)]
	m[site[0]] = any(handler[i])
	if len(site) > 1 {
		m[site[0]] = map[string]any{site[1]: handler[i]}
	}
	// Under any other key, what looks like a probe has a port.
	if hasShape := i < 2; hasShape || i == 2 && site[0] != "livenesProbe" && site[0] != "probe" {
		p.probes = append(p.probes, path.Key(site...))
	}
}

// wellFormed puts a valid pod template where the common kinds have one:
// otherwise nearly every object of a known kind would be refused.
func (p *planter) wellFormed(kind string, object map[string]any) {
	at := map[string]string{"Deployment": "spec.template", "Rollout": "spec.template", "Service": "spec.template", "Notebook": "spec.template", "Thing": "spec.template", "CronJob": "spec.jobTemplate.spec.template"}[kind]
	if at == "" {
		return
	}
	path, _ := field.Parse(at)
	m := object
	for _, s := range path.Key("spec") {
		next := map[string]any{}
		if _, taken := m[s.Key]; taken {
			p.probes = slices.DeleteFunc(p.probes, func(q field.Path) bool { return strings.HasPrefix(q.String(), "spec") })
		}
		m[s.Key] = next
		m = next
	}
	c := map[string]any{}
	p.container(path.Key("spec").Item("containers", 0), c)
	m["containers"] = []any{c}
	if p.IntN(2) == 0 {
		e := map[string]any{}
		p.container(path.Key("spec").Item("ephemeralContainers", 0), e)
		m["ephemeralContainers"] = []any{e}
	}
	if p.IntN(2) == 0 {
		e := map[string]any{}
		p.container(path.Key("second", "spec").Item("containers", 0), e)
		object["spec"].(map[string]any)["extra"] = "x"
		at := object
		for _, s := range path {
			at = at[s.Key].(map[string]any)
		}
		at["second"] = map[string]any{"spec": map[string]any{"containers": []any{e}}}
	}
}

// reported reports whether a probe is in a report: with its verdict, or below a
// field that a warning or an error names.
func reported(r *report.Report, probe field.Path) bool {
	for _, t := range r.Templates {
		for _, v := range t.Probes {
			if slices.Equal(v.Field, probe) {
				return true
			}
		}
	}
	for _, m := range r.Messages {
		// The object itself has no path, so one of its two lists is reported
		// for both.
		list := m.Field.String()
		if list == "containers" && probe[0].Key == "initContainers" || list == "initContainers" && probe[0].Key == "containers" {
			return true
		}
		if m.Severity == transformer.Error || m.Reason.String() == "kind-misspelt" || m.Severity == transformer.Warning && probe.HasPrefix(m.Field) {
			return true
		}
	}
	return false
}

func TestEveryProbeOfEveryObjectIsInTheReport(t *testing.T) {
	counts := map[string]int{}
	for seed := range uint64(4000) {
		p := &planter{Rand: rand.New(rand.NewPCG(seed, 1))}
		kind := someKinds[p.IntN(len(someKinds))]
		object := p.mapping(nil, 6)
		object["metadata"] = map[string]any{"name": "x"}
		if p.IntN(3) > 0 {
			p.wellFormed(kind[1], object)
		}
		object["kind"] = kind[1]
		if kind[0] != "" {
			object["apiVersion"] = kind[0]
		}
		text, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		_, r := run(t, "<stdin>", text, pipeline.Inspect)
		for _, probe := range p.probes {
			if !reported(r, probe) {
				t.Fatalf("seed %d: nobody mentions %s: %v\n%s", seed, probe, r.Messages, text)
			}
		}
		for _, m := range r.Messages {
			counts[m.Reason.String()] += len(p.probes)
		}
	}
	for _, reason := range []string{"unseen-probe", "unknown-kind", "kind-misspelt"} {
		if counts[reason] < 100 {
			t.Errorf("%s was met %d times: the objects are too plain", reason, counts[reason])
		}
	}
}

// inspect runs the pipeline with entries of podTemplates, written as
// "group/kind/path".
func inspect(t *testing.T, text string, podTemplates ...string) *report.Report {
	t.Helper()
	c := config.Default()
	c.Spec.Mesh = "osm" // which needs no annotation on the pods
	for _, entry := range podTemplates {
		part := strings.SplitN(entry, "/", 3)
		c.Spec.PodTemplates = append(c.Spec.PodTemplates, config.PodTemplate{Group: part[0], Kind: part[1], Path: part[2]})
	}
	_, r := runWith(t, c, "<stdin>", []byte(text), pipeline.Inspect)
	return r
}

func reasonsOf(r *report.Report) string {
	var all []string
	for _, m := range r.Messages {
		if m.Severity != transformer.Info && m.Reason.String() != "unreleased-image" {
			all = append(all, m.Reason.String()+" "+m.Field.String())
		}
	}
	return strings.Join(all, ", ")
}

func TestPodTemplatesNamesEveryTemplateOfAKind(t *testing.T) {
	const thing = `
apiVersion: example.com/v1
kind: Thing
metadata: {name: t}
spec:
  leader: {spec: {containers: [{name: a, livenessProbe: {httpGet: {port: 80}}}]}}
  jobs:
  - pod: {containers: [{name: b, livenessProbe: {httpGet: {port: 80}}}]}
  - pod: {containers: [{name: c, livenessProbe: {httpGet: {port: 80}}}]}
`
	for _, tt := range []struct {
		entries []string
		probes  int
		reasons string
	}{
		{nil, 0, "unknown-kind spec.leader, unknown-kind spec.jobs[0].pod, unknown-kind spec.jobs[1].pod"},
		{[]string{"example.com/Thing/spec.leader"}, 1, "unseen-probe spec.jobs[0].pod, unseen-probe spec.jobs[1].pod"},
		{[]string{"example.com/Thing/spec.leader", "example.com/Thing/spec.jobs[].pod"}, 3, ""},
		{[]string{"example.com/Thing/spec.leader", "example.com/Thing/spec.jobs[].pod", "example.com/Thing/spec.worker"}, 3, "path-finds-nothing "},
		{[]string{"example.com/Thing/spec.leader.spec", "example.com/Thing/spec.jobs[].pod", "example.com/Other/spec"}, 3, ""},
		{[]string{"example.com/Thing/spec"}, 0, "unseen-probe spec.leader, unseen-probe spec.jobs[0].pod, unseen-probe spec.jobs[1].pod, path-finds-nothing "},
	} {
		r := inspect(t, thing, tt.entries...)
		probes := 0
		for _, tmpl := range r.Templates {
			probes += len(tmpl.Probes)
		}
		if got := reasonsOf(r); got != tt.reasons || probes != tt.probes {
			t.Errorf("%q: %d probes, %q; want %d, %q", tt.entries, probes, got, tt.probes, tt.reasons)
		}
	}
	// A path that is found in one object of the kind is right for all.
	if got := reasonsOf(inspect(t, thing+"---\napiVersion: example.com/v1\nkind: Thing\nmetadata: {name: u}\n", "example.com/Thing/spec.leader", "example.com/Thing/spec.jobs[].pod")); got != "" {
		t.Errorf("got %q", got)
	}
}

// The path of a known kind is right too, if not necessary.
func TestThePathOfAKnownTemplateIsNotSaidToFindNothing(t *testing.T) {
	const web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: web}]}}}\n"
	if got := reasonsOf(inspect(t, web, "apps/Deployment/spec.template")); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestAMisspeltKindIsReportedWithWhatIsMeant(t *testing.T) {
	for in, want := range map[string]string{
		"apiVersion: apps/v1\nkind: Deploymnt\n":                          "Not checked: \"Deploymnt\" is not a kind of apps/v1. Write `apiVersion: apps/v1` and `kind: Deployment`.",
		"apiVersion: apps/v1\nkind: deployment\n":                         "Not checked: \"deployment\" is not a kind of apps/v1. Write `apiVersion: apps/v1` and `kind: Deployment`.",
		"apiVersion: v1\nkind: Deployment\n":                              "Not checked: \"Deployment\" is not a kind of v1. Write `apiVersion: apps/v1` and `kind: Deployment`.",
		"apiVersion: apps/v1\nkind: ReplicationController\n":              "Not checked: \"ReplicationController\" is not a kind of apps/v1. Write `apiVersion: v1` and `kind: ReplicationController`.",
		"apiVersion: batch/v1\nkind: CronJobb\nspec: {jobTemplate: {}}\n": "Not checked: \"CronJobb\" is not a kind of batch/v1. Write `apiVersion: batch/v1` and `kind: CronJob`.",
		"apiVersion: app/v1\nkind: Deployment\nspec: {template: {spec: {containers: [{livenessProbe: {grpc: {port: 1}}}]}}}\n": "Not checked: \"Deployment\" is not a kind of app/v1. Write `apiVersion: apps/v1` and `kind: Deployment`.",
		"apiVersion: apps/v1\nkind: ControllerRevision\ndata: {containers: [{livenessProbe: {grpc: {port: 1}}}]}\n":            "",
	} {
		got := ""
		for _, m := range inspect(t, in).Messages {
			got += m.Text.String()
		}
		if got != want {
			t.Errorf("%q: got\n%s\nwant\n%s", in, got, want)
		}
	}
}
