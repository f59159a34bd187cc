package pipeline

// The reason keys of a whole run; those of a plan are the transformer's.
const (
	ReasonArgoCDOptions    = "argocd-build-options"
	ReasonDeadIstio        = "dead-istio-api"
	ReasonEncrypted        = "encrypted"
	ReasonHelmTemplate     = "helm-template"
	ReasonInvalidManifest  = "invalid-manifest"
	ReasonMayFail          = "may-fail"
	ReasonMayFalselyPass   = "may-falsely-pass"
	ReasonNoManifest       = "no-manifest"
	ReasonNotBuilt         = "not-built"
	ReasonNotRendered      = "not-rendered"
	ReasonNothingSeen      = "nothing-seen"
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
