package injector

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	"istio.io/istio/pkg/kube/inject"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/istio"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/kubernetes"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/worlds/model"
)

// A place is one probe or hook of a pod, named as its rewritten path is.
type place struct {
	container string
	init      bool
	probeType string // livez, readyz, startupz, prestopz, poststartz
}

func (p place) isHook() bool { return p.probeType == "prestopz" || p.probeType == "poststartz" }

func (p place) key() string {
	if p.isHook() {
		return "/app-lifecycle/" + p.container + "/" + p.probeType
	}
	return "/app-health/" + p.container + "/" + p.probeType
}

// An outcome is the handler at a place, and the sidecar's entry for it.
type outcome struct {
	Probe *corev1.Probe            `json:"probe,omitempty"`
	Hook  *corev1.LifecycleHandler `json:"hook,omitempty"`
	Entry *inject.Prober           `json:"entry,omitempty"`
}

func (o outcome) String() string {
	text, err := yaml.Marshal(o)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// target returns what the handler dials; ok is false for one that dials nothing.
func (o outcome) target() (port intstr.IntOrString, host string, ok bool) {
	h := corev1.ProbeHandler{}
	switch {
	case o.Probe != nil:
		h = o.Probe.ProbeHandler
	case o.Hook != nil:
		h.HTTPGet, h.TCPSocket = o.Hook.HTTPGet, o.Hook.TCPSocket
	}
	return model.Target(h)
}

// sidecars are the containers whose own probes are not compared.
var sidecars = []string{istio.ProxyName, proxyName}

// outcomes returns the outcome at every place of a pod, with the entries of an
// env value. An entry that belongs to no place is an error.
func outcomes(pod *corev1.Pod, env string) (map[place]outcome, error) {
	probers, err := istio.Probers(env)
	if err != nil {
		return nil, fmt.Errorf("Istio cannot decode %q: %w", env, err)
	}
	all := make(map[place]outcome)
	add := func(c corev1.Container, init bool) {
		if slices.Contains(sidecars, c.Name) {
			return
		}
		at := func(probeType string) place { return place{c.Name, init, probeType} }
		for probeType, probe := range map[string]*corev1.Probe{"readyz": c.ReadinessProbe, "livez": c.LivenessProbe, "startupz": c.StartupProbe} {
			if probe != nil {
				all[at(probeType)] = outcome{Probe: probe}
			}
		}
		if c.Lifecycle == nil {
			return
		}
		for probeType, hook := range map[string]*corev1.LifecycleHandler{"prestopz": c.Lifecycle.PreStop, "poststartz": c.Lifecycle.PostStart} {
			if hook != nil {
				all[at(probeType)] = outcome{Hook: hook}
			}
		}
	}
	eachContainer(pod, add)
	for at, o := range all {
		o.Entry = withoutDefault(probers[at.key()])
		all[at] = o
		delete(probers, at.key())
	}
	if len(probers) > 0 {
		return nil, fmt.Errorf("entries without a probe: %q", slices.Sorted(maps.Keys(probers)))
	}
	return all, nil
}

// withoutDefault removes the protocol from an entry if it is the API's default:
// Istio's entries are made of defaulted pods, and ours are not.
func withoutDefault(p *inject.Prober) *inject.Prober {
	if p == nil || p.HTTPGet == nil || p.HTTPGet.Protocol == nil || *p.HTTPGet.Protocol != corev1.HTTPProtocolHTTP1 {
		return p
	}
	p = clone(p)
	p.HTTPGet.Protocol = nil
	return p
}

func eachContainer(pod *corev1.Pod, yield func(c corev1.Container, init bool)) {
	for _, c := range pod.Spec.InitContainers {
		yield(c, true)
	}
	for _, c := range pod.Spec.Containers {
		yield(c, false)
	}
}

// originalsEnv returns the values of the env var with the originals, by the name of
// the container that has them; a container that has two is listed twice.
func originalsEnv(pod *corev1.Pod) (names, values []string) {
	eachContainer(pod, func(c corev1.Container, _ bool) {
		for _, e := range c.Env {
			if e.Name == istio.EnvName {
				names, values = append(names, c.Name), append(values, e.Value)
			}
		}
	})
	return names, values
}

// sidecarEnv is the environment that a sidecar has before the env var with the
// originals, when the kubelet expands that.
var sidecarEnv = map[string]string{"POD_NAME": "web-0"}

// A comparison is one pod as it was, as Istio makes it and as we make it.
type comparison struct {
	input *corev1.Pod // as the API server stores it
	istio *corev1.Pod // after the webhook
	port  int         // where our rewritten probes go
	// byIstio is set if istio-proxy answers our rewritten probes; probe-proxy
	// starts before every other container.
	byIstio bool

	captured func(port int) bool
	theirEnv string // its value as written
}

// statusPort returns the port of Istio's rewritten probes.
func (c *comparison) statusPort() int {
	if n, err := strconv.Atoi(c.input.Annotations["status.sidecar.istio.io/port"]); err == nil {
		return n
	}
	return 15020
}

// container returns the container at a place of the input.
func (c *comparison) container(at place) *corev1.Container {
	list := c.input.Spec.Containers
	if at.init {
		list = c.input.Spec.InitContainers
	}
	i := slices.IndexFunc(list, func(x corev1.Container) bool { return x.Name == at.container })
	return &list[i]
}

// resolve returns the number of a port as the kubelet finds it.
func (c *comparison) resolve(at place, port intstr.IntOrString) (int, bool) {
	if port.Type == intstr.Int {
		return port.IntValue(), true
	}
	for _, p := range c.container(at).Ports {
		if p.Name == port.StrVal {
			return int(p.ContainerPort), true
		}
	}
	return 0, false
}

// proxyStartsFirst reports whether Istio's sidecar starts before a container.
func (c *comparison) proxyStartsFirst(at place) bool {
	index := func(name string) int {
		return slices.IndexFunc(c.istio.Spec.InitContainers, func(x corev1.Container) bool { return x.Name == name })
	}
	proxy := index(istio.ProxyName)
	return !at.init || proxy >= 0 && proxy < index(at.container)
}

// capturedPorts returns which ports Istio's own istio-init redirects.
func capturedPorts(injected *corev1.Pod) func(int) bool {
	for _, c := range injected.Spec.InitContainers {
		if c.Name == inject.InitContainerName {
			return model.Redirected(c.Args)
		}
	}
	return model.Redirected(nil)
}

// A verdict is the result of comparing one probe or hook.
type verdict struct {
	at        place
	rewritten bool       // ours is not as it was
	explained []*mistake // empty and no problem: equal
	problem   string
}

// compare compares what Istio's injector and rewrite-probes made of a pod, both
// as the API server stores them. Each known mistake that Istio's outcome shows
// is repaired; the result must be exactly ours.
func (c *comparison) compare(ours *corev1.Pod) ([]verdict, error) {
	original, err := outcomes(c.input, "")
	if err != nil {
		return nil, err
	}
	_, values := originalsEnv(c.istio)
	if len(values) > 0 {
		c.theirEnv = values[len(values)-1] // of several, the last one counts
	}
	c.captured = capturedPorts(c.istio)
	theirs, err := outcomes(kubernetes.Default(c.istio), kubernetes.Expand(c.theirEnv, sidecarEnv))
	if err != nil {
		return nil, fmt.Errorf("Istio's: %w", err)
	}
	names, values := originalsEnv(ours)
	if len(values) > 1 {
		return nil, fmt.Errorf("ours has the env var in %q", names)
	}
	env := ""
	if len(values) == 1 {
		env = kubernetes.Expand(values[0], sidecarEnv)
	}
	mine, err := outcomes(kubernetes.Default(ours), env)
	if err != nil {
		return nil, fmt.Errorf("ours: %w", err)
	}
	if len(theirs) != len(original) || len(mine) != len(original) {
		return nil, fmt.Errorf("of %d probes and hooks Istio has %d and we have %d", len(original), len(theirs), len(mine))
	}
	var all []verdict
	for at, o := range original {
		all = append(all, c.classify(at, o, theirs[at], mine[at]))
	}
	return all, nil
}

func (c *comparison) classify(at place, original, theirs, ours outcome) verdict {
	v := verdict{at: at, rewritten: !reflect.DeepEqual(original, ours)}
	repaired := theirs
	for _, m := range mistakes {
		if better := m.repair(c, at, original, repaired); !reflect.DeepEqual(better, repaired) {
			repaired = better
			v.explained = append(v.explained, m)
		}
	}
	if !reflect.DeepEqual(repaired, ours) {
		v.problem = fmt.Sprintf("%s was\n%sIstio makes it\n%sours against Istio's without its mistakes:\n%s", at.key(), original, theirs,
			cmp.Diff(strings.Split(repaired.String(), "\n"), strings.Split(ours.String(), "\n")))
	}
	return v
}
