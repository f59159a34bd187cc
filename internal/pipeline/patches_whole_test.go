package pipeline_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

// A drawing changes an object at any place, without knowing what a plan reads.
type drawing struct {
	*rand.Rand
	values map[string][]field.Value // of every key in any base
}

// gather notes the values of all keys below a value.
func (d *drawing) gather(v field.Value) {
	switch v := v.(type) {
	case field.Map:
		for _, e := range v {
			d.values[e.Key] = append(d.values[e.Key], e.Value)
			d.gather(e.Value)
		}
	case field.List:
		for _, item := range v {
			d.gather(item)
		}
	}
}

// places counts the mappings and lists below a value, itself included.
func places(v field.Value) int {
	n := 0
	switch v := v.(type) {
	case field.Map:
		n = 1
		for _, e := range v {
			n += places(e.Value)
		}
	case field.List:
		n = 1
		for _, item := range v {
			n += places(item)
		}
	}
	return n
}

// at returns a value with one of its places changed: that of an index. what says how.
func (d *drawing) at(v field.Value, index *int, path field.Path) (changed field.Value, what string) {
	switch v := v.(type) {
	case field.Map:
		if *index--; *index < 0 {
			return d.mapping(v, path)
		}
		for i, e := range v {
			if changed, what := d.at(e.Value, index, path.Key(e.Key)); what != "" {
				v = slices.Clone(v)
				v[i].Value = changed
				return v, what
			}
		}
	case field.List:
		if *index--; *index < 0 {
			return d.list(v, path)
		}
		for i, item := range v {
			if changed, what := d.at(item, index, path.Index(i)); what != "" {
				v = slices.Clone(v)
				v[i] = changed
				return v, what
			}
		}
	}
	return v, ""
}

func pick[T any](d *drawing, all []T) T { return all[d.IntN(len(all))] }

// other returns a value that differs from v.
func (d *drawing) other(key string, v field.Value) field.Value {
	switch v := v.(type) {
	case int:
		return pick(d, []field.Value{0, 1, v + 1, 8080, 15020, 15021, 15099, 15904})
	case bool:
		return !v
	case string:
		return pick(d, append(d.switches(), pick(d, d.values[key])))
	}
	return pick(d, d.values[key])
}

// switches are values that labels and annotations have.
func (d *drawing) switches() []field.Value {
	var all []field.Value
	for _, s := range []string{"true", "false", "enabled", "disabled", "ingress", "none", "ambient", "front", "web", "x", "", "0", "15020", "15099", "8080", "sidecar", "grpc-agent", "NONE", "TPROXY", "{statusPort: 15030}"} {
		all = append(all, s)
	}
	return all
}

// mapping adds, removes or changes a key. Of labels and annotations it takes any that is known.
func (d *drawing) mapping(m field.Map, path field.Path) (changed field.Value, what string) {
	last := ""
	if n := len(path); n > 0 {
		last = path[n-1].Key
	}
	values := last == "labels" || last == "annotations" || last == "matchLabels" || last == "selector"
	switch n := d.IntN(6); {
	case n == 0 && len(m) > 0:
		i := d.IntN(len(m))
		return slices.Delete(slices.Clone(m), i, i+1), path.Key(m[i].Key).String() + " goes"
	case n < 3 && len(m) > 0:
		i := d.IntN(len(m))
		m = slices.Clone(m)
		m[i].Value = d.other(m[i].Key, m[i].Value)
		return m, fmt.Sprintf("%s becomes %v", path.Key(m[i].Key), m[i].Value)
	}
	e := field.Entry{Key: pick(d, knownKeys), Value: pick(d, d.switches())}
	if !values {
		e.Key = pick(d, slices.Sorted(maps.Keys(d.values)))
		e.Value = pick(d, d.values[e.Key])
		if e.Key == "labels" || e.Key == "annotations" || last == "metadata" {
			e = field.Entry{Key: pick(d, []string{"labels", "annotations"}), Value: field.Map{{Key: pick(d, knownKeys), Value: pick(d, d.switches())}}}
		}
	}
	return field.Merge(m, field.Map{e}), fmt.Sprintf("%s becomes %v", path.Key(e.Key), e.Value)
}

// list adds, removes or moves an item.
func (d *drawing) list(l field.List, path field.Path) (changed field.Value, what string) {
	l = slices.Clone(l)
	last := path[len(path)-1].Key
	switch n := d.IntN(3); {
	case n == 0 && len(l) > 0:
		i := d.IntN(len(l))
		return slices.Delete(l, i, i+1), path.Index(i).String() + " goes"
	case n == 1 && len(l) > 1:
		i, j := d.IntN(len(l)), d.IntN(len(l))
		l[i], l[j] = l[j], l[i]
		return l, fmt.Sprintf("%s: %d and %d change places", path, i, j)
	}
	var items []field.Value
	for _, v := range d.values[last] {
		if more, isList := v.(field.List); isList {
			items = append(items, more...)
		}
	}
	if len(items) == 0 {
		items = l
	}
	if len(items) == 0 {
		return l, ""
	}
	return slices.Insert(l, d.IntN(len(l)+1), pick(d, items)), path.String() + " has one more"
}

// selecting has objects of OpenKruise's and Istio's that select pods by labels, and pods that they do not select.
const selecting = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
---
apiVersion: apps.kruise.io/v1alpha1
kind: SidecarSet
metadata: {name: mesh}
spec:
  selector: {matchLabels: {tier: front}}
  containers: [{name: istio-proxy, image: istio/proxyv2}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  template:
    metadata: {labels: {app: web, tier: back}, annotations: {note: x}}
    spec:
      containers:
      - {name: web, image: i, ports: [{containerPort: 8080}], readinessProbe: {httpGet: {path: /, port: 8080}}, livenessProbe: {grpc: {port: 8080}}}
`

// A base that changes at any place either fails to build with old patches, or gives what the function gives. What changes is
// drawn from the whole of every object, and from keys that the planner has no part in.
func TestABaseThatChangesAnywhere(t *testing.T) {
	t.Parallel()
	const parts = "podTemplates: [{group: example.com, kind: Fleet, path: 'spec.parts[].pod'}], exclude: {labelSelector: probes=mine}"
	for n, x := range []struct{ name, base, spec string }{
		{"bases", bases, ""}, {"rare", rare, parts}, {"selecting", selecting, ""},
		{"selecting with probe-proxy", selecting, "answeredBy: probe-proxy"}, {"Kuma", bases, "mesh: kuma"},
		{"Consul", bases, "mesh: consul"}, {"Linkerd", bases, "mesh: linkerd"}, {"Open Service Mesh", bases, "mesh: osm"},
		{"the injected", rare, parts + ", istio: {injectedNamespaces: ['*']}"},
		{"the app", strings.ReplaceAll(bases, "127.0.0.1:8080", "0.0.0.0:8080"), "answeredBy: app"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			changeAnywhere(t, x.base, configOf(t, x.spec), uint64(n))
		})
	}
}

// Every known label and annotation is once on every object and every pod of a base.
func TestAKnownKeyThatIsAdded(t *testing.T) {
	c := configOf(t, "")
	set := patchesFor(t, []byte(selecting), c)
	objects := objectsOf(t, selecting)
	for i, o := range objects {
		for _, at := range []field.Path{field.NewPath("metadata"), field.NewPath("spec", "template", "metadata")} {
			v, steps := field.At(o, at)
			metadata, _ := v.(field.Map)
			if steps < len(at) {
				continue
			}
			for _, kind := range []string{"labels", "annotations"} {
				for _, key := range knownKeys {
					for _, value := range []string{"true", "false", "enabled", "front", "15099"} {
						entries := field.Merge(field.As[field.Map](metadata, kind), field.Map{{Key: key, Value: value}})
						changed := slices.Clone(objects)
						changed[i] = replaced(o, at, field.Merge(metadata, field.Map{{Key: kind, Value: entries}}))
						if judge(t, set, changed, c) == "wrong" {
							t.Errorf("object %d: %s: with %q the patches give something else than the function", i, at.Key(kind, key), value)
						}
					}
				}
			}
		}
	}
}

// replaced returns an object with another value at a path.
func replaced(v field.Value, path field.Path, value field.Value) field.Value {
	if len(path) == 0 {
		return value
	}
	m, _ := v.(field.Map)
	inner, _ := m.Get(path[0].Key)
	return field.Merge(m, field.Map{{Key: path[0].Key, Value: replaced(inner, path[1:], value)}})
}

func objectsOf(t *testing.T, base string) (objects []field.Value) {
	s, err := manifest.Read("in.yaml", []byte(base))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range s.Objects() {
		objects = append(objects, decode(t, o))
	}
	return objects
}

// isAccepted reports whether the API server would accept all metadata and pods of an object: no field is unknown, each has
// a value of its type, and what it demands of names, containers and ports is there.
func isAccepted(v field.Value) bool {
	switch v := v.(type) {
	case field.Map:
		var spec corev1.PodSpec
		if _, isSpec := v.Get("containers"); isSpec && (!fits(v, &spec) || !isPodSpec(&spec)) {
			return false
		}
		var meta metav1.ObjectMeta
		m, isObject := v.Get("metadata")
		if isObject && (!fits(m, &meta) || len(validation.IsDNS1123Subdomain(cmp.Or(meta.Name, "x"))) > 0) {
			return false
		}
		if at := containersOf[field.As[string](v, "kind")]; isObject && at != "" {
			if list, _ := field.At(v, field.NewPath(strings.Split(at, "/")...)); list == nil {
				return false
			}
		}
		return !slices.ContainsFunc(v, func(e field.Entry) bool { return !isAccepted(e.Value) })
	case field.List:
		return !slices.ContainsFunc(v, func(item field.Value) bool { return !isAccepted(item) })
	}
	return true
}

// containersOf has where kinds of Kubernetes must have containers.
var containersOf = map[string]string{
	"Pod": "spec/containers", "CronJob": "spec/jobTemplate/spec/template/spec/containers", "Job": "spec/template/spec/containers",
	"Deployment": "spec/template/spec/containers", "StatefulSet": "spec/template/spec/containers",
	"DaemonSet": "spec/template/spec/containers", "ReplicaSet": "spec/template/spec/containers",
}

// isPodSpec reports whether a pod has containers, each with a name and valid ports.
func isPodSpec(spec *corev1.PodSpec) bool {
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		names := make(map[string]bool)
		for _, p := range c.Ports {
			if p.ContainerPort < 1 || p.ContainerPort > 65535 || p.Name != "" && names[p.Name] || !slices.Contains([]corev1.Protocol{"", "TCP", "UDP", "SCTP"}, p.Protocol) {
				return false
			}
			names[p.Name] = true
		}
		if len(validation.IsDNS1123Label(c.Name)) > 0 {
			return false
		}
	}
	return len(spec.Containers) > 0
}

func fits(v field.Value, into any) bool {
	d := json.NewDecoder(bytes.NewReader(field.AppendJSON(nil, v)))
	d.DisallowUnknownFields()
	return d.Decode(into) == nil
}

func changeAnywhere(t *testing.T, base string, c *config.RewriteProbes, seed uint64) {
	set := patchesFor(t, []byte(base), c)
	d := &drawing{Rand: rand.New(rand.NewPCG(seed, 1)), values: make(map[string][]field.Value)}
	for _, v := range objectsOf(t, strings.Join([]string{bases, rare, selecting}, "---\n")) {
		d.gather(v)
	}
	for _, key := range slices.Sorted(maps.Keys(grafts)) {
		d.gather(grafts[key])
	}
	objects := objectsOf(t, base)
	counts := make(map[string]int)
	draws := 6000 / (1 + len(objects)/4)
	for range draws {
		i := d.IntN(len(objects))
		index := d.IntN(places(objects[i]))
		changed := slices.Clone(objects)
		var what string
		if changed[i], what = d.at(objects[i], &index, nil); what == "" {
			continue
		}
		if !isAccepted(changed[i]) {
			counts["refused"]++
			continue
		}
		verdict := judge(t, set, changed, c)
		if counts[verdict]++; verdict == "wrong" && counts[verdict] < 10 {
			t.Errorf("object %d: %s: the patches give something else than the function", i, what)
		}
	}
	t.Log(counts)
	if counts["right"] < draws/20 || counts["loud"] < draws/20 {
		t.Errorf("the changes must do both: %v", counts)
	}
}
