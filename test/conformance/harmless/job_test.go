package harmless

import (
	"fmt"
	"math/rand/v2"
	"testing"
	_ "unsafe" // for go:linkname

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	_ "k8s.io/kubernetes/pkg/controller/job"
	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
)

// matchPodFailurePolicy is the Job controller's own: what becomes of a Job with a pod
// that failed.
//
//go:linkname matchPodFailurePolicy k8s.io/kubernetes/pkg/controller/job.matchPodFailurePolicy
func matchPodFailurePolicy(*batchv1.PodFailurePolicy, *corev1.Pod) (*string, bool, *batchv1.PodFailurePolicyAction)

// verdict returns what the controller concludes, in one text. The message of a Job that
// fails names the container.
func verdict(policy *batchv1.PodFailurePolicy, pod *corev1.Pod) string {
	message, counts, action := matchPodFailurePolicy(policy, pod)
	text := fmt.Sprint(counts)
	if message != nil {
		text += " " + *message
	}
	if action != nil {
		text += " " + string(*action)
	}
	return text
}

// policy draws a podFailurePolicy for a container named app.
func (d drawn) policy() *batchv1.PodFailurePolicy {
	p := new(batchv1.PodFailurePolicy)
	for range 1 + d.IntN(3) {
		codes := &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOperator(d.pick("In", "NotIn")), Values: []int32{int32(1 + d.IntN(3)), 137},
		}
		if d.one(2) {
			codes.Values = codes.Values[:1]
		}
		if name := "app"; d.one(2) {
			codes.ContainerName = &name
		}
		p.Rules = append(p.Rules, batchv1.PodFailurePolicyRule{Action: batchv1.PodFailurePolicyAction(d.pick("FailJob", "Ignore", "Count")), OnExitCodes: codes})
	}
	return p
}

func terminated(name string, code int32) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}}
}

func TestAJobEndsAsItDidWithoutProbeProxy(t *testing.T) {
	c, err := rewriting.Config(rewriting.Settings{"mesh": "istio", "answeredBy": "probe-proxy"})
	if err != nil {
		t.Fatal(err)
	}
	killed := 0
	for seed := range uint64(2000) {
		d := drawn{rand.New(rand.NewPCG(seed, 7))}
		policy := d.policy()
		pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{terminated("app", int32(d.IntN(5)))}}}
		before := verdict(policy, pod)
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{terminated(proxyName, 0)}
		if after := verdict(policy, pod); after != before {
			t.Errorf("seed %d: %q, and %q with a probe-proxy that ended as it was told", seed, before, after)
		}
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{terminated(proxyName, 137)}
		if verdict(policy, pod) == before {
			continue
		}
		killed++
		job, err := yaml.Marshal(map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "web"}, "spec": map[string]any{
			"podFailurePolicy": policy, "template": map[string]any{"spec": map[string]any{"restartPolicy": "Never", "containers": []any{
				map[string]any{"name": "app", "image": "a", "livenessProbe": map[string]any{"httpGet": map[string]any{"port": 80}}}}}}}})
		if err != nil {
			t.Fatal(err)
		}
		_, r, err := rewriting.Run(job, c, pipeline.Rewrite)
		if err != nil {
			t.Fatal(err)
		}
		if !has(r, "job-exit-codes") {
			t.Errorf("seed %d: a probe-proxy that is killed changes what becomes of the Job, and nothing says so: %v", seed, policy)
		}
	}
	t.Logf("in %d policies the exit code of a probe-proxy that is killed counts", killed)
	if killed == 0 {
		t.Error("the policies must have rules without a container")
	}
}
