package workload

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wantKinds are the kinds that docs/rules.md names: the group and the kind, the paths of the
// pod templates, what is different, and the source.
const wantKinds = `
 Pod: . | k8s.io/api, core/v1.PodTemplateSpec
 PodTemplate: template | k8s.io/api, core/v1.PodTemplateSpec
 ReplicationController: spec.template | k8s.io/api, core/v1.PodTemplateSpec
apps Deployment: spec.template | k8s.io/api, core/v1.PodTemplateSpec
apps ReplicaSet: spec.template | k8s.io/api, core/v1.PodTemplateSpec
apps StatefulSet: spec.template | k8s.io/api, core/v1.PodTemplateSpec
apps DaemonSet: spec.template | k8s.io/api, core/v1.PodTemplateSpec
extensions Deployment: spec.template | k8s.io/api, core/v1.PodTemplateSpec
extensions ReplicaSet: spec.template | k8s.io/api, core/v1.PodTemplateSpec
extensions DaemonSet: spec.template | k8s.io/api, core/v1.PodTemplateSpec
batch Job: spec.template, finishes | k8s.io/api, core/v1.PodTemplateSpec
batch CronJob: spec.jobTemplate.spec.template, finishes | k8s.io/api, core/v1.PodTemplateSpec
apps.openshift.io DeploymentConfig: spec.template | github.com/openshift/api, apps/v1: a PodTemplateSpec of k8s.io/api, served by an aggregated API server
argoproj.io Rollout: spec.template | github.com/argoproj/argo-rollouts v1.8.5, manifests/crds/rollout-crd.yaml: initContainers have restartPolicy
serving.knative.dev Service: spec.template, probes made by Knative Serving | knative.dev/serving v0.42.2 and v0.51.0: pkg/apis/serving/fieldmask.go, pkg/reconciler/revision/resources/deploy.go and queue.go, resolve.go
serving.knative.dev Configuration: spec.template, probes made by Knative Serving | knative.dev/serving v0.42.2 and v0.51.0: pkg/apis/serving/fieldmask.go, pkg/reconciler/revision/resources/deploy.go and queue.go, resolve.go
serving.knative.dev Revision: ., probes made by Knative Serving | knative.dev/serving v0.42.2 and v0.51.0: pkg/apis/serving/fieldmask.go, pkg/reconciler/revision/resources/deploy.go and queue.go, resolve.go
keda.sh ScaledJob: spec.jobTargetRef.template, finishes | github.com/kedacore/keda/v2 v2.21.0, config/crd/bases/keda.sh_scaledjobs.yaml: initContainers have restartPolicy
apps.kruise.io CloneSet: spec.template | openkruise/kruise, config/crd/bases: the template preserves unknown fields and is a PodTemplateSpec to the controller
apps.kruise.io StatefulSet: spec.template | openkruise/kruise, config/crd/bases: the template preserves unknown fields and is a PodTemplateSpec to the controller
apps.kruise.io DaemonSet: spec.template | openkruise/kruise, config/crd/bases: the template preserves unknown fields and is a PodTemplateSpec to the controller
kubeflow.org Notebook: spec.template, metadata of the workload, no native sidecars, the first container is the app | kubeflow/kubeflow, components/notebook-controller: the CRD notebooks.kubeflow.org and generateStatefulSet
jobset.x-k8s.io JobSet: spec.replicatedJobs[].template.spec.template, finishes | kubernetes-sigs/jobset, config/components/crd/bases: a JobTemplateSpec of k8s.io/api
leaderworkerset.x-k8s.io LeaderWorkerSet: spec.leaderWorkerTemplate.leaderTemplate, spec.leaderWorkerTemplate.workerTemplate | kubernetes-sigs/lws, config/crd/bases: PodTemplateSpecs of k8s.io/api
`

func TestTheKnownKindsAreThoseThatAreWrittenDown(t *testing.T) {
	var b strings.Builder
	for _, k := range kinds {
		var words []string
		for _, p := range k.Templates {
			if len(p) == 0 {
				words = append(words, ".")
			} else {
				words = append(words, p.String())
			}
		}
		for _, is := range []struct {
			it    bool
			words string
		}{
			{k.JobLike, "finishes"},
			{k.Shape.ProbesMadeBy != "", "probes made by " + k.Shape.ProbesMadeBy},
			{k.Shape.WorkloadMetadata, "metadata of the workload"},
			{k.Shape.NoNativeSidecars, "no native sidecars"},
			{k.Shape.FirstIsApp, "the first container is the app"},
			{k.Shape.BareSpec, "a pod's spec"},
		} {
			if is.it {
				words = append(words, is.words)
			}
		}
		fmt.Fprintf(&b, "%s %s: %s | %s\n", k.Group, k.Name, strings.Join(words, ", "), k.Source)
	}
	if d := cmp.Diff(strings.Split(wantKinds[1:], "\n"), strings.Split(b.String(), "\n")); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestTheKindsThatHoldTheValuesOfAChart(t *testing.T) {
	for _, c := range []struct {
		group, kind string
		want        bool
	}{
		{"helm.toolkit.fluxcd.io", "HelmRelease", true}, {"argoproj.io", "Application", true}, {"argoproj.io", "ApplicationSet", true}, {"helm.cattle.io", "HelmChart", true},
		{"argoproj.io", "HelmRelease", false}, {"argoproj.io", "Rollout", false}, {"helm.cattle.io", "HelmChartConfig", false}, {"", "", false},
	} {
		if got := IsRelease(c.group, c.kind); got != c.want {
			t.Errorf("%s %s: %t", c.group, c.kind, got)
		}
	}
}

func TestTheGroupsThatTheAPIServerServes(t *testing.T) {
	for apiVersion, want := range map[string]bool{
		"v1": true, "v2": true, "apps/v1": true, "batch/v1beta1": true, "extensions/v1beta1": true, "networking.k8s.io/v1": true,
		"": false, "app/v1": false, "argoproj.io/v1alpha1": false, "networking.istio.io/v1": false,
	} {
		if got := IsBuiltinGroup(apiVersion); got != want {
			t.Errorf("%q: %t", apiVersion, got)
		}
	}
}

// Two letters of a name are a typo if they are less than a third of it; a group has no such
// rule, since the name must then be right.
func TestHowFarAMisspeltKindMayBe(t *testing.T) {
	for _, c := range []struct{ group, name, want string }{
		{"", "Pods", "/Pod"}, {"", "Poe", ""}, {"", "POD", "/Pod"}, {"", "Po", ""},
		{"jobset.x-k8s.io", "JibSet", "jobset.x-k8s.io/JobSet"}, {"jobset.x-k8s.io", "JibSat", ""},
		{"batch", "CranJib", "batch/CronJob"}, {"batch", "CranJibb", ""},
		{"apps", "DeploymentXY", "apps/Deployment"}, {"apps", "DeploymentXYZ", ""}, {"extensions", "Deploymnt", "extensions/Deployment"},
		{"apps.kruise.io", "StatefulSets", "apps.kruise.io/StatefulSet"}, {"apps.kruise.io", "Deployment", ""}, {"app.kruise.io", "DaemonSet", "apps.kruise.io/DaemonSet"},
		{"ap", "Deployment", "apps/Deployment"}, {"a", "Deployment", ""}, {"ap", "Deploymnt", ""},
		{"batch", "Rollout", ""}, {"", "Rollouts", ""}, {"argoproj.io", "Deployment", ""}, {"argoproj.io", "Deploymnt", ""}, {"keda.sh", "Job", ""},
		{"extensions", "StatefulSet", "apps/StatefulSet"}, {"extensions", "CronJob", "batch/CronJob"}, {"policy", "Deploymnt", "apps/Deployment"},
	} {
		got := ""
		if k := Meant(c.group, c.name); k != nil {
			got = k.Group + "/" + k.Name
		}
		if got != c.want {
			t.Errorf("%q %s: %q is meant, want %q", c.group, c.name, got, c.want)
		}
	}
}
