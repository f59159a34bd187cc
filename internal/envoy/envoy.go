// Package envoy makes the part of an Envoy's configuration that answers probes in Open Service
// Mesh's form: a cluster for each target in the app, and a listener for each port.
package envoy

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// A target is a probe that Envoy answers, with the route by which it comes.
type target struct {
	name      string // of its cluster
	container string
	route     prober.OSMRoute
	probe     *prober.Original
}

// Config returns the configuration as YAML: one static_resources of Envoy's v3 API. originals are
// those of one pod, by key. It returns "" if Envoy can answer none of them: it only passes on HTTP
// and TLS, not tcpSocket, grpc and hooks.
func Config(originals map[string]*prober.Original) string {
	targets := targetsOf(originals)
	if len(targets) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("static_resources:\n  clusters:\n")
	for i, t := range targets {
		if i == 0 || targets[i-1].name != t.name {
			writeCluster(&b, t)
		}
	}
	b.WriteString("  listeners:\n")
	for _, port := range prober.OSMPorts() {
		onPort := slices.DeleteFunc(
			slices.Clone(targets),
			func(t target) bool { return t.route.Port != port },
		)
		if len(onPort) > 0 {
			writeListener(&b, port, onPort)
		}
	}
	return b.String()
}

// targetsOf returns what Envoy answers, in the order of the keys. A route is listed once.
// The clusters have the names of Open Service Mesh's documentation, such as liveness_cluster. If several containers
// have probes, the container's name comes first, as in its code.
func targetsOf(originals map[string]*prober.Original) []target {
	var targets []target
	seen := make(map[prober.OSMRoute]bool)
	routes := prober.OSMRoutes(originals)
	for _, key := range slices.Sorted(maps.Keys(routes)) {
		container, t, _ := prober.ParseKey(key)
		for _, r := range routes[key] {
			if r.TCPPort == "" && !seen[r] {
				seen[r] = true
				targets = append(targets, target{t.Name() + "_cluster", container, r, originals[key]})
			}
		}
	}
	isOther := func(t target) bool { return t.container != targets[0].container }
	if slices.ContainsFunc(targets, isOther) {
		for i := range targets {
			targets[i].name = targets[i].container + "_" + targets[i].name
		}
	}
	return targets
}

// listenerName returns the name that Open Service Mesh's documentation has for the listener of a port.
func listenerName(port int) string {
	t, _ := prober.OSMTypeOf(port)
	return t.Name() + "_listener"
}

func writeCluster(b *strings.Builder, t target) {
	fmt.Fprintf(b, `  - name: %s
    type: STATIC
    connect_timeout: %s
`, t.name, timeout(t))
	if t.probe.HTTPGet.Protocol == prober.HTTP2 {
		b.WriteString(`    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http2_protocol_options: {}}
`)
	}
	fmt.Fprintf(b, `    load_assignment:
      cluster_name: %s
      endpoints:
      - lb_endpoints:
        - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: %s}}}
`, t.name, t.probe.HTTPGet.Port)
}

// writeListener writes the listener of a port. If both HTTP and TLS come there, Envoy looks at
// the first bytes of a connection.
func writeListener(b *strings.Builder, port int, targets []target) {
	plain := slices.DeleteFunc(slices.Clone(targets), func(t target) bool { return t.route.IsTLS() })
	tls := slices.DeleteFunc(slices.Clone(targets), func(t target) bool { return !t.route.IsTLS() })
	fmt.Fprintf(b, `  - name: %s
    address: {socket_address: {address: 0.0.0.0, port_value: %d}}
`, listenerName(port), port)
	plainMatch := ""
	tlsMatch := ""
	if len(plain) > 0 && len(tls) > 0 {
		b.WriteString(`    listener_filters:
    - name: envoy.filters.listener.tls_inspector
      typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector}
`)
		plainMatch = "filter_chain_match: {transport_protocol: raw_buffer}\n      "
		tlsMatch = "filter_chain_match: {transport_protocol: tls}\n      "
	}
	b.WriteString("    filter_chains:\n")
	if len(plain) > 0 {
		b.WriteString("    - " + plainMatch)
		writeHTTP(b, plain)
	}
	if len(tls) > 0 {
		b.WriteString("    - " + tlsMatch)
		writeTLS(b, tls[0])
	}
}

// writeHTTP writes the filters that answer HTTP probes. Each route matches its path exactly: a
// prefix would open every path of the app that begins so.
//
// The kubelet follows a redirect to the host that it asked, and would get to a path of the listener
// that has no route. A redirect without its Location passes, as every status from 200 to 399 does.
func writeHTTP(b *strings.Builder, targets []target) {
	b.WriteString(`filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: health_probes_http
          route_config:
            name: local_route
            virtual_hosts:
            - name: local_service
              domains: ["*"]
              routes:
`)
	for _, t := range targets {
		fmt.Fprintf(b, `              - match: {path: %s}
                route:
                  cluster: %s
                  timeout: %s
                  prefix_rewrite: %q
                response_headers_to_remove: [location]
`, t.route.Path, t.name, timeout(t), requestPath(t.probe.HTTPGet.Path))
	}
	b.WriteString(`          http_filters:
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
`)
}

// requestPath returns the path and query that the kubelet asks for a probe's path. A path that does
// not parse as a reference is a path as a whole.
func requestPath(path string) string {
	u, err := url.Parse(path)
	if err != nil {
		u = &url.URL{Path: path}
	}
	return "/" + strings.TrimPrefix(u.RequestURI(), "/")
}

func writeTLS(b *strings.Builder, t target) {
	fmt.Fprintf(b, `filters:
      - name: envoy.filters.network.tcp_proxy
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy
          stat_prefix: health_probes
          cluster: %s
`, t.name)
}

// timeout returns the probe's timeout, a second by default, as the API has it.
func timeout(t target) string {
	return strconv.Itoa(cmp.Or(t.probe.TimeoutSeconds, 1)) + "s"
}
