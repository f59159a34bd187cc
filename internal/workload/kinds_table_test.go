package workload

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wantKinds are the kinds that docs/rules.md names: the group and the kind, the paths of the
// pod templates, and what is different.
const wantKinds = `
 Pod: .
 PodTemplate: template
 ReplicationController: spec.template
apps Deployment: spec.template
apps ReplicaSet: spec.template
apps StatefulSet: spec.template
apps DaemonSet: spec.template
extensions Deployment: spec.template
extensions ReplicaSet: spec.template
extensions DaemonSet: spec.template
batch Job: spec.template, finishes
batch CronJob: spec.jobTemplate.spec.template, finishes
apps.openshift.io DeploymentConfig: spec.template
argoproj.io Rollout: spec.template
serving.knative.dev Service: spec.template, probes made by Knative Serving
serving.knative.dev Configuration: spec.template, probes made by Knative Serving
serving.knative.dev Revision: ., probes made by Knative Serving
keda.sh ScaledJob: spec.jobTargetRef.template, finishes
apps.kruise.io CloneSet: spec.template
apps.kruise.io StatefulSet: spec.template
apps.kruise.io DaemonSet: spec.template
kubeflow.org Notebook: spec.template, metadata of the workload, no native sidecars, the first container is the app
jobset.x-k8s.io JobSet: spec.replicatedJobs[].template.spec.template, finishes
leaderworkerset.x-k8s.io LeaderWorkerSet: spec.leaderWorkerTemplate.leaderTemplate, spec.leaderWorkerTemplate.workerTemplate
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
		fmt.Fprintf(&b, "%s %s: %s\n", k.Group, k.Name, strings.Join(words, ", "))
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
