package krm_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/rewrite-probes/rewrite-probes/fn/krm"
)

func object(t *testing.T, text string) *fn.KubeObject {
	t.Helper()
	o, err := fn.ParseKubeObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

const config = "apiVersion: rewrite-probes.io/v1alpha1\nkind: RewriteProbes\nmetadata: {name: config}\nspec: {probeProxy: {image: example.com/p:v1}, mesh: osm, answeredBy: probe-proxy}\n"

// TestEachResultHasWhatTheSpecificationHas: the file only if it is known, a field only with its object.
func TestEachResultHasWhatTheSpecificationHas(t *testing.T) {
	list := func() *fn.ResourceList {
		return &fn.ResourceList{FunctionConfig: object(t, config), Items: fn.KubeObjects{
			object(t, "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n"),
			object(t, "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: shop\n  annotations:\n    config.kubernetes.io/path: web.yaml\n    config.kubernetes.io/index: \"3\"\nspec:\n  template:\n    spec:\n      containers:\n      - name: web # the app\n        livenessProbe:\n          httpGet:\n            port: 80\n        readinessProbe:\n          httpGet:\n            port: http\n"),
			object(t, "apiVersion: v1\nkind: Pod\nmetadata:\n  name: dns\n  namespace: kube-system\nspec:\n  containers:\n  - name: dns\n    livenessProbe:\n      httpGet:\n        port: 80\n"),
			object(t, "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n"),
		}}
	}
	rl := list()
	before := slices.Clone(rl.Items)
	earlier := &fn.Result{Message: "said before", Severity: fn.Info}
	rl.Results = fn.Results{earlier, earlier}
	ok, err := krm.Process(rl)
	if err != nil || !ok {
		t.Fatalf("%t, %v", ok, err)
	}
	if len(rl.Items) != 4 || rl.Items[0] != before[0] || rl.Items[2] != before[2] || rl.Items[3] != before[3] {
		t.Errorf("the items are\n%s", rl.Items)
	}
	if text := rl.Items[1].String(); !strings.Contains(text, "- name: web # the app\n") || !strings.Contains(text, "port: 15901\n") {
		t.Errorf("the Deployment is\n%s", text)
	}
	got, err := json.MarshalIndent(rl.Results[2:], "", " ")
	if err != nil {
		t.Fatal(err)
	}
	const want = `[
 {
  "message": "Deployment shop/web: readiness probe of web: Not rewritten: container \"web\" has no port \"http\". Write a number, or declare \"http\" under ` + "`ports`" + `. [port-unresolved]",
  "severity": "warning",
  "resourceRef": {
   "apiVersion": "apps/v1",
   "kind": "Deployment",
   "name": "web",
   "namespace": "shop"
  },
  "field": {
   "path": "spec.template.spec.containers[0].readinessProbe.httpGet.port",
   "currentValue": "http"
  },
  "file": {
   "path": "web.yaml",
   "index": 3
  },
  "tags": {
   "reason": "port-unresolved"
  }
 },
 {
  "message": "Deployment shop/web: liveness probe of web: :15901/osm-liveness-probe, was httpGet :80/ [rewritten]",
  "severity": "info",
  "resourceRef": {
   "apiVersion": "apps/v1",
   "kind": "Deployment",
   "name": "web",
   "namespace": "shop"
  },
  "field": {
   "path": "spec.template.spec.containers[0].livenessProbe",
   "currentValue": "httpGet :80/",
   "proposedValue": ":15901/osm-liveness-probe"
  },
  "file": {
   "path": "web.yaml",
   "index": 3
  },
  "tags": {
   "reason": "rewritten"
  }
 },
 {
  "message": "Pod kube-system/dns: The mesh injects nothing into namespace \"kube-system\", so it does not capture this pod. Probes not rewritten [namespace-not-injected]",
  "severity": "info",
  "resourceRef": {
   "apiVersion": "v1",
   "kind": "Pod",
   "name": "dns",
   "namespace": "kube-system"
  },
  "tags": {
   "reason": "namespace-not-injected"
  }
 }
]`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestProcess_unusableInput(t *testing.T) {
	web := strings.Replace(web, "sidecar.istio.io/inject: \"true\"", "a: b", 1)
	for name, c := range map[string]struct{ config, item, want string }{
		"a wrong functionConfig":  {strings.Replace(config, "probe-proxy", "nobody", 1), web, "functionConfig: `spec.answeredBy`: \"nobody\" must be auto, probe-proxy, istio-proxy, envoy or app"},
		"options that do not fit": {strings.Replace(config, "probe-proxy", "istio-proxy", 1), web, "functionConfig: "},
		"another functionConfig":  {"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n", web, "functionConfig"},
	} {
		item := object(t, c.item)
		rl := &fn.ResourceList{FunctionConfig: object(t, c.config), Items: fn.KubeObjects{item}}
		ok, err := krm.Process(rl)
		if ok || err == nil || !strings.HasPrefix(err.Error(), c.want) || len(rl.Items) != 1 || rl.Items[0] != item || len(rl.Results) != 0 || item.String() != object(t, c.item).String() {
			t.Errorf("%s: %t, %v, %v", name, ok, err, rl.Results)
		}
	}
}

// A list whose objects cannot be rewritten has the errors as results, and its objects as they were.
func TestProcessSaysThatObjectsAreWrong(t *testing.T) {
	for text, success := range map[string]bool{web: true, strings.Replace(web, "image:", "ports: [{containerPort: 15099}]\n        image:", 1): false} {
		item := object(t, text)
		rl := &fn.ResourceList{Items: fn.KubeObjects{item}}
		ok, err := krm.Process(rl)
		if err != nil || ok != success || (rl.Items[0] == item) == success {
			t.Errorf("%t, %v: %v", ok, err, rl.Results)
		}
	}
}
