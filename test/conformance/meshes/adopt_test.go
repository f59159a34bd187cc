package meshes

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/injector/kubernetes"
	"github.com/rewrite-probes/rewrite-probes/test/conformance/rewriting"
)

// TestWhatTheInjectorsHaveRewrittenIsRestored restores the probes of pods that a
// mesh's own injector has rewritten, as far as the pods say what the probes were.
func TestWhatTheInjectorsHaveRewrittenIsRestored(t *testing.T) {
	sources, stream := checkouts(t), workloads(t)
	for _, m := range meshes[1:] {
		t.Run(m.name, func(t *testing.T) {
			program := m.build(t, sources)
			var pods []*corev1.Pod
			for _, pod := range podsOf(t, stream) {
				if pod != nil && kubernetes.Validate(pod) == nil {
					pods = append(pods, pod)
				}
			}
			restored, lost := 0, 0
			for i, pod := range inject(t, program, pods) {
				back := restore(t, pod)
				for _, c := range pods[i].Spec.Containers {
					was, injected, is := probesIn(pods[i], c.Name), probesIn(pod, c.Name), probesIn(back, c.Name)
					for j := range was {
						switch want := m.knowable(&c, was[j]); {
						case was[j] == nil || reflect.DeepEqual(was[j], injected[j]):
						case want == nil:
							lost++
						case !reflect.DeepEqual(want, is[j]):
							t.Errorf("%s, container %s: -want +got\n%s", pod.Name, c.Name, cmp.Diff(want, is[j]))
						default:
							restored++
						}
					}
				}
			}
			t.Logf("%d probes restored; of %d the pod does not say what they were", restored, lost)
			if restored < 100 || lost > restored {
				t.Errorf("%d probes restored, %d not", restored, lost)
			}
		})
	}
}

func probesIn(pod *corev1.Pod, container string) []*corev1.Probe {
	for _, c := range pod.Spec.Containers {
		if c.Name == container {
			return []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe}
		}
	}
	return make([]*corev1.Probe, 3)
}

// knowable returns a probe as an injected pod still shows it, or nil if the pod
// does not say what the probe was. Consul keeps the original pod.
func (m mesh) knowable(c *corev1.Container, p *corev1.Probe) *corev1.Probe {
	if p == nil || m.name == "consul" {
		return p
	}
	p = p.DeepCopy()
	if h := p.HTTPGet; h != nil {
		// Neither has the fields of Kubernetes 1.37, nor a host.
		if h.Protocol != nil && *h.Protocol != corev1.HTTPProtocolHTTP1 || h.Host != "" || !numbered(&h.Port, c) {
			return nil
		}
		if !strings.HasPrefix(h.Path, "/") && m.name == "kuma" {
			h.Path = "/" + h.Path
		}
	}
	if h := p.TCPSocket; h != nil && (h.Host != "" || !numbered(&h.Port, c)) {
		return nil
	}
	if g := p.GRPC; g != nil && g.Mode != nil {
		if *g.Mode != "Plaintext" {
			return nil
		}
		g.Mode = nil // which means the same
	}
	return p
}

// numbered replaces the name of a port by its number. It reports whether the
// container has the port.
func numbered(port *intstr.IntOrString, c *corev1.Container) bool {
	if port.Type == intstr.Int {
		return port.IntVal > 0
	}
	for _, x := range c.Ports {
		if x.Name == port.StrVal {
			*port = intstr.FromInt32(x.ContainerPort)
			return true
		}
	}
	return false
}

// restore runs the pipeline over one pod.
func restore(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	pod = pod.DeepCopy()
	pod.APIVersion, pod.Kind = "v1", "Pod"
	text, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	output, _, err := rewriting.Run(text, config.Default(), pipeline.Restore)
	if err != nil {
		t.Fatal(err)
	}
	var back corev1.Pod
	if err := json.Unmarshal(output, &back); err != nil {
		t.Fatalf("%v in\n%s", err, output)
	}
	return kubernetes.Default(&back)
}
