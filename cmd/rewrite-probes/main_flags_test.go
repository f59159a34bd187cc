package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// flagWorld are the files for which each flag makes a difference.
var flagWorld = map[string]string{
	"mixed/values.yaml": "a: 1\n",
	"mixed/x.yaml":      "apiVersion: v1\nkind Pod\nspec: {containers: []}\n",
	"mixed/good.yaml": `apiVersion: networking.istio.io/v1
kind: WorkloadGroup
metadata: {name: reviews, namespace: vm}
spec:
  template: {}
  probe: {httpGet: {port: 8080}}
---
apiVersion: v1
kind: Pod
metadata: {name: bookstore}
spec:
  containers:
  - {name: web, image: nginx, livenessProbe: {httpGet: {port: 80}}}
`,
	"a/web.yaml": soundWorld["web.yaml"],
	"a/more.yaml": `apiVersion: v1
kind: Pod
metadata: {name: typo}
spec:
  containers:
  - name: web
    image: nginx
    livenessProbe: {httpGet: {port: htpp}}
---
apiVersion: v1
kind: Pod
metadata: {name: host}
spec:
  hostNetwork: true
  containers:
  - {name: web, image: nginx, livenessProbe: {httpGet: {port: 80}}}
`,
	// A container of ours with another image, and without the hook that shows it: its image does.
	"a/own.yaml": `apiVersion: v1
kind: Pod
metadata: {name: own}
spec:
  initContainers:
  - name: helper
    image: example.com/own:v7
    restartPolicy: Always
    env:
    - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    - name: ISTIO_KUBE_APP_PROBERS
      value: '{"/app-health/web/livez":{"httpGet":{"path":"/","port":80,"scheme":"HTTP"},"timeoutSeconds":1}}'
  containers:
  - {name: web, image: nginx, livenessProbe: {httpGet: {path: /app-health/web/livez, port: 15099}}}
`,
	"web/web.yaml":           soundWorld["web.yaml"],
	"web/kustomization.yaml": "resources: [web.yaml]\n",
	"a/lost.yaml": `apiVersion: v1
kind: Pod
metadata: {name: lost}
spec:
  containers:
  - {name: web, image: nginx, livenessProbe: {httpGet: {path: /app-health/web/livez, port: 15099}}, readinessProbe: {httpGet: {port: 80}}}
`,
	"osm/bookstore.yaml": `apiVersion: v1
kind: Pod
metadata: {name: bookstore}
spec:
  containers:
  - {name: web, image: nginx, livenessProbe: {httpGet: {port: 80}}, readinessProbe: {tcpSocket: {port: 80}}}
`,
	"osm/rewrite-probes.yaml":    "apiVersion: rewrite-probes.io/v1alpha1\nkind: RewriteProbes\nspec: {mesh: osm, answeredBy: envoy}\n",
	"broken/a.yaml":              "apiVersion: v1\nkind Pod\nspec: {containers: []}\n",
	"broken/b.yaml":              "apiVersion: v1\nkind Pod\nspec: {containers: []}\n",
	"broken/c.yaml":              "apiVersion: v1\nkind Pod\nspec: {containers: []}\n",
	"broken/d.yaml":              "apiVersion: v1\nkind Pod\nspec: {containers: []}\n",
	"broken/e.yaml":              "apiVersion: v1\nkind Pod\nspec: {containers: []}\n",
	"patched/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../web]\n",
	"empty.yaml":                 "# only a comment\n",
	"chart/Chart.yaml":           "apiVersion: v2\nname: web\nversion: 1.0.0\n",
	"groups.yaml": `apiVersion: networking.istio.io/v1
kind: WorkloadGroup
metadata: {name: reviews, namespace: vm}
spec:
  template: {}
  probe: {httpGet: {port: 8080, scheme: HTTPS}}
---
apiVersion: networking.istio.io/v1
kind: WorkloadGroup
metadata: {name: ratings, namespace: vm}
spec:
  template: {}
  probe: {httpGet: {port: 9090}}
`,
	"none.yaml":           "apiVersion: rewrite-probes.io/v1alpha1\nkind: RewriteProbes\nspec: {mesh: none}\n",
	"rewrite-probes.yaml": soundWorld["rewrite-probes.yaml"],
}

// flagCases have, for a flag of a command, a command line and what the flag is there. A flag of several commands
// stands under "".
var flagCases = map[string]map[string][2]string{
	"": {
		"allow-empty": {"empty.yaml", ""},
		"answered-by": {"a", "app"},
		"color":       {"a", "always"},
		"config":      {"a", "none.yaml"},
		"diff":        {"web/web.yaml", ""},
		"exit-code":   {"-l web/web.yaml", ""},
		"ignore":      {"a", "more.yaml"},
		"image":       {"a/own.yaml", "example.com/other:v8"},
		"list":        {"web/web.yaml", ""},
		"mesh":        {"web/web.yaml", "linkerd"},
		"output":      {"a", "json"},
		"port":        {"web/web.yaml", "8080"},
		"strict":      {"a/more.yaml", ""},
		"verbose":     {"a/more.yaml", ""},
		"version":     {"web/web.yaml", ""},
		"write":       {"web/web.yaml", ""},
	},
	"restore": {
		"color":     {"-d a/own.yaml", "always"},
		"diff":      {"a/own.yaml", ""},
		"exit-code": {"-l a/own.yaml", ""},
		"image":     {"a/own.yaml", "example.com/own:v8"},
		"list":      {"a/own.yaml", ""},
		"port":      {"osm", "15901"},
		"strict":    {"a/lost.yaml", ""},
		"verbose":   {"mixed", ""},
		"write":     {"web/web.yaml", ""},
	},
	"patches": {
		"diff":      {"--into web/kustomization.yaml web", ""},
		"exit-code": {"-l --into patched/kustomization.yaml web", ""},
		"into":      {"--resource ../web web", "patched/kustomization.yaml"},
		"list":      {"--into patched/kustomization.yaml web", ""},
		"output":    {"a", "component"},
		"repo":      {"", "."},
		"resource":  {"a", "../a"},
	},
	"envoy": {
		"color":    {"osm", "always"},
		"ignore":   {"--config osm/rewrite-probes.yaml mixed", "x.yaml"},
		"strict":   {"osm", ""},
		"verbose":  {"--config osm/rewrite-probes.yaml mixed", ""},
		"workload": {"osm", "other"},
	},
	"check": {
		"image": {"a/own.yaml", "example.com/own:v8"},
	},
	"explain": {
		"image": {"-o html web/web.yaml", "example.com/own:v8"},
	},
	"vm": {
		"color":   {"--group reviews broken", "always"},
		"config":  {"--group reviews groups.yaml", "absent.yaml"},
		"group":   {"groups.yaml", "reviews"},
		"ignore":  {"--group vm/reviews mixed", "x.yaml"},
		"verbose": {"--group vm/reviews mixed", ""},
	},
	"policy": {
		"action": {"", "deny"},
		"config": {"", "none.yaml"},
		"engine": {"", "kyverno"},
		"mesh":   {"", "linkerd"},
		"name":   {"", "other"},
	},
}

// flagsOfOthers are passed to kubectl and Helm: the scripts cluster.txtar, why.txtar, learn.txtar and render.txtar have them.
var flagsOfOthers = []string{"api-versions", "chart", "kube-version", "as", "cluster", "context", "kubeconfig", "namespace", "request-timeout", "from"}

// TestEveryFlagMakesADifference runs each command with and without each flag that it takes. A flag that a command takes
// and that changes nothing would mislead.
func TestEveryFlagMakesADifference(t *testing.T) {
	tried := 0
	for _, cmd := range commands() {
		path := strings.TrimPrefix(cmd.CommandPath(), "rewrite-probes")
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" || slices.Contains(flagsOfOthers, f.Name) {
				return
			}
			tried++
			t.Run(strings.TrimSpace(path+" --"+f.Name), func(t *testing.T) {
				c, own := flagCases[strings.TrimSpace(path)][f.Name]
				if !own {
					c = flagCases[""][f.Name]
				}
				flag := " --" + f.Name
				if c[1] != "" {
					flag += "=" + c[1]
				}
				without, with := outcome(t, path+" "+c[0]), outcome(t, path+flag+" "+c[0])
				if without == with {
					t.Errorf("%s: the same with and without%s:\n%s", path+" "+c[0], flag, head(with))
				}
			})
		})
	}
	if tried < 60 {
		t.Errorf("only %d flags were tried", tried)
	}
}

// outcome returns what a command line prints in a fresh world, its exit code, and the file that it may write.
func outcome(t *testing.T, command string) string {
	t.Chdir(t.TempDir())
	for name, text := range flagWorld {
		writeInto(t, name, text)
	}
	said, code := answer(command)
	file, _ := os.ReadFile("web/web.yaml")
	return said + string(rune('0'+code)) + string(file)
}
