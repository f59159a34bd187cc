package transformer

import (
	"bytes"
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

const envoyTypeURL = "type.googleapis.com/envoy.extensions."

func envoyAddress(host string, port int) field.Map {
	return field.Map{{Key: "socket_address", Value: field.Map{{Key: "address", Value: host}, {Key: "port_value", Value: port}}}}
}

// envoyFilter returns a filter of Envoy with its configuration, whose type is below
// envoyTypeURL.
func envoyFilter(name, configType string, config ...field.Entry) field.Map {
	typed := append(field.Map{{Key: "@type", Value: envoyTypeURL + configType}}, config...)
	return field.Map{{Key: "name", Value: name}, {Key: "typed_config", Value: typed}}
}

// envoyResources returns the static resources, in Envoy's v3 API, with which an Envoy answers
// the httpGet probers of the mesh osm. Equal probers result in equal text. A test reads it
// with Envoy's own types.
func envoyResources(probers map[string]*prober.Prober) string {
	listeners, clusters := field.List{}, field.List{}
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
			clusters = append(clusters, envoyCluster(name(field.Number(port)), port))
		}
		listeners = append(listeners, envoyListener(t, of, name))
	}
	resources := field.Map{{Key: "listeners", Value: listeners}, {Key: "clusters", Value: clusters}}
	var text bytes.Buffer
	json.HTMLEscape(&text, field.AppendJSON(nil, field.Map{{Key: "static_resources", Value: resources}}))
	return text.String()
}

// envoyCluster returns a cluster for a port of the app, at the address that
// OSM's Envoy dials.
func envoyCluster(name string, port int) field.Map {
	endpoint := field.Map{{Key: "endpoint", Value: field.Map{{Key: "address", Value: envoyAddress("127.0.0.1", port)}}}}
	return field.Map{
		{Key: "name", Value: name}, {Key: "type", Value: "STATIC"}, {Key: "connect_timeout", Value: "1s"},
		{Key: "load_assignment", Value: field.Map{
			{Key: "cluster_name", Value: name},
			{Key: "endpoints", Value: field.List{field.Map{{Key: "lb_endpoints", Value: field.List{endpoint}}}}},
		}},
	}
}

func envoyListener(probeType prober.ProbeType, probers map[string]*prober.Prober, cluster func(field.IntOrString) string) field.Map {
	var routes field.List
	var passed *prober.Prober
	for _, key := range slices.Sorted(maps.Keys(probers)) {
		p := probers[key]
		if p.HTTPGet.Scheme == "HTTPS" {
			passed = cmp.Or(passed, p) // all HTTPS probes of a type go to one port
			continue
		}
		routes = append(routes, field.Map{
			{Key: "match", Value: field.Map{{Key: "path", Value: key}}},
			{Key: "route", Value: field.Map{
				{Key: "cluster", Value: cluster(p.HTTPGet.Port)},
				{Key: "prefix_rewrite", Value: p.HTTPGet.Path},
				{Key: "timeout", Value: fmt.Sprintf("%ds", p.TimeoutSeconds)},
			}},
		})
	}
	l := field.Map{
		{Key: "name", Value: probeType.Name() + "_listener"},
		{Key: "address", Value: envoyAddress("0.0.0.0", prober.OSMPort(probeType))},
	}
	var chains field.List
	if passed != nil {
		var chain field.Map
		if routes != nil { // TLS and HTTP come here, and the first bytes tell them apart
			l = append(l, field.Entry{Key: "listener_filters", Value: field.List{
				envoyFilter("envoy.filters.listener.tls_inspector", "filters.listener.tls_inspector.v3.TlsInspector"),
			}})
			chain = field.Map{{Key: "filter_chain_match", Value: field.Map{{Key: "transport_protocol", Value: "tls"}}}}
		}
		chains = field.List{append(chain, field.Entry{Key: "filters", Value: field.List{
			envoyFilter("envoy.filters.network.tcp_proxy", "filters.network.tcp_proxy.v3.TcpProxy",
				field.Entry{Key: "stat_prefix", Value: "health_probes"},
				field.Entry{Key: "cluster", Value: cluster(passed.HTTPGet.Port)}),
		}})}
	}
	if routes != nil {
		host := field.Map{{Key: "name", Value: "local_service"}, {Key: "domains", Value: field.List{"*"}}, {Key: "routes", Value: routes}}
		chains = append(chains, field.Map{{Key: "filters", Value: field.List{
			envoyFilter("envoy.filters.network.http_connection_manager",
				"filters.network.http_connection_manager.v3.HttpConnectionManager",
				field.Entry{Key: "stat_prefix", Value: "health_probes_http"},
				field.Entry{Key: "route_config", Value: field.Map{{Key: "name", Value: "local_route"}, {Key: "virtual_hosts", Value: field.List{host}}}},
				field.Entry{Key: "http_filters", Value: field.List{envoyFilter("envoy.filters.http.router", "filters.http.router.v3.Router")}}),
		}}})
	}
	return append(l, field.Entry{Key: "filter_chains", Value: chains})
}

// envoyConfigMap returns the companion of the workload, from which Envoy knows the probes;
// without resources, the one that is no longer needed. Its name contains the kind, since
// two workloads may have the same name.
func (b *planBuilder) envoyConfigMap(resources string) *Companion {
	c := &Companion{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: b.in.NamespaceName,
		Name: strings.ToLower(b.in.Kind) + "-" + b.in.Workload.Name + "-envoy-probes",
	}
	if resources == "" {
		return c
	}
	metadata := field.Map{{Key: "name", Value: c.Name}}
	if c.Namespace != "" {
		metadata = append(metadata, field.Entry{Key: "namespace", Value: c.Namespace})
	}
	labels := field.Map{{Key: "app.kubernetes.io/managed-by", Value: "rewrite-probes"}}
	c.Value = field.Map{
		{Key: "apiVersion", Value: c.APIVersion},
		{Key: "kind", Value: c.Kind},
		{Key: "metadata", Value: append(metadata, field.Entry{Key: "labels", Value: labels})},
		{Key: "data", Value: field.Map{{Key: "envoy.json", Value: resources}}},
	}
	return c
}

// osmOriginals is our annotation with the originals that are in the ConfigMap, in
// the form of the env var.
const osmOriginals = "rewrite-probes.io/osm-probers"

func withEnvoyOriginals(annotations field.KeyValues, sites []*handlerSite) field.KeyValues {
	if value := prober.Encode(envoyEntries(sites)); value != "" {
		return annotations.With(osmOriginals, value)
	}
	return annotations
}

// envoyOriginals returns the originals that annotations carry; nil if none.
func envoyOriginals(annotations field.KeyValues) (map[string]*prober.Prober, error) {
	value, set := annotations.Lookup(osmOriginals)
	if !set {
		return nil, nil
	}
	return decodeOriginals(prober.OSM, value)
}

// envoyEntries returns the entries of the probes that Envoy answers.
func envoyEntries(sites []*handlerSite) map[string]*prober.Prober {
	answered := slices.DeleteFunc(slices.Clone(sites), func(s *handlerSite) bool { return s.original.HTTPGet == nil })
	return entriesOf(answered, osmConvention{}.key)
}
