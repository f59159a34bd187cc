package transformer

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/beside"
)

// toy is the profile of a mesh with its own
// annotation: what a new mesh has to say, and all that it has to say.
var toy = passiveProxy{
	meshData: meshData{
		name: "toy", title: "Toy", proxy: "toy-proxy", uid: 2102,
		word: "toy.io", inject: []mark{{"toy.io/inject", "annotations"}}, control: "toy-*",
		reserved: []int{4143}, excluded: portList{key: "toy.io/skip-ports"},
	},
	uncapturedPorts: []int{4143},
	switched:        func(*view) membership { return membership{} },
}

func TestWhoAnswersInWhichMesh(t *testing.T) {
	for _, d := range serviceMeshes {
		want := []string{AnsweredByAuto, AnsweredByProbeProxy, AnsweredByApp}
		switch d.name {
		case "istio":
			want = slices.Insert(want, 2, AnsweredByIstioProxy)
		case "osm":
			want = slices.Insert(want, 2, AnsweredByEnvoy)
		case "none": // there are no ports to keep out of a mesh
			want = want[:2]
		}
		if got := d.answerers(); !slices.Equal(got, want) {
			t.Errorf("%s: answerers %q, want %q", d.name, got, want)
		}
	}
}

// isOneMore checks that what is made from the list of meshes has the toy.
func isOneMore(t *testing.T) {
	t.Helper()
	const key = "toy.io/inject"
	if !slices.Contains(InjectionKeys(), key) || !IsMeshProxy("toy-proxy", "any") || ControlPlanes()["toy-*"] != "Toy" {
		t.Errorf("injection by %q, control planes %q", InjectionKeys(), ControlPlanes())
	}
	p, err := New(Defaults())
	if err != nil {
		t.Fatal(err)
	}
	in := Input{
		Kind: "Deployment", NamespaceName: "shop", Path: field.NewPath("spec", "template"),
		Source: func(field.Path) (field.Value, bool) { return nil, false },
	}
	in.Template.Spec.Containers = []pod.Container{{Name: "app", LivenessProbe: &pod.Probe{Handler: pod.Handler{HTTPGet: &pod.HTTPGet{Port: field.IntOrString{Int: 80}}}}}}
	in.Template.Metadata.Labels = field.KeyValues{{Key: key, Value: "enabled"}}
	isMisplaced := func(f Finding) bool { return f.Reason == reason.MarkMisplaced && strings.Contains(f.Text.What, "Toy") }
	if plan := p.Plan(in); !slices.ContainsFunc(plan.Findings, isMisplaced) {
		t.Errorf("of a label for its annotation: %v", plan.Findings)
	}
	of := func(value string) surroundings.Neighbour {
		return surroundings.Neighbour{Name: "shop", Annotations: field.KeyValues{{Key: key, Value: value}}}
	}
	for _, values := range [][2]string{{"enabled", "disabled"}, {"enabled", "enabled"}} {
		one, other := surroundings.Namespace{Neighbour: of(values[0])}, surroundings.Namespace{Neighbour: of(values[1])}
		in.Around = beside.Of(&one, &other)
		if tmpl := p.read(&in); tmpl.knowsNamespace != (values[0] == values[1]) {
			t.Errorf("Namespaces with %q: one is known: %t", values, tmpl.knowsNamespace)
		}
	}
}

// The word of a mesh is in all keys that its profile names, so that two Namespaces that differ in one disagree.
func TestEveryKeyOfAProfileIsOfItsMesh(t *testing.T) {
	for _, d := range serviceMeshes {
		if d.name == "none" {
			continue
		}
		keys := []string{d.excluded.key, d.off.key}
		for _, m := range d.inject {
			keys = append(keys, m.key)
		}
		if len(d.inject) == 0 || d.word == "" || d.control == "" {
			t.Errorf("%s: word %q, injection by %v, control plane %q", d.name, d.word, d.inject, d.control)
		}
		for _, key := range keys {
			if key != "" && !strings.Contains(key, d.word) {
				t.Errorf("%s: %s does not contain %q", d.name, key, d.word)
			}
		}
		p, isPassive := d.meshProfile.(passiveProxy)
		for _, l := range p.excludedNamespaceLabels {
			if isPassive && !IsOfMesh(l.Key) {
				t.Errorf("%s: the label %s of Namespaces counts for nothing", d.name, l.Key)
			}
		}
	}
	want := map[string]string{
		"istiod*": "Istio", "linkerd-destination": "Linkerd", "kuma-control-plane": "Kuma", "*connect-injector": "Consul",
		"osm-controller": "Open Service Mesh", "fsm-controller": "Flomesh",
	}
	if got := ControlPlanes(); !maps.Equal(got, want) {
		t.Errorf("control planes %q", got)
	}
	if IsOfMesh("team") || IsOfMesh("kubernetes.io/metadata.name") {
		t.Error("any label counts")
	}
}

// TestAMeshIsOneProfileAndOneEntry: nothing else has to know of it.
func TestAMeshIsOneProfileAndOneEntry(t *testing.T) {
	before := serviceMeshes
	t.Cleanup(func() { serviceMeshes = before })
	serviceMeshes = append(serviceMeshes[:len(serviceMeshes):len(serviceMeshes)], &serviceMesh{meshData: toy.meshData, meshProfile: toy})
	if all := Meshes(); all[len(all)-1] != "toy" {
		t.Errorf("the functionConfig may name the meshes %q", all)
	}
	isOneMore(t)
	o := Defaults()
	o.Mesh, o.ProbeProxy.Image = "toy", "x"
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	probe := func(port int64) *pod.Probe {
		return &pod.Probe{Handler: pod.Handler{TCPSocket: &pod.TCPSocket{Port: field.IntOrString{Int: port}}}}
	}
	in := Input{
		Kind: "Deployment", Path: field.NewPath("spec", "template"),
		Template: pod.Template{Metadata: field.Metadata{Labels: field.KeyValues{{Key: "app", Value: "web"}}}, Spec: pod.Spec{Containers: []pod.Container{
			{Name: "app", LivenessProbe: probe(80), ReadinessProbe: probe(4143)},
			{Name: toy.proxy, LivenessProbe: probe(80)},
		}}},
		Source: func(at field.Path) (field.Value, bool) {
			return field.Map{{Key: "labels", Value: nil}}, at[len(at)-1].Key == "metadata"
		},
	}
	plan := p.Plan(in)
	var got []string
	for _, v := range plan.Probes {
		got = append(got, v.After+v.Reason.String())
	}
	if want := "port-not-captured :15099/app-health/app/livez proxy-container"; strings.Join(got, " ") != want {
		t.Errorf("probes %q, want %q", got, want)
	}
	edits := make(map[string]field.Value)
	for _, e := range plan.Edits {
		edits[e.Path.String()] = e.Value
	}
	if v := edits["spec.template.metadata.annotations["+toy.excluded.key+"]"]; v != "15099" {
		t.Errorf("the annotation is %v in %v", v, plan.Edits)
	}
	for _, bad := range []func(*Options){
		func(o *Options) { o.Port = 4143 },
		func(o *Options) { o.ProbeProxy.Name = toy.proxy },
		func(o *Options) { o.AnsweredBy = AnsweredByIstioProxy },
		func(o *Options) { o.ProbeProxy.SecurityContext = field.Map{{Key: "runAsUser", Value: 2102}} },
	} {
		wrong := o
		bad(&wrong)
		if _, err := New(wrong); err == nil {
			t.Errorf("the planner takes %+v", wrong)
		}
	}
}

func TestThePageOfRulesAndAGuideDescribeEveryMesh(t *testing.T) {
	const page = "../docs/rules.md"
	rules, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range serviceMeshes {
		if !strings.Contains(string(rules), "`"+d.name+"`") {
			t.Errorf("%s does not name %s", page, d.name)
		}
		guide := d.name
		switch guide {
		case "fsm": // a section of the page about its forerunner
			guide = "osm"
		case "none":
			guide = "newer-probes"
		}
		if text, err := os.ReadFile("../docs/guides/" + guide + ".md"); err != nil || !strings.Contains(strings.ToLower(string(text)), d.name) {
			t.Errorf("no guide describes %s (%v)", d.name, err)
		}
	}
}
