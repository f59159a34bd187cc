package surroundings

import (
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A filter counts if it is about calls that come to a sidecar of the pods, or may be.
func TestAFilterOfTheSidecarIsNamed(t *testing.T) {
	web, other := field.KeyValues{{Key: "app", Value: "web"}}, field.KeyValues{{Key: "app", Value: "other"}}
	patches := func(contexts ...string) filter {
		f := filter{Neighbour: Neighbour{Kind: "EnvoyFilter", Namespace: "shop", Name: "x"}}
		f.ConfigPatches = make([]struct {
			Match struct {
				Context string `json:"context"`
			} `json:"match"`
		}, len(contexts))
		for i, c := range contexts {
			f.ConfigPatches[i].Match.Context = c
		}
		return f
	}
	plugin := func(modes ...string) filter {
		f := filter{Neighbour: Neighbour{Kind: "WasmPlugin", Namespace: "shop", Name: "x"}}
		f.Match = make([]struct {
			Mode string `json:"mode"`
		}, len(modes))
		for i, m := range modes {
			f.Match[i].Mode = m
		}
		return f
	}
	with := func(f filter, change func(*filter)) filter {
		change(&f)
		return f
	}
	for _, c := range []struct {
		name string
		f    filter
		want string
	}{
		{"of every context", patches(""), "EnvoyFilter shop/x"},
		{"of any context", patches("ANY"), "EnvoyFilter shop/x"},
		{"of what comes in", patches("SIDECAR_OUTBOUND", "SIDECAR_INBOUND"), "EnvoyFilter shop/x"},
		{"of what goes out", patches("SIDECAR_OUTBOUND"), ""},
		{"of a gateway", patches("GATEWAY"), ""},
		{"of all calls", plugin(), "WasmPlugin shop/x"},
		{"of a server's", plugin("CLIENT", "SERVER"), "WasmPlugin shop/x"},
		{"of all in words", plugin("CLIENT_AND_SERVER"), "WasmPlugin shop/x"},
		{"of a client's", plugin("CLIENT"), ""},
		{"of these pods", with(patches(""), func(f *filter) { f.Workloads.Labels = web }), "EnvoyFilter shop/x"},
		{"of other pods", with(patches(""), func(f *filter) { f.Workloads.Labels = other }), ""},
		{"of others by the other selector", with(plugin(), func(f *filter) { f.Selector.MatchLabels = other }), ""},
		{"of a Gateway by name", with(plugin(), func(f *filter) { f.TargetRefs = field.List{field.Map{}} }), ""},
		{"of the mesh", with(plugin(), func(f *filter) { f.Namespace = "istio-system" }), "WasmPlugin istio-system/x"},
		{"of another namespace", with(plugin(), func(f *filter) { f.Namespace = "other" }), ""},
		{"of another revision", with(plugin(), func(f *filter) { f.Labels = field.KeyValues{{Key: istioRev, Value: "old"}} }), "WasmPlugin shop/x"},
	} {
		var near []filter
		if c.f.complete() {
			near = append(near, c.f)
		}
		if got := Filter(around(near...), "istio-system", &Pods{Namespace: "shop", Labels: web}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
