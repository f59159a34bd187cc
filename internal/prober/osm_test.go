package prober_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

func http(scheme string, port int) *prober.Original {
	return &prober.Original{HTTPGet: &prober.HTTPGet{Path: "/liveness", Port: field.Number(port), Scheme: scheme}}
}

func tcp(port int) *prober.Original {
	return &prober.Original{TCPSocket: &prober.TCPSocket{Port: field.Number(port)}}
}

func TestTheFormOfOSMIsThatOfItsDocumentation(t *testing.T) {
	liveness := func(container string) string { return prober.Key(container, prober.Liveness) }
	readiness := func(container string) string { return prober.Key(container, prober.Readiness) }
	named := func(container string) prober.OSMRoute {
		return prober.OSMRoute{Port: 15901, Path: "/osm-liveness-probe/" + container}
	}
	for name, c := range map[string]struct {
		probers map[string]*prober.Original
		want    map[string][]prober.OSMRoute
	}{
		"one of each type": {
			map[string]*prober.Original{liveness("a"): http("HTTP", 14001), readiness("a"): http("HTTPS", 14001), prober.Key("a", prober.Startup): tcp(14001)},
			map[string][]prober.OSMRoute{
				liveness("a"):                   {{Port: 15901, Path: "/osm-liveness-probe"}, named("a")},
				readiness("a"):                  {{Port: 15902}},
				prober.Key("a", prober.Startup): {{Port: 15904, Path: "/osm-healthcheck", TCPPort: "14001"}},
			},
		},
		"several containers": {
			map[string]*prober.Original{liveness("a"): http("HTTP", 1), liveness("b"): http("", 2), liveness("c"): http("HTTPS", 3)},
			map[string][]prober.OSMRoute{liveness("a"): {named("a")}, liveness("b"): {named("b")}, liveness("c"): {{Port: 15901}}},
		},
		"TLS at two ports": {
			map[string]*prober.Original{readiness("a"): http("HTTPS", 1), readiness("b"): http("HTTPS", 2), readiness("c"): http("HTTPS", 1)},
			map[string][]prober.OSMRoute{readiness("a"): {{Port: 15902}}, readiness("c"): {{Port: 15902}}},
		},
		"TLS goes to the port of the first key": {
			map[string]*prober.Original{readiness("b"): http("HTTPS", 1), readiness("a"): http("HTTPS", 2), liveness("0"): http("HTTPS", 3)},
			map[string][]prober.OSMRoute{readiness("a"): {{Port: 15902}}, liveness("0"): {{Port: 15901}}},
		},
		"HTTP beside TLS, and beside other types": {
			map[string]*prober.Original{liveness("a"): http("HTTP", 1), liveness("b"): http("HTTPS", 1), liveness("c"): tcp(1), readiness("d"): http("HTTP", 1), readiness("e"): http("HTTP", 1)},
			map[string][]prober.OSMRoute{
				liveness("a"): {{Port: 15901, Path: "/osm-liveness-probe"}, named("a")}, liveness("b"): {{Port: 15901}}, liveness("c"): {{Port: 15904, Path: "/osm-healthcheck", TCPPort: "1"}},
				readiness("d"): {{Port: 15902, Path: "/osm-readiness-probe/d"}}, readiness("e"): {{Port: 15902, Path: "/osm-readiness-probe/e"}},
			},
		},
		"what it has nothing for": {
			map[string]*prober.Original{liveness("a"): {GRPC: &prober.GRPC{Port: field.Number(1)}}, prober.Key("a", prober.PreStop): http("HTTP", 1), "other": http("HTTP", 1), liveness("b"): nil},
			map[string][]prober.OSMRoute{},
		},
	} {
		if d := cmp.Diff(c.want, prober.OSMRoutes(c.probers)); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
	}
}

func TestARequestIsInTheFormOfOSMByItsPortAndPathOrTLS(t *testing.T) {
	request := func(path string, port int, scheme string, headers ...prober.HTTPHeader) *prober.HTTPGet {
		return &prober.HTTPGet{Path: path, Port: field.Number(port), Scheme: scheme, HTTPHeaders: headers}
	}
	header := prober.HTTPHeader{Name: "ORIGINAL-tcp-PORT", Value: "14001"}
	named := &prober.HTTPGet{Path: "/osm-liveness-probe", Port: field.IntOrString{Str: "web", IsString: true}}
	for _, c := range []struct {
		h    *prober.HTTPGet
		want prober.OSMRoute
		ok   bool
	}{
		{request("/osm-liveness-probe", 15901, ""), prober.OSMRoute{Port: 15901, Path: "/osm-liveness-probe"}, true},
		{request("/osm-readiness-probe/web", 15902, "HTTP"), prober.OSMRoute{Port: 15902, Path: "/osm-readiness-probe/web"}, true},
		{request("/s", 15903, "HTTPS"), prober.OSMRoute{Port: 15903}, true},
		{request("", 15903, "HTTPS"), prober.OSMRoute{Port: 15903}, true},
		{request("/osm-healthcheck", 15904, "HTTP", prober.HTTPHeader{Name: "A"}, header), prober.OSMRoute{Port: 15904, Path: "/osm-healthcheck", TCPPort: "14001"}, true},
		{h: request("/osm-healthcheck", 15904, "HTTP")},
		{h: request("/osm-healthcheck", 15904, "HTTPS", header)},
		{h: request("/osm-healthcheck", 15901, "HTTP", header)},
		{h: request("/other", 15904, "HTTPS")},
		{h: request("/osm-readiness-probe", 15901, "HTTP")},
		{h: request("/osm-liveness-probe", 80, "HTTP")},
		{h: request("/osm-liveness-probe/", 15901, "HTTP")},
		{h: request("/osm-liveness-probe/a/b", 15901, "HTTP")},
		{h: request("/osm-liveness-probes", 15901, "HTTP")},
		{h: request("/liveness", 443, "HTTPS")},
		{h: named},
	} {
		if got, ok := prober.OSMRouteOf(c.h); ok != c.ok || ok && got != c.want {
			t.Errorf("%+v: %+v, %t", c.h, got, ok)
		}
	}
}

// What a pod has decides the routes, and each of them leads to one answer: two probes share a
// route only if the app's answer to both is the same.
func TestARouteOfOSMHasOneAnswer(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		probers := make(map[string]*prober.Original)
		for range r.IntN(8) {
			key := prober.Key(fmt.Sprint("c", r.IntN(4)), prober.ProbeTypes()[r.IntN(5)])
			port := 1 + r.IntN(2)
			probers[key] = []*prober.Original{http("HTTP", port), http("HTTPS", port), tcp(port), {GRPC: &prober.GRPC{Port: field.Number(port)}}}[r.IntN(4)]
		}
		answers := make(map[prober.OSMRoute]string)
		for key, routes := range prober.OSMRoutes(probers) {
			for _, route := range routes {
				answer := key
				if p := probers[key]; p.TCPSocket != nil || route.IsTLS() {
					answer = p.String()
				}
				if other, taken := answers[route]; taken && other != answer {
					t.Fatalf("seed %d: %+v is answered by %s and %s", seed, route, other, answer)
				}
				answers[route] = answer
			}
		}
	}
}

// Each route of the form is on one of its ports, and a request that is made by it leads back to it.
func TestEveryRouteOfOSMIsFoundByItsRequest(t *testing.T) {
	if d := cmp.Diff([]int{15901, 15902, 15903, 15904}, prober.OSMPorts()); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	probers := make(map[string]*prober.Original)
	for i, probeType := range prober.ProbeTypes() {
		for j, p := range []*prober.Original{http("HTTP", 80), http("HTTPS", 443), tcp(5432)} {
			probers[prober.Key(fmt.Sprint("c", i, j), probeType)] = p
		}
	}
	seen := make(map[int]bool)
	for key, routes := range prober.OSMRoutes(probers) {
		for _, route := range routes {
			h := &prober.HTTPGet{Path: route.Path, Port: field.Number(route.Port), Scheme: "HTTP"}
			if route.IsTLS() {
				h.Path, h.Scheme = "/any", "HTTPS"
			}
			if route.TCPPort != "" {
				h.HTTPHeaders = []prober.HTTPHeader{{Name: "other", Value: "1"}, {Name: prober.OSMPortHeader, Value: route.TCPPort}}
			}
			if got, ok := prober.OSMRouteOf(h); !ok || got != route {
				t.Errorf("%s: the request %v is at %+v, %t, want %+v", key, h, got, ok, route)
			}
			seen[route.Port] = true
		}
	}
	for _, port := range prober.OSMPorts() {
		if !seen[port] {
			t.Errorf("no route is on the port %d", port)
		}
	}
}
