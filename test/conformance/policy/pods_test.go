package policy

import (
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/kubernetes/pkg/apis/admissionregistration"
	v1 "k8s.io/kubernetes/pkg/apis/admissionregistration/v1"
	"k8s.io/kubernetes/pkg/apis/admissionregistration/validation"
	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/generator"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/istio"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/kubernetes"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
)

// namespaces are those in which every pod is judged.
func namespaces(name string) []*corev1.Namespace {
	var all []*corev1.Namespace
	for _, m := range []struct{ labels, annotations map[string]string }{
		{},
		{labels: map[string]string{"istio-injection": "enabled"}},
		{labels: map[string]string{"istio.io/rev": "stable"}},
		{labels: map[string]string{"istio-injection": "disabled", "istio.io/rev": "stable"}},
		{labels: map[string]string{"istio-injection": "enabled"}, annotations: map[string]string{"rewrite-probes.io/rewrite": "False"}},
	} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: m.labels, Annotations: m.annotations}}
		ns.APIVersion, ns.Kind = "v1", "Namespace"
		all = append(all, ns)
	}
	return all
}

// rewritten returns the pod as rewrite-probes rewrites it; nil if it refuses.
func rewritten(t *testing.T, pod *corev1.Pod, c *config.RewriteProbes) *corev1.Pod {
	t.Helper()
	text, err := yaml.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	output, r, err := rewriting.Run(text, c, pipeline.Rewrite)
	if err != nil {
		t.Fatal(err)
	}
	if r.Failed() {
		return nil
	}
	after := new(corev1.Pod)
	if err := yaml.UnmarshalStrict(output, after); err != nil {
		t.Fatal(err)
	}
	return kubernetes.Default(after)
}

// configs are the functionConfigs with which pods are rewritten before they are
// judged.
var configs = []rewriting.Settings{
	{"answeredBy": "istio-proxy"},
	{"answeredBy": "probe-proxy", "port": 15099},
	{"mesh": "osm"},
	{"answeredBy": "probe-proxy", "port": 15099, "rewrite": []string{"httpGet"}, "probeProxy": rewriting.Settings{"name": "prober"}},
}

// stages returns a pod as it may come to the policy: as it is, rewritten, and
// each of these through Istio's injector.
func stages(t *testing.T, i *istio.Injector, pod *corev1.Pod) []*corev1.Pod {
	t.Helper()
	all := []*corev1.Pod{pod}
	for _, c := range configs {
		if after := rewritten(t, pod, decode(t, c)); after != nil {
			all = append(all, after)
		}
	}
	if len(all) > 1 && len(pod.Name) == 0 && len(pod.Spec.Containers) == 3 { // its originals are cut
		broken := all[1].DeepCopy()
		for _, containers := range [][]corev1.Container{broken.Spec.InitContainers, broken.Spec.Containers} {
			for i := range containers {
				for j := range containers[i].Env {
					if e := &containers[i].Env[j]; e.Name == "ISTIO_KUBE_APP_PROBERS" {
						e.Value = strings.TrimSuffix(e.Value, "}")
					}
				}
			}
		}
		all = append(all, broken)
	}
	if len(all) > 1 && len(pod.Spec.Containers) == 2 {
		copied, renamed, twice := all[1].DeepCopy(), all[1].DeepCopy(), all[1].DeepCopy()
		if proxy := twice.Spec.Containers[len(twice.Spec.Containers)-1]; len(proxy.Env) == 1 { // declared by rewrite-probes
			other := strings.ReplaceAll(proxy.Env[0].Value, `"port":`, `"port":1`)
			twice.Spec.Containers[0].Env = append(twice.Spec.Containers[0].Env, corev1.EnvVar{Name: proxy.Env[0].Name, Value: other})
			all = append(all, twice)
		}
		copied.Spec.Containers[1].LivenessProbe = copied.Spec.Containers[0].LivenessProbe
		renamed.Spec.Containers[0].Name = "renamed"
		all = append(all, copied, renamed)
	}
	for _, p := range all {
		for _, mode := range istio.Modes {
			injected, err := i.Inject(p, mode)
			if err != nil {
				continue // the webhook refuses the pod
			}
			injected = kubernetes.Default(injected)
			if kubernetes.Validate(injected) == nil {
				all = append(all, injected)
			}
		}
	}
	for _, p := range all {
		p.Name = "pod" // one that is generated comes later
	}
	return all
}

// corpus returns the pods that the manifests of the real world and of the
// repository would make.
func corpus(t *testing.T) []*corev1.Pod {
	t.Helper()
	var pods []*corev1.Pod
	for _, name := range testutil.Manifests(t, "../../..") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := kubernetes.Objects(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, o := range objects {
			if o.Template != nil {
				pods = append(pods, kubernetes.Default(kubernetes.Pod(o.Template, o.Namespace)))
			}
		}
	}
	return pods
}

// random returns the pod of a random workload.
func random(seed uint64) *corev1.Pod {
	w := generator.New(seed)
	pod := kubernetes.Default(kubernetes.Pod(&w.Template, w.Namespace))
	set := func(key, value string) {
		if pod.Annotations == nil {
			pod.Annotations = make(map[string]string)
		}
		pod.Annotations[key] = value
	}
	switch seed % 20 {
	case 0:
		set("rewrite-probes.io/rewrite", "0")
	case 1:
		set("rewrite-probes.io/skip-containers", "nobody, "+pod.Spec.Containers[0].Name+" ")
	case 2:
		set("inject.istio.io/templates", "grpc-agent, gateway")
	case 3:
		pod.Spec.OS = &corev1.PodOS{Name: corev1.Windows}
	case 4:
		pod.Spec.NodeSelector = map[string]string{"kubernetes.io/os": "windows"}
	case 9:
		pod.Spec.NodeSelector = map[string]string{"beta.kubernetes.io/os": "windows"}
	case 10:
		pod.Spec.Affinity = nodeAffinity([]string{"windows"}, []string{"windows"})
	case 11:
		pod.Spec.Affinity = nodeAffinity([]string{"windows"}, []string{"windows", "linux"})
	case 14:
		pod.Spec.NodeSelector = map[string]string{"type": "virtual-kubelet"}
	case 15:
		tunnel := &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(15008)}
		pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: tunnel}}
		set("traffic.sidecar.istio.io/includeInboundPorts", "15008, 8080")
		pod = kubernetes.Default(pod)
	case 12:
		set("proxy.istio.io/config", "concurrency: 2\ninterceptionMode: NONE")
	case 13:
		set("proxy.istio.io/config", "## interceptionMode: NONE\nconcurrency: 2 # interceptionMode: NONE")
	case 5: // rewritten, and its original lost
		pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/app-health/" + pod.Spec.Containers[0].Name + "/readyz"}}}
		pod.Spec.Containers[0].ReadinessProbe.HTTPGet.Port.IntVal = 15020
		pod = kubernetes.Default(pod)
	case 6:
		set("inject.istio.io/templates", "custom")
		set("rewrite-probes.io/skip-containers", pod.Spec.Containers[0].Name)
	case 8:
		set("consul.hashicorp.com/connect-inject", "true")
	case 7:
		set("config.kubernetes.io/local-config", "true")
	}
	return pod
}

// nodeAffinity returns an affinity with a term for each list of operating systems.
func nodeAffinity(systems ...[]string) *corev1.Affinity {
	var selector corev1.NodeSelector
	for _, values := range systems {
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "pool", Operator: corev1.NodeSelectorOpExists}, {Key: corev1.LabelOSStable, Operator: corev1.NodeSelectorOpIn, Values: values}},
		})
	}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &selector}}
}

func TestThePolicySaysWhatCheckSays(t *testing.T) {
	const seeds = 50
	i := istio.New(t)
	var pods [][]*corev1.Pod // by stage
	for seed := range uint64(seeds) {
		if pod := random(seed + 1); kubernetes.Validate(pod) == nil {
			pods = append(pods, stages(t, i, pod))
		}
	}
	for _, pod := range corpus(t) {
		if kubernetes.Validate(pod) == nil {
			pods = append(pods, stages(t, i, pod))
		}
	}
	s := &tally{explained: make(map[string]int)}
	for _, spec := range []rewriting.Settings{
		nil,
		{"istio": rewriting.Settings{"injectedNamespaces": []string{"sh*", "de?ault"}}, "exclude": rewriting.Settings{"namespaces": []string{"kube-system"}}, "rewrite": []string{"httpGet", "grpc"}, "probeProxy": rewriting.Settings{"name": "prober"}},
	} {
		c := decode(t, spec)
		p, _ := policies(t, c)
		g := compile(t, &p.policy, 30)
		for _, stages := range pods {
			for n, pod := range stages {
				all := namespaces(pod.Namespace)
				if n > 0 { // as it is it comes to every namespace
					all = all[n%len(all):][:1]
				}
				for _, ns := range all {
					s.compare(t, g, pod, ns, c)
				}
			}
		}
		t.Logf("highest cost %d of %d", g.most, celconfig.RuntimeCELCostBudget)
	}
	s.report(t)
}

// TestTheCostOfALargePodIsWithinTheBudget: every expression has a limit of its
// own, a tenth of the budget, which the test meets too.
func TestTheCostOfALargePodIsWithinTheBudget(t *testing.T) {
	const largest = 100
	c := decode(t, nil)
	p, _ := policies(t, c)
	g := compile(t, &p.policy, 30)
	template := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "shop"}}
	template.APIVersion, template.Kind = "v1", "Pod"
	for n := range largest {
		probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/" + strings.Repeat("long/", 40), Port: intstr.FromString("http")}}}
		hook := &corev1.LifecycleHandler{HTTPGet: probe.HTTPGet}
		template.Spec.Containers = append(template.Spec.Containers, corev1.Container{
			Name: fmt.Sprintf("container-with-a-name-of-forty-letters-%d", n), Image: "a",
			Ports:         []corev1.ContainerPort{{Name: "a", ContainerPort: 1}, {Name: "b", ContainerPort: 2}, {Name: "http", ContainerPort: 8080}},
			LivenessProbe: probe, ReadinessProbe: probe, StartupProbe: probe,
			Lifecycle: &corev1.Lifecycle{PreStop: hook, PostStart: hook},
		})
	}
	pod := kubernetes.Default(&template)
	ns := namespaces("shop")[1]
	if g.refusal(t, pod, ns) == "" {
		t.Error("nothing is rewritten, and the policy finds nothing")
	}
	after := rewritten(t, pod, decode(t, rewriting.Settings{"answeredBy": "istio-proxy", "istio": rewriting.Settings{"holdApplicationUntilProxyStarts": true}}))
	if message := g.refusal(t, after, ns); message != "" {
		t.Errorf("all is rewritten, and the policy finds %s", message)
	}
	t.Logf("%d containers with %d probes and hooks: cost %d of %d", largest, 5*largest, g.most, celconfig.RuntimeCELCostBudget)
	if g.most > celconfig.RuntimeCELCostBudget/2 {
		t.Errorf("the cost is %d, of %d", g.most, celconfig.RuntimeCELCostBudget)
	}
}

// TestThePolicyIsOneOfEveryKubernetesSince130 compiles it with the CEL of each
// version, and has the API server's own code validate it.
func TestThePolicyIsOneOfEveryKubernetesSince130(t *testing.T) {
	for _, spec := range []rewriting.Settings{nil, {"istio": rewriting.Settings{"injectedNamespaces": []string{"a'b", "*"}}, "select": rewriting.Settings{"namespaces": []string{"*"}}, "rewrite": []string{"lifecycle"}}} {
		pods, groups := policies(t, decode(t, spec))
		for _, p := range []*installed{&pods, &groups} {
			for minor := uint(30); minor <= 37; minor++ {
				compile(t, &p.policy, minor)
			}
			internal, binding := new(admissionregistration.ValidatingAdmissionPolicy), new(admissionregistration.ValidatingAdmissionPolicyBinding)
			v1.SetObjectDefaults_ValidatingAdmissionPolicy(&p.policy)
			v1.SetObjectDefaults_ValidatingAdmissionPolicyBinding(&p.binding)
			if err := v1.Convert_v1_ValidatingAdmissionPolicy_To_admissionregistration_ValidatingAdmissionPolicy(&p.policy, internal, nil); err != nil {
				t.Fatal(err)
			}
			if err := v1.Convert_v1_ValidatingAdmissionPolicyBinding_To_admissionregistration_ValidatingAdmissionPolicyBinding(&p.binding, binding, nil); err != nil {
				t.Fatal(err)
			}
			if errs := append(validation.ValidateValidatingAdmissionPolicy(internal), validation.ValidateValidatingAdmissionPolicyBinding(binding)...); len(errs) > 0 {
				t.Error(errs)
			}
		}
	}
}
