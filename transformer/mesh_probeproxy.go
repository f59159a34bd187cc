package transformer

import (
	"cmp"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// native reports whether probe-proxy must be a native sidecar: as the options
// say, unless the kind's API has none.
func (v *view) native() bool {
	return v.opts.ProbeProxy.Placement == PlacementNative && !v.in.Shape.NoNativeSidecars
}

// sidecarContext returns the securityContext of probe-proxy, without what OpenShift has to
// choose. Its constraint restricted-v2 refuses an uid outside of the namespace's range; the
// image's user is numeric, so runAsNonRoot holds wherever nothing is chosen. anyuid refuses
// every seccompProfile, and restricted-v2 gives one to the pod. Our uid stays if the pod has
// ids under which probe-proxy cannot run; whatever constraint admits those admits ours. An
// AppArmor profile that the pod has from its node is made for the app and may let no other
// program run.
func (v *view) sidecarContext() field.Map {
	context := sidecarDefaults(cmp.Or(v.mesh.sidecarUser, nobody))
	if v.onOpenShift() {
		unfit := func(id *int64) bool {
			return id != nil && (*id == 0 || *id == v.mesh.uid)
		}
		of := inherited(v)
		chooses := of == nil || !unfit(of.RunAsUser) && !unfit(of.RunAsGroup)
		context = slices.DeleteFunc(context, func(e field.Entry) bool {
			return chooses && (e.Key == "runAsUser" || e.Key == "runAsGroup") || e.Key == "seccompProfile"
		})
	}
	if profile := v.sourceMap(v.spec.Key("securityContext", appArmorField)); field.As[string](profile, "type") == "Localhost" {
		context = append(
			context,
			field.Entry{
				Key:   appArmorField,
				Value: field.Map{{Key: "type", Value: "RuntimeDefault"}},
			},
		)
	}
	return field.Merge(context, v.opts.ProbeProxy.SecurityContext)
}

// inherited returns the pod's securityContext, for the ids that containers inherit; nil if it has none.
func inherited(v *view) *pod.SecurityContext {
	v.in.Notes.field(v.spec, "securityContext", "runAsUser")
	v.in.Notes.field(v.spec, "securityContext", "runAsGroup")
	return v.in.Template.Spec.SecurityContext
}

const appArmorField = "appArmorProfile"

// nobody is the uid and gid of probe-proxy, as in distroless images.
const nobody = 65532

// sidecarDefaults returns the default securityContext of the container for a uid, which
// complies with "restricted". The options are merged over it.
func sidecarDefaults(user int) field.Map {
	return append(
		field.Map{{Key: "runAsUser", Value: user}, {Key: "runAsGroup", Value: nobody}},
		sidecarRestricted...,
	)
}

var sidecarRestricted = slices.Insert(
	slices.Clone(restrictedFields),
	1,
	field.Entry{Key: "readOnlyRootFilesystem", Value: true},
)
