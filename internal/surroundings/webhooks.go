package surroundings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// An AuthProxyWorkload makes the webhook of the Cloud SQL proxy's operator add a container to the pods of
// workloads (GoogleCloudPlatform/cloud-sql-proxy-operator, api/v1/authproxyworkload_types.go). It has httpGet
// startup and liveness probes (internal/workload/podspec_updates.go).
type AuthProxyWorkload struct {
	Neighbour
	Workload struct {
		Kind     string    `json:"kind"`
		Name     string    `json:"name"`
		Selector field.Map `json:"selector"` // the labels of the workload, or of something that owns its pods
	} `json:"workloadSelector"`
}

// AuthProxyWorkloadOf returns one that may be about pods; nil if none is.
func AuthProxyWorkloadOf(s *Surroundings, pods *Pods) *AuthProxyWorkload {
	all := AuthProxyWorkloads.near(s)
	i := slices.IndexFunc(all, func(a AuthProxyWorkload) bool {
		w := &a.Workload
		bySelector := w.Name == "" && (w.Kind == "Pod" || w.Kind == pods.Kind || pods.Kind == "Rollout")
		return bySelector || w.Name == pods.Name && (w.Kind == "" || w.Kind == pods.Kind)
	})
	if i < 0 {
		return nil
	}
	return &all[i]
}

// Words names the AuthProxyWorkload, and where it is.
func (a *AuthProxyWorkload) Words() string { return a.words("AuthProxyWorkload") }

// A Collector is an OpenTelemetryCollector of mode sidecar: the webhook of its operator adds its container to the pods
// that ask for it. With the extension health_check that has a liveness probe (open-telemetry/opentelemetry-operator,
// internal/manifests/collector/container.go).
type Collector struct {
	Neighbour
	Mode          string      `json:"mode"`
	Config        field.Value `json:"config"` // a text in v1alpha1
	LivenessProbe field.Map   `json:"livenessProbe"`
}

func (c *Collector) complete() bool { return c.Mode == "sidecar" }

func (c *Collector) hasProbe() bool {
	return len(c.LivenessProbe) > 0 || strings.Contains(fmt.Sprint(c.Config), "health_check")
}

// CollectorMayProbe reports whether a collector that pods ask for by a value of the annotation may have a probe: one
// that is not near may.
func CollectorMayProbe(s *Surroundings, value string) bool {
	all := Collectors.near(s)
	_, name, ofOther := strings.Cut(value, "/")
	if !ofOther {
		name = value
	}
	isMeant := func(c Collector) bool { return value == "true" || c.Name == name }
	hasProbe := func(c Collector) bool { return isMeant(c) && c.hasProbe() }
	return ofOther || !slices.ContainsFunc(all, isMeant) || slices.ContainsFunc(all, hasProbe)
}
