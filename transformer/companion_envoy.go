package transformer

import (
	"bytes"
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

// The parts of Envoy's configuration, in its v3 API, in JSON.
const (
	envoyCluster = `{"name":%[1]q,"type":"STATIC","connect_timeout":"1s","load_assignment":{"cluster_name":%[1]q,"endpoints":[{"lb_endpoints":[` +
		`{"endpoint":{"address":{"socket_address":{"address":"127.0.0.1","port_value":%[2]d}}}}]}]}}` // OSM's Envoy dials that address, too
	envoyListener = `{"name":"%s_listener","address":{"socket_address":{"address":"0.0.0.0","port_value":%d}},%s"filter_chains":[%s]}`
	envoyRoute    = `{"match":{"path":%s},"route":{"cluster":%q,"prefix_rewrite":%s,"timeout":"%ds"}}`
	envoyHTTP     = `{"filters":[{"name":"envoy.filters.network.http_connection_manager","typed_config":{` +
		`"@type":"type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager","stat_prefix":"health_probes_http",` +
		`"route_config":{"name":"local_route","virtual_hosts":[{"name":"local_service","domains":["*"],"routes":[%s]}]},` +
		`"http_filters":[{"name":"envoy.filters.http.router","typed_config":{"@type":"type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}]}}]}`
	envoyTLS = `{%s"filters":[{"name":"envoy.filters.network.tcp_proxy","typed_config":{` +
		`"@type":"type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy","stat_prefix":"health_probes","cluster":%q}}]}`
	// TLS and HTTP come to the same port, and the first bytes tell them apart.
	envoyInspector = `"listener_filters":[{"name":"envoy.filters.listener.tls_inspector","typed_config":{` +
		`"@type":"type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector"}}],`
	envoyIsTLS = `"filter_chain_match":{"transport_protocol":"tls"},`
)

// envoyResources returns the static resources with which an Envoy answers the httpGet probers
// of the mesh osm. Equal probers result in equal text. A test reads it with Envoy's own types.
func envoyResources(probers map[string]*prober.Prober) string {
	var listeners, clusters []string
	for _, t := range envoyTypes {
		var keys []string
		ports := make(map[int]struct{})
		for _, key := range slices.Sorted(maps.Keys(probers)) {
			if _, probeType, _ := prober.ParseOSMKey(key); probeType == t && probers[key].HTTPGet != nil {
				keys = append(keys, key)
				ports[int(probers[key].HTTPGet.Port.Int)] = struct{}{}
			}
		}
		if len(keys) == 0 {
			continue
		}
		// One port, the usual case, has the name that OSM gives it.
		cluster := func(port int) string {
			if len(ports) == 1 {
				return t.Name() + "_cluster"
			}
			return fmt.Sprintf("%s_cluster_%d", t.Name(), port)
		}
		for _, port := range slices.Sorted(maps.Keys(ports)) {
			clusters = append(clusters, fmt.Sprintf(envoyCluster, cluster(port), port))
		}
		var routes []string
		passedTo := "" // all HTTPS probes of a type go to one port
		for _, key := range keys {
			h := probers[key].HTTPGet
			to := cluster(int(h.Port.Int))
			if h.Scheme == "HTTPS" {
				passedTo = to
				continue
			}
			routes = append(routes, fmt.Sprintf(envoyRoute, field.AppendJSON(nil, key), to, field.AppendJSON(nil, h.Path), probers[key].TimeoutSeconds))
		}
		inspector, isTLS := "", ""
		if passedTo != "" && len(routes) > 0 {
			inspector, isTLS = envoyInspector, envoyIsTLS
		}
		var chains []string
		if passedTo != "" {
			chains = append(chains, fmt.Sprintf(envoyTLS, isTLS, passedTo))
		}
		if len(routes) > 0 {
			chains = append(chains, fmt.Sprintf(envoyHTTP, strings.Join(routes, ",")))
		}
		listeners = append(listeners, fmt.Sprintf(envoyListener, t.Name(), prober.OSMPort(t), inspector, strings.Join(chains, ",")))
	}
	var text bytes.Buffer
	json.HTMLEscape(&text, fmt.Appendf(nil, `{"static_resources":{"listeners":[%s],"clusters":[%s]}}`, strings.Join(listeners, ","), strings.Join(clusters, ",")))
	return text.String()
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
	metadata := appendSet(field.Map{{Key: "name", Value: c.Name}}, "namespace", c.Namespace)
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

func (b *planBuilder) withEnvoyOriginals(annotations field.KeyValues, sites []*handlerSite) field.KeyValues {
	if value := prober.Encode(b.envoyEntries(sites)); value != "" {
		return annotations.With(osmOriginals, value)
	}
	return annotations
}

func envoyOriginals(annotations field.KeyValues) (map[string]*prober.Prober, error) {
	value, set := annotations.Lookup(osmOriginals)
	if !set {
		return nil, nil
	}
	return decodeOriginals(prober.OSM, value)
}

// envoyEntries returns the entries of the probes that Envoy answers.
func (b *planBuilder) envoyEntries(sites []*handlerSite) map[string]*prober.Prober {
	if !b.answeredByEnvoy() {
		return nil
	}
	answered := slices.DeleteFunc(slices.Clone(sites), func(s *handlerSite) bool { return s.original.HTTPGet == nil })
	return entriesOf(answered, osmConvention{}.key)
}
