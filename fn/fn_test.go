package fn_test

import (
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/kptdev/krm-functions-sdk/go/fn"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rewrite-probes/rewrite-probes/fn"
	"github.com/rewrite-probes/rewrite-probes/fn/findings"
	"github.com/rewrite-probes/rewrite-probes/fn/krm"
	"github.com/rewrite-probes/rewrite-probes/fn/kyaml"
	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// sameFields compares two types by the names of their fields, all the way
// down; what a type of the API describes is left to it.
func sameFields(t *testing.T, path string, public, internal reflect.Type) {
	for public.Kind() == reflect.Pointer || public.Kind() == reflect.Slice {
		public = public.Elem()
	}
	for internal.Kind() == reflect.Pointer || internal.Kind() == reflect.Slice && internal.Elem().Kind() != reflect.Interface {
		internal = internal.Elem()
	}
	if public.Kind() != reflect.Struct || internal.Kind() != reflect.Struct || strings.HasPrefix(public.PkgPath(), "k8s.io/") {
		return
	}
	var have, want []string
	for i := range public.NumField() {
		have = append(have, jsonName(public.Field(i)))
	}
	for _, f := range reflect.VisibleFields(internal) {
		if f.Anonymous {
			continue // its fields are listed too
		}
		want = append(want, jsonName(f))
		if p, ok := public.FieldByName(f.Name); ok {
			sameFields(t, path+"."+jsonName(f), p.Type, f.Type)
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("%s: -functionConfig +Go\n%s", path, d)
	}
}

func TestTheTypedConfigHasTheFieldsOfTheFunctionConfig(t *testing.T) {
	sameFields(t, "spec", reflect.TypeFor[fn.RewriteProbesSpec](), reflect.TypeFor[config.Spec]())
}

// full is a config in which no field has its default.
func full() *fn.RewriteProbes {
	return &fn.RewriteProbes{
		ObjectMeta: metav1.ObjectMeta{Name: "config"},
		Spec: fn.RewriteProbesSpec{
			Mesh: "istio", AnsweredBy: fn.AnsweredByProbeProxy, Port: 15098, Rewrite: []string{"httpGet"}, Strict: true,
			ProbeProxy: fn.ProbeProxy{
				Image: "example/proxy:v1", Registry: "example.com", Body: "none", Name: "proxy", Placement: fn.PlacementContainer, ImagePullPolicy: corev1.PullAlways,
				Resources:       &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("48Mi")}},
				SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(1000))},
				Env:             []corev1.EnvVar{{Name: "A", Value: "b"}},
				LivenessProbe:   true, ReadinessProbe: true,
			},
			IstioProxy:   fn.IstioProxy{Image: "example/istio:v1", Restricted: new(false), Resources: &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}},
			Platform:     "kubernetes",
			Istio:        fn.Istio{InjectorRewrites: new(false), InjectedNamespaces: []string{"mesh-*"}, NativeSidecars: new(false), HoldApplication: true, Version: "1.24", RootNamespace: "mesh-root", MTLS: "PERMISSIVE"},
			PodTemplates: []fn.PodTemplate{{Group: "example.com", Kind: "Thing", Path: "spec.jobs[].pod", Metadata: "spec.jobs[].meta"}},
			Select:       &fn.Selector{Kinds: []string{"Own"}, Names: []string{"w*"}, LabelSelector: "a=b"},
			Exclude:      &fn.Selector{Namespaces: []string{"legacy"}},
		},
	}
}

func TestEveryFieldOfTheTypedConfigHasItsEffect(t *testing.T) {
	c := full()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	before := full()
	c.Default()
	before.TypeMeta = metav1.TypeMeta{APIVersion: fn.APIVersion, Kind: fn.Kind}
	if d := cmp.Diff(before, c); d != "" {
		t.Errorf("Default has changed what was set:\n%s", d)
	}
	pod := template()
	owner := fn.Owner{APIVersion: "example.com/v1", Kind: "Own", Metadata: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"a": "b"}}}
	r, err := fn.Mutate(&pod, owner, c)
	if err != nil || !r.Changed || len(pod.Spec.Containers) != 2 || len(pod.Spec.InitContainers) != 0 {
		t.Fatalf("%v, %+v", err, pod.Spec)
	}
	proxy := pod.Spec.Containers[1]
	if proxy.Name != "proxy" || proxy.Image != "example/proxy:v1" || proxy.ImagePullPolicy != corev1.PullAlways || *proxy.SecurityContext.RunAsUser != 1000 ||
		proxy.Resources.Limits.Memory().String() != "48Mi" || !slices.Contains(proxy.Env, corev1.EnvVar{Name: "A", Value: "b"}) ||
		proxy.LivenessProbe == nil || proxy.ReadinessProbe == nil || pod.Spec.Containers[0].ReadinessProbe.HTTPGet.Port.IntVal != 15098 {
		t.Errorf("probe-proxy is %+v", proxy)
	}
	for _, other := range []metav1.ObjectMeta{{Name: "other", Labels: map[string]string{"a": "b"}}, {Name: "web"}, {Name: "web", Labels: map[string]string{"a": "b"}, Namespace: "legacy"}} {
		pod, owner := template(), fn.Owner{APIVersion: "example.com/v1", Kind: "Own", Metadata: other}
		if r, err := fn.Mutate(&pod, owner, full()); err != nil || r.Changed || !cmp.Equal(pod, template()) {
			t.Errorf("%s %s is not selected: %v", other.Namespace, other.Name, err)
		}
	}
}

func TestWhatTheConfigKnowsOfIstioCounts(t *testing.T) {
	for _, tt := range []struct {
		istio  fn.Istio
		reason string
	}{
		{fn.Istio{}, ""},
		{fn.Istio{InjectorRewrites: new(true)}, "injector-rewrites"},
		{fn.Istio{InjectedNamespaces: []string{}}, ""}, // the template's own label comes first
	} {
		pod := template()
		r, err := fn.Explain(&pod, fn.Owner{Metadata: metav1.ObjectMeta{Namespace: "n"}}, &fn.RewriteProbes{Spec: fn.RewriteProbesSpec{Istio: tt.istio}})
		if err != nil || r.Probes[0].Reason != tt.reason {
			t.Errorf("%+v: %v, %+v", tt.istio, err, r)
		}
	}
	pod := template()
	pod.Labels = nil
	owner := fn.Owner{Metadata: metav1.ObjectMeta{Namespace: "mesh-a"}}
	r, err := fn.Mutate(&pod, owner, &fn.RewriteProbes{Spec: fn.RewriteProbesSpec{Istio: fn.Istio{InjectedNamespaces: []string{"mesh-*"}}}})
	if err != nil || !r.Changed || pod.Spec.Containers[1].Name != "istio-proxy" {
		t.Errorf("%v: %+v", err, pod.Spec)
	}
}

func TestTheZeroConfigIsTheDefault(t *testing.T) {
	var c fn.RewriteProbes
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	c.Default()
	if err := c.Validate(); err != nil || c.Spec.Port != 15099 || *c.Spec.IstioProxy.Restricted != true {
		t.Errorf("%v: %+v", err, c)
	}
	a, b := template(), template()
	ra, errA := fn.Mutate(&a, fn.Owner{}, nil)
	rb, errB := fn.Mutate(&b, fn.Owner{}, &c)
	if errA != nil || errB != nil || !cmp.Equal(a, b) || !cmp.Equal(ra, rb) {
		t.Errorf("nil and the defaults differ: %v, %v\n%s", errA, errB, cmp.Diff(a, b))
	}
}

func TestAConfigThatIsWrongIsAnErrorEverywhere(t *testing.T) {
	for _, c := range []*fn.RewriteProbes{
		{Spec: fn.RewriteProbesSpec{AnsweredBy: "nobody"}},
		{Spec: fn.RewriteProbesSpec{Port: 15006}},
		{TypeMeta: metav1.TypeMeta{APIVersion: "rewrite-probes.io/v1", Kind: fn.Kind}},
	} {
		pod := template()
		_, mutate := fn.Mutate(&pod, fn.Owner{}, c)
		_, explain := fn.Explain(&pod, fn.Owner{}, c)
		_, filter := kyaml.Filter{Config: c}.Filter([]*yaml.RNode{yaml.MustParse(web)})
		with := *c
		if with.Kind == "" {
			with.TypeMeta = metav1.TypeMeta{APIVersion: fn.APIVersion, Kind: fn.Kind}
		}
		object, err := sdk.NewFromTypedObject(with)
		if err != nil {
			t.Fatal(err)
		}
		ok, process := krm.Process(&sdk.ResourceList{FunctionConfig: object})
		for function, err := range map[string]error{"Validate": c.Validate(), "Mutate": mutate, "Explain": explain, "Filter": filter, "Process": process} {
			if err == nil || !strings.HasPrefix(err.Error(), "functionConfig") || ok {
				t.Errorf("%s: %v", function, err)
			}
		}
	}
}

// A Go value has no file and no lines.
func TestEveryProblemOfAConfigIsNamedByItsFieldAlone(t *testing.T) {
	c := fn.RewriteProbes{Spec: fn.RewriteProbesSpec{AnsweredBy: "nobody", Port: -1, ProbeProxy: fn.ProbeProxy{Name: "A"}}}
	const want = "functionConfig: `spec.answeredBy`: \"nobody\" must be auto, probe-proxy, istio-proxy, envoy or app\n" +
		"functionConfig: `spec.port`: \"-1\" must be a number from 1 to 65535\n" +
		"functionConfig: `spec.probeProxy.name`: \"A\" must be a container name: lower-case letters, digits and dashes, at most 63"
	if err := c.Validate(); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// Every entry point names every problem, in the words of the command.
func TestEveryEntryPointNamesEveryProblemOfAConfig(t *testing.T) {
	c := &fn.RewriteProbes{Spec: fn.RewriteProbesSpec{AnsweredBy: "nobody", Port: -1, ProbeProxy: fn.ProbeProxy{Name: "A"}}}
	const object = "apiVersion: rewrite-probes.io/v1alpha1\nkind: RewriteProbes\nmetadata: {name: x}\nspec: {answeredBy: nobody, port: -1, probeProxy: {name: A}}\n"
	const shortForm = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {answered-by: nobody, port: \"-1\", name: A}\n"
	ofCommand := func(text string) string {
		s, err := manifest.Read("", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = config.Decode(s.Objects()[0])
		return regexp.MustCompile(`(?m)^line [0-9]+: `).ReplaceAllString(err.Error(), "")
	}
	process := func(text string) error {
		o, err := sdk.ParseKubeObject([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = krm.Process(&sdk.ResourceList{FunctionConfig: o})
		return err
	}
	pod := template()
	_, mutate := fn.Mutate(&pod, fn.Owner{}, c)
	_, filter := kyaml.Filter{Config: c}.Filter(nil)
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"Mutate": {mutate, ofCommand(object)}, "Filter": {filter, ofCommand(object)},
		"Process": {process(object), ofCommand(object)}, "Process of a ConfigMap": {process(shortForm), ofCommand(shortForm)},
	} {
		if tt.err == nil || tt.err.Error() != tt.want || strings.Count(tt.want, "\n") != 2 {
			t.Errorf("%s:\n%v\nwant\n%s", name, tt.err, tt.want)
		}
	}
}

func TestNothingIsAnErrorAndNoPanic(t *testing.T) {
	if ok, err := krm.Process(nil); ok || err == nil || err.Error() != "the ResourceList must not be nil" {
		t.Errorf("Process: %v, %v", ok, err)
	}
	const want = "the pod template must not be nil"
	if _, err := fn.Mutate(nil, fn.Owner{}, nil); err == nil || err.Error() != want {
		t.Errorf("Mutate takes a nil template: %v", err)
	}
	if _, err := fn.Explain(nil, fn.Owner{APIVersion: "v1", Kind: "Pod"}, nil); err == nil || err.Error() != want {
		t.Errorf("Explain takes a nil template: %v", err)
	}
}

// After Mutate a probe is what Explain said that it would be.
func TestTheStatesAreThoseOfTheTemplateAsItIsNow(t *testing.T) {
	pod := template()
	owner := fn.Owner{Metadata: metav1.ObjectMeta{Name: "web"}}
	states := func(do func(*corev1.PodTemplateSpec, fn.Owner, *fn.RewriteProbes) (*fn.Report, error)) (all []fn.State) {
		r, err := do(&pod, owner, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Probes {
			all = append(all, p.State)
		}
		return all
	}
	for i, want := range []struct{ explained, mutated fn.State }{{fn.WouldRewrite, fn.Rewritten}, {fn.Rewritten, fn.Rewritten}, {fn.WouldRestore, fn.Restored}} {
		if i == 2 {
			owner.Metadata.Annotations = map[string]string{"rewrite-probes.io/rewrite": "false"}
		}
		if got := states(fn.Explain); len(got) != 2 || got[0] != want.explained || got[1] != fn.LeftAlone {
			t.Errorf("%d: explained %q, want %q", i, got, want.explained)
		}
		if got := states(fn.Mutate); len(got) != 2 || got[0] != want.mutated || got[1] != fn.LeftAlone {
			t.Errorf("%d: mutated %q, want %q", i, got, want.mutated)
		}
	}
}

func TestMutateLeavesATemplateAsItIsOnErrors(t *testing.T) {
	pod := template()
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 15099}}
	before := pod.DeepCopy()
	r, err := fn.Mutate(&pod, fn.Owner{Metadata: metav1.ObjectMeta{Name: "web"}}, nil)
	failed := (*findings.RunError)(nil)
	if !errors.As(err, &failed) || r.Changed || !cmp.Equal(&pod, before) || !strings.HasPrefix(err.Error(), "Deployment web: container web: It declares port 15099, ") {
		t.Errorf("got %v", err)
	}
	if len(r.Findings) != 1 || r.Findings[0].Reason != "port-taken" || r.Findings[0].Severity != findings.Error || r.Probes[0].State != fn.Refused {
		t.Errorf("got %+v", r)
	}
	if _, err := fn.Explain(&pod, fn.Owner{}, nil); err != nil {
		t.Errorf("Explain: %v", err)
	}
}

func TestMutateKnowsItsOwner(t *testing.T) {
	opted := map[string]string{"rewrite-probes.io/rewrite": "false"}
	for _, tt := range []struct {
		name   string
		owner  fn.Owner
		config *fn.RewriteProbes
		reason string // of the first probe
		field  string
	}{
		{name: "zero", field: "spec.template.spec.containers[0].readinessProbe"},
		{name: "its opt-out", owner: fn.Owner{Metadata: metav1.ObjectMeta{Annotations: opted}}, reason: "opt-out", field: "spec.template.spec.containers[0].readinessProbe"},
		{name: "its Namespace's", owner: fn.Owner{Metadata: metav1.ObjectMeta{Namespace: "n"}, Namespace: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: opted}}},
			reason: "opt-out", field: "spec.template.spec.containers[0].readinessProbe"},
		{name: "a Pod", owner: fn.Owner{APIVersion: "v1", Kind: "Pod"}, field: "spec.containers[0].readinessProbe"},
		{name: "a CronJob", owner: fn.Owner{APIVersion: "batch/v1", Kind: "CronJob"}, field: "spec.jobTemplate.spec.template.spec.containers[0].readinessProbe"},
		{name: "a Job with an ordinary container", owner: fn.Owner{APIVersion: "batch/v1", Kind: "Job"},
			config: &fn.RewriteProbes{Spec: fn.RewriteProbesSpec{AnsweredBy: fn.AnsweredByProbeProxy, ProbeProxy: fn.ProbeProxy{Placement: fn.PlacementContainer}}},
			reason: "job-never-finishes", field: "spec.template.spec.containers[0].readinessProbe"},
		{name: "a JobSet", owner: fn.Owner{APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet"}, field: "spec.replicatedJobs[0].template.spec.template.spec.containers[0].readinessProbe"},
		{name: "an operator's kind", owner: fn.Owner{APIVersion: "example.com/v1", Kind: "Database"}, field: "spec.template.spec.containers[0].readinessProbe"},
		{name: "Knative", owner: fn.Owner{APIVersion: "serving.knative.dev/v1", Kind: "Service"}, reason: "probes-made-elsewhere", field: "spec.template.spec.containers[0].readinessProbe"},
	} {
		pod := template()
		pod.Name, pod.Namespace = "kept", "kept"
		r, err := fn.Mutate(&pod, tt.owner, tt.config)
		if r == nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := r.Probes[0]; got.Reason != tt.reason || got.Field != tt.field || r.Changed != (tt.reason == "") || pod.Name != "kept" || pod.Namespace != "kept" {
			t.Errorf("%s: %+v, changed %v, named %s", tt.name, got, r.Changed, pod.Name)
		}
	}
	pod := template()
	if _, err := fn.Mutate(&pod, fn.Owner{APIVersion: "kubeflow.org/v1", Kind: "Notebook"}, nil); err == nil || !strings.Contains(err.Error(), "Filter") {
		t.Errorf("a Notebook's template is no PodTemplateSpec: %v", err)
	}
	if _, err := fn.Mutate(&pod, fn.Owner{APIVersion: "networking.istio.io/v1", Kind: "WorkloadGroup"}, nil); err == nil || !strings.Contains(err.Error(), "has no pod template: use Filter") {
		t.Errorf("a WorkloadGroup has no pod template: %v", err)
	}
}

func TestFilterAndProcessTakeNoObjects(t *testing.T) {
	if out, err := (kyaml.Filter{}).Filter(nil); err != nil || len(out) != 0 {
		t.Errorf("Filter: %v, %v", out, err)
	}
	if ok, err := krm.Process(&sdk.ResourceList{}); err != nil || !ok {
		t.Errorf("Process: %v", err)
	}
}

// Filters of kyaml may leave nodes of nothing.
func TestFilterDropsNodesOfNothing(t *testing.T) {
	node := yaml.MustParse(web)
	given := []*yaml.RNode{nil, node, yaml.NewRNode(nil)}
	out, err := kyaml.Filter{}.Filter(given)
	if err != nil || len(out) != 1 || out[0] != node || !strings.Contains(node.MustString(), "/app-health/") {
		t.Errorf("%v: %v", err, out)
	}
	if given[0] != nil || given[1] != node {
		t.Errorf("the caller's list has become %v", given)
	}
}

// Neither a second run nor an object that is in the list twice says anything again.
func TestProcessSaysNothingTwice(t *testing.T) {
	rl := &sdk.ResourceList{}
	for range 2 {
		o, err := sdk.ParseKubeObject([]byte(strings.Replace(web, "port: 8080", "port: nowhere", 1)))
		if err != nil {
			t.Fatal(err)
		}
		rl.Items = append(rl.Items, o)
	}
	for range 2 {
		if ok, err := krm.Process(rl); err != nil || !ok || len(rl.Results) != 1 || rl.Results[0].Field.Path != "spec.template.spec.containers[0].readinessProbe.httpGet.port" {
			t.Errorf("%v, %v: %v", ok, err, rl.Results)
		}
	}
}

// Filter changes the nodes that it must and no others, and of those only what
// differs.
func TestFilterKeepsTheNodes(t *testing.T) {
	nodes := []*yaml.RNode{yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # first\n"), yaml.MustParse("# head\n" + web)}
	config, image := nodes[0].YNode(), nodes[1].Field("spec").Value.YNode()
	out, err := kyaml.Filter{}.Filter(nodes)
	if err != nil {
		t.Fatal(err)
	}
	if out[0] != nodes[0] || out[1] != nodes[1] || out[0].YNode() != config || out[1].Field("spec").Value.YNode() != image {
		t.Error("nodes were replaced")
	}
	if text := out[1].MustString(); !strings.HasPrefix(text, "# head\napiVersion") || !strings.Contains(text, "readinessProbe: # is it up?\n") || !strings.Contains(text, "/app-health/") {
		t.Errorf("got\n%s", text)
	}
}

// The caller keeps using its owner, whose types say nothing of its kind.
func TestNobodyChangesTheOwner(t *testing.T) {
	owner := fn.Owner{
		Metadata:  metav1.ObjectMeta{Name: "web", Namespace: "n", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}, CreationTimestamp: metav1.Now()},
		Namespace: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"istio-injection": "enabled"}}},
	}
	for _, kind := range [][2]string{{"", ""}, {"v1", "Pod"}, {"example.com/v1", "Database"}} {
		owner.APIVersion, owner.Kind = kind[0], kind[1]
		metadata, namespace := owner.Metadata.DeepCopy(), owner.Namespace.DeepCopy()
		config := &fn.RewriteProbes{Spec: fn.RewriteProbesSpec{PodTemplates: make([]fn.PodTemplate, 0, 8)}}
		for _, do := range []func(*corev1.PodTemplateSpec, fn.Owner, *fn.RewriteProbes) (*fn.Report, error){fn.Explain, fn.Mutate} {
			pod := template()
			if r, err := do(&pod, owner, config); err != nil || !r.Changed {
				t.Errorf("%s: %+v, %v", kind, r, err)
			}
			if d := cmp.Diff(metadata, &owner.Metadata) + cmp.Diff(namespace, owner.Namespace) + cmp.Diff(&fn.RewriteProbes{Spec: fn.RewriteProbesSpec{PodTemplates: []fn.PodTemplate{}}}, config); d != "" {
				t.Errorf("%s: -before +after\n%s", kind, d)
			}
		}
	}
}

// Selectors match what the owner says, of a Pod too, whose labels are those of the template.
func TestSelectorsSeeTheOwner(t *testing.T) {
	for _, kind := range [][2]string{{"apps/v1", "Deployment"}, {"v1", "Pod"}, {"example.com/v1", "Database"}} {
		owner := fn.Owner{APIVersion: kind[0], Kind: kind[1], Metadata: metav1.ObjectMeta{Name: "web", Namespace: "n", Labels: map[string]string{"of": "owner"}}}
		label := "of=owner"
		if kind[1] == "Pod" {
			label = "of=pods"
		}
		for _, test := range []struct {
			selector fn.Selector
			excluded bool
		}{
			{fn.Selector{Names: []string{"web"}}, true},
			{fn.Selector{Names: []string{"other"}}, false},
			{fn.Selector{Namespaces: []string{"n"}}, true},
			{fn.Selector{Namespaces: []string{"other"}}, false},
			{fn.Selector{Kinds: []string{kind[1]}}, true},
			{fn.Selector{Kinds: []string{"Other"}}, false},
			{fn.Selector{LabelSelector: label}, true},
			{fn.Selector{LabelSelector: "!of"}, false},
			{fn.Selector{Names: []string{"web"}, LabelSelector: "of=other"}, false},
		} {
			pod := template()
			pod.Name, pod.Namespace = "other", "other"
			pod.Labels = map[string]string{"of": "pods"}
			r, err := fn.Mutate(&pod, owner, &fn.RewriteProbes{Spec: fn.RewriteProbesSpec{Exclude: &test.selector}})
			if err != nil || r.Changed == test.excluded {
				t.Errorf("%s without %+v: %+v, %v", kind[1], test.selector, r, err)
			}
		}
	}
}

// Where a warning fails the run, all entry points say so, and nothing has changed.
func TestAStrictRunWithAWarningChangesNothing(t *testing.T) {
	config := &fn.RewriteProbes{Spec: fn.RewriteProbesSpec{Strict: true}}
	warns := map[string]string{"rewrite-probes.io/skip-containers": "nobody"}
	failed := (*findings.RunError)(nil)

	pod := template()
	pod.Annotations = warns
	before := pod.DeepCopy()
	r, err := fn.Mutate(&pod, fn.Owner{}, config)
	if !errors.As(err, &failed) || r.Changed || !cmp.Equal(&pod, before) || failed.Findings[0].Severity != findings.Warning || !cmp.Equal(failed.Findings, r.Findings) {
		t.Errorf("Mutate: %v, %+v", err, r)
	}

	const text = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, annotations: {rewrite-probes.io/skip-containers: nobody}}\nspec: {containers: [{name: web, image: web, readinessProbe: {httpGet: {port: 80}}}]}\n"
	node := yaml.MustParse(text)
	var found []findings.Finding
	out, err := kyaml.Filter{Config: config, Found: func(f findings.Finding) { found = append(found, f) }}.Filter([]*yaml.RNode{node})
	if failed = nil; !errors.As(err, &failed) || out != nil || node.MustString() != text || !cmp.Equal(found, failed.Findings) || len(found) < 2 {
		t.Errorf("Filter: %v, %v, %v; the node is\n%s", err, out, found, node.MustString())
	}

	item, err := sdk.ParseKubeObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	functionConfig, err := sdk.ParseKubeObject([]byte("apiVersion: rewrite-probes.io/v1alpha1\nkind: RewriteProbes\nspec: {strict: true}\n"))
	if err != nil {
		t.Fatal(err)
	}
	rl := &sdk.ResourceList{FunctionConfig: functionConfig, Items: sdk.KubeObjects{item}}
	if ok, err := krm.Process(rl); ok || err != nil || len(rl.Results) != len(found) || rl.Results[0].Severity != sdk.Warning {
		t.Errorf("Process: %t, %v, %v", ok, err, rl.Results)
	}
}
