package harmless

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	v1 "k8s.io/kubernetes/pkg/apis/core/v1"
	quotacore "k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/kubernetes"
)

// A namespace is what admits pods besides the API's own validation.
type namespace struct {
	limits corev1.LimitRange
	quota  []corev1.ResourceName
}

// yaml returns the namespace's objects as manifests.
func (n *namespace) yaml() ([]byte, error) {
	limits := n.limits.DeepCopy()
	limits.APIVersion, limits.Kind, limits.Name, limits.Namespace = "v1", "LimitRange", "limits", "shop"
	quota := corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{}}}
	quota.APIVersion, quota.Kind, quota.Name, quota.Namespace = "v1", "ResourceQuota", "quota", "shop"
	for _, name := range n.quota {
		quota.Spec.Hard[name] = resource.MustParse("1000")
	}
	var all []byte
	for _, o := range []any{limits, quota} {
		text, err := yaml.Marshal(o)
		if err != nil {
			return nil, err
		}
		all = append(append(all, "---\n"...), text...)
	}
	return all, nil
}

// admit returns the pod as the API server stores it, or why it is refused.
func (n *namespace) admit(template *corev1.PodTemplateSpec) (*corev1.Pod, error) {
	limits := n.limits.DeepCopy()
	v1.SetObjectDefaults_LimitRange(limits)
	external := kubernetes.Default(kubernetes.Pod(template, "shop"))
	pod := new(core.Pod)
	if err := v1.Convert_v1_Pod_To_core_Pod(external, pod, nil); err != nil {
		return nil, err
	}
	if err := limitranger.PodMutateLimitFunc(limits, pod); err != nil {
		return nil, err
	}
	podutil.DefaultPodLevelResources(pod)
	stored := new(corev1.Pod)
	if err := v1.Convert_core_Pod_To_v1_Pod(pod, stored, nil); err != nil {
		return nil, err
	}
	if err := kubernetes.Validate(stored); err != nil {
		return nil, err
	}
	if err := limitranger.PodValidateLimitFunc(limits, pod); err != nil {
		return nil, fmt.Errorf("LimitRange: %w", err)
	}
	if err := quotacore.NewPodEvaluator(nil, clock.RealClock{}).Constraints(n.quota, stored); err != nil {
		return nil, fmt.Errorf("ResourceQuota: %w", err)
	}
	return stored, nil
}

// levels returns the Pod Security levels that allow a pod.
func levels(t *testing.T, pod *corev1.Pod) map[api.Level]bool {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	allowed := make(map[api.Level]bool)
	for _, level := range []api.Level{api.LevelBaseline, api.LevelRestricted} {
		results := evaluator.EvaluatePod(api.LevelVersion{Level: level, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec)
		allowed[level] = policy.AggregateCheckResults(results).Allowed
	}
	return allowed
}
