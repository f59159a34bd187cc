package envoy_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"sigs.k8s.io/yaml"
)

// osmNames are the names of filters in the configuration of Open Service Mesh's own code, and Envoy's, which are ours.
// Clusters, listeners, the route and the virtual host have the same names.
var osmNames = map[string]string{
	"http_connection_manager": "envoy.filters.network.http_connection_manager",
	"http_router":             "envoy.filters.http.router", "tcp_proxy": "envoy.filters.network.tcp_proxy",
}

// left are the fields in which the two may differ: Envoy's access log, the time for a connection, which the
// probe's own timeout bounds here, and what keeps a redirect from leading to a path without a route.
var left = []string{"access_log", "connect_timeout", "response_headers_to_remove"}

// The printed configuration says what Open Service Mesh's own code configures for the same probes, but
// for the exact path: its prefix also opens every other path of the app that begins so.
func TestConfigurationIsThatOfOpenServiceMesh(t *testing.T) {
	const pod = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: web
    livenessProbe: {httpGet: {path: /liveness, port: 14001}}
    readinessProbe: {httpGet: {path: /liveness, port: 14002, scheme: HTTPS}}
    startupProbe: {tcpSocket: {port: 14001}}
`
	var ours, osm any
	printed := filter(t, build(t), []byte(pod), "envoy", "--config", "none", "-")
	if err := yaml.Unmarshal(printed, &ours); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/osm-v1.2.4.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &osm); err != nil {
		t.Fatal(err)
	}
	ours, osm = plain(ours), plain(osm)
	routes := find(ours, "routes").([]any)
	if len(routes) != 2 { // the second has the name of the container
		t.Fatalf("routes %v", routes)
	}
	exact, prefix := find(routes[0], "match"), find(osm, "match")
	if !reflect.DeepEqual(exact, map[string]any{"path": "/osm-liveness-probe"}) || !reflect.DeepEqual(prefix, map[string]any{"prefix": "/osm-liveness-probe"}) {
		t.Errorf("matches %v, Open Service Mesh %v", exact, prefix)
	}
	replace(ours, "routes", []any{routes[0]})
	replace(ours, "match", prefix)
	if !reflect.DeepEqual(ours, osm) {
		got, _ := yaml.Marshal(ours)
		want, _ := yaml.Marshal(osm)
		t.Errorf("got\n%s\nOpen Service Mesh has\n%s", got, want)
	}
}

// plain returns a value with the field names of YAML, our names, and without the fields that
// are left out.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any)
		for key, item := range v {
			m[snake(key)] = plain(item)
		}
		for _, key := range left {
			delete(m, key)
		}
		return m
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case string:
		if name, ok := osmNames[v]; ok {
			return name
		}
	}
	return v
}

// snake returns a field name of protobuf's JSON as YAML has it.
func snake(name string) string {
	if strings.HasPrefix(name, "@") {
		return name
	}
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// find returns the value of the first field with a name, at any depth; nil if there is none.
func find(v any, name string) any {
	var found any
	walk(v, func(m map[string]any) {
		if x, has := m[name]; has && found == nil {
			found = x
		}
	})
	return found
}

func replace(v any, name string, by any) {
	walk(v, func(m map[string]any) {
		if _, has := m[name]; has {
			m[name] = by
		}
	})
}

func walk(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(v)
		for _, item := range v {
			walk(item, visit)
		}
	case []any:
		for _, item := range v {
			walk(item, visit)
		}
	}
}
