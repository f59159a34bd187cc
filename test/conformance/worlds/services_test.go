package worlds

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/endpointslice"

	istio "istio.io/istio/pkg/config/kube"
	"istio.io/istio/pkg/config/protocol"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/beside"
)

// protocolOf returns what Envoy takes the port of a Service for, as Istio says.
func protocolOf(p corev1.ServicePort) surroundings.Protocol {
	switch i := istio.ConvertProtocol(p.Port, p.Name, p.Protocol, p.AppProtocol); {
	case i.IsHTTP2():
		return surroundings.HTTP2
	case i.IsHTTP():
		return surroundings.HTTP1
	case i.IsTCP(), i.IsTLS(), i == protocol.UDP:
		return surroundings.TCP
	}
	return surroundings.Sniffed
}

func TestServices_declareWhatIstioReads(t *testing.T) {
	g := newSource(31)
	words := []string{
		"", "http", "HTTP", "http_proxy", "http2", "grpc", "gRPC", "grpc-web", "grpc-webs", "Grpc-Web-x", "https", "tls", "tcp", "TCP", "mongo", "redis", "Redis", "mysql", "udp",
		"web", "httpx", "xhttp", "h2c", "kubernetes.io/h2c", "kubernetes.io/ws", "kubernetes.io/wss", "Kubernetes.io/ws",
	}
	counts := make(map[surroundings.Protocol]int)
	for range 20000 {
		p := corev1.ServicePort{Name: pick(g, words...) + pick(g, "", "", "-a", "-http", "a"), Port: pick(g, int32(80), 8080, 25, 53, 3306, 27017, 5432), Protocol: "TCP"}
		if g.one(2) {
			p.AppProtocol = new(pick(g, words[1:]...) + pick(g, "", "", "-a"))
		}
		ours := surroundings.ServicePort{Name: p.Name, Port: int(p.Port)}
		if p.AppProtocol != nil {
			ours.AppProtocol = *p.AppProtocol
		}
		app := field.KeyValues{{Key: "app", Value: "web"}}
		s := beside.Of(&surroundings.Service{Neighbour: surroundings.Neighbour{Name: "web"}, Selector: app, Ports: []surroundings.ServicePort{ours}})
		got := s.Chains("istio-system", &surroundings.Pods{Kind: "Deployment", Labels: app, Spec: new(pod.Spec)}, int(p.Port))
		want := protocolOf(p)
		if counts[want]++; len(got) != 1 || got[0].Protocol != want {
			t.Fatalf("port %d, name %q, appProtocol %q: %v, Istio reads %v", p.Port, p.Name, ours.AppProtocol, got, want)
		}
	}
	for _, p := range []surroundings.Protocol{surroundings.Sniffed, surroundings.HTTP1, surroundings.HTTP2, surroundings.TCP} {
		if counts[p] < 1000 {
			t.Errorf("%d ports are declared as %v", counts[p], p)
		}
	}
}

// A Service leads to one port of a pod, as the controller of EndpointSlices finds it, if no two have
// the same name.
func TestServices_leadWhereKubernetesSays(t *testing.T) {
	g := newSource(32)
	found, none := 0, 0
	for range 20000 {
		names := []string{"", "web", "http", "admin", "Web"}
		g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		var theirs corev1.Pod
		var ours pod.Spec
		for i := range 4 {
			port := corev1.ContainerPort{Name: names[i], ContainerPort: int32(1 + g.IntN(4)), Protocol: pick(g, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP)}
			c := corev1.Container{Ports: []corev1.ContainerPort{port}}
			own := pod.Container{Ports: []pod.ContainerPort{{Name: port.Name, ContainerPort: int64(port.ContainerPort), Protocol: string(port.Protocol)}}}
			if port.Protocol == corev1.ProtocolTCP && g.one(2) {
				own.Ports[0].Protocol = "" // the API server fills it in
			}
			if g.one(2) {
				theirs.Spec.Containers, ours.Containers = append(theirs.Spec.Containers, c), append(ours.Containers, own)
				continue
			}
			if g.one(2) {
				c.RestartPolicy, own.RestartPolicy = new(corev1.ContainerRestartPolicyAlways), "Always"
			}
			theirs.Spec.InitContainers, ours.InitContainers = append(theirs.Spec.InitContainers, c), append(ours.InitContainers, own)
		}
		p := corev1.ServicePort{Port: int32(1 + g.IntN(4)), Protocol: pick(g, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP)}
		own := surroundings.ServicePort{Port: int(p.Port), Protocol: string(p.Protocol)}
		switch g.IntN(3) {
		case 0: // the API server fills in the port
			p.TargetPort = intstr.FromInt32(p.Port)
		case 1:
			number := int32(1 + g.IntN(4))
			p.TargetPort, own.TargetPort = intstr.FromInt32(number), field.Number(number)
		default:
			name := pick(g, "web", "http", "admin", "other")
			p.TargetPort, own.TargetPort = intstr.FromString(name), field.IntOrString{Str: name, IsString: true}
		}
		want, err := endpointslice.FindPort(&theirs, &p)
		if err != nil || p.Protocol != corev1.ProtocolTCP {
			want = 0
			none++
		} else {
			found++
		}
		s := beside.Of(&surroundings.Service{
			Neighbour: surroundings.Neighbour{Name: "web"}, Selector: field.KeyValues{{Key: "a", Value: "b"}}, Ports: []surroundings.ServicePort{own},
		})
		for port := 1; port <= 4; port++ {
			leads := s.Exposed(&surroundings.Pods{Labels: field.KeyValues{{Key: "a", Value: "b"}}, Spec: &ours}, port) != ""
			if leads != (port == want) {
				t.Fatalf("%+v leads to port %d of %+v: %t; Kubernetes says %d", own, port, ours, leads, want)
			}
		}
	}
	if found < 5000 || none < 5000 {
		t.Errorf("%d lead to a port, %d to none", found, none)
	}
}
