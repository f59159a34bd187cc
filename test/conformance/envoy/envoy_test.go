package envoy_test

import (
	"strings"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func number(n int64) field.IntOrString { return field.IntOrString{Int: n} }

func get(path string, port int64, scheme string, timeout int64) *transformer.Probe {
	h := &transformer.HTTPGet{Path: path, Port: number(port), Scheme: scheme}
	return &transformer.Probe{Handler: transformer.Handler{HTTPGet: h}, TimeoutSeconds: &timeout}
}

// resources plans the containers for Envoy and reads what it is told.
func resources(t *testing.T, containers ...transformer.Container) *bootstrapv3.Bootstrap_StaticResources {
	t.Helper()
	o := transformer.Defaults()
	o.Mesh, o.AnsweredBy = "osm", transformer.AnsweredByEnvoy
	p, err := transformer.New(o)
	if err != nil {
		t.Fatal(err)
	}
	plan := p.Plan(transformer.Input{
		Kind: "Deployment", APIVersion: "apps/v1", Workload: transformer.Metadata{Name: "web"},
		Path: field.NewPath("spec", "template"), Template: transformer.PodTemplate{Spec: transformer.PodSpec{Containers: containers}},
		Source: func(field.Path) (field.Value, bool) { return nil, false },
	})
	if plan.Companion == nil || len(plan.Findings) > 0 {
		t.Fatalf("plan %+v", plan)
	}
	data, _ := plan.Companion.Value.Get("data")
	text, _ := data.(field.Map).Get("envoy.json")
	var b bootstrapv3.Bootstrap
	if err := protojson.Unmarshal([]byte(text.(string)), &b); err != nil {
		t.Fatalf("Envoy cannot read it: %v\n%s", err, text)
	}
	if err := b.ValidateAll(); err != nil {
		t.Errorf("Envoy would refuse it: %v\n%s", err, text)
	}
	return b.StaticResources
}

// filter reads the one filter of a chain.
func filter[M proto.Message](t *testing.T, c *listenerv3.FilterChain, into M) M {
	t.Helper()
	if len(c.Filters) != 1 {
		t.Fatalf("filters %v", c.Filters)
	}
	if err := c.Filters[0].GetTypedConfig().UnmarshalTo(into); err != nil {
		t.Fatal(err)
	}
	if v, ok := proto.Message(into).(interface{ ValidateAll() error }); !ok || v.ValidateAll() != nil {
		t.Errorf("%T: %v", into, v.ValidateAll())
	}
	return into
}

func TestEnvoyTakesAListenerAndAClusterForEachType(t *testing.T) {
	r := resources(t, transformer.Container{Name: "app",
		LivenessProbe: get("/liveness?full=1", 14001, "", 7), ReadinessProbe: get("/readiness", 14002, "HTTP", 2), StartupProbe: get("/startup", 14003, "HTTPS", 1)})
	if len(r.Listeners) != 3 || len(r.Clusters) != 3 {
		t.Fatalf("%d listeners, %d clusters", len(r.Listeners), len(r.Clusters))
	}
	for i, want := range []struct {
		name          string
		listen, port  uint32
		path, rewrite string
		timeout       time.Duration
	}{
		{"liveness", 15901, 14001, "/osm-liveness-probe", "/liveness?full=1", 7 * time.Second},
		{"readiness", 15902, 14002, "/osm-readiness-probe", "/readiness", 2 * time.Second},
		{"startup", 15903, 14003, "", "", 0},
	} {
		l, c := r.Listeners[i], r.Clusters[i]
		if s := l.Address.GetSocketAddress(); l.Name != want.name+"_listener" || s.GetPortValue() != want.listen || s.Address != "0.0.0.0" {
			t.Errorf("listener %v", l)
		}
		end := c.LoadAssignment.Endpoints[0].LbEndpoints[0].GetEndpoint().Address.GetSocketAddress()
		if c.Name != want.name+"_cluster" || c.GetType() != clusterv3.Cluster_STATIC || end.GetPortValue() != want.port || c.ConnectTimeout.AsDuration() != time.Second {
			t.Errorf("cluster %v", c)
		}
		if want.path == "" {
			if tcp := filter(t, l.FilterChains[0], &tcpv3.TcpProxy{}); tcp.StatPrefix != "health_probes" || tcp.GetCluster() != c.Name {
				t.Errorf("tcp_proxy %v", tcp)
			}
			continue
		}
		hcm := filter(t, l.FilterChains[0], &hcmv3.HttpConnectionManager{})
		route := hcm.GetRouteConfig().VirtualHosts[0].Routes[0]
		if hcm.StatPrefix != "health_probes_http" || route.Match.GetPath() != want.path || route.GetRoute().PrefixRewrite != want.rewrite ||
			route.GetRoute().Timeout.AsDuration() != want.timeout || route.GetRoute().GetCluster() != c.Name {
			t.Errorf("connection manager %v", hcm)
		}
	}
}

// Open Service Mesh matches a prefix: /osm-liveness-probe-2 and all that is
// below the path reach the app.
func TestEnvoyMatchesTheExactPathAlone(t *testing.T) {
	r := resources(t, transformer.Container{Name: "a", LivenessProbe: get("/app", 80, "", 1)}, transformer.Container{Name: "b", LivenessProbe: get("/app-2", 81, "", 1)})
	hcm := filter(t, r.Listeners[0].FilterChains[0], &hcmv3.HttpConnectionManager{})
	var paths []string
	for _, route := range hcm.GetRouteConfig().VirtualHosts[0].Routes {
		if route.Match.GetPrefix() != "" {
			t.Errorf("match %v", route.Match)
		}
		paths = append(paths, route.Match.GetPath()+" "+route.GetRoute().GetCluster())
	}
	if got := strings.Join(paths, ", "); got != "/osm-liveness-probe/a liveness_cluster_80, /osm-liveness-probe/b liveness_cluster_81" || len(r.Clusters) != 2 {
		t.Errorf("paths %s, clusters %v", got, r.Clusters)
	}
}

func TestEnvoyTellsHTTPAndTLSOnOnePortApart(t *testing.T) {
	r := resources(t, transformer.Container{Name: "a", LivenessProbe: get("/a", 80, "", 1)}, transformer.Container{Name: "b", LivenessProbe: get("/b", 443, "HTTPS", 1)})
	l := r.Listeners[0]
	if len(l.ListenerFilters) != 1 || l.ListenerFilters[0].Name != "envoy.filters.listener.tls_inspector" || len(l.FilterChains) != 2 {
		t.Fatalf("listener %v", l)
	}
	if l.FilterChains[0].FilterChainMatch.TransportProtocol != "tls" || l.FilterChains[1].FilterChainMatch != nil {
		t.Errorf("chains %v", l.FilterChains)
	}
	if tcp := filter(t, l.FilterChains[0], &tcpv3.TcpProxy{}); tcp.GetCluster() != "liveness_cluster_443" {
		t.Errorf("tcp_proxy %v", tcp)
	}
	filter(t, l.FilterChains[1], &hcmv3.HttpConnectionManager{})
}
