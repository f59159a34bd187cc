package workload_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
)

func object(t *testing.T, text string) *manifest.Object {
	t.Helper()
	s, err := manifest.Read("<stdin>", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Objects()[0]
}

func pattern(t *testing.T, s string) field.Path {
	t.Helper()
	p, err := field.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPodTemplatesAreFoundByGroupAndKind(t *testing.T) {
	customs := []workload.Custom{
		{Group: "example.com", Kind: "Thing", Pattern: pattern(t, "spec.worker.pod")},
		{Group: "example.com", Kind: "Thing", Pattern: pattern(t, "spec.jobs[].pod")},
		{Group: "example.com", Kind: "Thing", Pattern: pattern(t, "spec.grid[][].pod")},
		{Group: "example.com", Kind: "Podlike", Pattern: nil},
		{Group: "apps", Kind: "Deployment", Pattern: pattern(t, "spec.template")},
		{Group: "apps", Kind: "Deployment", Pattern: pattern(t, "spec.canary")},
	}
	for _, tt := range []struct{ in, want string }{
		{"{apiVersion: v1, kind: Pod, spec: {}}", ";"},
		{"{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {}}}}", "spec.template;"},
		{"{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {}}, canary: {spec: {}}}}", "spec.template;spec.canary;"},
		{"{apiVersion: apps/v1beta2, kind: Deployment, spec: {}}", ""},
		{"{apiVersion: other/v1, kind: Deployment, spec: {template: {spec: {}}}}", ""},
		{"{apiVersion: batch/v1, kind: CronJob, spec: {jobTemplate: {spec: {template: {}}}}}", "spec.jobTemplate.spec.template job;"},
		{"{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, spec: {replicatedJobs: [{template: {spec: {template: {}}}}, {}, {template: {spec: {template: {a: b}}}}]}}",
			"spec.replicatedJobs[0].template.spec.template job;spec.replicatedJobs[2].template.spec.template job;"},
		{"{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, spec: {leaderWorkerTemplate: {workerTemplate: {spec: {}}}}}", "spec.leaderWorkerTemplate.workerTemplate;"},
		{"{apiVersion: serving.knative.dev/v1, kind: Service, spec: {template: {}}}", "spec.template;"},
		{"{apiVersion: v1, kind: Service, spec: {template: {}}}", ""},
		{"{apiVersion: example.com/v1, kind: Thing, spec: {worker: {pod: {}}}}", ""},
		{"{apiVersion: example.com/v1, kind: Thing, spec: {worker: {pod: {spec: {}}}}}", "spec.worker.pod;"},
		{"{apiVersion: example.com/v1, kind: Thing, spec: {worker: {pod: {containers: []}}}}", "spec.worker.pod bare;"},
		{"{apiVersion: example.com/v1, kind: Thing, spec: {worker: {pod: {initContainers: []}}}}", "spec.worker.pod bare;"},
		{"{apiVersion: example.com/v1, kind: Thing, spec: {jobs: [{pod: {spec: {}}}, null, {pod: {containers: []}}]}}", "spec.jobs[0].pod;spec.jobs[2].pod bare;"},
		{"{apiVersion: example.com/v1, kind: Thing, spec: {grid: [[], [{}, {pod: {spec: {}}}]]}}", "spec.grid[1][1].pod;"},
		{"{apiVersion: example.com/v1, kind: Podlike, spec: {}}", ";"},
		{"{apiVersion: example.com/v1, kind: Podlike, containers: []}", " bare;"},
	} {
		o := object(t, tt.in)
		templates, err := workload.Templates(o, customs)
		got := ""
		for _, r := range templates {
			got += r.Path.String()
			if r.JobLike {
				got += " job"
			}
			if r.Shape.BareSpec {
				got += " bare"
			}
			got += ";"
		}
		if err != nil || got != tt.want {
			t.Errorf("%s: got %q %v, want %q", tt.in, got, err, tt.want)
		}
		if c := workload.Classify(o, customs); c != workload.Known && got != "" {
			t.Errorf("%s: the class is %v", tt.in, c)
		}
	}
}

// The metadata of a pod spec in a list is that of the same item, also in the next object.
func TestEachPodSpecHasTheMetadataOfItsItem(t *testing.T) {
	customs := []workload.Custom{
		{Group: "example.com", Kind: "Pool", Pattern: pattern(t, "spec.rows[].sets[].pod"), Metadata: pattern(t, "spec.rows[].sets[].meta")},
		{Group: "example.com", Kind: "Row", Pattern: pattern(t, "spec.rows[].sets[].pod"), Metadata: pattern(t, "spec.rows[].meta")},
		{Group: "example.com", Kind: "Set", Pattern: pattern(t, "spec.rows[].sets[].pod"), Metadata: pattern(t, "spec.meta")},
		{Group: "example.com", Kind: "None", Pattern: pattern(t, "spec.rows[].sets[].pod")},
	}
	const bare, template = "{pod: {containers: []}}", "{pod: {spec: {}}}"
	const rows = "spec: {rows: [{sets: [" + bare + "," + bare + "]}, {sets: [" + template + "," + bare + "]}]}"
	for kind, want := range map[string][]string{
		"Pool": {"spec.rows[0].sets[0].meta", "spec.rows[0].sets[1].meta", "", "spec.rows[1].sets[1].meta"},
		"Row":  {"spec.rows[0].meta", "spec.rows[0].meta", "", "spec.rows[1].meta"},
		"Set":  {"spec.meta", "spec.meta", "", "spec.meta"},
		"None": {"", "", "", ""},
	} {
		for range 2 {
			templates, err := workload.Templates(object(t, "{apiVersion: example.com/v1, kind: "+kind+", "+rows+"}"), customs)
			var got []string
			for _, r := range templates {
				got = append(got, r.Metadata.String())
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %q %v, want %q", kind, got, err, want)
			}
		}
	}
}

func TestATemplateOfAWrongTypeIsAnError(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\nspec:\n  template: x\n", "<stdin>:6: Deployment a: `spec.template`: must be a mapping, not the string \"x\""},
		{"apiVersion: jobset.x-k8s.io/v1\nkind: JobSet\nspec:\n  replicatedJobs: {}\n", "<stdin>:4: JobSet: `spec.replicatedJobs`: must be a list, not a mapping"},
	} {
		if _, err := workload.Templates(object(t, tt.in), nil); err == nil || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

func TestContainers_foundAnywhere(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"{kind: X, spec: {a: {template: {spec: {containers: [{name: a}, {livenessProbe: {grpc: {port: 1}}}]}}}}}", "spec.a.template=spec.a.template "},
		{"{kind: X, spec: {a: [{}, {b: {containers: [{lifecycle: {preStop: {httpGet: {port: 1}}}}]}}]}}", "spec.a[1].b=spec.a[].b "},
		{"{kind: X, spec: {initContainers: [{restartPolicy: Always, startupProbe: {tcpSocket: {port: 1}}}]}}", "spec=spec "},
		{"{kind: X, containers: [{startupProbe: {tcpSocket: {port: 1}}}]}", "=. "},
		{"{kind: X, spec: {predictor: {containers: [{readinessProbe: {httpGet: {port: 1}}}, {livenessProbe: {httpGet: {port: 1}}}]}}}", "spec.predictor=spec.predictor "},
		{"{kind: X, spec: {templates: [{container: {readinessProbe: {httpGet: {port: 1}}}, sidecars: [{livenessProbe: {httpGet: {port: 1}}}]}]}}",
			"spec.templates[0].container spec.templates[0].sidecars[0] "},
		{"{kind: X, spec: {ephemeralContainers: [{readinessProbe: {httpGet: {port: 1}}}]}}", "spec.ephemeralContainers[0] "},
		{"{kind: X, spec: {\"a.b\": {containers: [{readinessProbe: {httpGet: {port: 1}}}]}}}", "spec[a.b] "},
		{`{kind: X, spec: {containers: [{"r\x65adinessProb\x65": {httpGet: {port: 1}}}]}}`, "spec=spec "},
		{"{kind: X, spec: {containers: [{name: a, livenessProbe: {exec: {}, httpGet: null}}]}}", ""},
		{"{kind: X, spec: {containers: {livenessProbe: {}}}}", ""},
		{"{kind: X, spec: {containers: [{lifecycle: {stop: {httpGet: {path: /}}}}]}}", ""},
	} {
		in := strings.Replace(tt.in, "{", "{apiVersion: x.io/v1, ", 1)
		o := object(t, in)
		holders := workload.Unseen(o, nil)
		got := ""
		for _, h := range holders {
			got += h.Path.String()
			if h.Nameable {
				name := h.Pattern.String()
				if name == "" {
					name = "."
				}
				got += "=" + name
				custom := []workload.Custom{{Group: "x.io", Kind: "X", Pattern: pattern(t, name)}}
				templates, err := workload.Templates(o, custom)
				if left := workload.Unseen(o, templates); err != nil || len(left) > 0 {
					t.Errorf("%s: with %s there is still %v, %v", in, name, left, err)
				}
			}
			got += " "
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", in, got, tt.want)
		}
		if c := workload.Classify(o, nil); c != workload.Unknown && got != "" {
			t.Errorf("%s: the class is %v", in, c)
		}
	}
	for in, want := range map[string]workload.Class{
		"{apiVersion: networking.istio.io/v1beta1, kind: WorkloadGroup, spec: {probe: {grpc: {port: 1}}}}": workload.WorkloadGroup,
		"{apiVersion: networking.istio.io/v1, kind: WorkloadEntry}":                                        workload.NoPods,
		"{apiVersion: example.com/v1, kind: WorkloadGroup}":                                                workload.NoPods,
	} {
		if c := workload.Classify(object(t, in), nil); c != want {
			t.Errorf("%s: the class is %v, want %v", in, c, want)
		}
	}
	if c := workload.Classify(object(t, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {livenessProbe: {httpGet: {}}}}"), nil); c != workload.NoPods {
		t.Error("a CRD makes no pods")
	}
}

func TestAMisspeltKindIsRecognised(t *testing.T) {
	for _, tt := range []struct{ group, kind, want string }{
		{"apps", "Deploymnt", "apps/Deployment"},
		{"apps", "deployment", "apps/Deployment"},
		{"apps", "DeamonSet", "apps/DaemonSet"},
		{"apps", "Statefulset", "apps/StatefulSet"},
		{"batch", "CronJobb", "batch/CronJob"},
		{"batch", "Jobs", "batch/Job"},
		{"", "pod", "/Pod"},
		{"", "Deployment", "apps/Deployment"},
		{"batch", "Deployment", "apps/Deployment"},
		{"app", "Deployment", "apps/Deployment"},
		{"", "Deploymnt", "apps/Deployment"},
		{"", "cronjob", "batch/CronJob"},
		{"apps", "Jobs", "batch/Job"},
		{"example.com", "Deploymnt", ""},
		{"", "Widget", ""},
		{"argoproj.io", "Rollouts", "argoproj.io/Rollout"},
		{"argoproj.io", "Workflow", ""},
		{"example.com", "Deployment", ""},
		{"serving.knative.dev", "Route", ""},
		{"", "Node", ""},
		{"apps", "Deployment", ""},
		{"apps", "Deplymnt", "apps/Deployment"},
		{"apps", "Dplymnt", ""},
		{"", "Pdo", ""},
		{"", "Podd", "/Pod"},
		{"batch", "Jo", ""},
		{"ap", "Deployment", "apps/Deployment"},
		{"a", "Deployment", ""},
		{"extension", "Deployment", "extensions/Deployment"},
		{"extensions", "Deploymnt", "extensions/Deployment"},
		{"extensions", "StatefulSet", "apps/StatefulSet"},
		{"extensions", "StatefulSte", "apps/StatefulSet"},
		{"apps.kruise.com", "CloneSet", "apps.kruise.io/CloneSet"},
		{"", "CloneSet", ""},
		{"", "CloneSte", ""},
	} {
		got := ""
		if k := workload.Meant(tt.group, tt.kind); k != nil && workload.KindOf(tt.group, tt.kind) == nil {
			got = k.Group + "/" + k.Name
		}
		if got != tt.want {
			t.Errorf("%s %s: %q is meant, want %q", tt.group, tt.kind, got, tt.want)
		}
	}
}

func TestTheShapeOfAProbeIsSeenUnderAnyKey(t *testing.T) {
	for in, want := range map[string]string{
		"{probes: {liveness: {spec: {httpGet: {path: /, port: http}}}}}":                        "[probes.liveness.spec]",
		"{checks: [{tcpSocket: {port: 80}}, {httpGet: {port: 80}}]}":                            "[checks[0] checks[1]]",
		"{ready: {grpc: {port: 80}, periodSeconds: 1}}":                                         "[ready]",
		"{server: {grpc: {port: 80}}, receivers: {grpc: {port: 1}, tcpSocket: {host: a}}}":      "[]",
		"{schema: {httpGet: {properties: {port: {type: integer}}, port: {type: integer}}}}":     "[]",
		"{a: {httpGet: {port: null}}, b: {httpGet: {port: [80]}}, c: {httpGet: true}}":          "[]",
		"{lifecycle: {preStop: {httpGet: {port: 80}}, other: {httpGet: {port: 80}}}}":           "[lifecycle.preStop lifecycle.other]",
		"{livenessProbe: {httpGet: {}}, preStop: {httpGet: {}}, x: {startupProbe: {exec: {}}}}": "[livenessProbe]",
	} {
		var got []string
		workload.EachProbe(object(t, in), func(path field.Path) { got = append(got, path.String()) })
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", in, got, want)
		}
	}
}

// TestWhatOnlyHasTheShapeOfProbesIsOneHolder: the values of a chart may have very many.
func TestWhatOnlyHasTheShapeOfProbesIsOneHolder(t *testing.T) {
	holders := workload.Unseen(object(t, "{spec: {a: {x: {httpGet: {port: 80}}, y: {z: {tcpSocket: {port: 80}}}}, b: {livenessProbe: {httpGet: {}}}}}"), nil)
	var got []string
	for _, h := range holders {
		got = append(got, fmt.Sprint(h.Path, len(h.Probes), h.Nameable))
	}
	if want := "[spec.a 2 false spec.b 1 false]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// An object is parsed only if something in it looks like a probe: what has no handler that dials may be one too.
func TestWhatMayHaveProbesIsSeenWithoutParsing(t *testing.T) {
	for in, want := range map[string]bool{
		"kind: A\nspec: {livenessProbe: {exec: {command: [a]}}}\n": true, "kind: A\nspec: {lifecycle: {}}\n": true,
		"kind: A\nspec: {x: {httpGet: {port: 1}}}\n": true, "kind: A\nspec: {x: {tcpSocket: {port: 1}}}\n": true, "kind: A\nspec: {x: {grpc: {port: 1}}}\n": true,
		"kind: A\nspec: {probe: {exec: {}}, liveness: {}}\n": false,
	} {
		if got := workload.MayHaveProbes(object(t, in)); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
}

// otherKindsWithoutPods are in modules of Kubernetes besides k8s.io/api, or in its earlier
// releases only.
const otherKindsWithoutPods = `admission.k8s.io/v1 AdmissionReview
apidiscovery.k8s.io/v2 APIGroupDiscovery
apiextensions.k8s.io/v1 ConversionReview
apiextensions.k8s.io/v1 CustomResourceDefinition
apiregistration.k8s.io/v1 APIService
extensions/v1beta1 PodSecurityPolicy
imagepolicy.k8s.io/v1alpha1 ImageReview
networking.k8s.io/v1alpha1 ClusterCIDR
policy/v1beta1 PodSecurityPolicy
resource.k8s.io/v1alpha3 PodSchedulingContext
resource.k8s.io/v1alpha2 ResourceClaimParameters
resource.k8s.io/v1alpha2 ResourceClass
resource.k8s.io/v1alpha2 ResourceClassParameters
`

// The file has the kinds of k8s.io/api, which test/conformance/kinds keeps. What looks like a
// probe in such an object is none, and nothing is said about it.
func TestNoProbeIsSeenInAKindOfTheAPIServerThatMakesNoPods(t *testing.T) {
	list, err := os.ReadFile("testdata/kinds_without_pods.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(list) + otherKindsWithoutPods) {
		n++
		apiVersion, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		o := object(t, "apiVersion: "+apiVersion+"\nkind: "+kind+"\nspec:\n  x: [{livenessProbe: {httpGet: {}}}]\n")
		if class := workload.Classify(o, nil); class != workload.NoPods {
			t.Errorf("%s %s: its class is %v", apiVersion, kind, class)
		}
	}
	if n < 100 {
		t.Errorf("only %d kinds are in the list", n)
	}
}

// The class decides what becomes of an object. A kind of the API server's own groups that has none is read, since it may be
// misspelt; one of any other group only if something in it looks like a probe.
func TestTheClassOfAnObject(t *testing.T) {
	customs := []workload.Custom{{Group: "example.com", Kind: "Thing", Pattern: pattern(t, "spec.pod")}}
	for kind, want := range map[string][2]workload.Class{ // without and with something like a probe
		"v1 Pod":                                           {workload.Known, workload.Known},
		"apps/v1 Deployment":                               {workload.Known, workload.Known},
		"apps/v9 Deployment":                               {workload.Known, workload.Known},
		"example.com/v1 Thing":                             {workload.Known, workload.Known},
		"example.com/v2 Thing":                             {workload.Known, workload.Known},
		"other.com/v1 Thing":                               {workload.NoPods, workload.Unknown},
		"v1 Thing":                                         {workload.NoPods, workload.Unknown},
		"networking.istio.io/v1 WorkloadGroup":             {workload.WorkloadGroup, workload.WorkloadGroup},
		"example.com/v1 WorkloadGroup":                     {workload.NoPods, workload.Unknown},
		"v1 ConfigMap":                                     {workload.NoPods, workload.NoPods},
		"apps/v1 ControllerRevision":                       {workload.NoPods, workload.NoPods},
		"example.com/v1 ConfigMap":                         {workload.NoPods, workload.Unknown},
		"apps/v1 Deploymnt":                                {workload.Unknown, workload.Unknown},
		"v1 Deployment":                                    {workload.Unknown, workload.Unknown},
		"apps/v1 Something":                                {workload.NoPods, workload.Unknown},
		"example.com/v1 Deploymnt":                         {workload.NoPods, workload.Unknown},
		"example.com/v1 Deployment":                        {workload.NoPods, workload.Unknown},
		"argoproj.io/v1alpha1 Rollouts":                    {workload.NoPods, workload.Unknown},
		"apps.kruise.io/v1alpha1 SidecarSet":               {workload.NoPods, workload.Unknown},
		"apiextensions.k8s.io/v1 CustomResourceDefinition": {workload.NoPods, workload.NoPods},
	} {
		apiVersion, name, _ := strings.Cut(kind, " ")
		for i, spec := range []string{"{}", "{livenessProbe: {httpGet: {port: 1}}}"} {
			o := object(t, "apiVersion: "+apiVersion+"\nkind: "+name+"\nspec: "+spec+"\n")
			if got := workload.Classify(o, customs); got != want[i] {
				t.Errorf("%s with %s: %v, want %v", kind, spec, got, want[i])
			}
		}
	}
}

// What decides which templates an object has: each list on the way, and each place where one is missing. The items of lists
// and those places change with the templates, and nothing else does.
func TestWhatDecidesWhichTemplatesThereAre(t *testing.T) {
	customs := []workload.Custom{
		{Group: "example.com", Kind: "Grid", Pattern: pattern(t, "spec.grid[].rows[].pod")},
		{Group: "apps", Kind: "Deployment", Pattern: pattern(t, "spec.canary")},
		{Group: "example.com", Kind: "Two", Pattern: pattern(t, "spec.a")}, {Group: "example.com", Kind: "Two", Pattern: pattern(t, "spec.bs[]")},
		{Group: "other.com", Kind: "Two", Pattern: pattern(t, "spec.c")},
	}
	const pod, bare, early = "{spec: {}}", "{containers: []}", "{initContainers: []}"
	for _, c := range []struct{ in, lists, missing string }{
		{"{apiVersion: v1, kind: Pod, spec: {}}", "", ""},
		{"{apiVersion: v1, kind: Pod}", "", ""},
		{"{apiVersion: apps/v1, kind: StatefulSet}", "", "spec.template"},
		{"{apiVersion: apps/v1, kind: StatefulSet, spec: {template: " + pod + "}}", "", ""},
		{"{apiVersion: apps/v1, kind: Deployment, spec: {template: " + pod + "}}", "", "spec.canary"},
		{"{apiVersion: apps/v1, kind: Deployment, spec: {canary: " + pod + "}}", "", "spec.template"},
		{"{apiVersion: apps/v1, kind: Deployment, spec: {template: " + pod + ", canary: " + bare + "}}", "", ""},
		{"{apiVersion: apps/v1, kind: Deployment, spec: {template: " + pod + ", canary: " + early + "}}", "", ""},
		{"{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, spec: {}}", "", "spec.leaderWorkerTemplate.leaderTemplate spec.leaderWorkerTemplate.workerTemplate"},
		{"{apiVersion: example.com/v1, kind: Grid, spec: {}}", "spec.grid", ""},
		{"{apiVersion: example.com/v1, kind: Grid, spec: {grid: [{rows: [{pod: " + pod + "}, {}]}, {}, {rows: [{}, {pod: " + early + "}, {pod: {}}]}]}}",
			"spec.grid spec.grid[0].rows spec.grid[1].rows spec.grid[2].rows", "spec.grid[0].rows[1].pod spec.grid[2].rows[0].pod spec.grid[2].rows[2].pod"},
		{"{apiVersion: example.com/v1, kind: Two, spec: {bs: [" + pod + ", {}]}}", "spec.bs", "spec.a spec.bs[1]"},
		{"{apiVersion: other.com/v1, kind: Two, spec: {}}", "", "spec.c"},
		{"{apiVersion: v1, kind: Service, spec: {}}", "", ""},
	} {
		lists, missing, err := workload.Deciding(object(t, c.in), customs)
		words := func(paths []field.Path) string {
			var all []string
			for _, p := range paths {
				all = append(all, p.String())
			}
			return strings.Join(all, " ")
		}
		want := c.missing
		if c.in == "{apiVersion: v1, kind: Pod}" {
			want = words([]field.Path{nil}) // the object itself has no spec
		}
		if err != nil || words(lists) != c.lists || words(missing) != want {
			t.Errorf("%s: lists %q and missing %q (%v), want %q and %q", c.in, words(lists), words(missing), err, c.lists, want)
		}
	}
	for _, in := range []string{
		"{apiVersion: apps/v1, kind: StatefulSet, spec: {template: x}}", "{apiVersion: example.com/v1, kind: Grid, spec: {grid: {}}}",
		"{apiVersion: example.com/v1, kind: Grid, spec: {grid: [{rows: [{pod: x}]}]}}", "{apiVersion: example.com/v1, kind: Grid, spec: {grid: [{rows: {}}, {rows: []}]}}",
	} {
		if lists, missing, err := workload.Deciding(object(t, in), customs); err == nil || lists != nil || missing != nil {
			t.Errorf("%s: %v %v %v", in, lists, missing, err)
		}
	}
}

// A mapping that is a probe may hold others; a hook has its place in a lifecycle.
func TestEveryProbeIsVisited(t *testing.T) {
	for in, want := range map[string]string{
		"a: {httpGet: {port: 1}, b: {tcpSocket: {port: 1}}}":          "a a.b",
		"a: [[{httpGet: {port: 1}}], x, {b: {tcpSocket: {port: 1}}}]": "a[0][0] a[2].b",
		"livenessProbe: {httpGet: {path: /}}":                         "livenessProbe",
		"x: {preStop: {httpGet: {path: /}}}":                          "",
		"lifecycle: {preStop: {httpGet: {path: /}}}":                  "lifecycle.preStop",
		"lifecycle: {other: {httpGet: {path: /}}}":                    "",
		"a: {grpc: {port: 1}, periodSeconds: null}":                   "a",
		"a: {grpc: {port: 1}}":                                        "",
		"a: {httpGet: {port: null}}":                                  "",
		"a: {httpGet: {port: [1]}}":                                   "",
		"livenessProbe: {httpGet: null}":                              "",
	} {
		var got []string
		workload.EachProbe(object(t, "kind: X\n"+in+"\n"), func(path field.Path) { got = append(got, path.String()) })
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
