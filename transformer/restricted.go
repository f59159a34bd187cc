package transformer

import (
	"reflect"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// restrictedFields is what the Pod Security level "restricted" asks of a
// container: https://kubernetes.io/docs/concepts/security/pod-security-standards/
func restrictedFields() field.Map {
	return field.Map{
		{Key: "runAsNonRoot", Value: true},
		{Key: "allowPrivilegeEscalation", Value: false},
		{Key: "capabilities", Value: field.Map{{Key: "drop", Value: field.List{"ALL"}}}},
		{Key: "seccompProfile", Value: field.Map{{Key: "type", Value: "RuntimeDefault"}}},
	}
}

// declaration gives the container, without env, that stands for the mesh's
// proxy until it is injected.
//
// Pod Security warns of a workload as it is written, before any injector has
// seen its pods. Where all other containers are as "restricted" wants them,
// the declared one is made so too, that it is not the only one to be warned of.
// An injector lets what is declared win over its own template: so nothing is
// declared where the template asks for a proxy with privileges, nor what the
// pod's own securityContext says already.
func (w *work) declaration() field.Map {
	m := w.p.dialect.declare()
	if !w.p.opts.IstioProxy.Restricted || w.p.dialect.privileged(w.annotations()) {
		return m
	}
	if context := w.restrictedContext(); context != nil {
		m = append(m, field.Entry{Key: "securityContext", Value: context})
	}
	return m
}

// restrictedContext gives the securityContext with which one more container
// satisfies "restricted"; nil where the pod, without what is ours, does not.
func (w *work) restrictedContext() field.Map {
	pod := w.sourceMap(w.spec.Key("securityContext"))
	podRoot, hasRoot := pod.Get("runAsNonRoot")
	podSeccomp, hasSeccomp := pod.Get("seccompProfile")
	if hasRoot && podRoot != true || hasSeccomp && !restrictedSeccomp(podSeccomp) {
		return nil
	}
	compliant, nonRoot := true, true
	containers(&w.in.Template.Spec, func(at place, _ *Container) {
		if w.isOurs(at) {
			return
		}
		c := w.sourceMap(w.containerPath(at).Key("securityContext"))
		escalation, _ := c.Get("allowPrivilegeEscalation")
		capabilities, _ := c.Get("capabilities")
		seccomp, ownSeccomp := c.Get("seccompProfile")
		compliant = compliant && escalation == false && restrictedCapabilities(capabilities) &&
			(ownSeccomp && restrictedSeccomp(seccomp) || !ownSeccomp && hasSeccomp)
		root, ownRoot := c.Get("runAsNonRoot")
		nonRoot = nonRoot && (ownRoot && root == true || !ownRoot && hasRoot)
	})
	// In a user namespace root is nobody outside, and may run (Kubernetes 1.35).
	if !compliant || !nonRoot && !w.ownUsers() {
		return nil
	}
	return slices.DeleteFunc(restrictedFields(), func(e field.Entry) bool {
		return e.Key == "seccompProfile" && hasSeccomp || e.Key == "runAsNonRoot" && (hasRoot || !nonRoot)
	})
}

// ownUsers tells whether the pod has a user namespace of its own.
func (w *work) ownUsers() bool {
	hostUsers, _ := w.source(w.spec.Key("hostUsers"))
	return hostUsers == false
}

func restrictedSeccomp(v field.Value) bool {
	m, _ := v.(field.Map)
	t, _ := m.Get("type")
	return t == "RuntimeDefault" || t == "Localhost"
}

func restrictedCapabilities(v field.Value) bool {
	m, _ := v.(field.Map)
	drop, _ := m.Get("drop")
	dropped, _ := drop.(field.List)
	add, _ := m.Get("add")
	added, _ := add.(field.List)
	return slices.Contains(dropped, "ALL") &&
		!slices.ContainsFunc(added, func(v field.Value) bool { return v != "NET_BIND_SERVICE" })
}

// isRestrictedContext tells whether a securityContext is one that
// restrictedContext gives.
func isRestrictedContext(v field.Value) bool {
	m, _ := v.(field.Map)
	known := restrictedFields()
	for _, e := range m {
		if want, ok := known.Get(e.Key); !ok || !reflect.DeepEqual(e.Value, want) {
			return false
		}
	}
	_, escalation := m.Get("allowPrivilegeEscalation")
	_, capabilities := m.Get("capabilities")
	return escalation && capabilities
}
