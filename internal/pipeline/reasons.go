package pipeline

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// The reason keys of this package; those of the transformer are its own.
const (
	ReasonAssumed          = "injection-assumed"
	ReasonEnvoyConfig      = "envoy-config"
	ReasonEnvoyStale       = "envoy-config-stale"
	ReasonEnvoyTaken       = "envoy-config-taken"
	ReasonEnvoyUnfit       = "envoy-unfit"
	ReasonHelmTemplate     = "helm-template"
	ReasonInvalidManifest  = "invalid-manifest"
	ReasonNoManifest       = "no-manifest"
	ReasonPatch            = "patch"
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

// Reasons gives every reason key that a run can report, sorted.
func Reasons() []transformer.ReasonDoc {
	all := append(transformer.Reasons(),
		transformer.ReasonDoc{Key: ReasonEnvoyConfig, Severity: transformer.Info,
			Cause: "The ConfigMap that tells Envoy of the probes was added, changed or taken away.",
			Cure:  "Nothing to do."},
		transformer.ReasonDoc{Key: ReasonEnvoyStale, Severity: transformer.Warning,
			Cause: "The probes are rewritten, but the ConfigMap that tells Envoy of them is not in the same file or list, or says something else.",
			Cure:  "Run rewrite-probes over the manifest again."},
		transformer.ReasonDoc{Key: ReasonEnvoyTaken, Severity: transformer.Error,
			Cause: "An object of the name that is needed for what Envoy is told is there already, and is none of ours.",
			Cure:  "Rename it, or give it the label `app.kubernetes.io/managed-by: rewrite-probes` to have it replaced."},
		transformer.ReasonDoc{Key: ReasonEnvoyUnfit, Severity: transformer.Error,
			Cause: "The object has several pod templates or no name, so no ConfigMap can be its own.",
			Cure:  "Use `answeredBy: probe-proxy` for it."},
		transformer.ReasonDoc{Key: ReasonHelmTemplate, Severity: transformer.Warning,
			Cause: "A file below a folder is no YAML yet, but a Helm template.",
			Cure:  "Render the chart and pipe the result through rewrite-probes, or use it as Helm's post-renderer."},
		transformer.ReasonDoc{Key: ReasonAssumed, Severity: transformer.Warning,
			Cause: "With `answeredBy: auto` who answers depends on whether Istio injects its sidecar, and neither the pod template nor a Namespace among the manifests says it.",
			Cure:  "Set `answeredBy`, list the namespaces under `istio.injectedNamespaces` of the functionConfig (an empty list where there is no Istio), or give the Namespace too."},
		transformer.ReasonDoc{Key: ReasonInvalidManifest, Severity: transformer.Error,
			Cause: "The object is not what the API server would take: a field has the wrong type, or a key stands twice.",
			Cure:  "Mend the field that the message names."},
		transformer.ReasonDoc{Key: ReasonNoManifest, Severity: transformer.Info,
			Cause: "A file below a folder holds no Kubernetes object: it is empty, a list, or has no kind.",
			Cure:  "Nothing to do."},
		transformer.ReasonDoc{Key: ReasonPatch, Severity: transformer.Warning,
			Cause: "A kustomize patch is no whole object: the container that answers its probes must know those of the object that it is merged into.",
			Cure:  "Use rewrite-probes as a kustomize function, or pipe the output of kustomize build through it."},
		transformer.ReasonDoc{Key: ReasonKindMisspelt, Severity: transformer.Warning,
			Cause: "The API server has no such kind in that group, and one that makes pods has nearly the same name.",
			Cure:  "Write the kind that the message proposes."},
		transformer.ReasonDoc{Key: ReasonPathFindsNothing, Severity: transformer.Warning,
			Cause: "An entry of `podTemplates` names a kind of which there are objects, and finds a pod template in none of them.",
			Cure:  "Correct the path: it must lead to a mapping with `spec`, or with a list `containers`."},
		transformer.ReasonDoc{Key: ReasonRestored, Severity: transformer.Info,
			Cause: "The probe was given back its original handler.",
			Cure:  "Nothing to do."},
		transformer.ReasonDoc{Key: ReasonRewritten, Severity: transformer.Info,
			Cause: "The probe or hook was rewritten.",
			Cure:  "Nothing to do."},
		transformer.ReasonDoc{Key: ReasonUnknownKind, Severity: transformer.Warning,
			Cause: "An object of a kind that is not known holds something that looks like a container with probes.",
			Cure:  "If pods get these probes as they are, name the kind and the path under spec.podTemplates of the functionConfig, as the message shows; else exclude the object, and rewrite what is made of it."},
		transformer.ReasonDoc{Key: ReasonUnreadable, Severity: transformer.Error,
			Cause: "A file, or stdin, cannot be read as Kubernetes manifests: it is missing, no UTF-8 text, no YAML, or holds something else.",
			Cure:  "Fix the line that the message names; `--ignore` leaves files out."},
		transformer.ReasonDoc{Key: ReasonUnseenProbe, Severity: transformer.Warning,
			Cause: "An object holds something that looks like a container with probes outside its known pod templates, such as an ephemeral container or a second template.",
			Cure:  "Remove the probes, or name the path under spec.podTemplates of the functionConfig, as the message shows."},
		transformer.ReasonDoc{Key: ReasonUnreleased, Severity: transformer.Info,
			Cause: "This build of rewrite-probes is no release, so that no image of probe-proxy belongs to it, and the one that is written is that of the release to come.",
			Cure:  "Set `probeProxy.image` in the functionConfig, or use a release."},
		transformer.ReasonDoc{Key: ReasonWouldFail, Severity: transformer.Error,
			Cause: "Found by check: the probe or hook fails under strict mTLS, because nobody rewrote it.",
			Cure:  "Run rewrite-probes over the manifest; with kustomize, give --enable-alpha-plugins and --enable-exec, without which an exec function is passed over silently."},
		transformer.ReasonDoc{Key: ReasonWouldFalselyPass, Severity: transformer.Error,
			Cause: "Found by check: the tcpSocket probe reaches the mesh's proxy instead of the app, and passes whether or not the app listens.",
			Cure:  "Run rewrite-probes over the manifest; with kustomize, give --enable-alpha-plugins and --enable-exec, without which an exec function is passed over silently."},
		transformer.ReasonDoc{Key: ReasonWrittenAnew, Severity: transformer.Warning,
			Cause: "Lines were changed that hold no probe: an alias was written out because its anchor has another value now, or the YAML is too unusual to change single lines. No value is different, but comments and quotes may be.",
			Cure:  "Look at the named lines in the diff; write them without aliases or in a plainer form of YAML."},
	)
	slices.SortFunc(all, func(a, b transformer.ReasonDoc) int { return strings.Compare(a.Key, b.Key) })
	return all
}
