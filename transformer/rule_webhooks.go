package transformer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// A sidecarWebhook adds a container to the pods that ask for it. The API server calls webhooks in
// the order of the names of their configurations, so what comes before istio-sidecar-injector adds
// probes that Istio's injector rewrites.
type sidecarWebhook struct {
	name      string // of what adds the container
	key       string // the annotation that asks for it
	isOn      func(value string) bool
	container string
	// hasProbes is set if the container has probes or hooks that open a connection, and the
	// webhook comes before Istio's.
	hasProbes bool
}

// sidecarWebhooks are those that are known. What they add was read in August 2026:
//
//   - Dapr: httpGet readiness and liveness probes of port 3501, by the configuration
//     dapr-sidecar-injector (dapr/dapr, pkg/injector/patcher/sidecar_container.go);
//   - Vault: at most an exec preStop hook, by vault-agent-injector-cfg (hashicorp/vault-k8s,
//     agent-inject/agent/container_sidecar.go);
//   - Datadog: neither probes nor hooks, by datadog-webhook; a label asks for it
//     (DataDog/datadog-agent, pkg/clusteragent/admission/mutate/agent_sidecar/agent_sidecar.go);
//   - Azure workload identity: an exec postStart hook, by azure-wi-webhook-mutating-webhook-configuration
//     (Azure/azure-workload-identity, pkg/webhook/webhook.go).
var sidecarWebhooks = []sidecarWebhook{
	{"Dapr", "dapr.io/enabled", isTruthy, "daprd", true},
	{"Vault", "vault.hashicorp.com/agent-inject", isTruthy, "vault-agent", false},
	{"Datadog", "agent.datadoghq.com/sidecar", isAny, "datadog-agent-injected", false}, // a label
	{"Azure workload identity", "azure.workload.identity/inject-proxy-sidecar", isAny, "azwi-proxy", false},
}

// isTruthy reports whether a value is one of those that Dapr takes for true; Vault knows fewer.
func isTruthy(value string) bool {
	return slices.Contains([]string{"y", "yes", "true", "on", "1", "t"}, strings.ToLower(value))
}

func isAny(string) bool { return true }

// checkWebhooks refuses to turn Istio's rewriter off in a pod to which a webhook adds a container
// with probes: nobody would serve them.
func checkWebhooks(d *decision) (found []Finding) {
	if d.mesh.name != istioData.name || !d.turnsRewriterOff() {
		return nil
	}
	if operator := d.in.Shape.AddsProbes; operator != "" {
		found = append(found, NewFinding(reason.RewriterNeeded, d.spec,
			"%s adds probes to these pods, so nothing in them is rewritten", operator).
			Why(whyRewriterServes).
			Fix("%s", leaveToIstio))
	}
	found = append(found, checkObjects(d)...)
	for _, w := range sidecarWebhooks {
		if !w.hasProbes {
			continue
		}
		if value, set := d.annotations().Lookup(w.key); !set || !w.isOn(value) {
			continue
		}
		found = append(found, d.annotationFinding(reason.RewriterNeeded, w.key,
			"makes %s add the container %q, so nothing in this pod is rewritten", w.name, w.container).
			Why(whyRewriterServes).
			Fix("%s", leaveToIstio))
	}
	return found
}

const whyRewriterServes = "Rewriting turns off Istio's rewriter, which may serve those probes"

// leaveToIstio is what to do about probes that are not in the pod template.
var leaveToIstio = reason.Capital(optOutFix) + ". " + rewriterOffFix

// otelInject is the annotation of a pod or its Namespace that asks for an OpenTelemetryCollector: "true", a name, or a
// namespace and a name. Its webhook comes before Istio's if the operator's release has such a name.
const otelInject = "sidecar.opentelemetry.io/inject"

// checkObjects is checkWebhooks for the webhooks that objects near the pod tell what to add.
func checkObjects(d *decision) (found []Finding) {
	if a := surroundings.AuthProxyWorkloadOf(&d.in.Around, d.pods()); a != nil {
		found = append(found, NewFinding(reason.RewriterNeeded, d.spec,
			"%s adds a container with probes, so nothing in this pod is rewritten", a.Words()).
			Why(whyRewriterServes).
			Fix("%s", leaveToIstio))
	}
	ns, _ := d.namespace()
	value := cmp.Or(d.annotations().Get(otelInject), ns.Annotations.Get(otelInject))
	if value != "" && value != "false" && surroundings.CollectorMayProbe(&d.in.Around, value) {
		found = append(found, NewFinding(reason.RewriterNeeded, d.spec,
			"the annotation `%s: %q` adds a collector, so nothing in this pod is rewritten", otelInject, value).
			Why("Rewriting turns off Istio's rewriter, which may serve the collector's probe").
			Fix("%s", leaveToIstio))
	}
	return found
}
