package transformer_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// By its ProxyConfig, Istio's agent asks localhost in this pod, and so must probe-proxy.
func TestProbeProxyAsksWhereTheAgentWould(t *testing.T) {
	for value, want := range map[string]string{`"true"`: "127.0.0.1", `"false"`: "", `"yes"`: ""} {
		metadata := injected + "\nannotations: {proxy.istio.io/config: 'proxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: " + value + "}'}"
		r := plan(t, podOf(metadata, app(httpProbe)), answeredBy("probe-proxy"))
		if has := strings.Contains(r.text, "name: POD_IP\n          value: \"127.0.0.1\""); has != (want != "") {
			t.Errorf("%s: %s", value, r.text)
		}
		wantText(t, restore(t, r.text), podOf(metadata, app(httpProbe)))
	}
}

// Every two meshes are an error, whatever one of the two says of the pod.
func TestEveryTwoMeshesAreAnError(t *testing.T) {
	marks := map[string]string{
		"istio": "labels: sidecar.istio.io/inject: \"true\"", "ambient": "labels: istio.io/dataplane-mode: ambient", "kuma": "labels: kuma.io/sidecar-injection: enabled",
		"linkerd": "annotations: linkerd.io/inject: enabled", "consul": "annotations: consul.hashicorp.com/connect-inject: \"true\"",
		"osm": "annotations: openservicemesh.io/sidecar-injection: enabled", "fsm": "annotations: flomesh.io/sidecar-injection: enabled",
	}
	for _, a := range slices.Sorted(maps.Keys(marks)) {
		for _, b := range slices.Sorted(maps.Keys(marks)) {
			one, other := marks[a], marks[b]
			if a >= b || a == "ambient" && b == "istio" {
				continue
			}
			all := map[string][]string{}
			for _, m := range []string{one, other} {
				where, entry, _ := strings.Cut(m, ": ")
				all[where] = append(all[where], entry)
			}
			metadata := "labels: {" + strings.Join(all["labels"], ", ") + "}\nannotations: {" + strings.Join(all["annotations"], ", ") + "}"
			for _, opts := range [][]option{nil, {injectorRewrites}, {injectorRewritesNothing}} {
				r := plan(t, podOf(metadata, app(httpProbe)), opts...)
				if f, is := r.has("two-meshes"); !is || f.Severity != transformer.Error || len(r.Edits) > 0 {
					t.Errorf("%s and %s: %v", a, b, r.Findings)
				}
			}
		}
	}
}
