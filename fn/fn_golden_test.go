package fn_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	sdk "github.com/kptdev/krm-functions-sdk/go/fn"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rewrite-probes/rewrite-probes/fn"
	"github.com/rewrite-probes/rewrite-probes/fn/findings"
	"github.com/rewrite-probes/rewrite-probes/fn/krm"
	"github.com/rewrite-probes/rewrite-probes/fn/kyaml"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

// objects are some that are changed, refused, left alone or not looked at, with comments,
// anchors and the file that a tool has noted.
const objects = `# the head of the first
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web # its name
  namespace: shop
  annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: "2"}
spec:
  template:
    metadata: {labels: {sidecar.istio.io/inject: "true"}}
    spec:
      initContainers:
      - name: setup # first of all
        image: setup:1
      containers:
      - name: web # the app
        image: web:1
        args:
        - >
          folded:
            text, which kyaml changes when it writes and reads it
        readinessProbe: # is it up?
          httpGet: {path: /ready, port: 8080}
        livenessProbe:
          httpGet:
            path: /live # alive?
            port: nowhere
      - name: other
        image: other:1 # kept
        env:
        - {name: A, value: a} # an env var
---
apiVersion: v1
kind: Pod
metadata: {name: anchors, namespace: shop}
spec:
  containers:
  - &first
    name: web
    readinessProbe: &probe {httpGet: {port: 80}}
    livenessProbe: *probe
---
# kept as it is
apiVersion: v1
kind: ConfigMap
metadata: {name: data}
---
apiVersion: v1
kind: Pod
metadata: {name: on-node, namespace: shop}
spec:
  hostNetwork: true
  containers:
  - {name: web, readinessProbe: {httpGet: {port: 80}}}
---
apiVersion: v1
kind: Pod
metadata: {name: last, namespace: shop}
spec:
  containers:
  - name: web
    image: "web:1"
    readinessProbe: {grpc: {port: 80}}
`

// taken has the port of probe-proxy, and a probe whose port has no name.
const taken = `apiVersion: v1
kind: Pod
metadata: {name: taken}
spec:
  containers:
  - name: web
    ports: [{containerPort: 15099}, {containerPort: 15020}]
    readinessProbe: {httpGet: {port: 80}}
    livenessProbe: {httpGet: {port: nowhere}}
`

// All that Go programs are given is compared with a file.
func TestWhatGoProgramsAreGivenIsWrittenDown(t *testing.T) {
	var b strings.Builder
	filter := func(name, text string, c *fn.RewriteProbes) {
		nodes, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "# Filter: %s\n", name)
		out, err := kyaml.Filter{Config: c, Found: func(f findings.Finding) { fmt.Fprintf(&b, "found %+v\n", f) }}.Filter(nodes)
		fmt.Fprintf(&b, "error: %v\n", err)
		for _, n := range out {
			b.WriteString("---\n" + n.MustString())
		}
	}
	osm := &fn.RewriteProbes{Spec: fn.RewriteProbesSpec{Mesh: "osm"}}
	filter("changes", objects, nil)
	filter("another mesh", objects, osm)
	filter("errors", taken, nil)
	filter("warnings of a strict run", strings.ReplaceAll(taken, "{containerPort: 15099}, {containerPort: 15020}", ""), &fn.RewriteProbes{Spec: fn.RewriteProbesSpec{Strict: true}})
	for _, text := range []string{objects, taken} {
		rl := &sdk.ResourceList{}
		for part := range strings.SplitSeq(text, "---\n") {
			o, err := sdk.ParseKubeObject([]byte(part))
			if err != nil {
				t.Fatal(err)
			}
			rl.Items = append(rl.Items, o)
		}
		given := slices.Clone(rl.Items)
		ok, err := krm.Process(rl)
		fmt.Fprintf(&b, "# Process: %d objects\nsuccess %t, error: %v\n", len(given), ok, err)
		for i, o := range rl.Items {
			fmt.Fprintf(&b, "--- same: %t\n%s", o == given[i], o)
		}
		b.WriteString(inJSON(rl.Results) + "\n")
	}
	for _, owner := range []fn.Owner{
		{},
		{APIVersion: "v1", Kind: "Pod", Metadata: metav1.ObjectMeta{Name: "web", Namespace: "shop", Annotations: map[string]string{"a": "b"}}},
		{APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet", Namespace: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"istio-injection": "enabled"}}}, Metadata: metav1.ObjectMeta{Name: "web", Namespace: "shop"}},
		{APIVersion: "example.com/v1", Kind: "Thing", Metadata: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}},
		{APIVersion: "kubeflow.org/v1", Kind: "Notebook"},
		{APIVersion: "networking.istio.io/v1", Kind: "WorkloadGroup"},
	} {
		for _, c := range []*fn.RewriteProbes{nil, osm, {Spec: fn.RewriteProbesSpec{Select: &fn.Selector{LabelSelector: "a=b"}, ProbeProxy: fn.ProbeProxy{Image: "example.com/probe-proxy:v1"}}}} {
			pod := template()
			explained, err := fn.Explain(&pod, owner, c)
			fmt.Fprintf(&b, "# %s %s\nExplain: %v %s\n", owner.Kind, owner.Metadata.Name, err, inJSON(explained))
			mutated, err := fn.Mutate(&pod, owner, c)
			fmt.Fprintf(&b, "Mutate: %v %s\n%s\n", err, inJSON(mutated), inJSON(pod))
		}
	}
	f := findings.Finding{Reason: "opt-out", Message: "says", Kind: "Pod", Namespace: "shop", Name: "web", Severity: findings.Error}
	warning, info := f, f
	warning.Severity, info.Severity, info.Reason = findings.Warning, findings.Info, ""
	for _, all := range [][]findings.Finding{{f, warning, f}, {info, warning, warning}, {info}, nil} {
		fmt.Fprintf(&b, "RunError: %s\n", (&findings.RunError{Findings: all}).Error())
	}
	golden.Compare(t, "testdata/given.txt", []byte(b.String()))
}

func inJSON(v any) string {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// parse returns the nodes of a stream.
func parse(text string) (nodes []*yaml.RNode, err error) {
	for part := range strings.SplitSeq(text, "---\n") {
		n, err := yaml.Parse(part)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}
