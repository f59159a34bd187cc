package surroundings

import (
	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A SidecarSet is OpenKruise's (apps.kruise.io): its webhook adds containers with fixed arguments to the
// pods that it selects, whatever labels and annotations of Istio's say.
type SidecarSet struct {
	Neighbour
	OfPods            string          `json:"namespace"`         // that of the pods; "" is any
	NamespaceSelector field.Map       `json:"namespaceSelector"` // the labels of their Namespaces
	Selector          LabelSelector   `json:"selector"`
	InitContainers    []KruiseSidecar `json:"initContainers"`
	Containers        []KruiseSidecar `json:"containers"`
}

// A KruiseSidecar is a container that a SidecarSet adds.
type KruiseSidecar struct {
	Name string   `json:"name"`
	Args []string `json:"args"`
}

// complete reports whether the SidecarSet adds Istio's sidecar.
func (s *SidecarSet) complete() bool {
	return s.container("istio-proxy") != nil
}

// InitArgs returns the arguments of the container istio-init that it adds.
func (s *SidecarSet) InitArgs() []string {
	if c := s.container("istio-init"); c != nil {
		return c.Args
	}
	return nil
}

func (s *SidecarSet) container(name string) *KruiseSidecar {
	for _, list := range [][]KruiseSidecar{s.InitContainers, s.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// SidecarSet returns the SidecarSet that adds an istio-proxy to pods, and whether it does; nil if
// none does.
func (s *Surroundings) SidecarSet(pods *Pods) (found *SidecarSet, adds certain.Certainty) {
	adds = certain.Never
	for _, set := range SidecarSets.near(s) {
		if selects := set.selects(pods); selects > adds {
			found = &set
			adds = selects
		}
	}
	return found, adds
}

func (s *SidecarSet) selects(pods *Pods) certain.Certainty {
	selects := s.Selector.selects(pods)
	switch {
	case len(s.NamespaceSelector) > 0, s.OfPods != "" && pods.Namespace == "":
		return min(selects, certain.Maybe)
	case s.OfPods != "" && s.OfPods != pods.Namespace:
		return certain.Never
	}
	return selects
}

// Words names the SidecarSet, and where it is.
func (s *SidecarSet) Words() string {
	return s.Neighbour.words("SidecarSet")
}
