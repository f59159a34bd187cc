package transformer

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// declaration returns the container, without env, that holds the place of the
// mesh's proxy until it is injected.
//
// Pod Security checks a workload as it is written, before any injector sees its
// pods. If all other containers comply with "restricted", the declared one gets
// a compliant securityContext, so that it is not the only container to cause a
// warning. A declared securityContext overrides that of the injector's template. So
// none is declared if the template asks for a privileged proxy, and none of the
// fields that the pod's own securityContext already has.
func (w *draft) declaration() field.Map {
	m := field.Merge(istioPlaceholder, field.Map{{Key: "image", Value: w.opts.IstioProxy.Image}})
	if r := field.Merge(nil, w.opts.IstioProxy.Resources); len(r) > 0 {
		m = append(m, field.Entry{Key: "resources", Value: r})
	}
	if !w.opts.IstioProxy.Restricted || istioPrivileged(w.annotations()) {
		return m
	}
	if context := w.restrictedContext(); context != nil {
		m = append(m, field.Entry{Key: "securityContext", Value: context})
	}
	return m
}

// restrictedContext returns the securityContext with which one more container
// complies with "restricted"; nil if the user's own containers do not comply.
func (w *draft) restrictedContext() field.Map {
	pod := w.sourceMap(w.spec.Key("securityContext"))
	podRoot, hasRoot := pod.Get("runAsNonRoot")
	podSeccomp, hasSeccomp := pod.Get("seccompProfile")
	if hasRoot && podRoot != true || hasSeccomp && !restrictedSeccomp(podSeccomp) {
		return nil
	}
	compliant, nonRoot := w.containersComply(hasRoot, hasSeccomp)
	// In a user namespace of its own a container may run as root (Kubernetes 1.35).
	if hostUsers, _ := w.in.Source(w.spec.Key("hostUsers")); !compliant || !nonRoot && hostUsers != false {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(restrictedFields), func(e field.Entry) bool {
		return e.Key == "seccompProfile" && hasSeccomp || e.Key == "runAsNonRoot" && (hasRoot || !nonRoot)
	})
}

// containersComply reports whether the user's own containers comply with "restricted", and
// whether they run as another user than root; hasRoot and hasSeccomp say what the pod has
// that is valid for all of them.
func (w *draft) containersComply(hasRoot, hasSeccomp bool) (compliant, nonRoot bool) {
	compliant = true
	nonRoot = true
	for at := range w.containers() {
		c := w.sourceMap(w.containerPath(at).Key("securityContext"))
		escalation, _ := c.Get("allowPrivilegeEscalation")
		seccomp, ownSeccomp := c.Get("seccompProfile")
		compliant = compliant &&
			escalation == false &&
			restrictedCapabilities(field.As[field.Map](c, "capabilities")) &&
			(ownSeccomp && restrictedSeccomp(seccomp) || !ownSeccomp && hasSeccomp)
		root, ownRoot := c.Get("runAsNonRoot")
		nonRoot = nonRoot && (ownRoot && root == true || !ownRoot && hasRoot)
	}
	return compliant, nonRoot
}
