package apiserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

const harmlessRow = "one pod of each kind of test/conformance/harmless, in a namespace of its own; its QoS class stays"

// harmless are pods, one of each kind that probe-proxy could harm: what limits their
// namespace, the fields of the pod and of its container, and the class that the API server
// gives to it.
var harmless = []struct {
	name, labels, limits, pod, container string
	quota                                map[string]string
	job                                  string // of its spec, if the pod is a Job's
	class                                corev1.PodQOSClass
}{
	{name: "guaranteed", container: "resources: {limits: {cpu: 500m, memory: 256Mi}}", class: corev1.PodQOSGuaranteed},
	{name: "burstable", container: "resources: {requests: {cpu: 500m}}", class: corev1.PodQOSBurstable},
	{name: "besteffort", class: corev1.PodQOSBestEffort},
	{name: "pod-level", pod: "resources: {requests: {cpu: 500m, memory: 256Mi}}", container: "resources: {requests: {cpu: 500m, memory: 256Mi}}", class: corev1.PodQOSBurstable},
	{name: "pod-level-limits", pod: "resources: {limits: {cpu: 500m, memory: 256Mi}}", class: corev1.PodQOSGuaranteed},
	{name: "limitrange", limits: "{type: Container, default: {cpu: 500m, memory: 256Mi}, min: {cpu: 30m}, maxLimitRequestRatio: {cpu: 1}}", class: corev1.PodQOSGuaranteed},
	{name: "quota", quota: map[string]string{"limits.cpu": "2", "limits.memory": "2Gi"}, container: "resources: {requests: {cpu: 100m}, limits: {cpu: 500m, memory: 256Mi}}", class: corev1.PodQOSBurstable},
	{
		name: "pod-security", labels: "{pod-security.kubernetes.io/enforce: restricted}", class: corev1.PodQOSBestEffort,
		pod: "securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}", container: "securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}",
	},
	{
		name: "job", pod: "restartPolicy: Never", class: corev1.PodQOSBestEffort,
		job: "podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {containerName: app, operator: In, values: [3]}}]}",
	},
}

// harmlessText returns a Pod or a Job of a namespace.
func harmlessText(namespace, job, pod, container string) string {
	spec := "spec:\n  " + pod + "\n  containers:\n  - name: app\n    image: app\n    readinessProbe: {httpGet: {path: /, port: 8080}}\n    " + container + "\n"
	metadata := "metadata: {name: web, namespace: " + namespace + "}\n"
	if job == "" {
		return "apiVersion: v1\nkind: Pod\n" + metadata + spec
	}
	return "apiVersion: batch/v1\nkind: Job\n" + metadata + "spec:\n  " + job + "\n  template:\n    " + strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n    ") + "\n"
}

// limit makes the LimitRange and the ResourceQuota of a namespace, and returns the
// LimitRange. The quota has the status that a controller would give it.
func limit(t *testing.T, namespace, limits string, quota map[string]string) string {
	t.Helper()
	create := func(method, path, text string) {
		a, err := api.Call(method, "/api/v1/namespaces/"+namespace+path, []byte(text))
		if err != nil || !a.Accepted() {
			t.Fatalf("%s: %v, %+v", path, err, a)
		}
	}
	text := ""
	if limits != "" {
		text = fmt.Sprintf("apiVersion: v1\nkind: LimitRange\nmetadata: {name: limits, namespace: %s}\nspec: {limits: [%s]}\n", namespace, limits)
		create(http.MethodPost, "/limitranges", text)
	}
	if quota != nil {
		hard, used := "", ""
		for name, value := range quota {
			hard, used = hard+name+": "+value+", ", used+name+": 0, "
		}
		object := fmt.Sprintf("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: quota, namespace: %s}\nspec: {hard: {%s}}\nstatus: {hard: {%[2]s}, used: {%s}}\n", namespace, hard, used)
		create(http.MethodPost, "/resourcequotas", object)
		create(http.MethodPut, "/resourcequotas/quota/status", object)
	}
	return text
}

// store returns the pod as the API server would store it.
func store(t *testing.T, o object) *corev1.Pod {
	t.Helper()
	if made, ok := o.pod(); ok {
		o = made
	}
	a, err := api.dryRun(o)
	if err != nil || !a.Accepted() {
		t.Fatalf("%v: %s\n%s", err, a.Message, o.text)
	}
	pod := new(corev1.Pod)
	if err := json.Unmarshal(a.Body, pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

func TestProbeProxyHarmsNoPod(t *testing.T) {
	for _, c := range harmless {
		t.Run(c.name, func(t *testing.T) {
			n := &tally{workloads: 1}
			defer count(harmlessRow, n) // also after a fatal error
			namespace := "harmless-" + c.name
			labels := c.labels
			if labels == "" {
				labels = "{}"
			}
			if err := api.createNamespace(namespace, fmt.Appendf(nil, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s, labels: %s}\n", namespace, labels)); err != nil {
				t.Fatal(err)
			}
			limits := limit(t, namespace, c.limits, c.quota)
			original := objects([]byte(harmlessText(namespace, c.job, c.pod, c.container)))[0]
			text, err := function([]byte(string(original.text)+"---\n"+limits), "--config", filepath.Join(root, "test/e2e/pods/config/everywhere.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			rewritten := objects(text)[0]
			if !strings.Contains(string(rewritten.text), "name: probe-proxy") {
				t.Fatalf("not rewritten:\n%s", text)
			}
			n.changed++
			// The API server's caches know the limits a moment later.
			if err := testutil.Eventually(time.Minute, func() error { return limited(namespace, c.limits != "", c.quota != nil) }); err != nil {
				t.Fatal(err)
			}
			if compare(t, original, rewritten, n) {
				n.before, n.after = 1, 1
			}
			before, after := store(t, original), store(t, rewritten)
			n.pods++
			if before.Status.QOSClass != c.class || after.Status.QOSClass != c.class {
				t.Errorf("the class is %s, and was %s, want %s", after.Status.QOSClass, before.Status.QOSClass, c.class)
			}
			if !equality.Semantic.DeepEqual(before.Spec.Resources, after.Spec.Resources) {
				t.Errorf("the pod's own resources are %v, and were %v", after.Spec.Resources, before.Spec.Resources)
			}
		})
	}
}

// limited returns an error unless a pod without resources is filled in, or refused.
func limited(namespace string, limits, quota bool) error {
	a, err := api.dryRun(objects([]byte(harmlessText(namespace, "", "restartPolicy: Always", "")))[0])
	switch {
	case err != nil:
		return err
	case limits && !strings.Contains(string(a.Body), `"kubernetes.io/limit-ranger"`):
		return fmt.Errorf("the LimitRange is not known yet: %s", a.Body)
	case quota && !strings.Contains(a.Message, "must specify limits.cpu"):
		return fmt.Errorf("the quota is not known yet: %s", a.Message)
	}
	return nil
}

// What is configured may do what the defaults do not, and the API server says so.
func TestTheAPIServerSeesWhatResourcesWouldHarm(t *testing.T) {
	for _, c := range []struct{ pod, container, want string }{
		{"", "resources: {limits: {cpu: 500m, memory: 256Mi}}", string(corev1.PodQOSBurstable)},
		{"resources: {requests: {cpu: 500m, memory: 256Mi}}", "resources: {requests: {cpu: 500m, memory: 256Mi}}", "aggregate container requests"},
	} {
		original := objects([]byte(harmlessText("default", "", c.pod, c.container)))[0]
		text, err := function(original.text, "--config", filepath.Join(root, "test/e2e/pods/config/everywhere.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var tree map[string]any
		if err := yaml.Unmarshal(text, &tree); err != nil {
			t.Fatal(err)
		}
		probeProxy := tree["spec"].(map[string]any)["initContainers"].([]any)[0].(map[string]any)
		probeProxy["resources"] = map[string]any{"requests": map[string]any{"cpu": "5m", "memory": "16Mi"}}
		harmful := original
		if harmful.text, err = yaml.Marshal(tree); err != nil {
			t.Fatal(err)
		}
		a, err := api.dryRun(harmful)
		if err != nil || !strings.Contains(string(a.Body), c.want) {
			t.Errorf("%v: %s, want %q\n%s", err, a.Body, c.want, harmful.text)
		}
	}
}
