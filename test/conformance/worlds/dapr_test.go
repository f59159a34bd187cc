package worlds

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const daprEnabled = "dapr.io/enabled"

// withDapr returns a pod as Dapr's webhook makes it, which the API server calls before Istio's:
// with a container daprd whose readiness and liveness probes ask its own port 3501
// (dapr/dapr, pkg/injector/patcher/sidecar_container.go).
func withDapr(pod *corev1.Pod) *corev1.Pod {
	if !slices.Contains([]string{"true", "on"}, pod.Annotations[daprEnabled]) {
		return pod
	}
	probe := &corev1.Probe{
		ProbeHandler:   corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/v1.0/healthz", Port: intstr.FromInt32(3501), Scheme: corev1.URISchemeHTTP}},
		TimeoutSeconds: 3, PeriodSeconds: 6, SuccessThreshold: 1, FailureThreshold: 3,
	}
	pod = pod.DeepCopy()
	daprd := pod.Spec.Containers[0].DeepCopy() // what the API server's defaults and rules ask for
	*daprd = corev1.Container{
		Name: "daprd", Image: "daprio/daprd:1.15.0", ImagePullPolicy: daprd.ImagePullPolicy,
		TerminationMessagePath: daprd.TerminationMessagePath, TerminationMessagePolicy: daprd.TerminationMessagePolicy,
		ReadinessProbe: probe, LivenessProbe: probe.DeepCopy(),
	}
	pod.Spec.Containers = append(pod.Spec.Containers, *daprd)
	return pod
}
