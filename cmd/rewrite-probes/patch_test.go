package main

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
)

// What a patch changes decides how it is named, whatever form its author gave it.
func TestWhatAPatchConcerns(t *testing.T) {
	const merge = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{name: a, WHAT}]}}}\n"
	const label = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {WHAT}}\n"
	for _, test := range []struct {
		kind, text, want string
	}{
		{"", strings.Replace(merge, "WHAT", "livenessProbe: {httpGet: {port: 80}}", 1), patchesProbes},
		{"", strings.Replace(merge, "WHAT", "readinessProbe: {tcpSocket: {port: 80}}", 1), patchesProbes},
		{"", strings.Replace(merge, "WHAT", "startupProbe: {grpc: {port: 80}}", 1), patchesProbes},
		{"", strings.Replace(merge, "WHAT", "lifecycle: {preStop: {httpGet: {port: 80}}}", 1), patchesProbes},
		{"Deployment", strings.Replace(merge, "WHAT", "livenessProbe: {httpGet: {port: 80}}", 1), patchesProbes},
		{"CustomResourceDefinition", strings.Replace(merge, "WHAT", "livenessProbe: {httpGet: {port: 80}}", 1), ""},
		{"HelmRelease", strings.Replace(merge, "WHAT", "livenessProbe: {httpGet: {port: 80}}", 1), ""},
		{"", strings.Replace(strings.Replace(merge, "WHAT", "livenessProbe: {httpGet: {port: 80}}", 1), "Deployment", "CustomResourceDefinition", 1), ""},
		{"", strings.Replace(merge, "WHAT", "livenessProbe: {exec: {command: [a]}}", 1), ""},
		{"", strings.Replace(merge, "WHAT", "image: a", 1), ""},

		{"", strings.Replace(label, "WHAT", "istio-injection: enabled", 1), patchesInjection},
		{"", strings.Replace(label, "WHAT", "istio.io/rev: stable", 1), patchesInjection},
		{"", strings.Replace(label, "WHAT", "istio.io/revision: stable", 1), ""},
		{"", strings.Replace(label, "WHAT", "other: enabled", 1), ""},
		{"", strings.Replace(label, "WHAT", "istio-injection: enabled", 1) + "---\n" + strings.Replace(merge, "WHAT", "livenessProbe: {httpGet: {port: 80}}", 1), patchesProbes},
		{"", strings.Replace(merge, "WHAT", "livenessProbe: {httpGet: {port: 80}}", 1) + "---\n" + strings.Replace(label, "WHAT", "istio-injection: enabled", 1), patchesProbes},

		{"", "- {op: add, path: /spec/template/spec/containers/0/livenessProbe, value: {httpGet: {port: 80}}}", patchesProbes},
		{"", `[{"op": "add", "path": "/spec/template/spec/containers/0/livenessProbe", "value": {"httpGet": {"port": 80}}}]`, patchesProbes},
		{"", "- {op: remove, path: /spec/template/spec/initContainers}", patchesRewriting},
		{"", "- op: remove\n  path: /spec/template/spec/initContainers\n", patchesRewriting},
		{"", "- op: remove\n  path: /spec/template/spec/initContainers", patchesRewriting},
		{"", `[{"op":"remove","path":"/spec/template/spec/initContainers/0"}]`, patchesRewriting},
		{"", "- {op: replace, path: '/spec/template/spec/initContainers/12/image', value: a}", patchesRewriting},
		{"", "- {op: add, path: /spec/template/spec/initContainers/-, value: {name: a}}", ""},
		{"", "- {op: replace, path: /spec/template/spec/initContainersToo, value: a}", ""},
		{"", "- {op: replace, path: /spec/template/metadata/annotations, value: {}}", patchesRewriting},
		{"", "- {op: add, path: /spec/jobTemplate/spec/template/metadata/annotations, value: {}}", patchesRewriting},
		{"", "- {op: add, path: /spec/template/metadata/annotations/a, value: b}", ""},
		{"", "- {op: add, path: /metadata/annotations, value: {}}", ""},
		{"", "- {op: add, path: /metadata/labels/istio-injection, value: enabled}", patchesInjection},
		{"", "- {op: add, path: /metadata/labels/istio.io~1rev, value: stable}", patchesInjection},
		{"", "- {op: add, path: /metadata/labels/istio.io~1review, value: stable}", ""},
		{"CustomResourceDefinition", "- {op: remove, path: /spec/template/spec/initContainers}", ""},
		{"Namespace", "- {op: add, path: /metadata/labels/istio-injection, value: enabled}", patchesInjection},
		{"", "- {op: remove, path: /spec/template/spec/initContainers}\n- {op: add, path: /spec/template/spec/containers/0/livenessProbe, value: {httpGet: {port: 80}}}", patchesProbes},
		{"", "- {op: remove, path: /spec/template/spec/initContainers}\n- {op: add, path: /metadata/labels/istio-injection, value: enabled}", patchesRewriting},

		// What cannot be read is judged by its words.
		{"", "{{ a }}\nlivenessProbe: {httpGet: {port: 80}}\n: [", patchesProbes},
		{"", "{{ a }}\n- {op: remove, path: /spec/template/spec/initContainers}\n: [", patchesRewriting},
		{"", "{{ a }}\nistio-injection: enabled\n: [", patchesInjection},
		{"", "{{ a }}\nreplicas: 1\n: [", ""},
		{"", "", ""},
	} {
		if got := (patchText{test.text, test.kind}).concern(); got != test.want {
			t.Errorf("of kind %q, %q, want %q, has\n%s", test.kind, got, test.want, test.text)
		}
	}
	probe := patchText{text: "- {op: add, path: /spec/template/spec/containers/0/livenessProbe, value: {httpGet: {port: 80}}}"}
	rewriting := patchText{text: "- {op: remove, path: /spec/template/spec/initContainers}"}
	injection := patchText{text: "- {op: add, path: /metadata/labels/istio-injection, value: enabled}"}
	nothing := patchText{text: "- {op: add, path: /spec/replicas, value: 1}"}
	for _, test := range []struct {
		patches []patchText
		want    string
	}{
		{nil, ""}, {[]patchText{nothing}, ""}, {[]patchText{nothing, injection}, patchesInjection}, {[]patchText{injection, rewriting, nothing}, patchesRewriting},
		{[]patchText{injection, rewriting, probe}, patchesProbes}, {[]patchText{probe, injection}, patchesProbes}, {[]patchText{rewriting, injection}, patchesRewriting},
	} {
		if got := concernOfAny(test.patches); got != test.want {
			t.Errorf("%+v: %q, want %q", test.patches, got, test.want)
		}
	}
}

// Each label and annotation by which a mesh injects shows that a patch is about injection, in YAML and in a JSON pointer.
func TestAKeyOfEachMeshIsAboutInjection(t *testing.T) {
	keys := config.InjectionKeys()
	if len(keys) < 8 {
		t.Errorf("only %q", keys)
	}
	for _, key := range append(keys, "sidecar.opentelemetry.io/inject") {
		for _, text := range []string{key + ": x", "path: /metadata/labels/" + strings.ReplaceAll(key, "/", "~1")} {
			if !injection().MatchString(text) {
				t.Errorf("%q is not about injection", text)
			}
		}
	}
	for _, text := range []string{"app: web", "istioXio/rev: a", "vault.hashicorp.com/agent-inject: a"} {
		if injection().MatchString(text) {
			t.Errorf("%q is about injection", text)
		}
	}
}
