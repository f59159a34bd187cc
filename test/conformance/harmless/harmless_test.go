package harmless

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	_ "k8s.io/kubernetes/pkg/controller/podautoscaler"

	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/generator"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/kubernetes"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
)

const proxyName = "probe-proxy"

// drawn draws the parts of a pod that decide its class and who accepts it.
type drawn struct{ *rand.Rand }

// one reports true once in n times.
func (d drawn) one(n int) bool { return d.IntN(n) == 0 }

func (d drawn) pick(from ...string) string { return from[d.IntN(len(from))] }

// list returns quantities of CPU and memory, or of one of them.
func (d drawn) list(cpu, memory string) corev1.ResourceList {
	list := make(corev1.ResourceList)
	if cpu != "" {
		list[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
	if memory != "" {
		list[corev1.ResourceMemory] = resource.MustParse(memory)
	}
	return list
}

// resources draws those of a container of a class, or of any if that is "".
func (d drawn) resources(class corev1.PodQOSClass) corev1.ResourceRequirements {
	cpu, memory := d.pick("1", "2", "500m", "0.5", "100m"), d.pick("1Gi", "64Mi", "1024Mi", "100M", "1e8")
	switch class {
	case corev1.PodQOSBestEffort:
		return corev1.ResourceRequirements{}
	case corev1.PodQOSGuaranteed:
		r := corev1.ResourceRequirements{Limits: d.list(cpu, memory)}
		if d.one(2) {
			r.Requests = r.Limits.DeepCopy()
		}
		return r
	}
	some := func(s string) string { return d.pick(s, "") }
	return corev1.ResourceRequirements{
		Requests: d.list(d.pick("", "10m", "100m"), d.pick("", "16Mi", "64Mi")),
		Limits:   d.list(some(cpu), some(memory)),
	}
}

// decorate sets resources of the containers of a random workload, and sometimes the pod
// too, and securityContexts that Pod Security allows or not.
func (d drawn) decorate(spec *corev1.PodSpec) {
	class := corev1.PodQOSClass(d.pick(string(corev1.PodQOSBestEffort), string(corev1.PodQOSGuaranteed), string(corev1.PodQOSGuaranteed), "", ""))
	spec.HostNetwork = false
	each(spec, func(c *corev1.Container) { c.Resources = d.resources(class) })
	if d.one(4) {
		whole := d.resources(corev1.PodQOSClass(d.pick("", string(corev1.PodQOSGuaranteed))))
		spec.Resources = &whole
	}
	if d.one(2) {
		no, yes := false, true
		spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: &yes, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
		each(spec, func(c *corev1.Container) {
			c.SecurityContext = &corev1.SecurityContext{AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
		})
	}
}

// namespace draws what a namespace limits.
func (d drawn) namespace() *namespace {
	n := new(namespace)
	if d.one(3) {
		item := corev1.LimitRangeItem{Type: corev1.LimitType(d.pick("Container", "Container", "Pod"))}
		if item.Type == corev1.LimitTypeContainer && d.one(2) {
			item.Default = d.list(d.pick("", "500m", "3m"), d.pick("", "256Mi"))
			item.DefaultRequest = d.list(d.pick("", "100m", "500m"), d.pick("", "64Mi", "256Mi"))
		}
		if d.one(2) {
			item.Min, item.Max = d.list(d.pick("", "5m", "30m"), d.pick("", "8Mi", "20Mi")), d.list(d.pick("", "20m", "2"), d.pick("", "24Mi", "1Gi", "2Gi"))
		}
		if d.one(4) {
			item.MaxLimitRequestRatio = d.list(d.pick("", "1", "10"), d.pick("", "1", "1.5", "2"))
		}
		n.limits.Spec.Limits = []corev1.LimitRangeItem{item}
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory} {
		if d.one(3) {
			n.quota = append(n.quota, name)
		}
	}
	return n
}

// each calls yield with every container.
func each(spec *corev1.PodSpec, yield func(*corev1.Container)) {
	for i := range spec.InitContainers {
		yield(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		yield(&spec.Containers[i])
	}
}

// rewrite returns the workload with probe-proxy; nil if none was added.
func rewrite(t *testing.T, w *generator.Workload, n *namespace, settings rewriting.Settings) (*corev1.PodTemplateSpec, *report.Report) {
	t.Helper()
	before, err := w.YAML()
	if err != nil {
		t.Fatal(err)
	}
	c, err := rewriting.Config(settings)
	if err != nil {
		t.Fatal(err)
	}
	around, err := n.yaml()
	if err != nil {
		t.Fatal(err)
	}
	after, r, err := rewriting.Run(append(before, around...), c, pipeline.Rewrite)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := kubernetes.Objects(after)
	if err != nil {
		t.Fatal(err)
	}
	template := objects[0].Template
	added := false
	each(&template.Spec, func(c *corev1.Container) { added = added || c.Name == proxyName })
	if !added {
		return nil, r
	}
	return template, r
}

// calculatePodRequestsFromContainers is the HorizontalPodAutoscaler's own sum of the
// requests of a pod, or of one of its containers; an error stops the scaling.
//
//go:linkname calculatePodRequestsFromContainers k8s.io/kubernetes/pkg/controller/podautoscaler.calculatePodRequestsFromContainers
func calculatePodRequestsFromContainers(pod *corev1.Pod, container string, resource corev1.ResourceName) (int64, error)

func TestProbeProxyHarmsNoPod(t *testing.T) {
	total := 4000
	if testing.Short() {
		total = 500
	}
	counts := make(map[string]int)
	for i := range total {
		seed := uint64(i + 1)
		d := drawn{rand.New(rand.NewPCG(seed, 21))}
		w := generator.New(seed)
		w.Namespace = "shop"
		d.decorate(&w.Template.Spec)
		n := d.namespace()
		before, err := n.admit(&w.Template)
		if err != nil {
			counts["refused before"]++
			continue
		}
		settings := rewriting.Settings{"mesh": "istio", "answeredBy": "probe-proxy", "port": 15099}
		if job := w.Kind == "Job" || w.Kind == "CronJob"; !job && d.one(3) {
			settings["probeProxy"] = map[string]any{"placement": "container"}
		}
		template, r := rewrite(t, &w, n, settings)
		if template == nil {
			counts["not rewritten"]++
			continue
		}
		after, err := n.admit(template)
		if warned := has(r, "namespace-limits"); (err != nil) != warned {
			t.Errorf("seed %d: accepted before, and after it: %v; warned: %t", seed, err, warned)
		}
		if err != nil {
			counts["refused with a warning"]++
			continue
		}
		counts[string(qos.ComputePodQOS(before))]++
		if before.Spec.Resources != nil {
			counts["with resources of the pod"]++
		}
		compare(t, fmt.Sprintf("seed %d", seed), before, after, r)
	}
	t.Logf("%v", counts)
	for _, what := range []string{"Guaranteed", "Burstable", "BestEffort", "with resources of the pod"} {
		if counts[what] < total/100 {
			t.Errorf("only %d pods are %s", counts[what], what)
		}
	}
}

// has reports whether a report has a message with a reason.
func has(r *report.Report, reason string) bool {
	return slices.ContainsFunc(r.Messages, func(m report.Message) bool { return m.Reason.String() == reason })
}

// compare demands that a pod is with probe-proxy what it was without.
func compare(t *testing.T, name string, before, after *corev1.Pod, r *report.Report) {
	t.Helper()
	warned := has(r, "pod-level-resources")
	was, is := qos.ComputePodQOS(before), qos.ComputePodQOS(after)
	if was != is && !warned {
		t.Errorf("%s: the class is %s, and was %s; warned: %t", name, is, was, warned)
	}
	if equality.Semantic.DeepEqual(before.Spec.Resources, after.Spec.Resources) == warned {
		t.Errorf("%s: the pod's own resources are %v, and were %v; warned: %t", name, after.Spec.Resources, before.Spec.Resources, warned)
	}
	for level, allowed := range levels(t, before) {
		if allowed && !levels(t, after)[level] {
			t.Errorf("%s: Pod Security %s allowed it before", name, level)
		}
	}
	for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		_, wasErr := calculatePodRequestsFromContainers(before, "", resource)
		_, err := calculatePodRequestsFromContainers(after, "", resource)
		if after.Spec.Resources == nil && wasErr == nil && err != nil {
			t.Errorf("%s: the autoscaler cannot use %s any more: %v", name, resource, err)
		}
	}
	each(&after.Spec, func(c *corev1.Container) {
		if cpu := c.Resources.Requests.Cpu(); after.Spec.Resources == nil && c.Name == proxyName && !cpu.IsZero() && cpu.MilliValue()%1000 == 0 {
			t.Errorf("%s: probe-proxy gets %s CPUs of its own in a Guaranteed pod", name, cpu)
		}
	})
	kept := make(map[string]corev1.ResourceRequirements)
	each(&after.Spec, func(c *corev1.Container) { kept[c.Name] = c.Resources })
	each(&before.Spec, func(c *corev1.Container) {
		if !equality.Semantic.DeepEqual(c.Resources, kept[c.Name]) {
			t.Errorf("%s: the resources of container %s are %v, and were %v", name, c.Name, kept[c.Name], c.Resources)
		}
	})
}
