package patches

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/patches"
)

// The sizes of the runs that the page has: of every run, and of one before a release.
const (
	fewTrees, fewOfEach   = 40, 2
	manyTrees, manyOfEach = 2000, 10
)

var trees = flag.Int("trees", fewTrees, "how many random trees are built")

// drawn draws the parts of a repository.
type drawn struct{ *rand.Rand }

func draw(seed uint64) drawn { return drawn{rand.New(rand.NewPCG(seed, 46))} }

// one reports true once in n times.
func (d drawn) one(n int) bool { return d.IntN(n) == 0 }

func (d drawn) pick(from ...string) string { return from[d.IntN(len(from))] }

func (d drawn) handler() object {
	switch d.IntN(5) {
	case 0:
		return object{"tcpSocket": object{"port": 8080}}
	case 1:
		return object{"grpc": object{"port": 9000}}
	case 2:
		return object{"exec": object{"command": []any{"true"}}}
	}
	get := object{"port": d.pick("http", "admin"), "path": d.pick("/", "/ready?a=1&b=ü", "/a$b", "/live")}
	if d.one(3) {
		get["port"] = 8080
	}
	if d.one(4) {
		get["scheme"] = "HTTPS"
	}
	if d.one(4) {
		get["httpHeaders"] = []any{object{"name": "X-From", "value": "kubelet"}}
	}
	return object{"httpGet": get}
}

func (d drawn) container(name string) object {
	c := object{
		"name": name, "image": "shop/" + name + ":1",
		"ports": []any{object{"name": "http", "containerPort": 8080}, object{"name": "admin", "containerPort": 9000}},
	}
	for _, key := range []string{"readinessProbe", "livenessProbe", "startupProbe"} {
		if d.one(2) {
			probe := d.handler()
			probe["periodSeconds"] = 5
			c[key] = probe
		}
	}
	if d.one(4) {
		c["lifecycle"] = object{"preStop": object{"httpGet": object{"path": "/stop", "port": 8080}}}
	}
	switch d.IntN(4) {
	case 0:
		c["resources"] = object{"requests": object{"cpu": "100m", "memory": "64Mi"}}
	case 1:
		c["resources"] = object{"limits": object{"cpu": "1", "memory": "1Gi"}}
	}
	return c
}

// template draws a pod template.
func (d drawn) template() object {
	spec := object{"containers": []any{d.container("web")}}
	if d.one(2) {
		spec["containers"] = []any{d.container("web"), d.container("side")}
	}
	if d.one(3) {
		spec["initContainers"] = []any{object{"name": "setup", "image": "setup:1"}}
	}
	if d.one(6) {
		spec["hostNetwork"] = true
	}
	metadata := object{"labels": object{"app": "web"}}
	if d.one(2) {
		metadata["annotations"] = object{"example.com/a~b": "on", "note": d.pick("1", "x")}
	}
	if d.one(8) {
		metadata["annotations"] = object{"rewrite-probes.io/rewrite": "false"}
	}
	return object{"metadata": metadata, "spec": spec}
}

// workload draws an object that makes pods.
func (d drawn) workload(name, namespace string) object {
	t := d.template()
	o := object{"apiVersion": "apps/v1", "kind": d.pick("Deployment", "StatefulSet", "DaemonSet"), "metadata": object{"name": name}, "spec": object{"template": t}}
	switch d.IntN(6) {
	case 0:
		o = object{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": object{"name": name}, "spec": object{"jobTemplate": object{"spec": object{"template": t}}}}
	case 1:
		o = object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": name, "labels": object{"app": "web"}}, "spec": t["spec"]}
	case 2:
		o["apiVersion"], o["kind"] = "argoproj.io/v1alpha1", "Rollout"
	}
	if namespace != "" {
		o["metadata"].(object)["namespace"] = namespace
	}
	if d.one(3) {
		o["metadata"].(object)["annotations"] = object{"example.com/owner": "a/b"}
	}
	return o
}

func text(v any) string {
	b, err := yaml.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// tree draws a base and an overlay.
func (d drawn) tree() tree {
	files := make(tree)
	var resources []any
	for i := range 1 + d.IntN(3) {
		name := d.pick("web", "web.v1", "db", "a-b.c") + fmt.Sprint(i)
		file := name + ".yaml"
		files["base/"+file] = text(d.workload(name, d.pick("", "", "shop", "other")))
		if d.one(6) {
			list := object{"apiVersion": "v1", "kind": "List", "items": []any{d.workload(name, "shop"), d.workload(name, "other")}}
			files["base/"+file] = text(list)
		}
		resources = append(resources, file)
	}
	if d.one(2) {
		labels := object{"team": "a"}
		if d.one(2) {
			labels["istio-injection"] = d.pick("enabled", "disabled")
		}
		files["base/ns.yaml"] = text(object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": "shop", "labels": labels}})
		resources = append(resources, "ns.yaml")
	}
	files["base/kustomization.yaml"] = text(object{"resources": resources})
	overlay := object{"resources": []any{"../base"}}
	if d.one(3) {
		overlay["namePrefix"] = "prod-"
	}
	if d.one(4) {
		overlay["namespace"] = "prod"
	}
	if d.one(3) {
		overlay["configMapGenerator"] = []any{object{"name": "settings", "literals": []any{"a=b"}}}
	}
	if d.one(3) {
		overlay["labels"] = []any{object{"pairs": object{"env": "prod"}, "includeTemplates": true}}
	}
	if d.one(3) {
		overlay["commonAnnotations"] = object{"example.com/env": "prod"}
	}
	files["overlay/kustomization.yaml"] = text(overlay)
	return files
}

// results are what the page has.
var results = make(map[string]int)

func TestAWrappedTreeIsWhatTheFunctionWrites(t *testing.T) {
	for seed := range uint64(*trees) {
		files := draw(seed).tree()
		render, err := build(files, "overlay")
		if err != nil {
			results["trees that kustomize refuses itself"]++
			continue
		}
		want, err := rewritten(render)
		if err != nil {
			results["trees of which the function refuses an object"]++
			continue
		}
		set, err := patchesFor(render)
		if err != nil {
			t.Fatalf("tree %d: %v", seed, err)
		}
		files["probes/kustomization.yaml"] = string(set.Text(patches.Kustomization, "../overlay"))
		got, err := build(files, "probes")
		if err != nil || !same(t, got, want) {
			t.Errorf("tree %d: %v\n%s", seed, err, show(files))
			results["wrapped trees that differ"]++
			continue
		}
		results["wrapped trees that are equal"]++
		files["probes/kustomization.yaml"] = string(boldly(set).Text(patches.Kustomization, "../overlay"))
		if bold, err := build(files, "probes"); err != nil || !bytes.Equal(got, bold) {
			t.Errorf("tree %d: %v: the tests change what is built\n%s\nwithout them\n%s", seed, err, got, bold)
		}
		componentOf(t, seed, files)
	}
}

// componentOf builds the same tree with the patches in the overlay's own file, made of what its
// resources yield.
func componentOf(t *testing.T, seed uint64, files tree) {
	render, err := build(files, "base")
	if err != nil {
		return
	}
	set, err := patchesFor(render)
	if err != nil {
		t.Fatal(err)
	}
	want, err := rewritten(render)
	if err != nil {
		return
	}
	files = maps.Clone(files)
	files["component/kustomization.yaml"] = string(set.Text(patches.Component, ""))
	files["with/kustomization.yaml"] = "resources: [../base]\ncomponents: [../component]\n"
	got, err := build(files, "with")
	if err != nil || !same(t, got, want) {
		t.Errorf("tree %d as a Component: %v\n%s", seed, err, show(files))
		return
	}
	results["Components that are equal"]++
}

func show(files tree) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "-- %s --\n%s", name, files[name])
	}
	return b.String()
}
