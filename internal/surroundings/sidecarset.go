package surroundings

import (
	"fmt"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
)

// A SidecarSet is OpenKruise's (apps.kruise.io): its webhook adds containers with fixed arguments to the
// pods that it selects, whatever labels and annotations of Istio's say.
type SidecarSet struct {
	Name              string
	Namespace         string // that of the pods; "" is any
	SelectsNamespaces bool   // it selects them by their labels
	Selector          LabelSelector
	InitArgs          []string     // of its container istio-init
	At                fmt.Stringer // "file:line"
}

// SidecarSet returns the SidecarSet that adds an istio-proxy to pods, and whether it does; nil if
// none does.
func (s *Surroundings) SidecarSet(pods *Pods) (found *SidecarSet, adds certain.Certainty) {
	adds = certain.Never
	for _, set := range listed(s, SidecarSets, s.SidecarSets) {
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
	case s.SelectsNamespaces, s.Namespace != "" && pods.Namespace == "":
		return min(selects, certain.Maybe)
	case s.Namespace != "" && s.Namespace != pods.Namespace:
		return certain.Never
	}
	return selects
}

// Words names the SidecarSet, and where it is.
func (s *SidecarSet) Words() string {
	return objectAt("SidecarSet", "", s.Name, s.At)
}
