package surroundings

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// A name is that of the first port of a container, or else of a native sidecar, with the same protocol (FindPort in Kubernetes'
// pkg/api/v1/pod/util.go). Envoy sees TCP alone.
func TestAServicePortLeadsToAContainerPort(t *testing.T) {
	rnd := rand.New(rand.NewPCG(13, 9))
	protocol := func() string { return []string{"", "TCP", "UDP"}[rnd.IntN(3)] }
	named := 0
	for range 5000 {
		container := func(restartPolicy string) (c pod.Container) {
			c.RestartPolicy = restartPolicy
			for range rnd.IntN(3) {
				c.Ports = append(c.Ports, pod.ContainerPort{Name: []string{"", "a", "b"}[rnd.IntN(3)], ContainerPort: 1 + rnd.Int64N(4), Protocol: protocol()})
			}
			return c
		}
		// Neither the second init container nor the policy of an ordinary container makes a native sidecar.
		spec := &pod.Spec{InitContainers: []pod.Container{container("Always"), container("")}, Containers: []pod.Container{container("Always"), container("")}}
		p := ServicePort{Protocol: protocol(), Port: 1 + rnd.IntN(4)}
		switch rnd.IntN(4) {
		case 0:
			p.TargetPort = field.IntOrString{Int: 1 + rnd.Int64N(4)}
		case 1:
			p.TargetPort = field.IntOrString{IsString: true, Str: []string{"", "a", "b"}[rnd.IntN(3)]}
		case 2:
			p.TargetPort = field.IntOrString{IsString: true, Str: "a"}
		}
		for port := 1; port <= 5; port++ {
			want := false
			switch {
			case p.Protocol == "UDP":
			case p.TargetPort.Int != 0:
				want = int(p.TargetPort.Int) == port
			case p.TargetPort.Str == "":
				want = p.Port == port
			default:
				var targets []int64 // the first counts
				for _, c := range []*pod.Container{&spec.Containers[0], &spec.Containers[1], &spec.InitContainers[0]} {
					for _, x := range c.Ports {
						if x.Name == p.TargetPort.Str && x.Protocol != "UDP" {
							targets = append(targets, x.ContainerPort)
						}
					}
				}
				if want = len(targets) > 0 && int(targets[0]) == port; want {
					named++
				}
			}
			if got := p.leadsTo(spec, port); got != want {
				t.Fatalf("%+v leads to %d: %t\n%+v", p, port, got, spec)
			}
		}
	}
	if named < 500 {
		t.Errorf("%d names lead to a port", named)
	}
}

// The list is that of ConvertProtocol and Parse in Istio, and of the ports that it does not sniff.
func TestAPortHasTheProtocolThatIstioTakesItFor(t *testing.T) {
	names := map[string]Protocol{
		"": Sniffed, "web": Sniffed, "httpx": Sniffed, "-http": Sniffed,
		"http": HTTP1, "http_proxy": HTTP1, "http2": HTTP2, "grpc": HTTP2,
		"tcp": TCP, "udp": TCP, "tls": TCP, "https": TCP, "mongo": TCP, "redis": TCP, "mysql": TCP,
	}
	apps := map[string]Protocol{"kubernetes.io/h2c": HTTP2, "kubernetes.io/ws": HTTP1, "kubernetes.io/wss": TCP}
	for name, p := range names {
		apps[name] = p
		names[name+"-web"] = p
		names[strings.ToUpper(name)] = p
	}
	silent := map[int]bool{25: true, 53: true, 3306: true, 27017: true}
	for name, byName := range names {
		for app, byApp := range apps {
			want := byApp
			if app == "" {
				want = byName
			}
			for _, port := range []int{80, 25, 53, 3306, 27017, 27018} {
				for _, isEntry := range []bool{false, true} {
					v := Service{Ports: []ServicePort{{Name: name, AppProtocol: app, Port: port, TargetPort: field.IntOrString{Int: 8080}}}}
					if isEntry {
						v.Kind = "ServiceEntry"
					}
					want := want
					if want == Sniffed && silent[port] && !isEntry {
						want = TCP
					}
					if got := v.declared(&v.Ports[0]); got != want {
						t.Errorf("name %q, appProtocol %q, port %d, of an entry: %t: %v, want %v", name, app, port, isEntry, got, want)
					}
				}
			}
		}
	}
}

// protocols returns the protocols of the chains that port 8080 may have.
func protocols(s *Surroundings, pods *Pods) string {
	var all []Protocol
	for _, c := range s.Chains("istio-system", pods, 8080) {
		all = append(all, c.Protocol)
	}
	return fmt.Sprint(all)
}

// A Service declares the protocol of a port, and if it is not sure to be about the pods, perhaps. It exposes the port in
// both cases.
func TestASureServiceDeclaresAndAnyExposes(t *testing.T) {
	web, other := field.KeyValues{{Key: "app", Value: "web"}}, field.KeyValues{{Key: "app", Value: "other"}}
	later := field.KeyValues{{Key: "app", Value: "web"}, {Key: "istio.io/rev", Value: "canary"}}
	of := func(name string, selector field.KeyValues, protocols ...string) Service {
		v := Service{Neighbour: named("shop", name), Selector: selector}
		for i, p := range protocols {
			v.Ports = append(v.Ports, ServicePort{Name: p, Port: 80 + i, TargetPort: field.IntOrString{Int: 8080}})
		}
		return v
	}
	entry := of("entry", web, "grpc")
	entry.Kind = "ServiceEntry"
	external, nameless := of("external", web, "http"), of("nameless", nil, "http")
	external.Type, nameless.Type = "ExternalName", "ExternalName"
	anotherPort := of("another-port", web, "http")
	anotherPort.Ports[0].TargetPort.Int = 9090
	for _, c := range []struct {
		name              string
		services          []Service
		declared, exposed string
		hasServices       bool
	}{
		{"none", nil, "[0]", "", false},
		{"one", []Service{of("a", web, "http")}, "[1]", "Service shop/a", true},
		{"one with two ports of one protocol", []Service{of("a", web, "http", "http")}, "[1]", "Service shop/a", true},
		{"two that say the same", []Service{of("a", web, "http"), of("b", web, "tcp", "http")}, "[1 3]", "Service shop/a", true},
		{"one of other pods", []Service{of("a", other, "http"), of("b", web, "grpc")}, "[2]", "Service shop/b", true},
		{"one that may be about the pods", []Service{of("a", later, "http")}, "[1 0]", "Service shop/a", true},
		{"one without a selector", []Service{of("a", nil, "http")}, "[0]", "Service shop/a (if kustomize gives it a selector)", true},
		{"a ServiceEntry", []Service{entry}, "[2]", "ServiceEntry shop/entry", false},
		{"a ServiceEntry and a Service of other pods", []Service{entry, of("a", other, "http")}, "[2]", "ServiceEntry shop/entry", true},
		{"the first of two ports counts", []Service{of("a", web, "tcp", "http")}, "[3]", "Service shop/a", true},
		{"one by another name", []Service{external}, "[1]", "", false},
		{"one by another name without a selector", []Service{nameless}, "[0]", "", false},
		{"another port", []Service{anotherPort}, "[0]", "", true},
	} {
		pods := &Pods{Namespace: "shop", Kind: "Deployment", Labels: web, Spec: new(pod.Spec)}
		near := around(c.services...)
		if got := protocols(near, pods); got != c.declared {
			t.Errorf("%s: declared %s, want %s", c.name, got, c.declared)
		}
		if got := near.Exposed(pods, 8080); got != c.exposed {
			t.Errorf("%s: %q exposes the port, want %q", c.name, got, c.exposed)
		}
		if near.HasServices() != c.hasServices {
			t.Errorf("%s: has Services: %t", c.name, near.HasServices())
		}
		others := slices.Clone(c.services)
		for i := range others {
			others[i].Far = true
		}
		far := around(others...)
		if got := far.ExposedElsewhere(pods, 8080); got != c.exposed || far.Exposed(pods, 8080) != "" || protocols(far, pods) != "[0]" {
			t.Errorf("%s, elsewhere: %q exposes the port, want %q", c.name, got, c.exposed)
		}
		unplaced := New(given{unplaced: pointers(c.services)})
		want := c.exposed
		if want != "" && !strings.HasSuffix(want, ")") {
			want += " (if it goes to the pod's namespace)"
		}
		if got := unplaced.Exposed(pods, 8080); got != want || unplaced.ExposedElsewhere(pods, 8080) != "" {
			t.Errorf("%s, without a namespace: %q exposes the port, want %q", c.name, got, want)
		}
		both := New(given{objects: pointers(c.services), unplaced: []any{new(of("unplaced", web, "http"))}})
		if want := both.Exposed(pods, 8080); c.exposed != "" && want != c.exposed || c.exposed == "" && !strings.Contains(want, "unplaced") {
			t.Errorf("%s, and one without a namespace: %q exposes the port", c.name, want)
		}
		unknown := &Pods{Spec: new(pod.Spec)} // its labels are
		if isExposed := near.Exposed(unknown, 8080) != ""; isExposed != (c.exposed != "") || protocols(near, unknown) != "[0]" {
			t.Errorf("%s, of pods without known labels: exposed: %t", c.name, isExposed)
		}
	}
}
