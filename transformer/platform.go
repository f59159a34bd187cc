package transformer

import (
	"cmp"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// The values of [Options].Platform. With auto, the manifests say it.
const (
	PlatformAuto       = "auto"
	PlatformKubernetes = "kubernetes"
	PlatformOpenShift  = "openshift"
)

const appArmorField = "appArmorProfile"

func (b *view) onOpenShift() bool {
	if p := b.p.opts.Platform; p == PlatformOpenShift || p == PlatformKubernetes {
		return p == PlatformOpenShift
	}
	return b.in.Around.OpenShift || surroundings.IsOpenShift(b.in.APIVersion, b.in.Kind)
}

// sidecarContext returns the securityContext of probe-proxy, without what OpenShift has to
// choose. Its constraint restricted-v2 refuses an uid outside of the namespace's range; the
// image's user is numeric, so runAsNonRoot holds wherever nothing is chosen. anyuid refuses
// every seccompProfile, and restricted-v2 gives one to the pod. Our uid stays if the pod has
// ids under which probe-proxy cannot run; whatever constraint admits those admits ours. An
// AppArmor profile that the pod has from its node is made for the app and may let no other
// program run.
func (b *view) sidecarContext() field.Map {
	context := sidecarDefaults(cmp.Or(b.p.mesh.sidecarUser, nobody))
	if b.onOpenShift() {
		unfit := func(id *int64) bool { return id != nil && (*id == 0 || *id == b.p.mesh.uid) }
		pod := b.in.Template.Spec.SecurityContext
		chooses := pod == nil || !unfit(pod.RunAsUser) && !unfit(pod.RunAsGroup)
		context = slices.DeleteFunc(context, func(e field.Entry) bool {
			return chooses && (e.Key == "runAsUser" || e.Key == "runAsGroup") || e.Key == "seccompProfile"
		})
	}
	if profile := b.sourceMap(b.spec.Key("securityContext", appArmorField)); field.As[string](profile, "type") == "Localhost" {
		context = append(context, field.Entry{Key: appArmorField, Value: field.Map{{Key: "type", Value: "RuntimeDefault"}}})
	}
	return field.Merge(context, b.p.opts.ProbeProxy.SecurityContext)
}
