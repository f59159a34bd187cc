package injector

import (
	"math/rand/v2"
	"strings"
	"testing"

	meshconfig "istio.io/api/mesh/v1alpha1"
	istiomesh "istio.io/istio/pkg/config/mesh"

	sure "github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// Istio's own reader of the annotation judges ours, on texts drawn from pieces of YAML.
func TestAProxyConfigIsReadAsIstioReadsIt(t *testing.T) {
	keys := []string{"statusPort", "status_port", "interceptionMode", "holdApplicationUntilProxyStarts", "proxyMetadata", "concurrency", "unknownKey"}
	values := []string{
		"15030", "'15031'", "0", "REDIRECT", "TPROXY", "NONE", "2", "true", "false", "yes", "{statusPort: '7'}", "\n  statusPort: '8'", "|\n  statusPort: 9",
		"&x 15032", "null", "", "{a: {statusPort: 1}}",
	}
	r := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for range 20000 {
		var lines []string
		for range 1 + r.IntN(3) {
			line := keys[r.IntN(len(keys))] + ": " + values[r.IntN(len(values))]
			if r.IntN(4) == 0 {
				line += " # statusPort: 3"
			}
			lines = append(lines, line)
		}
		text := strings.Join(lines, "\n")
		if strings.Contains(text, "statusPort: ") && strings.Contains(text, "status_port: ") {
			continue // of two names of a field any may count
		}
		if r.IntN(4) == 0 && !strings.ContainsAny(text, "\n#") {
			text = "{" + text + "}"
		}
		config, err := istiomesh.MergeProxyConfig(text, &meshconfig.ProxyConfig{})
		if err != nil {
			continue // the injector refuses the pod
		}
		if _, named := meshconfig.ProxyConfig_InboundInterceptionMode_name[int32(config.InterceptionMode)]; !named {
			continue // a mode that does not exist
		}
		accepted++
		got, err := surroundings.ReadProxyConfig(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if int32(got.StatusPort) != config.StatusPort {
			t.Fatalf("%q: port %d, want %d", text, got.StatusPort, config.StatusPort)
		}
		mode := got.Interception
		if mode == "" {
			mode = "REDIRECT"
		}
		if mode != config.InterceptionMode.String() {
			t.Fatalf("%q: %s, want %s", text, got.Interception, config.InterceptionMode)
		}
		if holds := config.HoldApplicationUntilProxyStarts; holds == nil && got.Holds != sure.Maybe ||
			holds != nil && got.Holds != sure.Of(holds.Value) {
			t.Fatalf("%q: holds is %v, want %v", text, got.Holds, holds)
		}
	}
	if accepted < 2000 {
		t.Errorf("Istio accepts only %d texts", accepted)
	}
}
