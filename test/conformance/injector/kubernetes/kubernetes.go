// Package kubernetes does to pods what the API server does before anything else
// sees them, with its own code: it decodes, defaults and validates them. It
// also expands env vars as the kubelet does.
package kubernetes

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	v1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// Pod makes the pod of a template, as a controller does; "" is the namespace
// default.
func Pod(t *corev1.PodTemplateSpec, namespace string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *t.ObjectMeta.DeepCopy(), Spec: *t.Spec.DeepCopy()}
	pod.APIVersion, pod.Kind = "v1", "Pod"
	pod.Namespace, pod.GenerateName = cmp.Or(namespace, "default"), "pod-"
	return pod
}

// Default fills in what the API server fills in.
func Default(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	v1.SetObjectDefaults_Pod(pod)
	return pod
}

func init() {
	// Clusters allow privileged containers, unless Pod Security forbids them.
	capabilities.Setup(true, 0)
	// The features of probes that are not on by default.
	err := utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{
		string(features.GRPCContainerProbeTLS): true, string(features.H2CContainerProbe): true,
	})
	if err != nil {
		panic(err)
	}
}

// Validate returns an error with the reason if the API server refuses a pod.
func Validate(pod *corev1.Pod) error {
	pod = Default(pod)
	pod.Name = "pod" // given by the API server
	if pod.Spec.ServiceAccountName == "" {
		pod.Spec.ServiceAccountName = "default" // by an admission plugin
	}
	pod.Spec.DeprecatedServiceAccount = pod.Spec.ServiceAccountName
	internal := new(core.Pod)
	if err := v1.Convert_v1_Pod_To_core_Pod(pod, internal, nil); err != nil {
		return fmt.Errorf("convert: %w", err)
	}
	opts := podutil.GetValidationOptionsFromPodSpecAndMeta(&internal.Spec, nil, &internal.ObjectMeta, nil)
	opts.ResourceIsPod = true
	return validation.ValidatePodCreate(internal, opts).ToAggregate()
}

// Expand returns the value of an env var as the container gets it, with the
// variables that are defined before it.
func Expand(value string, env map[string]string) string {
	return expansion.Expand(value, expansion.MappingFuncFor(env))
}
