// Package generator makes random workloads for comparing what several
// programs make of the same pod template. Equal seeds give equal workloads.
package generator

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// A Workload is an object with a pod template, nothing in it defaulted.
type Workload struct {
	Seed      uint64
	Kind      string
	Name      string
	Namespace string
	Template  corev1.PodTemplateSpec
}

// New returns the workload of a seed. The API server accepts most of them;
// callers find out and skip those that it refuses.
func New(seed uint64) Workload {
	g := &source{rand.New(rand.NewPCG(seed, 0))}
	w := Workload{Seed: seed, Kind: pick(g, kinds), Name: fmt.Sprintf("w-%d", seed), Namespace: "shop"}
	if g.one(50) {
		w.Namespace = "kube-system"
	}
	w.Template.Labels = map[string]string{"app": w.Name}
	w.Template.Annotations = g.annotations()
	if g.one(8) {
		w.Template.Labels["sidecar.istio.io/inject"] = pick(g, []string{"true", "true", "true", "false", "no", ""})
	}
	w.Template.Spec = g.spec()
	switch w.Kind {
	case "Job", "CronJob":
		w.Template.Spec.RestartPolicy = pick(g, []corev1.RestartPolicy{corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure})
	}
	return w
}

var kinds = []string{"Pod", "Deployment", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", "ReplicationController", "PodTemplate"}

var apiVersions = map[string]string{
	"Pod": "v1", "ReplicationController": "v1", "PodTemplate": "v1", "Job": "batch/v1", "CronJob": "batch/v1",
	"Deployment": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "ReplicaSet": "apps/v1",
}

// YAML returns the workload as a manifest.
func (w Workload) YAML() ([]byte, error) {
	text, err := json.Marshal(w.Template)
	if err != nil {
		return nil, err
	}
	var template map[string]any
	if err := json.Unmarshal(text, &template); err != nil {
		return nil, err
	}
	meta := map[string]any{"name": w.Name, "namespace": w.Namespace}
	object := map[string]any{"apiVersion": apiVersions[w.Kind], "kind": w.Kind, "metadata": meta}
	selector := map[string]any{"matchLabels": map[string]any{"app": w.Name}}
	switch w.Kind {
	case "Pod":
		for key, value := range template["metadata"].(map[string]any) {
			meta[key] = value
		}
		object["spec"] = template["spec"]
	case "PodTemplate":
		object["template"] = template
	case "CronJob":
		object["spec"] = map[string]any{"schedule": "@hourly", "jobTemplate": map[string]any{"spec": map[string]any{"template": template}}}
	case "Job":
		object["spec"] = map[string]any{"template": template}
	case "ReplicationController":
		object["spec"] = map[string]any{"selector": selector["matchLabels"], "template": template}
	default:
		object["spec"] = map[string]any{"selector": selector, "template": template}
	}
	return yaml.Marshal(object)
}

// source draws the parts.
type source struct{ *rand.Rand }

// one reports true once in n times.
func (g *source) one(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *source, from []T) T { return from[g.IntN(len(from))] }

// annotations draws those that Istio's injector reads.
func (g *source) annotations() map[string]string {
	all := make(map[string]string)
	for _, a := range []struct {
		once   int // one in this many workloads has it
		key    string
		values []string
	}{
		{8, "sidecar.istio.io/rewriteAppHTTPProbers", []string{"true", "false", "0", "1", "F", "no", "\"false\""}},
		{9, "status.sidecar.istio.io/port", []string{"15099", "15020", "8081", "15099", "0", "none", "70000", " 15099"}},
		{12, "sidecar.istio.io/inject", []string{"true", "false", "yes"}},
		{9, "traffic.sidecar.istio.io/excludeInboundPorts", []string{"8080", "8080, 9090", "3306", "", "15020"}},
		{14, "traffic.sidecar.istio.io/includeInboundPorts", []string{"*", "8080", "8080,8443,9090", ""}},
		{15, "sidecar.istio.io/nativeSidecar", []string{"true", "false"}},
		{15, "proxy.istio.io/config", []string{"holdApplicationUntilProxyStarts: true", "concurrency: 1"}},
		{12, "prometheus.io/scrape", []string{"true"}},
		{20, "example.com/note", []string{"$(HOME) and $$ and \"quotes\""}},
	} {
		if g.one(a.once) {
			all[a.key] = pick(g, a.values)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// portNumbers are those of apps and, seldom, some that the mesh keeps.
var portNumbers = []int32{80, 443, 3306, 8000, 8001, 8080, 8080, 8081, 8443, 9090, 9091, 50051}

var meshPorts = []int32{15020, 15021, 15090, 15099, 15006, 15000}

func (g *source) port() int32 {
	if g.one(30) {
		return pick(g, meshPorts)
	}
	return pick(g, portNumbers)
}

func (g *source) spec() corev1.PodSpec {
	spec := corev1.PodSpec{HostNetwork: g.one(40)}
	names := []string{"app", "web", "worker", "db", "metrics", "log-shipper", "a", "container-with-a-name-that-is-quite-long-but-still-allowed-1234"}
	g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for range 1 + g.IntN(3) {
		spec.Containers = append(spec.Containers, g.container(names[len(spec.Containers)], true))
	}
	always := corev1.ContainerRestartPolicyAlways
	for i := range g.IntN(5) - 2 {
		sidecar := g.one(2)
		c := g.container(names[3+i], sidecar)
		if sidecar {
			c.RestartPolicy = &always
		}
		spec.InitContainers = append(spec.InitContainers, c)
	}
	if g.one(25) {
		proxy := corev1.Container{Name: "istio-proxy", Image: "auto", ImagePullPolicy: corev1.PullIfNotPresent}
		proxy.Env = []corev1.EnvVar{{Name: "MORE", Value: "1"}}
		spec.Containers = slices.Insert(spec.Containers, g.IntN(len(spec.Containers)+1), proxy)
	}
	return spec
}

func (g *source) container(name string, probed bool) corev1.Container {
	c := corev1.Container{Name: name, Image: "example.com/" + name + ":1"}
	taken := make(map[string]bool)
	for _, n := range []string{"http", "https", "grpc", "health", "mysql"}[:g.IntN(6)] {
		if g.one(3) {
			continue
		}
		p := corev1.ContainerPort{Name: n, ContainerPort: g.port()}
		if g.one(6) {
			p.Name = ""
		}
		if g.one(4) {
			p.Protocol = pick(g, []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP})
		}
		if key := fmt.Sprint(p.ContainerPort, p.Protocol); !taken[key] {
			taken[key] = true
			c.Ports = append(c.Ports, p)
		}
	}
	if g.one(3) {
		c.Env = []corev1.EnvVar{{Name: "HOME", Value: "/root"}, {Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}
	}
	if !probed {
		return c
	}
	c.ReadinessProbe, c.LivenessProbe, c.StartupProbe = g.probe(&c, true), g.probe(&c, false), g.probe(&c, false)
	if g.one(3) {
		c.Lifecycle = &corev1.Lifecycle{PostStart: g.hook(&c), PreStop: g.hook(&c)}
		if c.Lifecycle.PostStart == nil && c.Lifecycle.PreStop == nil {
			c.Lifecycle = nil
		}
	}
	return c
}

// probe draws a probe for a container, or none.
func (g *source) probe(c *corev1.Container, readiness bool) *corev1.Probe {
	if g.one(2) {
		return nil
	}
	p := new(corev1.Probe)
	switch n := g.IntN(20); {
	case n < 10:
		p.HTTPGet = g.httpGet(c)
	case n < 14:
		p.TCPSocket = &corev1.TCPSocketAction{Port: g.target(c), Host: g.host()}
	case n < 18:
		p.GRPC = &corev1.GRPCAction{Port: g.port()}
		if g.one(2) {
			service := pick(g, []string{"", "shop.Cart", "liveness"})
			p.GRPC.Service = &service
		}
		if g.one(6) {
			mode := pick(g, []corev1.GRPCProbeMode{corev1.GRPCProbeModeTLS, corev1.GRPCProbeModePlaintext})
			p.GRPC.Mode = &mode
		}
	default:
		p.Exec = &corev1.ExecAction{Command: []string{"true"}}
	}
	p.TimeoutSeconds = g.seconds()
	p.InitialDelaySeconds, p.PeriodSeconds, p.FailureThreshold = g.seconds(), g.seconds(), g.seconds()
	if readiness {
		p.SuccessThreshold = g.seconds()
	} else if g.one(10) {
		grace := int64(g.IntN(60) + 1)
		p.TerminationGracePeriodSeconds = &grace
	}
	return p
}

// seconds is 0, which is left out, or a small number.
func (g *source) seconds() int32 { return int32(max(0, g.IntN(8)-4)) }

func (g *source) httpGet(c *corev1.Container) *corev1.HTTPGetAction {
	h := &corev1.HTTPGetAction{Port: g.target(c), Host: g.host()}
	h.Path = pick(g, []string{"", "/", "/healthz", "/healthz", "/health/ready?full=1&verbose", "healthz", "/$(POD_NAME)/ready", "/a$$b", "/price$", "/$(NOBODY)", "/ü/<&>", "/with space", "/quote\"s\\", "/app-healthz"})
	h.Scheme = pick(g, []corev1.URIScheme{"", "", corev1.URISchemeHTTP, corev1.URISchemeHTTPS})
	if g.one(10) {
		protocol := pick(g, []corev1.HTTPProtocol{corev1.HTTPProtocolHTTP2, corev1.HTTPProtocolHTTP1})
		h.Protocol = &protocol
		if protocol == corev1.HTTPProtocolHTTP2 && h.Scheme == corev1.URISchemeHTTPS { // refused by the API server
			h.Scheme = corev1.URISchemeHTTP
		}
	}
	for _, header := range []corev1.HTTPHeader{
		{Name: "Authorization", Value: "Bearer s3cret"}, {Name: "Host", Value: "shop.example.com"}, {Name: "X-Probe", Value: "$(HOME) \"a\""}, {Name: "Accept", Value: ""}, {Name: "X-Probe", Value: "again"},
	} {
		if g.one(10) {
			h.HTTPHeaders = append(h.HTTPHeaders, header)
		}
	}
	return h
}

func (g *source) host() string {
	if g.one(14) {
		return pick(g, []string{"127.0.0.1", "shop.example.com", "localhost"})
	}
	return ""
}

// target is a number, the name of a port, or, seldom, a name that the
// container does not have.
func (g *source) target(c *corev1.Container) intstr.IntOrString {
	if g.one(12) {
		return intstr.FromString(pick(g, []string{"admin", "http", "grpc"}))
	}
	var names []string
	for _, p := range c.Ports {
		if p.Name != "" {
			names = append(names, p.Name)
		}
	}
	if len(names) > 0 && g.one(2) {
		return intstr.FromString(pick(g, names))
	}
	return intstr.FromInt32(g.port())
}

func (g *source) hook(c *corev1.Container) *corev1.LifecycleHandler {
	switch g.IntN(10) {
	case 0:
		return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}
	case 1:
		return &corev1.LifecycleHandler{TCPSocket: &corev1.TCPSocketAction{Port: g.target(c)}}
	case 2:
		return &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 3}}
	case 3, 4, 5, 6:
		return &corev1.LifecycleHandler{HTTPGet: g.httpGet(c)}
	}
	return nil
}
