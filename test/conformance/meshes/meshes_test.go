package meshes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/generator"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/kubernetes"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
)

const root = "../../.." // the repository

// A mesh is one whose injector is run.
type mesh struct {
	name, title string
	version     string
	module      string // its folder below the sources
	proxy       string // the name of its container
	annotations []string
	drop        []string // replacements of its go.mod that are not needed
	// excludes reports whether the injected pod leaves the probe port alone, and
	// in Consul what probe-proxy sends.
	excludes func(pod *corev1.Pod) bool
	rewrites bool // it has a rewriter of its own
	// becomes changes a rewritten probe as the injector does; nil if that leaves it.
	becomes func(h *corev1.HTTPGetAction)
	note    string // what the proof says about that
}

// kumaDrop are the replacements in Kuma's module that only its own builds need.
var kumaDrop = []string{
	"github.com/envoyproxy/go-control-plane", "github.com/envoyproxy/go-control-plane/contrib",
	"github.com/envoyproxy/go-control-plane/envoy", "github.com/envoyproxy/go-control-plane/ratelimit",
}

var meshes = []mesh{
	{
		name: "linkerd", title: "Linkerd", version: "edge-26.8.3 (b24cd4059841)", module: "linkerd2", proxy: "linkerd-proxy",
		annotations: []string{"config.linkerd.io/skip-inbound-ports"},
		excludes: func(pod *corev1.Pod) bool {
			return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
				i := slices.Index(c.Args, "--inbound-ports-to-ignore")
				return c.Name == "linkerd-init" && i >= 0 && slices.Contains(strings.Split(c.Args[i+1], ","), "15020")
			})
		},
	},
	{
		name: "consul", title: "Consul", version: "a507b1d1e306 of August 2026", module: "consul-k8s/control-plane", proxy: "consul-dataplane",
		annotations: []string{"consul.hashicorp.com/transparent-proxy-exclude-inbound-ports", "consul.hashicorp.com/transparent-proxy-overwrite-probes"},
		rewrites:    true,
		excludes: func(pod *corev1.Pod) bool {
			var redirect struct{ ExcludeInboundPorts, ExcludeUIDs []string }
			err := json.Unmarshal([]byte(pod.Annotations["consul.hashicorp.com/redirect-traffic-config"]), &redirect)
			return err == nil && slices.Equal(redirect.ExcludeInboundPorts, []string{"15020"}) &&
				slices.Contains(redirect.ExcludeUIDs, fmt.Sprint(*named(pod, "probe-proxy")[0].SecurityContext.RunAsUser))
		},
	},
	{
		name: "kuma", title: "Kuma", version: "v2.14.3", module: "kuma", proxy: "kuma-sidecar",
		annotations: []string{"traffic.kuma.io/exclude-inbound-ports", "kuma.io/application-probe-proxy-port"},
		drop:        kumaDrop,
		rewrites:    true,
		becomes: func(h *corev1.HTTPGetAction) {
			h.Path = "/" + h.Port.String() + h.Path
			h.Port = intstr.FromInt32(9000)
		},
		note: ", but for the redirect by way of port 9000",
		excludes: func(pod *corev1.Pod) bool {
			return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
				return c.Name == "kuma-init" && slices.Contains(c.Args, "--exclude-inbound-ports=15020")
			})
		},
	},
}

// onlyRewritten returns a pod before and after the injection without the probes
// that rewrite-probes has not rewritten: a mesh with a rewriter of its own may
// change those.
func (m mesh) onlyRewritten(before, after *corev1.Pod) (*corev1.Pod, *corev1.Pod) {
	if m.becomes == nil {
		return before, after
	}
	before, after = before.DeepCopy(), after.DeepCopy()
	dropNotRewritten(before.Spec.Containers, after.Spec.Containers)
	dropNotRewritten(before.Spec.InitContainers, after.Spec.InitContainers)
	return before, after
}

func dropNotRewritten(before, after []corev1.Container) {
	for i := range before {
		c := &before[i]
		at := slices.IndexFunc(after, func(x corev1.Container) bool { return x.Name == c.Name })
		if at < 0 {
			continue
		}
		x := &after[at]
		for _, p := range [][2]**corev1.Probe{{&c.LivenessProbe, &x.LivenessProbe}, {&c.ReadinessProbe, &x.ReadinessProbe}, {&c.StartupProbe, &x.StartupProbe}} {
			if own := *p[0]; own != nil && (own.HTTPGet == nil || !strings.HasPrefix(own.HTTPGet.Path, "/app-health/")) {
				*p[0], *p[1] = nil, nil
			}
		}
		if l := c.Lifecycle; l != nil && !strings.Contains(fmt.Sprint(l.PreStop, l.PostStart), "/app-lifecycle/") {
			c.Lifecycle, x.Lifecycle = nil, nil
		}
	}
}

// expected returns a rewritten pod with the probes that it must have after the
// injection.
func (m mesh) expected(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
			if m.becomes != nil && p != nil && p.HTTPGet != nil {
				m.becomes(p.HTTPGet)
			}
		}
	}
	return pod
}

// checkouts returns the folder with the checkouts of the meshes. The test is skipped
// if none is named.
func checkouts(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("MESH_SOURCES")
	if dir == "" {
		t.Skip("NOT TESTED: MESH_SOURCES names no checkouts of the meshes; `make meshes` does")
	}
	return dir
}

// build compiles the program that runs a mesh's injector, without a change to
// the checkout.
func (m mesh) build(t *testing.T, sources string) string {
	t.Helper()
	module, err := filepath.Abs(filepath.Join(sources, m.module))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			t.Fatal(err)
		}
		// The replacements of a module are relative to its own folder.
		text = bytes.ReplaceAll(text, []byte("=> ../"), []byte("=> "+filepath.Dir(module)+"/"))
		text = bytes.ReplaceAll(text, []byte("=> ./"), []byte("=> "+module+"/"))
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program, err := filepath.Abs(filepath.Join("testdata", m.name, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(module, "rewrite-probes-inject", "main.go"): program}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		cmd := exec.Command("go", args...)
		cmd.Dir = module
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	modfile := filepath.Join(dir, "go.mod")
	for _, d := range m.drop {
		run("mod", "edit", "-dropreplace="+d, modfile)
	}
	out := filepath.Join(dir, "inject")
	run("build", "-modfile="+modfile, "-overlay="+filepath.Join(dir, "overlay.json"), "-o", out, "./rewrite-probes-inject")
	return out
}

// inject runs a mesh's injector on pods.
func inject(t *testing.T, program string, pods []*corev1.Pod) []*corev1.Pod {
	t.Helper()
	in, err := json.Marshal(pods)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Stdin = bytes.NewReader(in)
	text, err := testutil.Output(cmd)
	if err != nil {
		t.Fatal(err)
	}
	var out []*corev1.Pod
	if err := json.Unmarshal(text, &out); err != nil || len(out) != len(pods) {
		t.Fatalf("%d pods became %d: %v", len(pods), len(out), err)
	}
	for i, pod := range out {
		out[i] = kubernetes.Default(pod) // as after every webhook
	}
	return out
}

// workloads returns random workloads and those of the repository, without the
// marks of other meshes.
func workloads(t *testing.T) []byte {
	t.Helper()
	var stream []byte
	add := func(text []byte) {
		text = bytes.ReplaceAll(text, []byte("istio"), []byte("other"))
		stream = append(append(append(stream, text...), "\n---\n"...), '\n')
	}
	for seed := range uint64(200) {
		text, err := generator.New(seed + 1).YAML()
		if err != nil {
			t.Fatal(err)
		}
		add(text)
	}
	files, err := filepath.Glob(root + "/testdata/manifests/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, root+"/examples/app/deploy/web.yaml") {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		add(text)
	}
	return stream
}

// rewrite runs the pipeline for a mesh, with probe-proxy in one of its placements.
func rewrite(t *testing.T, stream []byte, mesh, placement string) []byte {
	t.Helper()
	c := config.Default()
	c.Spec.Mesh, c.Spec.ProbeProxy.Image, c.Spec.ProbeProxy.Placement = mesh, "example/probe-proxy:v1", placement
	output, _, err := rewriting.Run(stream, c, pipeline.Rewrite)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// podsOf returns the pod of each object in a stream, as the API server has it when
// the injectors see it. It is nil for an object that makes none in the pod network.
func podsOf(t *testing.T, stream []byte) []*corev1.Pod {
	t.Helper()
	objects, err := kubernetes.Objects(stream)
	if err != nil {
		t.Fatal(err)
	}
	pods := make([]*corev1.Pod, len(objects))
	for i, o := range objects {
		if o.Template == nil || o.Template.Spec.HostNetwork {
			continue
		}
		pods[i] = kubernetes.Default(kubernetes.Pod(o.Template, ""))
		pods[i].Name = fmt.Sprintf("pod-%d", i)
	}
	return pods
}

func containers(pod *corev1.Pod) []corev1.Container {
	return append(slices.Clone(pod.Spec.InitContainers), pod.Spec.Containers...)
}

func named(pod *corev1.Pod, name string) (found []corev1.Container) {
	for _, c := range containers(pod) {
		if c.Name == name {
			found = append(found, c)
		}
	}
	return found
}

// handlers returns the probes and hooks of a pod's own containers.
func handlers(pod *corev1.Pod, proxy string) map[string]any {
	all := make(map[string]any)
	for _, c := range containers(pod) {
		if c.Name != proxy {
			all[c.Name] = []any{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe, c.Lifecycle}
		}
	}
	return all
}

// changed returns the containers whose probes or hooks an injector changed.
func changed(before, after *corev1.Pod, proxy string) (names []string) {
	was, is := handlers(before, proxy), handlers(after, proxy)
	for name := range was {
		if !reflect.DeepEqual(was[name], is[name]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestTheMeshesOwnInjectorsLeaveRewrittenPodsAsTheyAre: every probe, hook and
// entry is unchanged, the probe port is excluded, one proxy is there, and the
// API server accepts the pod if it did before.
func TestTheMeshesOwnInjectorsLeaveRewrittenPodsAsTheyAre(t *testing.T) {
	sources, stream := checkouts(t), workloads(t)
	for _, m := range meshes {
		t.Run(m.name, func(t *testing.T) {
			program := m.build(t, sources)
			total, bare, without := 0, 0, 0
			for _, placement := range []string{"native", "container"} {
				n, b, w := m.check(t, program, stream, placement)
				total, bare, without = total+n, bare+b, without+w
			}
			if total < 300 {
				t.Errorf("only %d pods", total)
			}
			if (bare > 0) != m.rewrites || (without > 0) != m.rewrites {
				t.Errorf("of pods as they were %d are rewritten by the mesh, and %d without our annotations", bare, without)
			}
			rows = append(rows, fmt.Sprintf("| %s %s | %d | 0%s | %d | %d |", m.title, m.version, total, m.note, without, bare))
		})
	}
}

// rows are those of the results page.
var rows []string

func TestMain(m *testing.M) { os.Exit(testutil.RunAndProve(m, prove)) }

func prove() error {
	page := testutil.ProofPage(root, "meshes")
	if os.Getenv("MESH_SOURCES") == "" {
		page.Missing("injected", "MESH_SOURCES names no checkouts of the meshes")
		return nil
	}
	if len(rows) != len(meshes) {
		return testutil.ErrPartly
	}
	return page.Prove("injected", `| injector | rewritten pods | with a change to a probe or hook | without our annotations | the same pods, not rewritten |
|---|---|---|---|---|
`+strings.Join(rows, "\n"))
}

// check compares pods before and after the injection. bare and without count the
// pods that the mesh itself rewrites: those that rewrite-probes has not rewritten,
// and those without the annotations that keep the mesh from it.
func (m mesh) check(t *testing.T, program string, stream []byte, placement string) (total, bare, without int) {
	t.Helper()
	originals, rewritten := podsOf(t, stream), podsOf(t, rewrite(t, stream, m.name, placement))
	if len(originals) != len(rewritten) {
		t.Fatalf("%d objects became %d", len(originals), len(rewritten))
	}
	var before, notRewritten, unmarked []*corev1.Pod
	for i, pod := range rewritten {
		if pod == nil || len(named(pod, "probe-proxy")) == 0 {
			continue
		}
		before, notRewritten = append(before, pod), append(notRewritten, originals[i])
		u := pod.DeepCopy()
		for _, key := range m.annotations {
			delete(u.Annotations, key)
		}
		unmarked = append(unmarked, u)
	}
	after := inject(t, program, before)
	for i, pod := range after {
		was, is := m.onlyRewritten(before[i], pod)
		if names := changed(m.expected(was), is, m.proxy); len(names) > 0 {
			t.Errorf("%s, %s: the probes of %q have changed:\n%s", placement, pod.Name, names, cmp.Diff(handlers(m.expected(was), m.proxy), handlers(is, m.proxy)))
		}
		if n := len(named(pod, m.proxy)); n != 1 {
			t.Errorf("%s, %s: %d proxies", placement, pod.Name, n)
		}
		if !m.excludes(pod) {
			t.Errorf("%s, %s: the port is not excluded: %v", placement, pod.Name, pod.Annotations)
		}
		old, now := named(before[i], "probe-proxy"), named(pod, "probe-proxy")
		if len(now) != 1 || entries(old[0]) != entries(now[0]) {
			t.Errorf("%s, %s: the entries have changed", placement, pod.Name)
		}
		if kubernetes.Validate(before[i]) == nil {
			if err := kubernetes.Validate(pod); err != nil {
				t.Errorf("%s, %s: refused after the injection: %v", placement, pod.Name, err)
			}
		}
	}
	for i, pod := range inject(t, program, notRewritten) {
		bare += min(1, len(changed(notRewritten[i], pod, m.proxy)))
	}
	for i, pod := range inject(t, program, unmarked) {
		if m.excludes(pod) {
			t.Errorf("%s: the port is excluded without our annotations", pod.Name)
		}
		without += min(1, len(changed(m.expected(unmarked[i]), pod, m.proxy)))
	}
	return len(before), bare, without
}

func entries(c corev1.Container) string {
	for _, e := range c.Env {
		if e.Name == "ISTIO_KUBE_APP_PROBERS" {
			return e.Value
		}
	}
	return ""
}
