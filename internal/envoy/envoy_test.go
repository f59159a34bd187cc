package envoy_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/envoy"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// A filterChain is what is read of one: the routes of HTTP, or the cluster that gets TLS.
type filterChain struct {
	Match   map[string]string `yaml:"filter_chain_match"`
	Filters []struct {
		Config struct {
			Cluster string
			Routes  struct {
				Hosts []struct {
					Routes []struct {
						Match   struct{ Path string }
						Route   struct{ Cluster, Timeout, Prefix_rewrite string }
						Removed []string `yaml:"response_headers_to_remove"`
					}
				} `yaml:"virtual_hosts"`
			} `yaml:"route_config"`
		} `yaml:"typed_config"`
	}
}

type static struct {
	Resources struct {
		Clusters []struct {
			Name    string
			Timeout string         `yaml:"connect_timeout"`
			Options map[string]any `yaml:"typed_extension_protocol_options"`
			Load    struct {
				Name      string `yaml:"cluster_name"`
				Endpoints []struct {
					LB []struct {
						Endpoint struct {
							Address struct {
								Socket struct {
									Port string `yaml:"port_value"`
								} `yaml:"socket_address"`
							}
						}
					} `yaml:"lb_endpoints"`
				}
			} `yaml:"load_assignment"`
		}
		Listeners []struct {
			Name    string
			Filters []any         `yaml:"listener_filters"`
			Chains  []filterChain `yaml:"filter_chains"`
		}
	} `yaml:"static_resources"`
}

// answers says what an Envoy does with a configuration: a line for each route and each port of TLS,
// with what answers there.
func answers(t *testing.T, text string) (lines []string) {
	t.Helper()
	var s static
	if err := yaml.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	clusters := make(map[string]string)
	for _, c := range s.Resources.Clusters {
		if clusters[c.Name] != "" || c.Load.Name != c.Name {
			t.Errorf("cluster %s is there twice, or has the endpoints of %s:\n%s", c.Name, c.Load.Name, text)
		}
		protocol := ""
		if c.Options != nil {
			protocol = " HTTP2"
		}
		clusters[c.Name] = c.Load.Endpoints[0].LB[0].Endpoint.Address.Socket.Port + " within " + c.Timeout + protocol
	}
	used := make(map[string]bool)
	for _, l := range s.Resources.Listeners {
		port := listeners[l.Name]
		if len(l.Chains) == 2 != (len(l.Filters) == 1) {
			t.Errorf("%d filter chains, and %d filters of the listener:\n%s", len(l.Chains), len(l.Filters), text)
		}
		for _, chain := range l.Chains {
			f := chain.Filters[0].Config
			protocol := chain.Match["transport_protocol"]
			if f.Cluster != "" {
				if protocol != "tls" && len(l.Chains) == 2 {
					t.Errorf("TLS is told by %q:\n%s", protocol, text)
				}
				used[f.Cluster] = true
				lines = append(lines, fmt.Sprintf("%s TLS: %s %s", port, f.Cluster, clusters[f.Cluster]))
				continue
			}
			if protocol != "raw_buffer" && len(l.Chains) == 2 {
				t.Errorf("HTTP is told by %q:\n%s", protocol, text)
			}
			for _, r := range f.Routes.Hosts[0].Routes {
				if !slices.Equal(r.Removed, []string{"location"}) {
					t.Errorf("%s keeps the Location:\n%s", r.Match.Path, text)
				}
				used[r.Route.Cluster] = true
				lines = append(lines, fmt.Sprintf("%s%s: %s %s %s within %s", port, r.Match.Path, r.Route.Prefix_rewrite, r.Route.Cluster, clusters[r.Route.Cluster], r.Route.Timeout))
			}
		}
	}
	if len(used) != len(clusters) {
		t.Errorf("%d clusters, of which %d are used:\n%s", len(clusters), len(used), text)
	}
	slices.Sort(lines)
	return lines
}

// listeners has the ports by the names of listeners in Open Service Mesh's documentation.
var listeners = map[string]string{"liveness_listener": "15901", "readiness_listener": "15902", "startup_listener": "15903"}

// TestEachRouteLeadsToItsProbe compares the configuration with the routes of Open Service Mesh's
// form, for random probes of a pod.
func TestEachRouteLeadsToItsProbe(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		originals := make(map[string]*prober.Original)
		for range rnd.IntN(6) {
			key := fmt.Sprintf("/app-health/%s/%s", []string{"a", "b", "c"}[rnd.IntN(3)], []string{"livez", "readyz", "startupz"}[rnd.IntN(3)])
			o := &prober.Original{TimeoutSeconds: rnd.IntN(3)}
			switch port := field.Number(80 + rnd.IntN(3)); rnd.IntN(5) {
			case 0:
				o.TCPSocket = &prober.TCPSocket{Port: port}
			case 1:
				o.HTTPGet = &prober.HTTPGet{Port: port, Scheme: "HTTPS", Path: "/s"}
			case 2:
				o.HTTPGet = &prober.HTTPGet{Port: port, Protocol: prober.HTTP2, Path: "h?a=b"}
			default:
				o.HTTPGet = &prober.HTTPGet{Port: port, Scheme: "HTTP", Path: "/p%zz"}
			}
			originals[key] = o
		}
		var want []string
		first := make(map[int]string) // the key of the TLS of a port
		for key, routes := range prober.OSMRoutes(originals) {
			for _, r := range routes {
				if r.IsTLS() && (first[r.Port] == "" || key < first[r.Port]) {
					first[r.Port] = key
				}
			}
		}
		containers := make(map[string]bool) // whose probes Envoy answers
		for key, routes := range prober.OSMRoutes(originals) {
			container, _, _ := prober.ParseKey(key)
			for _, r := range routes {
				if r.TCPPort == "" && !(r.IsTLS() && first[r.Port] != key) {
					containers[container] = true
				}
			}
		}
		for key, routes := range prober.OSMRoutes(originals) {
			container, probeType, _ := prober.ParseKey(key)
			cluster := probeType.Name() + "_cluster"
			if len(containers) > 1 {
				cluster = container + "_" + cluster
			}
			for _, r := range routes {
				if r.TCPPort != "" || r.IsTLS() && first[r.Port] != key {
					continue
				}
				o := originals[key]
				timeout := fmt.Sprintf("%ds", cmp.Or(o.TimeoutSeconds, 1))
				to := fmt.Sprintf("%s %s within %s", cluster, o.HTTPGet.Port, timeout)
				if o.HTTPGet.Protocol == prober.HTTP2 {
					to += " HTTP2"
				}
				if r.IsTLS() {
					want = append(want, fmt.Sprintf("%d TLS: %s", r.Port, to))
				} else {
					path := map[string]string{"h?a=b": "/h?a=b", "/p%zz": "/p%25zz"}[o.HTTPGet.Path]
					want = append(want, fmt.Sprintf("%d%s: %s %s within %s", r.Port, r.Path, path, to, timeout))
				}
			}
		}
		slices.Sort(want)
		text := envoy.Config(originals)
		if len(want) == 0 {
			if text != "" {
				t.Errorf("seed %d: no route, and the configuration\n%s", seed, text)
			}
			continue
		}
		if got := answers(t, text); !slices.Equal(got, want) {
			t.Errorf("seed %d: got\n%s\nwant\n%s\n%s", seed, strings.Join(got, "\n"), strings.Join(want, "\n"), text)
			return
		}
		if again := envoy.Config(originals); again != text {
			t.Errorf("seed %d: another text the second time:\n%s\n%s", seed, text, again)
		}
	}
}

// Each probe has its own timeout, a second if it has none, and only HTTP2 is HTTP/2.
func TestEachProbeHasItsTimeoutAndItsProtocol(t *testing.T) {
	get := func(port, timeout int, protocol string) *prober.Original {
		return &prober.Original{HTTPGet: &prober.HTTPGet{Path: "/", Port: field.Number(port), Scheme: "HTTP", Protocol: protocol}, TimeoutSeconds: timeout}
	}
	got := envoy.Config(map[string]*prober.Original{
		"/app-health/a/livez":  get(1, 0, ""),
		"/app-health/b/livez":  get(2, 5, "HTTP1"),
		"/app-health/c/livez":  get(3, 7, "HTTP2"),
		"/app-health/c/readyz": get(4, 9, ""),
	})
	var config struct {
		Static struct {
			Clusters []struct {
				Name    string
				Timeout string         `yaml:"connect_timeout"`
				Options map[string]any `yaml:"typed_extension_protocol_options"`
			}
		} `yaml:"static_resources"`
	}
	if err := yaml.Unmarshal([]byte(got), &config); err != nil {
		t.Fatal(err)
	}
	var clusters []string
	for _, c := range config.Static.Clusters {
		clusters = append(clusters, fmt.Sprint(c.Name, " ", c.Timeout, " ", len(c.Options)))
	}
	if want := []string{"a_liveness_cluster 1s 0", "b_liveness_cluster 5s 0", "c_liveness_cluster 7s 1", "c_readiness_cluster 9s 0"}; !slices.Equal(clusters, want) {
		t.Errorf("clusters %q, want %q", clusters, want)
	}
	for name, timeout := range map[string]string{"a_liveness_cluster": "1s", "b_liveness_cluster": "5s", "c_liveness_cluster": "7s", "c_readiness_cluster": "9s"} {
		if route := "cluster: " + name + "\n                  timeout: " + timeout + "\n"; !strings.Contains(got, route) {
			t.Errorf("%s has no route within %s:\n%s", name, timeout, got)
		}
	}
}
