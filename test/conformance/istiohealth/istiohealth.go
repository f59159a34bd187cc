// Package istiohealth makes a probe of a WorkloadGroup with the code of Istio's
// agent.
package istiohealth

import (
	"fmt"

	networking "istio.io/api/networking/v1alpha3"
	"istio.io/istio/pkg/istio-agent/health"
)

// Verdict returns what Istio's agent reports first: "healthy", "unhealthy: " with
// its reason, or "crash: " with its panic.
func Verdict(p *networking.ReadinessProbe) (verdict string) {
	defer func() {
		if r := recover(); r != nil {
			verdict = fmt.Sprintf("crash: %v", r)
		}
	}()
	quit := make(chan struct{})
	health.NewWorkloadHealthChecker(p, nil, []string{"127.0.0.1"}, false).PerformApplicationHealthCheck(func(e *health.ProbeEvent) {
		verdict = "healthy"
		if !e.Healthy {
			verdict = "unhealthy: " + e.UnhealthyMessage
		}
		close(quit)
	}, quit)
	return verdict
}
