package pipeline_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
)

const witnessed = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, generation: 2}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: 'shop/web:1.0', livenessProbe: {httpGet: {path: /live, port: 8080}}}
status: {observedGeneration: 2, replicas: 1, updatedReplicas: 1}
---
apiVersion: v1
kind: Pod
metadata:
  name: web-7c5-x2x9q
  namespace: shop
  creationTimestamp: '2026-11-29T01:00:00Z'
  labels: {app: web, pod-template-hash: 7c5}
  annotations:
    sidecar.istio.io/status: '{"revision":"default"}'
  ownerReferences:
  - {apiVersion: apps/v1, kind: ReplicaSet, name: web-7c5, controller: true}
spec:
  containers:
  - {name: istio-proxy, image: 'istio/proxyv2:1.31.0', lifecycle: {postStart: {exec: {command: [pilot-agent, wait]}}}}
  - {name: web, image: 'shop/web:1.0', livenessProbe: {httpGet: {path: /app-health/web/livez, port: 15020}}}
status: {phase: Running}
`

// A pod shows nothing of a fact that something else decided for it, and nothing at all if it is not what the
// injector made of a pod that lives.
func TestWhatAPodShows(t *testing.T) {
	for _, x := range []struct {
		name, old, with string
		known           string // of injected, native, holds, rewrites: a letter each, "-" if it is not known
	}{
		{"the injector's work", "", "", "injected ordinary first rewritten"},
		{"nothing is rewritten", "path: /app-health/web/livez, port: 15020", "path: /live, port: 8080", "injected ordinary first unchanged"},
		{"native", "  containers:\n  - {name: istio-proxy,", "  initContainers:\n  - {name: istio-proxy, restartPolicy: Always,", "injected native - rewritten"},
		{"nobody waits", "[pilot-agent, wait]", "[sleep, '1']", "injected ordinary last rewritten"},
		{"no probe", "livenessProbe: {httpGet: {path: /app-health/web/livez, port: 15020}}", "livenessProbe: {exec: {command: [x]}}", "injected ordinary first -"},
		{"its own rewriting", "annotations:", "annotations:\n    sidecar.istio.io/rewriteAppHTTPProbers: 'true'", "injected ordinary first -"},
		{"its own native sidecar", "annotations:", "annotations:\n    sidecar.istio.io/nativeSidecar: 'false'", "injected - first rewritten"},
		{"its own configuration", "annotations:", "annotations:\n    proxy.istio.io/config: 'holdApplicationUntilProxyStarts: true'", "injected ordinary - rewritten"},
		{"other templates", "annotations:", "annotations:\n    inject.istio.io/templates: sidecar,mine", "- - - -"},
		{"our own mark", "annotations:", "annotations:\n    rewrite-probes.io/originals: '{}'", "- - - -"},
		{"our own container", "- {name: web, image: 'shop/web:1.0', livenessProbe: {httpGet: {path: /app-health/web", "- {name: p, env: [{name: ISTIO_KUBE_APP_PROBERS, value: '{}'}]}\n  - {name: web, image: 'shop/web:1.0', livenessProbe: {httpGet: {path: /app-health/web", "- - - -"},
		{"it has ended", "phase: Running", "phase: Succeeded", "- - - -"},
		{"it ends", "creationTimestamp:", "deletionTimestamp: '2026-11-29T01:00:00Z'\n  creationTimestamp:", "- - - -"},
		{"it never ran", "  creationTimestamp: '2026-11-29T01:00:00Z'\n", "", "- - - -"},
		{"no sidecar", "istio-proxy", "other", "- - - -"},
		{"not injected", "sidecar.istio.io/status", "x", "- - - -"},
		{"it asks for itself, and is of another template", "labels: {app: web, pod-template-hash: 7c5}", "labels: {sidecar.istio.io/inject: 'true'}", "- ordinary first rewritten"},
		{"of another namespace", "name: web-7c5-x2x9q\n  namespace: shop", "name: web-7c5-x2x9q\n  namespace: pay", "- ordinary first rewritten"},
		{"a rollout goes on", "replicas: 1, updatedReplicas: 1", "replicas: 2, updatedReplicas: 1", "injected ordinary first rewritten"},
	} {
		t.Run(x.name, func(t *testing.T) {
			text := witnessed
			if x.old != "" {
				if !strings.Contains(text, x.old) {
					t.Fatalf("%q is not in the manifest", x.old)
				}
				text = strings.Replace(text, x.old, x.with, 1)
			}
			known := knownOf(t, text)
			if got := factsIn(known); got != x.known {
				t.Errorf("%s instead of %s: %s", got, x.known, known)
			}
		})
	}
}

// A workload whose template was injected before makes no witnesses.
func TestATemplateInjectedBeforeShowsNothing(t *testing.T) {
	other := strings.NewReplacer("name: web,", "name: other,").Replace(witnessed[:strings.Index(witnessed, "---")])
	injected := strings.Replace(witnessed, "labels: {app: web}}\n    spec", "labels: {app: web}, annotations: {sidecar.istio.io/status: '{}'}}\n    spec", 1)
	for text, want := range map[string]string{
		witnessed: "injected ordinary first rewritten",
		injected:  "- - - -",
	} {
		if got := factsIn(knownOf(t, other+"---\n"+text)); got != want {
			t.Errorf("%s instead of %s", got, want)
		}
	}
}

// knownOf returns what is known of the mesh around the first pod template.
func knownOf(t *testing.T, text string) string {
	t.Helper()
	s, err := manifest.Read("all.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Spec.Istio.InjectedNamespaces = nil
	r := pipeline.Run([]*manifest.Stream{s}, c, pipeline.Inspect)
	known := r.Templates[0].Known
	if !strings.Contains(known, "injected: ") { // then no other fact is shown
		named := strings.Replace(text, "labels: {app: web}}", "labels: {app: web, sidecar.istio.io/inject: 'true'}}", 1)
		if named == text {
			return known
		}
		return strings.ReplaceAll(knownOf(t, named), "injected: the label", "asked: the label")
	}
	return known
}

func factsIn(known string) string {
	is := func(yes, no, mark, noMark string) string {
		switch {
		case no != "" && strings.Contains(known, no):
			return noMark
		case strings.Contains(known, yes):
			return mark
		}
		return "-"
	}
	return strings.Join([]string{
		is("injected: Pod ", "", "injected", ""),
		is("native sidecar: Pod ", "not a native sidecar: Pod ", "native", "ordinary"),
		is("starts first: Pod ", "does not start first: Pod ", "first", "last"),
		is("rewrites probes: Pod ", "rewrites no probes: Pod ", "rewritten", "unchanged"),
	}, " ")
}
