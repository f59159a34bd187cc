package pipeline_test

import (
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// A filter that may refuse probes is said once, whatever their number, and not where it changes nothing.
func TestAnUnknownFilterIsSaidOnce(t *testing.T) {
	const (
		around = `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {istio-injection: enabled}}}
---
{apiVersion: networking.istio.io/v1alpha3, kind: EnvoyFilter, metadata: {name: limit, namespace: shop}, spec: {configPatches: [{applyTo: HTTP_FILTER}]}}
---
{apiVersion: security.istio.io/v1, kind: PeerAuthentication, metadata: {name: a, namespace: shop}, spec: {mtls: {mode: MODE}}}
---
`
		pods = `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop}, spec: {containers: [{name: a, image: a, livenessProbe: PROBE, lifecycle: {preStop: PROBE}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: shop, annotations: {ANNOTATION}}, spec: {containers: [{name: a, image: a, readinessProbe: PROBE}]}}
`
		http = "{httpGet: {port: 8080}}"
	)
	for _, c := range []struct{ name, mode, probe, annotation, want string }{
		{"two pods", "PERMISSIVE", http, "", "EnvoyFilter shop/limit at all.yaml:3 may have Envoy refuse 2 probes and 1 hook of 2 objects. Check does not evaluate filters."},
		{"one excludes the port", "DISABLE", http, `traffic.sidecar.istio.io/excludeInboundPorts: "8080"`, "EnvoyFilter shop/limit at all.yaml:3 may have Envoy refuse 1 probe and 1 hook of 1 object. Check does not evaluate filters."},
		{"they fail for certain", "STRICT", http, "", ""},
		{"a connection is accepted", "PERMISSIVE", "{tcpSocket: {port: 8080}}", "", ""},
	} {
		text := strings.NewReplacer("MODE", c.mode, "PROBE", c.probe, "ANNOTATION", c.annotation).Replace(around + pods)
		s, err := manifest.Read("all.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		config := config.Default()
		config.Spec.Istio.InjectorRewrites = false
		var said []string
		for _, m := range pipeline.Run([]*manifest.Stream{s}, config, pipeline.Judge).Messages {
			if m.Reason == reason.FilterUnknown {
				if m.Severity != transformer.Info || m.Object != nil {
					t.Errorf("%s: %+v", c.name, m)
				}
				said = append(said, m.Text.What+". "+reason.Capital(m.Text.Why)+".")
			}
		}
		if got := strings.Join(said, "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
