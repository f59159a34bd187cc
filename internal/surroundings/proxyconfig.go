package surroundings

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// A ProxyConfig is what is read of Istio's ProxyConfig, in a pod's annotation or in the configuration of
// the mesh. Istio reads it as protobuf's JSON: keys in camel or snake case, numbers perhaps in quotes,
// enums by name or number, and the last one of a key counts (MergeProxyConfig in pkg/config/mesh/mesh.go).
type ProxyConfig struct {
	StatusPort   int               // 0 is not set
	Interception string            // REDIRECT, TPROXY or NONE; "" is not set
	Holds        certain.Certainty // holdApplicationUntilProxyStarts; Maybe is not set
	Metadata     field.Map         // proxyMetadata
}

// ReadProxyConfig reads a ProxyConfig that is a text. Istio's injector refuses a pod with one that is no
// mapping.
func ReadProxyConfig(text string) (ProxyConfig, error) {
	if text == "" {
		return ProxyConfig{}, nil // nearly always
	}
	m, err := yaml.MappingIn(text)
	return proxyConfigOf(m), err
}

// interceptions are the modes by number.
var interceptions = []string{"REDIRECT", "TPROXY", "NONE"}

func proxyConfigOf(m field.Map) (c ProxyConfig) {
	for _, e := range m {
		switch e.Key {
		case "statusPort", "status_port":
			c.StatusPort = portOf(e.Value)
		case "interceptionMode", "interception_mode":
			c.Interception = interceptionOf(e.Value)
		case "holdApplicationUntilProxyStarts", "hold_application_until_proxy_starts":
			c.Holds = boolOf(e.Value)
		case "proxyMetadata", "proxy_metadata":
			c.Metadata, _ = e.Value.(field.Map)
		}
	}
	return c
}

// portOf returns the port that a number is, perhaps in quotes; 0 if it is none.
func portOf(v field.Value) int {
	n, isNumber := v.(int)
	if s, isText := v.(string); isText {
		var err error
		n, err = strconv.Atoi(s)
		isNumber = err == nil
	}
	if !isNumber || n < 1 || n > 65535 {
		return 0
	}
	return n
}

func interceptionOf(v field.Value) string {
	switch v := v.(type) {
	case string:
		if slices.Contains(interceptions, v) {
			return v
		}
	case int:
		if v >= 0 && v < len(interceptions) {
			return interceptions[v]
		}
	}
	return ""
}

// boolOf returns a boolean, also in the words of YAML 1.1; Maybe if it is none.
func boolOf(v field.Value) certain.Certainty {
	switch v := v.(type) {
	case bool:
		return certain.Of(v)
	case string:
		if on, ok := yaml.OldBool(v); ok {
			return certain.Of(on)
		}
		switch strings.ToLower(v) {
		case "true":
			return certain.Always
		case "false":
			return certain.Never
		}
	}
	return certain.Maybe
}
