package workload

import (
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// A Kind is a kind of object that makes pods, in any version of its group.
type Kind struct {
	Group, Name string
	// Templates are the patterns of its pod templates.
	Templates []field.Path
	// JobLike is set if the pods must finish for the object to be done.
	JobLike bool
	// Shape says how the templates differ from a Pod.
	Shape pod.Shape
}

// knative: the controller overwrites the port of the app's liveness probe with
// that of the app, moves readiness probes to queue-proxy, which makes them inside
// the pod, and looks up every image in its registry, so that a container with
// `image: auto` makes the Revision fail (knative.dev/serving v0.42.2 and v0.51.0:
// pkg/apis/serving/fieldmask.go, pkg/reconciler/revision/resources/deploy.go and
// queue.go, resolve.go).
var knative = pod.Shape{ProbesMadeBy: "Knative Serving"}

// kinds holds every known kind. Of a name in several groups, the first one is meant. Each
// source stands above its kinds; a test compares them with those that are Go modules.
var kinds = []Kind{
	// k8s.io/api, core/v1.PodTemplateSpec
	{Group: "", Name: "Pod", Templates: paths(field.Root)},
	{Group: "", Name: "PodTemplate", Templates: paths("template")},
	{Group: "", Name: "ReplicationController", Templates: paths("spec.template")},
	{Group: "apps", Name: "Deployment", Templates: paths("spec.template")},
	{Group: "apps", Name: "ReplicaSet", Templates: paths("spec.template")},
	{Group: "apps", Name: "StatefulSet", Templates: paths("spec.template")},
	{Group: "apps", Name: "DaemonSet", Templates: paths("spec.template")},
	{Group: "extensions", Name: "Deployment", Templates: paths("spec.template")},
	{Group: "extensions", Name: "ReplicaSet", Templates: paths("spec.template")},
	{Group: "extensions", Name: "DaemonSet", Templates: paths("spec.template")},
	{Group: "batch", Name: "Job", Templates: paths("spec.template"), JobLike: true},
	{Group: "batch", Name: "CronJob", Templates: paths("spec.jobTemplate.spec.template"), JobLike: true},
	// github.com/openshift/api, apps/v1: a PodTemplateSpec of k8s.io/api, served by an aggregated API server
	{Group: "apps.openshift.io", Name: "DeploymentConfig", Templates: paths("spec.template")},
	// github.com/argoproj/argo-rollouts v1.8.5, manifests/crds/rollout-crd.yaml: initContainers have restartPolicy
	{Group: "argoproj.io", Name: "Rollout", Templates: paths("spec.template")},
	// see knative
	{Group: "serving.knative.dev", Name: "Service", Templates: paths("spec.template"), Shape: knative},
	{Group: "serving.knative.dev", Name: "Configuration", Templates: paths("spec.template"), Shape: knative},
	{Group: "serving.knative.dev", Name: "Revision", Templates: paths(field.Root), Shape: knative},
	// github.com/kedacore/keda/v2 v2.21.0, config/crd/bases/keda.sh_scaledjobs.yaml: initContainers have restartPolicy
	{Group: "keda.sh", Name: "ScaledJob", Templates: paths("spec.jobTargetRef.template"), JobLike: true},
	// openkruise/kruise, config/crd/bases: the template preserves unknown fields and is a
	// PodTemplateSpec to the controller
	{Group: "apps.kruise.io", Name: "CloneSet", Templates: paths("spec.template")},
	{Group: "apps.kruise.io", Name: "StatefulSet", Templates: paths("spec.template")},
	{Group: "apps.kruise.io", Name: "DaemonSet", Templates: paths("spec.template")},
	// kubeflow/kubeflow, components/notebook-controller: the CRD notebooks.kubeflow.org and
	// generateStatefulSet. The template has only a spec, and its init containers no restartPolicy:
	// the API server drops the field, and the pod would wait for a native
	// sidecar for ever. The controller takes containers[0] for the notebook.
	{Group: "kubeflow.org", Name: "Notebook", Templates: paths("spec.template"),
		Shape: pod.Shape{WorkloadMetadata: true, NoNativeSidecars: true, FirstIsApp: true}},
	// kubernetes-sigs/jobset, config/components/crd/bases: a JobTemplateSpec of k8s.io/api
	{Group: "jobset.x-k8s.io", Name: "JobSet", Templates: paths("spec.replicatedJobs[].template.spec.template"), JobLike: true},
	// kubernetes-sigs/lws, config/crd/bases: PodTemplateSpecs of k8s.io/api
	{Group: "leaderworkerset.x-k8s.io", Name: "LeaderWorkerSet", Templates: paths("spec.leaderWorkerTemplate.leaderTemplate", "spec.leaderWorkerTemplate.workerTemplate")},
}

// paths parses patterns.
func paths(patterns ...string) []field.Path {
	list := make([]field.Path, len(patterns))
	for i, s := range patterns {
		p, err := field.Parse(s)
		if err != nil {
			panic(err)
		}
		list[i] = p
	}
	return list
}

// Kinds returns every known kind.
func Kinds() []Kind {
	return append([]Kind(nil), kinds...)
}

// KindOf returns the known kind of that name; nil if there is none.
func KindOf(group, name string) *Kind {
	for i := range kinds {
		if k := &kinds[i]; k.Name == name && k.Group == group {
			return k
		}
	}
	return nil
}

// builtin holds, by group, the kinds of this and of earlier releases of the API
// server that make no pods. It drops or refuses anything in them that looks like
// a probe.
var builtin = map[string][]string{
	"": {"Binding", "ComponentStatus", "ConfigMap", "Endpoints", "Event", "LimitRange", "Namespace", "Node", "PersistentVolume",
		"PersistentVolumeClaim", "RangeAllocation", "ResourceQuota", "Secret", "SerializedReference", "Service", "ServiceAccount"},
	"admission.k8s.io": {"AdmissionReview"},
	"admissionregistration.k8s.io": {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration",
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"},
	"apidiscovery.k8s.io":          {"APIGroupDiscovery"},
	"apiextensions.k8s.io":         {"ConversionReview", "CustomResourceDefinition"},
	"apiregistration.k8s.io":       {"APIService"},
	"apps":                         {"ControllerRevision", "DeploymentRollback", "Scale"},
	"authentication.k8s.io":        {"SelfSubjectReview", "TokenRequest", "TokenReview"},
	"authorization.k8s.io":         {"LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"},
	"batch":                        {},
	"autoscaling":                  {"HorizontalPodAutoscaler", "Scale"},
	"certificates.k8s.io":          {"CertificateSigningRequest", "ClusterTrustBundle", "PodCertificateRequest"},
	"coordination.k8s.io":          {"Lease", "LeaseCandidate"},
	"discovery.k8s.io":             {"EndpointSlice"},
	"events.k8s.io":                {"Event"},
	"extensions":                   {"DeploymentRollback", "Ingress", "NetworkPolicy", "PodSecurityPolicy", "Scale"},
	"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
	"imagepolicy.k8s.io":           {"ImageReview"},
	"internal.apiserver.k8s.io":    {"StorageVersion"},
	"lifecycle.k8s.io":             {"Eviction", "EvictionRequest"},
	"networking.k8s.io":            {"ClusterCIDR", "IPAddress", "Ingress", "IngressClass", "NetworkPolicy", "ServiceCIDR"},
	"node.k8s.io":                  {"RuntimeClass"},
	"policy":                       {"Eviction", "PodDisruptionBudget", "PodSecurityPolicy"},
	"rbac.authorization.k8s.io":    {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"},
	"resource.k8s.io": {"DeviceClass", "DeviceTaintRule", "PodSchedulingContext", "ResourceClaim", "ResourceClaimParameters", "ResourceClaimTemplate",
		"ResourceClass", "ResourceClassParameters", "ResourcePoolStatusRequest", "ResourceSlice"},
	"scheduling.k8s.io":       {"CompositePodGroup", "PodGroup", "PriorityClass", "Workload"},
	"storage.k8s.io":          {"CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"},
	"storagemigration.k8s.io": {"StorageVersionMigration"},
}
