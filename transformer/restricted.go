package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// restrictedFields is what the Pod Security level "restricted" demands of a
// container: https://kubernetes.io/docs/concepts/security/pod-security-standards/
var restrictedFields = field.Map{
	{Key: "runAsNonRoot", Value: true},
	{Key: "allowPrivilegeEscalation", Value: false},
	{Key: "capabilities", Value: field.Map{{Key: "drop", Value: field.List{"ALL"}}}},
	{Key: "seccompProfile", Value: field.Map{{Key: "type", Value: "RuntimeDefault"}}},
}

func restrictedSeccomp(v field.Value) bool {
	profile, _ := v.(field.Map)
	t := field.As[string](profile, "type")
	return t == "RuntimeDefault" || t == "Localhost"
}

func restrictedCapabilities(capabilities field.Map) bool {
	return slices.Contains(field.As[field.List](capabilities, "drop"), "ALL") &&
		!slices.ContainsFunc(
			field.As[field.List](capabilities, "add"),
			func(v field.Value) bool { return v != "NET_BIND_SERVICE" },
		)
}

// isRestrictedContext reports whether a securityContext is one that
// restrictedContext returns.
func isRestrictedContext(v field.Value) bool {
	m, _ := v.(field.Map)
	for _, e := range m {
		if want, ok := restrictedFields.Get(e.Key); !ok || !field.Same(e.Value, want) {
			return false
		}
	}
	_, escalation := m.Get("allowPrivilegeEscalation")
	_, capabilities := m.Get("capabilities")
	return escalation && capabilities
}
