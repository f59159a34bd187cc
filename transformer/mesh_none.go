package transformer

import (
	"fmt"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// noMesh is the profile of pods that no mesh captures. The kubelet makes their probes itself, but for those that
// need a feature gate which is off in Kubernetes 1.37 (GRPCContainerProbeTLS and H2CContainerProbe,
// pkg/features/kube_features.go): an API server without the gate drops the field. These alone are rewritten.
//
// Only the options choose it: that no manifest puts a pod into a mesh does not say that none captures it.
type noMesh struct{}

var noMeshData = meshData{name: "none", title: "no mesh", proxy: "\x00", uid: -1} // no container and no process is its proxy

func (noMesh) membership(*view) membership { return membership{} }

func (noMesh) inspect(v *view) inspection {
	return inspection{
		captures: func(int) bool { return true }, // no port is a reason to leave a probe alone
		outcome: func(s *site) (f world.Fate, unless string) {
			gate, drops := gateOf(s)
			if gate == "" || s.alreadyRewritten {
				return world.Spared, ""
			}
			return world.Failing(drops), "the cluster's feature gate " + gate + " is off (unknown: look in the cluster)"
		},
	}
}

func (noMesh) answer(v *view, _ *inspection) choice { return v.byOptions() }

func (noMesh) undo(annotations field.Noted, _ []answerer, _ field.KeyValues) field.Noted {
	return annotations
}

func (noMesh) demand(field.Noted, answerer) demand { return demand{} }

// gateOf returns the feature gate that a probe needs, "" if none, and what becomes of the probe without it.
func gateOf(s *site) (gate, drops string) {
	newer := s.original.Newer(s.name.IsHook())
	switch {
	case newer == "":
		return "", ""
	case s.original.GRPC != nil:
		gate = "GRPCContainerProbeTLS"
	default:
		gate = "H2CContainerProbe"
	}
	kind := s.original.Kind()
	return gate, fmt.Sprintf("Kubernetes drops `%s.%s` without that gate, and the kubelet then asks without it", kind, newer)
}
