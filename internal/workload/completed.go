package workload

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

// isPatch reports whether a pod's spec lacks what the API server demands: a container of it has no image.
// Then it is no pod template, but a patch of one: another program fills in the rest, such as
// an operator that has the template, or a rule of Kyverno.
func isPatch(spec manifest.Node) bool {
	for _, list := range []string{"initContainers", "containers"} {
		containers := spec.Get(list)
		if !containers.IsList() {
			continue
		}
		for c := containers.First(); c.Exists(); c = c.Next() {
			if c.Get("image").IsEmpty() {
				return true
			}
		}
	}
	return false
}

// operators have controllers that add probes over the network to the pods of their kinds, or containers with
// such probes, beside what the object's pod template has. In the order of the list, by the code of:
// elastic/cloud-on-k8s, prometheus-operator/prometheus-operator, VictoriaMetrics/operator,
// k8ssandra/cass-operator, Altinity/clickhouse-operator, grafana/grafana-operator, keycloak/keycloak,
// open-telemetry/opentelemetry-operator, rabbitmq/cluster-operator, Kong/gateway-operator, and
// stackabletech's operators.
var operators = []struct{ group, name string }{
	{"k8s.elastic.co", "Elastic Cloud on Kubernetes"},
	{"monitoring.coreos.com", "the Prometheus operator"},
	{"operator.victoriametrics.com", "the operator of VictoriaMetrics"},
	{"cassandra.datastax.com", "cass-operator"},
	{"clickhouse.altinity.com", "the operator of ClickHouse"},
	{"grafana.integreatly.org", "the operator of Grafana"},
	{"k8s.keycloak.org", "the operator of Keycloak"},
	{"opentelemetry.io", "the operator of OpenTelemetry"},
	{"rabbitmq.com", "the operator of RabbitMQ"},
	{"gateway-operator.konghq.com", "the operator of Kong"},
	{"stackable.tech", "the operator of Stackable"},
}

// OperatorOf returns the operator that adds probes to the pods of a group's kinds; "" if none is known.
func OperatorOf(group string) string {
	for _, o := range operators {
		if group == o.group || strings.HasSuffix(group, "."+o.group) {
			return o.name
		}
	}
	return ""
}

// ruleGroups have kinds whose objects change other objects.
var ruleGroups = []string{"kyverno.io", "policies.kyverno.io", "mutations.gatekeeper.sh", "policy.karmada.io"}

// IsRule reports whether objects of a group are rules that change other objects, so that a list of containers
// in one is a part of the rule.
func IsRule(group string) bool { return slices.Contains(ruleGroups, group) }

// IsOpenShiftTemplate reports whether a kind is OpenShift's Template, which has objects with parameters. Version 1 has
// been in the core group too.
func IsOpenShiftTemplate(group, kind string) bool {
	return kind == "Template" && (group == "" || group == "template.openshift.io")
}
