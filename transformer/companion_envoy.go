package transformer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// envoyTypes are the probe types that have listeners and clusters in Open Service
// Mesh.
var envoyTypes = []prober.ProbeType{prober.Liveness, prober.Readiness, prober.Startup}

// The types below are the part of Envoy's v3 API that is written here, in its
// JSON form; a test reads it with Envoy's own types.
type (
	envoyBootstrap struct {
		StaticResources envoyResources `json:"static_resources"`
	}
	envoyResources struct {
		Listeners []envoyListener `json:"listeners"`
		Clusters  []envoyCluster  `json:"clusters"`
	}
	envoyListener struct {
		Name            string        `json:"name"`
		Address         envoyAddress  `json:"address"`
		ListenerFilters []envoyFilter `json:"listener_filters,omitempty"`
		FilterChains    []envoyChain  `json:"filter_chains"`
	}
	envoyChain struct {
		Match   *envoyChainMatch `json:"filter_chain_match,omitempty"`
		Filters []envoyFilter    `json:"filters"`
	}
	envoyChainMatch struct {
		TransportProtocol string `json:"transport_protocol"`
	}
	envoyFilter struct {
		Name   string `json:"name"`
		Config any    `json:"typed_config"`
	}
	envoyHTTP struct {
		Type       string        `json:"@type"`
		StatPrefix string        `json:"stat_prefix"`
		Routes     envoyRoutes   `json:"route_config"`
		Filters    []envoyFilter `json:"http_filters"`
	}
	envoyRoutes struct {
		Name  string      `json:"name"`
		Hosts []envoyHost `json:"virtual_hosts"`
	}
	envoyHost struct {
		Name    string       `json:"name"`
		Domains []string     `json:"domains"`
		Routes  []envoyRoute `json:"routes"`
	}
	envoyRoute struct {
		Match struct {
			Path string `json:"path"`
		} `json:"match"`
		Route struct {
			Cluster       string `json:"cluster"`
			PrefixRewrite string `json:"prefix_rewrite"`
			Timeout       string `json:"timeout"`
		} `json:"route"`
	}
	envoyTCP struct {
		Type       string `json:"@type"`
		StatPrefix string `json:"stat_prefix"`
		Cluster    string `json:"cluster"`
	}
	envoyTyped struct {
		Type string `json:"@type"`
	}
	envoyCluster struct {
		Name           string        `json:"name"`
		Type           string        `json:"type"`
		ConnectTimeout string        `json:"connect_timeout"`
		Assignment     envoyEndpoint `json:"load_assignment"`
	}
	envoyEndpoint struct {
		Cluster   string       `json:"cluster_name"`
		Endpoints []envoyGroup `json:"endpoints"`
	}
	envoyGroup struct {
		Endpoints []envoyHostPort `json:"lb_endpoints"`
	}
	envoyHostPort struct {
		Endpoint struct {
			Address envoyAddress `json:"address"`
		} `json:"endpoint"`
	}
	envoyAddress struct {
		Socket struct {
			Address string `json:"address"`
			Port    int    `json:"port_value"`
		} `json:"socket_address"`
	}
)

const envoyTypeURL = "type.googleapis.com/envoy.extensions."

func envoySocket(host string, port int) (a envoyAddress) {
	a.Socket.Address, a.Socket.Port = host, port
	return a
}

// envoyResourcesOf returns the static resources with which an Envoy answers the
// httpGet probers of the mesh osm. Equal probers result in equal text.
func envoyResourcesOf(probers map[string]*prober.Prober) string {
	r := envoyResources{Listeners: []envoyListener{}, Clusters: []envoyCluster{}}
	for _, t := range envoyTypes {
		of := make(map[string]*prober.Prober)
		ports := make(map[int]bool)
		for key, p := range probers {
			if _, probeType, _ := prober.ParseOSMKey(key); probeType == t && p.HTTPGet != nil {
				of[key] = p
				ports[int(p.HTTPGet.Port.Int)] = true
			}
		}
		if len(of) == 0 {
			continue
		}
		// One port, the usual case, has the name that OSM gives it.
		name := func(port field.IntOrString) string {
			if len(ports) == 1 {
				return t.Name() + "_cluster"
			}
			return fmt.Sprintf("%s_cluster_%s", t.Name(), port)
		}
		for _, port := range slices.Sorted(maps.Keys(ports)) {
			r.Clusters = append(r.Clusters, envoyClusterTo(name(field.Number(port)), port))
		}
		r.Listeners = append(r.Listeners, envoyListenerOf(t, of, name))
	}
	b, _ := json.Marshal(envoyBootstrap{r}) // types of strings and numbers alone cannot fail
	return string(b)
}

// envoyClusterTo returns a cluster for a port of the app, at the address that
// OSM's Envoy dials.
func envoyClusterTo(name string, port int) envoyCluster {
	var to envoyHostPort
	to.Endpoint.Address = envoySocket("127.0.0.1", port)
	return envoyCluster{
		Name: name, Type: "STATIC", ConnectTimeout: "1s",
		Assignment: envoyEndpoint{name, []envoyGroup{{[]envoyHostPort{to}}}},
	}
}

func envoyListenerOf(probeType prober.ProbeType, probers map[string]*prober.Prober, cluster func(field.IntOrString) string) envoyListener {
	l := envoyListener{Name: probeType.Name() + "_listener", Address: envoySocket("0.0.0.0", prober.OSMPort(probeType))}
	var routes []envoyRoute
	var passed *prober.Prober
	for _, key := range slices.Sorted(maps.Keys(probers)) {
		p := probers[key]
		if p.HTTPGet.Scheme == "HTTPS" {
			passed = cmp.Or(passed, p) // all HTTPS probes of a type go to one port
			continue
		}
		var r envoyRoute
		r.Match.Path = key
		r.Route.Cluster, r.Route.PrefixRewrite = cluster(p.HTTPGet.Port), p.HTTPGet.Path
		r.Route.Timeout = fmt.Sprintf("%ds", p.TimeoutSeconds)
		routes = append(routes, r)
	}
	if passed != nil {
		l.FilterChains = append(l.FilterChains, envoyChain{Filters: []envoyFilter{{"envoy.filters.network.tcp_proxy", envoyTCP{
			Type:       envoyTypeURL + "filters.network.tcp_proxy.v3.TcpProxy",
			StatPrefix: "health_probes", Cluster: cluster(passed.HTTPGet.Port),
		}}}})
	}
	if routes == nil {
		return l
	}
	if passed != nil { // TLS and HTTP come here, and the first bytes tell them apart
		l.ListenerFilters = []envoyFilter{{"envoy.filters.listener.tls_inspector", envoyTyped{envoyTypeURL + "filters.listener.tls_inspector.v3.TlsInspector"}}}
		l.FilterChains[0].Match = &envoyChainMatch{"tls"}
	}
	l.FilterChains = append(l.FilterChains, envoyChain{Filters: []envoyFilter{{"envoy.filters.network.http_connection_manager", envoyHTTP{
		Type:       envoyTypeURL + "filters.network.http_connection_manager.v3.HttpConnectionManager",
		StatPrefix: "health_probes_http",
		Routes:     envoyRoutes{"local_route", []envoyHost{{"local_service", []string{"*"}, routes}}},
		Filters:    []envoyFilter{{"envoy.filters.http.router", envoyTyped{envoyTypeURL + "filters.http.router.v3.Router"}}},
	}}}})
	return l
}

// The ConfigMap with Envoy's static resources.
const (
	envoyDataKey   = "envoy.json"
	managedByLabel = "app.kubernetes.io/managed-by"
	managedBy      = "rewrite-probes"
)

// companionName returns the name of a workload's companion. It contains the
// kind, since two workloads may have the same name.
func companionName(kind, name string) string {
	return strings.ToLower(kind) + "-" + name + "-envoy-probes"
}

// envoyConfigMap returns the companion of a workload.
func envoyConfigMap(kind, name, namespace, resources string) *Companion {
	c := &Companion{APIVersion: "v1", Kind: "ConfigMap", Name: companionName(kind, name), Namespace: namespace}
	metadata := field.Map{{Key: "name", Value: c.Name}}
	if namespace != "" {
		metadata = append(metadata, field.Entry{Key: "namespace", Value: namespace})
	}
	metadata = append(metadata, field.Entry{Key: "labels", Value: field.Map{{Key: managedByLabel, Value: managedBy}}})
	c.Value = field.Map{
		{Key: "apiVersion", Value: c.APIVersion},
		{Key: "kind", Value: c.Kind},
		{Key: "metadata", Value: metadata},
		{Key: "data", Value: field.Map{{Key: envoyDataKey, Value: resources}}},
	}
	return c
}

// envoyConfig makes the ConfigMap by which an Envoy knows the probes.
type envoyConfig struct{}

// osmOriginals is our annotation with the originals that are in the ConfigMap, in
// the form of the env var.
const osmOriginals = "rewrite-probes.io/osm-probers"

func (envoyConfig) needed(a answerer) bool { return a.who == AnsweredByEnvoy }

func (envoyConfig) withOriginals(annotations field.KeyValues, sites []*handlerSite) field.KeyValues {
	if value := prober.Encode(envoyEntries(sites)); value != "" {
		return annotations.With(osmOriginals, value)
	}
	return annotations
}

func (envoyConfig) withoutOriginals(annotations field.KeyValues) field.KeyValues {
	return annotations.Without(osmOriginals)
}

func (envoyConfig) originalsIn(annotations field.KeyValues) (map[string]*prober.Prober, error) {
	value, set := annotations.Lookup(osmOriginals)
	if !set {
		return nil, nil
	}
	originals, bad, err := prober.OSM.Decode(value)
	if err == nil && len(bad) > 0 {
		err = bad[0]
	}
	return originals, err
}

func (envoyConfig) make(b *planBuilder, sites []*handlerSite) *Companion {
	probers := envoyEntries(sites)
	if len(sites) > 0 && len(probers) == 0 {
		return nil
	}
	c := envoyConfigMap(b.in.Kind, b.in.Workload.Name, b.in.NamespaceName, envoyResourcesOf(probers))
	if len(sites) == 0 {
		c.Value = nil
	}
	return c
}

// envoyEntries returns the entries of the probes that Envoy answers.
func envoyEntries(sites []*handlerSite) map[string]*prober.Prober {
	answered := slices.DeleteFunc(slices.Clone(sites), func(s *handlerSite) bool { return s.original.HTTPGet == nil })
	return entriesOf(answered, osmKeyOf)
}
