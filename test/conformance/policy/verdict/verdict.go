// Package verdict has what the tests of the policy share: what check and the
// policy's message say of a pod, and why they may differ.
package verdict

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// Check returns what check finds in a pod: the reason by container and field. The pod is taken as Istio's injector left
// it, as by a policy. So it rewrites nothing more, unless the config says that it does.
func Check(pod *corev1.Pod, namespace *corev1.Namespace, c *config.RewriteProbes) (findings []string, r *report.Report, err error) {
	first, err := yaml.Marshal(namespace)
	if err != nil {
		return nil, nil, err
	}
	second, err := yaml.Marshal(pod)
	if err != nil {
		return nil, nil, err
	}
	if c.Spec.Istio.InjectorRewrites == "auto" {
		after := *c
		after.Spec.Istio.InjectorRewrites = false
		c = &after
	}
	_, r, err = rewriting.Run(slices.Concat(first, []byte("---\n"), second), c, pipeline.Judge)
	if err != nil {
		return nil, nil, err
	}
	byField := make(map[string]string)
	for _, template := range r.Templates {
		for _, p := range template.Probes {
			byField[p.Field.String()] = p.Container + ": " + p.ProbeType.Field()
		}
	}
	for _, m := range r.Messages {
		if m.Reason == reason.WouldFail || m.Reason == reason.WouldFalselyPass {
			findings = append(findings, byField[m.Field.String()]+" ["+m.Reason.String()+"]")
		}
	}
	slices.Sort(findings)
	return findings, r, nil
}

// FindingsIn reads the policy's message as check's findings.
func FindingsIn(message string) []string {
	var findings []string
	for part := range strings.SplitSeq(message, "; ") {
		if words := strings.Fields(part); len(words) > 2 {
			findings = append(findings, words[0]+" "+words[1]+" "+words[len(words)-1])
		}
	}
	slices.Sort(findings)
	return findings
}

// An Explanation is a reason why check and the policy may differ about a pod.
type Explanation struct {
	Name  string
	Least int // how many pods of the conformance test need it; else it is obsolete
	holds func(pod *corev1.Pod, r *report.Report, checked, policed []string) bool
}

// Explanations lists all differences that are allowed.
var Explanations = []Explanation{
	{"local configuration: check passes over an object that is marked so, which must never reach a cluster", 1,
		func(pod *corev1.Pod, _ *report.Report, checked, _ []string) bool {
			return len(checked) == 0 && pod.Annotations["config.kubernetes.io/local-config"] == "true"
		}},
	{"not in Istio's mesh: check finds what fails in another mesh and what has lost its original, the policy asks first whether Istio's sidecar is injected", 20,
		func(_ *corev1.Pod, r *report.Report, _, policed []string) bool {
			return len(policed) == 0 && !r.Templates[0].Answer.Injected
		}},
	{"order of the containers: the policy does not ask whether istio-proxy runs before the container", 40,
		func(_ *corev1.Pod, r *report.Report, checked, policed []string) bool {
			return differOnlyIn(r, checked, policed, func(p transformer.Verdict) bool {
				return strings.Contains(p.Why, "starts later") || strings.Contains(p.If, "sidecar is native")
			})
		}},
	{"ports in the arguments of an istio-init in the pod template: check reads them, the policy the annotations that make them", 0,
		func(pod *corev1.Pod, r *report.Report, checked, policed []string) bool {
			isInit := func(c corev1.Container) bool { return c.Name == "istio-init" }
			return slices.ContainsFunc(pod.Spec.InitContainers, isInit) && differOnlyIn(r, checked, policed, func(p transformer.Verdict) bool { return p.StrictTLS == world.Unaffected })
		}},
	{"one port of two containers: check knows that probe-proxy listens on istio-proxy's port, the policy knows no port of it", 0,
		func(_ *corev1.Pod, r *report.Report, checked, policed []string) bool {
			return differOnlyIn(r, checked, policed, func(p transformer.Verdict) bool { return strings.Contains(p.Why, "both listen on port") })
		}},
	{"port of Istio's agent: check knows what it answers on port 15020, the policy that the port is not captured", 0,
		func(_ *corev1.Pod, r *report.Report, checked, policed []string) bool {
			return differOnlyIn(r, checked, policed, func(p transformer.Verdict) bool { return strings.Contains(p.Before, ":15020") })
		}},
	{"declared where nothing is injected: check knows that rewrite-probes has only declared the istio-proxy of the pod, the policy takes it for the sidecar", 1,
		func(_ *corev1.Pod, r *report.Report, checked, policed []string) bool {
			return differOnlyIn(r, checked, policed, func(p transformer.Verdict) bool { return strings.Contains(p.Why, "is not in the pod") })
		}},
	{"originals that cannot be read: no CEL reads JSON, so the policy looks for the entry of a probe alone", 1,
		func(_ *corev1.Pod, r *report.Report, _, _ []string) bool {
			return slices.ContainsFunc(r.Messages, func(m report.Message) bool { return m.Reason == reason.EnvUnreadable })
		}},
	{"two containers with originals that differ: the policy looks for the entry of a probe alone", 1,
		func(pod *corev1.Pod, _ *report.Report, _, _ []string) bool {
			first := make(map[string]string) // the original of each path
			for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
				for path, original := range originalsOf(c) {
					if other, known := first[path]; known && other != original {
						return true
					}
					first[path] = original
				}
			}
			return false
		}},
	{"injection template that only the mesh's config knows: check then heeds no annotation for single containers", 1,
		func(pod *corev1.Pod, r *report.Report, _, _ []string) bool {
			return pod.Annotations["rewrite-probes.io/skip-containers"] != "" && slices.ContainsFunc(r.Messages, func(m report.Message) bool { return m.Reason == reason.UnknownTemplate })
		}},
}

// originalsOf returns the originals in a container's env var, as they are written, by their path.
func originalsOf(c corev1.Container) map[string]string {
	originals := make(map[string]string)
	for _, e := range c.Env {
		var entries map[string]json.RawMessage
		if e.Name != "ISTIO_KUBE_APP_PROBERS" || json.Unmarshal([]byte(e.Value), &entries) != nil {
			continue
		}
		for path, entry := range entries {
			originals[path] = string(entry)
		}
	}
	return originals
}

// differOnlyIn reports whether all probes about which check and the policy differ are
// of one sort.
func differOnlyIn(r *report.Report, checked, policed []string, sort func(transformer.Verdict) bool) bool {
	for _, p := range r.Templates[0].Probes {
		of := func(f string) bool { return strings.HasPrefix(f, p.Container+": "+p.ProbeType.Field()+" ") }
		if slices.ContainsFunc(checked, of) != slices.ContainsFunc(policed, of) && !sort(p) {
			return false
		}
	}
	return true
}

// Explain returns why check and the policy differ about a pod; nil if they may
// not.
func Explain(pod *corev1.Pod, r *report.Report, checked, policed []string) *Explanation {
	for i := range Explanations {
		if Explanations[i].holds(pod, r, checked, policed) {
			return &Explanations[i]
		}
	}
	return nil
}
