package pipeline

// The reason keys of a whole run; those of a plan are the transformer's.
const (
	ReasonArgoCDOptions    = "argocd-build-options"
	ReasonAssumed          = "injection-assumed"
	ReasonEnvoyConfig      = "envoy-config"
	ReasonEnvoyStale       = "envoy-config-stale"
	ReasonEnvoyTaken       = "envoy-config-taken"
	ReasonEnvoyUnfit       = "envoy-unfit"
	ReasonHelmTemplate     = "helm-template"
	ReasonInvalidManifest  = "invalid-manifest"
	ReasonNoManifest       = "no-manifest"
	ReasonPatch            = "patch"
	ReasonPatchIdle        = "patch-without-probes"
	ReasonRestored         = "restored"
	ReasonRewritten        = "rewritten"
	ReasonUnknownKind      = "unknown-kind"
	ReasonUnreleased       = "unreleased-image"
	ReasonUnreadable       = "unreadable"
	ReasonKindMisspelt     = "kind-misspelt"
	ReasonPathFindsNothing = "path-finds-nothing"
	ReasonUnseenProbe      = "unseen-probe"
	ReasonWouldFail        = "would-fail"
	ReasonWouldFalselyPass = "would-falsely-pass"
	ReasonWrittenAnew      = "written-anew"
)
