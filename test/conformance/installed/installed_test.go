package installed

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	source "github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/istio"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/kubernetes"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/worlds/model"
)

// A setting is how Istio is installed: one control plane for each of its lists of settings.
type setting struct {
	name   string
	planes [][]string
}

const off = "values.sidecarInjectorWebhook.rewriteAppHTTPProbe=false"

var settings = []setting{
	{"defaults", [][]string{{}}},
	{"rewriting off", [][]string{{off}}},
	{"native off", [][]string{{off, "values.pilot.env.ENABLE_NATIVE_SIDECARS=false"}}},
	{"native on", [][]string{{off, "values.pilot.env.ENABLE_NATIVE_SIDECARS=true"}}},
	{"hold by the mesh", [][]string{{"meshConfig.defaultConfig.holdApplicationUntilProxyStarts=true"}}},
	{"hold by the values", [][]string{{off, "values.global.proxy.holdApplicationUntilProxyStarts=true"}}},
	{"moved port", [][]string{{"values.global.proxy.statusPort=15030", "meshConfig.defaultConfig.statusPort=15030"}}},
	{"half moved port", [][]string{{"meshConfig.defaultConfig.statusPort=15030"}}},
	{"CNI", [][]string{{off, "values.pilot.cni.enabled=true"}}},
	{"revision", [][]string{{"revision=canary"}}},
	{"tag", [][]string{{"revision=canary", "values.revisionTags[0]=prod", off}}},
	{"two revisions", [][]string{{}, {"revision=canary", off}}},
	{"two revisions and a tag", [][]string{{off}, {"revision=canary", "values.revisionTags[0]=prod"}}},
	{"root namespace", [][]string{{off, "meshConfig.rootNamespace=policies"}}},
	{"all namespaces", [][]string{{off, "values.sidecarInjectorWebhook.enableNamespacesByDefault=true"}}},
	{"discovery selectors", [][]string{{off, "meshConfig.discoverySelectors[0].matchLabels.mesh=in"}}},
	{"ambient", [][]string{{"values.pilot.env.PILOT_ENABLE_AMBIENT=true", "values.pilot.cni.enabled=true", off}}},
	{"policy disabled", [][]string{{"values.global.proxy.autoInject=disabled"}}},
	{"never injected", [][]string{{off, "values.sidecarInjectorWebhook.neverInjectSelector[0].matchLabels.app=web"}}},
	{"always injected", [][]string{{off, "values.global.proxy.autoInject=disabled", "values.sidecarInjectorWebhook.alwaysInjectSelector[0].matchLabels.app=web"}}},
}

// The labels of Namespaces and of pods, and the pods' annotations.
var (
	namespaces = []string{"", "istio-injection: enabled", "istio-injection: disabled", "istio.io/rev: canary", "istio.io/rev: prod", "istio.io/rev: default", "{istio-injection: enabled, istio.io/rev: canary}"}
	podLabels  = []string{"", "sidecar.istio.io/inject: 'true'", "sidecar.istio.io/inject: 'false'", "istio.io/rev: canary", "{istio.io/rev: prod, sidecar.istio.io/inject: 'true'}", "app: web"}
	podNotes   = []string{"", "sidecar.istio.io/rewriteAppHTTPProbers: 'true'", "sidecar.istio.io/rewriteAppHTTPProbers: 'false'", "status.sidecar.istio.io/port: '15040'", "sidecar.istio.io/inject: 'false'", "proxy.istio.io/config: 'holdApplicationUntilProxyStarts: true'"}
)

// A plane is an installed control plane.
type plane struct {
	// end is what its injector makes of a pod.
	end    func(t *testing.T, pod *corev1.Pod, mode istio.Mode) end
	native []istio.Mode // which istiod may choose
	hooks  []admissionregistrationv1.MutatingWebhook
}

// as returns an object as a value of its type.
func as[T any](t *testing.T, object map[string]any) (v T) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// install renders the charts, and returns the control planes and the objects.
func install(t *testing.T, s setting) (all []plane, text string) {
	t.Helper()
	for _, set := range s.planes {
		injector, p := istio.New(t, set...), plane{native: istio.Modes}
		p.end = func(t *testing.T, pod *corev1.Pod, mode istio.Mode) end {
			t.Helper()
			injected, err := injector.Inject(pod, mode)
			if err != nil {
				t.Fatal(err)
			}
			return endOf(injected)
		}
		for _, m := range istio.Render(t, set...) {
			text += m.Content + "\n---\n"
			p.read(t, m.Object)
		}
		all = append(all, p)
	}
	return all, text
}

// read takes what an object of the charts says of a control plane: its webhooks, and which sidecars it makes.
func (p *plane) read(t *testing.T, object map[string]any) {
	t.Helper()
	switch object["kind"] {
	case "MutatingWebhookConfiguration":
		p.hooks = append(p.hooks, as[admissionregistrationv1.MutatingWebhookConfiguration](t, object).Webhooks...)
	case "Deployment":
		for _, e := range as[appsv1.Deployment](t, object).Spec.Template.Spec.Containers[0].Env {
			switch {
			case e.Name != nativeSidecars || e.Value == "auto":
			case e.Value == "true":
				p.native = []istio.Mode{istio.Native}
			default:
				p.native = []istio.Mode{istio.Ordinary}
			}
		}
	}
}

// nativeSidecars is the env var of istiod that says which sidecars it makes.
const nativeSidecars = "ENABLE_NATIVE_SIDECARS"

// gets reports whether one of the control plane's webhooks gets a pod, as the API server decides it.
func (p *plane) gets(t *testing.T, namespace map[string]string, pod *corev1.Pod) bool {
	t.Helper()
	matches := func(s *metav1.LabelSelector, of map[string]string) bool {
		selector, err := metav1.LabelSelectorAsSelector(s)
		if err != nil {
			t.Fatal(err)
		}
		return selector.Matches(labels.Set(of))
	}
	return slices.ContainsFunc(p.hooks, func(h admissionregistrationv1.MutatingWebhook) bool {
		return matches(h.NamespaceSelector, namespace) && matches(h.ObjectSelector, pod.Labels)
	})
}

// An end is what happens to a pod: the facts of its istio-proxy, and what becomes of its two probes and its hook under
// strict mTLS.
type end struct {
	injected, native, holds, rewrites bool
	liveness, readiness, hook         string
}

// notInjected is the end of a pod that Istio leaves.
var notInjected = end{liveness: works, readiness: works, hook: works}

// What becomes of a probe.
const (
	works         = "works"
	fails         = "fails"
	falselyPasses = "falsely passes"
)

func endOf(pod *corev1.Pod) end {
	e := notInjected
	isProxy := func(c corev1.Container) bool { return c.Name == istio.ProxyName }
	e.native = slices.ContainsFunc(pod.Spec.InitContainers, isProxy)
	e.injected = e.native || slices.ContainsFunc(pod.Spec.Containers, isProxy)
	if !e.injected {
		return e
	}
	first := pod.Spec.Containers[0]
	e.holds = isProxy(first) && first.Lifecycle != nil && first.Lifecycle.PostStart != nil
	captured := model.Redirected(nil)
	for _, c := range pod.Spec.InitContainers {
		if c.Name == "istio-init" || c.Name == "istio-validation" {
			captured = model.Redirected(c.Args)
		}
	}
	i := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == "web" })
	web := pod.Spec.Containers[i]
	e.rewrites = strings.HasPrefix(web.LivenessProbe.HTTPGet.Path, "/app-health/")
	fate := func(p *corev1.Probe) string {
		switch {
		case p.TCPSocket != nil && captured(p.TCPSocket.Port.IntValue()):
			return falselyPasses
		case p.HTTPGet != nil && captured(p.HTTPGet.Port.IntValue()):
			return fails
		}
		return works
	}
	e.liveness, e.readiness = fate(web.LivenessProbe), fate(web.ReadinessProbe)
	if captured(web.Lifecycle.PreStop.HTTPGet.Port.IntValue()) {
		e.hook = fails
	}
	return e
}

// ours is what check says of the two probes and the hook, and explain of the facts.
func ours(t *testing.T, text, pod, installed string) (all map[string]string, known string) {
	t.Helper()
	c, err := rewriting.Config(rewriting.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	own, err := source.Read("web.yaml", []byte(pod))
	if err != nil {
		t.Fatal(err)
	}
	beside, err := source.Read("istio.yaml", []byte(installed))
	if err != nil {
		t.Fatal(err)
	}
	beside.FromCluster = true
	beside.All = func(string, string) bool { return true }
	r := pipeline.RunBeside([]*source.Stream{own}, []*source.Stream{beside}, c, pipeline.Inspect)
	i := slices.IndexFunc(r.Templates, func(t report.PlannedTemplate) bool { return t.Object.Name == "web" })
	if i < 0 || len(r.Templates[i].Probes) != 3 {
		t.Fatalf("%s: %d probes", text, len(r.Templates))
	}
	all = make(map[string]string)
	for _, p := range r.Templates[i].Probes {
		word := works
		switch {
		case p.If != "":
			word = "?"
		case p.StrictTLS == world.Fails:
			word = fails
		case p.StrictTLS == world.FalselyPasses:
			word = falselyPasses
		}
		for _, name := range []string{"liveness", "readiness", "preStop"} {
			if strings.Contains(p.Field.String(), name) {
				all[name] = word
			}
		}
	}
	return all, r.Templates[i].Known
}

const podText = `apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
  labels: {%s}
  annotations: {%s}
spec:
  containers:
  - name: web
    image: shop/web:1.0
    livenessProbe: {httpGet: {path: /live, port: 8080}, initialDelaySeconds: 30}
    readinessProbe: {tcpSocket: {port: 8080}}
    lifecycle: {preStop: {httpGet: {path: /bye, port: 8080}}}
---
`

func bare(s string) string { return strings.Trim(s, "{}") }

func TestTheChartsSayWhatTheInjectorDoes(t *testing.T) {
	compared := make(map[string]int)
	for _, s := range settings {
		t.Run(s.name, func(t *testing.T) {
			planes, installed := install(t, s)
			compareAll(t, planes, installed, compared)
		})
	}
	if compared[works] < 500 || compared[fails] < 200 {
		t.Errorf("%v", compared)
	}
}

// read returns the object of a text.
func read[T any](t *testing.T, text string) *T {
	t.Helper()
	v := new(T)
	if err := yaml.Unmarshal([]byte(strings.TrimSuffix(text, "---\n")), v); err != nil {
		t.Fatal(err)
	}
	return v
}

// podWith returns the text of the pod with labels and annotations.
func podWith(label, note string) string { return fmt.Sprintf(podText, bare(label), note) }

// compareAll compares what check says beside the objects of an installation with what its injectors do, for pods with
// each label in Namespaces with each label, and counts what becomes of their first probe.
func compareAll(t *testing.T, planes []plane, installed string, compared map[string]int) {
	t.Helper()
	for i, ns := range namespaces {
		nsText := fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {kubernetes.io/metadata.name: shop%s}}\n---\n", prefixed(bare(ns)))
		namespace := read[corev1.Namespace](t, nsText)
		for j, podLabel := range podLabels {
			note := podNotes[(i+j)%len(podNotes)]
			text := podWith(podLabel, note)
			name := fmt.Sprintf("Namespace {%s}, pod {%s} {%s}", ns, podLabel, note)
			ends := endsOf(t, planes, namespace.Labels, kubernetes.Default(read[corev1.Pod](t, text)))
			said, known := ours(t, name, nsText+text, installed)
			for _, e := range ends {
				compared[e.liveness]++
				if e.injected && len(ends) == 1 && !strings.Contains(known, "native sidecar: ") {
					t.Errorf("%s: istiod says which sidecar it is, and we say: %s", name, known)
				}
				compare(t, name, e, said, known)
			}
		}
	}
}

func prefixed(labels string) string {
	if labels == "" {
		return ""
	}
	return ", " + labels
}

// endsOf returns what may become of a pod; nil if two control planes get it, whose order decides.
func endsOf(t *testing.T, planes []plane, namespace map[string]string, input *corev1.Pod) (ends []end) {
	t.Helper()
	getting := slices.DeleteFunc(slices.Clone(planes), func(p plane) bool { return !p.gets(t, namespace, input) })
	switch len(getting) {
	case 0:
		return []end{notInjected}
	case 2:
		return nil
	}
	for _, mode := range getting[0].native {
		ends = append(ends, getting[0].end(t, input, mode))
	}
	return ends
}

func compare(t *testing.T, name string, e end, said map[string]string, known string) {
	t.Helper()
	for probe, is := range map[string]string{"liveness": e.liveness, "readiness": e.readiness, "preStop": e.hook} {
		if said[probe] != is {
			t.Errorf("%s: %s: it %s, and we say %s: %s", name, probe, is, said[probe], known)
		}
	}
	for _, fact := range []struct {
		is      bool
		yes, no string
	}{
		{e.injected, "known: injected: ", "known: not injected: "},
		{e.native, "native sidecar: ", "not a native sidecar: "},
		{e.holds, "starts first: ", "does not start first: "},
		{e.rewrites, "the injector rewrites probes: ", "the injector rewrites no probes: "},
	} {
		if e.native && strings.HasPrefix(fact.yes, "starts first") {
			continue // a native sidecar starts first, whatever is set
		}
		saysNo := strings.Contains(known, fact.no)
		saysYes := strings.Contains(strings.ReplaceAll(known, fact.no, ""), fact.yes)
		if fact.is && saysNo || !fact.is && saysYes {
			t.Errorf("%s: %+v, and we say: %s", name, e, known)
		}
	}
}
