package surroundings

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A filter is an EnvoyFilter, a WasmPlugin or a TrafficExtension: it changes what Envoy does with a call. Its
// content is code, and nobody evaluates it here.
type filter struct {
	Neighbour
	Workloads     PodLabels        `json:"workloadSelector"` // of an EnvoyFilter
	Selector      WorkloadSelector `json:"selector"`         // of the others
	TargetRefs    field.List       `json:"targetRefs"`
	ConfigPatches []struct {
		Match struct {
			Context string `json:"context"`
		} `json:"match"`
	} `json:"configPatches"` // of an EnvoyFilter
	Match []struct {
		Mode string `json:"mode"`
	} `json:"match"` // of the others
}

// complete reports whether the filter is about calls that come to a sidecar.
func (f *filter) complete() bool {
	inbound := len(f.ConfigPatches)+len(f.Match) == 0
	for i := range f.ConfigPatches {
		context := f.ConfigPatches[i].Match.Context
		inbound = inbound || slices.Contains([]string{"", "ANY", "SIDECAR_INBOUND"}, context)
	}
	for i := range f.Match {
		inbound = inbound || f.Match[i].Mode != "CLIENT"
	}
	return inbound && len(f.TargetRefs) == 0
}

// Filter names an object that is near and may change what Envoy answers to a call of the pods; "" if there is none.
func Filter(s *Surroundings, rootNamespace string, pods *Pods) string {
	all := filters.near(s)
	for i := range all {
		f := &all[i]
		applies := f.Selector.applies(s, &f.Neighbour, rootNamespace, pods)
		if min(pods.selects(f.Workloads.Labels), applies) > certain.Never {
			return f.words(f.Kind)
		}
	}
	return ""
}
