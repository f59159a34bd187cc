package patches

import (
	"bytes"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/patches"
)

// A mutation changes the objects of a base; ok is false if it finds nothing to change.
type mutation struct {
	name string
	do   func(d drawn, all []object) (_ []object, ok bool)
}

// templateOf returns the pod template of an object; nil if it has none.
func templateOf(o object) object {
	spec, _ := o["spec"].(object)
	if o["kind"] == "Pod" {
		return o
	}
	if job, is := spec["jobTemplate"].(object); is {
		spec, _ = job["spec"].(object)
	}
	t, _ := spec["template"].(object)
	return t
}

// in makes a mutation of one pod template.
func in(name string, change func(d drawn, t object) bool) mutation {
	return mutation{name, func(d drawn, all []object) ([]object, bool) {
		for _, i := range d.Perm(len(all)) {
			if t := templateOf(all[i]); t != nil && change(d, t) {
				return all, true
			}
		}
		return all, false
	}}
}

// ofSpec makes a mutation of one pod spec.
func ofSpec(name string, change func(d drawn, spec object) bool) mutation {
	return in(name, func(d drawn, t object) bool { return change(d, t["spec"].(object)) })
}

// of makes a mutation of one container.
func of(name string, change func(d drawn, c object) bool) mutation {
	return ofSpec(name, func(d drawn, spec object) bool {
		list := spec["containers"].([]any)
		return change(d, list[d.IntN(len(list))].(object))
	})
}

// set makes a mutation that sets a field of a container.
func set(name, key string, value any) mutation {
	return of(name, func(_ drawn, c object) bool { c[key] = value; return true })
}

// setSpec makes a mutation that sets a field of a pod spec.
func setSpec(name, key string, value any) mutation {
	return ofSpec(name, func(_ drawn, spec object) bool { spec[key] = value; return true })
}

// probe makes a mutation of a probe with a handler of a kind, or of any if that is "".
func probe(name, kind string, change func(p object)) mutation {
	return of(name, func(_ drawn, c object) bool {
		for _, key := range []string{"readinessProbe", "livenessProbe", "startupProbe"} {
			p, has := c[key].(object)
			if _, is := p[kind]; has && (kind == "" || is) {
				change(p)
				return true
			}
		}
		return false
	})
}

// handler makes a mutation of a handler.
func handler(name, kind, key string, value any) mutation {
	return probe(name, kind, func(p object) { p[kind].(object)[key] = value })
}

// meta makes a mutation of the labels or annotations of a pod template, or of a workload.
func meta(name, kind, key, value string, ofWorkload bool) mutation {
	put := func(o object) {
		m, has := o["metadata"].(object)
		if !has {
			m = object{}
			o["metadata"] = m
		}
		values, has := m[kind].(object)
		if !has {
			values = object{}
			m[kind] = values
		}
		values[key] = value
	}
	if !ofWorkload {
		return in(name, func(_ drawn, t object) bool { put(t); return true })
	}
	return mutation{name, func(d drawn, all []object) ([]object, bool) { put(all[0]); return all, true }}
}

// namespace makes a mutation of a Namespace.
func namespace(name string, change func(o object)) mutation {
	return mutation{name, func(_ drawn, all []object) ([]object, bool) {
		for _, o := range all {
			if o["kind"] == "Namespace" {
				change(o)
				return all, true
			}
		}
		return all, false
	}}
}

// port makes a mutation of a declared port.
func port(name string, change func(p object)) mutation {
	return of(name, func(_ drawn, c object) bool {
		change(c["ports"].([]any)[0].(object))
		return true
	})
}

func get(p any) object { return object{"httpGet": object{"path": "/", "port": p}} }

func sidecar(name string) object {
	return object{"name": name, "image": "i", "restartPolicy": "Always", "startupProbe": get(9000)}
}

func more(name, list string, item object, first bool) mutation {
	return ofSpec(name, func(_ drawn, spec object) bool {
		old, _ := spec[list].([]any)
		if first {
			spec[list] = append([]any{item}, old...)
		} else {
			spec[list] = append(append([]any{}, old...), item)
		}
		return true
	})
}

// mutations are the kinds of changes of a base.
var mutations = []mutation{
	set("another image", "image", "shop/other:2"),
	set("another command", "command", []any{"run"}),
	set("an env var", "env", []any{object{"name": "A", "value": "b"}}),
	set("a working directory", "workingDir", "/"),
	set("an image pull policy", "imagePullPolicy", "Always"),
	set("a readinessProbe", "readinessProbe", get(8080)),
	set("a livenessProbe", "livenessProbe", get("http")),
	set("a startupProbe", "startupProbe", object{"tcpSocket": object{"port": 8080}}),
	set("a preStop hook", "lifecycle", object{"preStop": get(8080)}),
	set("a postStart hook", "lifecycle", object{"postStart": get(8080)}),
	set("an exec hook", "lifecycle", object{"preStop": object{"exec": object{"command": []any{"true"}}}}),
	set("resources of a Guaranteed pod", "resources", object{"limits": object{"cpu": "2", "memory": "2Gi"}}),
	set("other requests", "resources", object{"requests": object{"cpu": "300m", "memory": "64Mi"}}),
	set("no resources", "resources", object{}),
	set("the name of probe-proxy", "name", "probe-proxy"),
	set("another container name", "name", "renamed"),
	set("the name of istio-proxy", "name", "istio-proxy"),
	set("no ports", "ports", []any{}),
	set("a security context of a container", "securityContext", object{"runAsUser": 1}),
	port("a moved port", func(p object) { p["containerPort"] = 8081 }),
	port("the port of probe-proxy", func(p object) { p["containerPort"] = 15099 }),
	port("another port name", func(p object) { p["name"] = "web" }),
	port("a host port", func(p object) { p["hostPort"] = 80 }),
	port("a protocol", func(p object) { p["protocol"] = "UDP" }),
	of("one more port", func(_ drawn, c object) bool {
		c["ports"] = append(c["ports"].([]any), object{"name": "metrics", "containerPort": 9100})
		return true
	}),
	handler("another path", "httpGet", "path", "/other"),
	handler("another port of a probe", "httpGet", "port", 9999),
	handler("a port name that nobody has", "httpGet", "port", "nowhere"),
	handler("a scheme", "httpGet", "scheme", "HTTPS"),
	handler("a host", "httpGet", "host", "example.com"),
	handler("headers", "httpGet", "httpHeaders", []any{object{"name": "A", "value": "b"}}),
	handler("a field that is not known", "httpGet", "protocol", "HTTP2"),
	handler("another tcpSocket port", "tcpSocket", "port", 9999),
	handler("a grpc service", "grpc", "service", "health"),
	probe("a timeout", "httpGet", func(p object) { p["timeoutSeconds"] = 7 }),
	probe("a period", "", func(p object) { p["periodSeconds"] = 9 }),
	probe("a failure threshold", "", func(p object) { p["failureThreshold"] = 9 }),
	probe("tcpSocket instead of httpGet", "httpGet", func(p object) { delete(p, "httpGet"); p["tcpSocket"] = object{"port": 8080} }),
	probe("grpc instead of exec", "exec", func(p object) { delete(p, "exec"); p["grpc"] = object{"port": 9000} }),
	probe("exec instead of httpGet", "httpGet", func(p object) { delete(p, "httpGet"); p["exec"] = object{"command": []any{"true"}} }),
	of("a probe less", func(_ drawn, c object) bool {
		_, has := c["readinessProbe"]
		delete(c, "readinessProbe")
		return has
	}),
	more("a container more", "containers", object{"name": "extra", "image": "i"}, false),
	more("a container in front", "containers", object{"name": "extra", "image": "i", "readinessProbe": get(80)}, true),
	more("an init container", "initContainers", object{"name": "extra", "image": "i"}, false),
	more("a native sidecar", "initContainers", sidecar("extra"), false),
	more("a native sidecar in front", "initContainers", sidecar("extra"), true),
	setSpec("hostNetwork", "hostNetwork", true),
	setSpec("a node selector", "nodeSelector", object{"disk": "ssd"}),
	setSpec("nodes with Windows", "nodeSelector", object{"kubernetes.io/os": "windows"}),
	setSpec("a service account", "serviceAccountName", "web"),
	setSpec("volumes", "volumes", []any{object{"name": "tmp", "emptyDir": object{}}}),
	setSpec("a grace period", "terminationGracePeriodSeconds", 5),
	setSpec("a security context", "securityContext", object{"runAsUser": 1337}),
	meta("an opt-out", "annotations", "rewrite-probes.io/rewrite", "false", false),
	meta("a checksum", "annotations", "checksum/config", "abc", false),
	meta("a pod label", "labels", "version", "v2", false),
	meta("injection off", "labels", "sidecar.istio.io/inject", "false", false),
	meta("an opt-out of the workload", "annotations", "rewrite-probes.io/rewrite", "false", true),
	namespace("injection of a Namespace", func(o object) { o["metadata"].(object)["labels"] = object{"istio-injection": "enabled"} }),
	{"a new workload", func(d drawn, all []object) ([]object, bool) { return append(all, d.workload("new", "shop")), true }},
	{"a workload less", func(_ drawn, all []object) ([]object, bool) { return all[1:], len(all) > 1 }},
}

var eachKind = flag.Int("each", fewOfEach, "how many bases each kind of mutation changes")

// TestAMutatedBaseFailsOrIsRight changes bases after their patches were written.
func TestAMutatedBaseFailsOrIsRight(t *testing.T) {
	for _, m := range mutations {
		for n, seed := 0, uint64(0); n < *eachKind && seed < 400; seed++ {
			verdict := tryOn(t, m, draw(1000+seed))
			if verdict == "" {
				continue
			}
			n++
			results[verdict]++
			kinds[m.name+": "+verdict]++
			if verdict == silentlyWrong {
				t.Errorf("%s (seed %d): the build passes, and is not what the function writes", m.name, seed)
			}
		}
	}
}

// kinds has the verdicts by mutation.
var kinds = make(map[string]int)

const silentlyWrong = "silently wrong"

// tryOn says what the patches for a random base do after a mutation; "" if it does not apply.
func tryOn(t *testing.T, m mutation, d drawn) string {
	files := d.tree()
	render, err := build(files, "base")
	if err != nil {
		return ""
	}
	set, err := patchesFor(render)
	if err != nil || set.Changes() == 0 {
		return ""
	}
	all, ok := m.do(d, parsed(t, render))
	if !ok {
		return ""
	}
	mutated := tree{"base/all.yaml": stream(all), "base/kustomization.yaml": "resources: [all.yaml]\n"}
	render, err = build(mutated, "base")
	if err != nil {
		return ""
	}
	want, refused := rewritten(render)
	mutated["probes/kustomization.yaml"] = string(set.Text(patches.Kustomization, "../base"))
	got, err := build(mutated, "probes")
	requireName(t, set, err)
	named := mutated["probes/kustomization.yaml"]
	if mutated["probes/kustomization.yaml"] = inPlace(named); mutated["probes/kustomization.yaml"] == named {
		t.Errorf("%s: no test reads a copy:\n%s", m.name, named)
	}
	if plain, plainErr := build(mutated, "probes"); !bytes.Equal(plain, got) || (plainErr == nil) != (err == nil) {
		t.Errorf("%s: %v, and if the tests read no copy: %v", m.name, err, plainErr)
	}
	switch {
	case err != nil && refused == nil && same(t, render, want):
		return "failed builds for which nothing had to be done"
	case err != nil && isNeedless(t, set, mutated, want, refused):
		return "needless failures"
	case err != nil:
		return "failed builds"
	case refused != nil || !same(t, got, want):
		return silentlyWrong
	}
	return "right builds"
}

// requireName fails the test if a build failed for an object of the set, and the message does not name it. Only the tests of an
// object's own metadata, and the patches that require an object, have another message.
func requireName(t *testing.T, set *patches.Set, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, words := range []string{"this object is new", " /metadata/", "no resource matches strategic merge patch"} {
		if strings.Contains(err.Error(), words) {
			return
		}
	}
	isNamed := func(p patches.Patch) bool { return strings.Contains(err.Error(), " /"+p.Name+":/") }
	if !slices.ContainsFunc(set.Patches, isNamed) {
		t.Errorf("the message names no object: %v", err)
	}
}

var copies = regexp.MustCompile(`(?m)^ *- {"op":"copy","from":"(.*)","path":"(.*)"}\n`)

// inPlace returns the text of a set whose tests read the objects themselves instead of copies.
func inPlace(text string) string {
	patches := strings.SplitAfter(text, "- target:")
	for i, patch := range patches {
		if c := copies.FindStringSubmatch(patch); c != nil {
			removal := regexp.MustCompile(`(?m)^ *- {"op":"remove","path":"` + regexp.QuoteMeta(c[2]) + `"}\n`)
			patch = removal.ReplaceAllString(strings.Replace(patch, c[0], "", 1), "")
			patches[i] = strings.ReplaceAll(patch, `"`+c[2]+`/`, `"`+c[1]+`/`)
		}
	}
	return strings.Join(patches, "")
}

// boldly returns the set without its tests.
func boldly(set *patches.Set) *patches.Set {
	bold := &patches.Set{}
	for _, p := range set.Patches {
		if p.Operations = p.Edits(); len(p.Operations) > 0 {
			bold.Patches = append(bold.Patches, p)
		}
	}
	return bold
}

// isNeedless reports whether the patches without their tests would have given what is wanted.
func isNeedless(t *testing.T, set *patches.Set, files tree, want []byte, refused error) bool {
	files["probes/kustomization.yaml"] = string(boldly(set).Text(patches.Kustomization, "../base"))
	got, err := build(files, "probes")
	return refused == nil && err == nil && same(t, got, want)
}

func parsed(t *testing.T, text []byte) (all []object) {
	for _, o := range documents(text) {
		var v object
		if err := yaml.Unmarshal([]byte(o), &v); err != nil {
			t.Fatal(err)
		}
		if len(v) > 0 {
			all = append(all, v)
		}
	}
	return all
}

func stream(all []object) (s string) {
	for _, o := range all {
		s += fmt.Sprintf("---\n%s", text(o))
	}
	return s
}
