package vm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func TestTheAgentGetsTheProbeAsItsAuthorWroteIt(t *testing.T) {
	const named = "kind: WorkloadGroup\nmetadata:\n  name: reviews\n  namespace: shop\n"
	secure := &prober.HTTPGet{Path: "/", Port: field.Number(8443), Scheme: "HTTPS"}
	defaults := vmconfig.Config{Name: "reviews", Namespace: "shop", Labels: map[string]string{}, Probe: vmconfig.DefaultProbe()}
	with := func(change func(*vmconfig.Config)) vmconfig.Config {
		c := defaults
		change(&c)
		return c
	}
	for _, tt := range []struct {
		name, text string
		want       vmconfig.Config
	}{
		{"with the documented defaults", named + "spec: {template: {}, probe: {httpGet: {port: 8443, scheme: HTTPS}}}\n",
			with(func(c *vmconfig.Config) { c.Probe.HTTPGet = secure })},
		{"with a threshold of its own", named + "spec: {template: {}, probe: {failureThreshold: 1, httpGet: {port: 8443, scheme: HTTPS}}}\n",
			with(func(c *vmconfig.Config) { c.Probe.HTTPGet, c.Probe.FailureThreshold = secure, 1 })},
		{"from a group that is rewritten", named + rewrittenAnnotation + "spec: {template: {}, probe: " + rewritten + "}\n",
			with(func(c *vmconfig.Config) { c.Probe.HTTPGet = secure })},
		{"from a workload", named + "  annotations: {rewrite-probes.io/probe-from: Pod/a}\nspec: {template: {}}\n",
			with(func(c *vmconfig.Config) { c.Probe.GRPC = &prober.GRPC{Port: field.Number(9000), Service: new("")} })},
		{"with what the template says, whose labels win", named + "spec: {metadata: {labels: {a: b, c: d}}, template: {serviceAccount: e, network: f, locality: g, labels: {c: h}}, probe: {tcpSocket: {port: 1}}}\n",
			with(func(c *vmconfig.Config) {
				c.ServiceAccount, c.Network, c.Locality = "e", "f", "g"
				c.Labels = map[string]string{"a": "b", "c": "h"}
				c.Probe.TCPSocket = &prober.TCPSocket{Port: field.Number(1)}
			})},
	} {
		got, err := AgentConfig(read(t, tt.text, workload{"Pod a", []transformer.OriginalProbe{original(t, "app", "{grpc: {port: 9000}}")}}).Group)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if d := cmp.Diff(tt.want, *got); d != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, d)
		}
	}
}

func TestAnAgentWithNothingToProbeIsAnError(t *testing.T) {
	for _, tt := range []struct{ name, metadata, probe, want string }{
		{"no probe", "", "", "`spec.probe`: must be set, or the annotation `rewrite-probes.io/probe-from`"},
		{"a rewritten probe without its original", "  namespace: shop\n", rewritten, "`spec.probe`: it looks rewritten"},
		{"a reference that leads nowhere", "  namespace: shop\n  annotations: {rewrite-probes.io/probe-from: Pod/a}\n", httpsProbe, "\"Pod/a\": no Pod a"},
		{"a group without a namespace", "", httpsProbe, "`namespace`: must be set"},
		{"a warning alone is no error, but the probe has no handler", "  namespace: shop\n", "{periodSeconds: 1}", "`probe`: must have exactly one of"},
	} {
		_, err := AgentConfig(read(t, group(tt.metadata, tt.probe)).Group)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}
