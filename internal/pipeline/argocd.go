package pipeline

import (
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

var dataPath = field.NewPath("data")

// buildOptions is the key of Argo CD's settings that has the flags of
// `kustomize build`. Argo CD also documents buildOptions + "." + VERSION, and
// never passes those on: https://github.com/argoproj/argo-cd/issues/27673
const buildOptions = "kustomize.buildOptions"

// functionFlags are the flags without which kustomize runs no exec function.
// Without the first it fails, without the second it says nothing.
var functionFlags = []string{"--enable-alpha-plugins", "--enable-exec"}

// checkArgoCD warns of settings of Argo CD that seem to make kustomize run
// functions, but have no effect.
func (r *run) checkArgoCD(o *manifest.Object) {
	// Whose name is asked for has it kept: 12 MB with 50,000 objects.
	if o.Kind() != "ConfigMap" || o.APIVersion() != "v1" || !o.MayMention(buildOptions) || o.Name() != "argocd-cm" {
		return
	}
	data, _ := o.Value(dataPath)
	settings, _ := data.(field.Map)
	passed := field.As[string](settings, buildOptions)
	for _, s := range settings.KeyValues() {
		if !strings.HasPrefix(s.Key, buildOptions+".") {
			continue
		}
		for _, flag := range functionFlags {
			if hasFlag(s.Value, flag) && !hasFlag(passed, flag) {
				r.addFinding(o, transformer.NewFinding(ReasonArgoCDOptions, dataPath.Key(s.Key),
					"Argo CD does not pass %s on to kustomize; %q must have it", flag, buildOptions)).Current = s.Value
			}
		}
	}
}

// hasFlag reports whether a command line switches a boolean flag on.
func hasFlag(line, flag string) bool {
	on := false
	for word := range strings.FieldsSeq(line) {
		name, value, given := strings.Cut(word, "=")
		if name == flag {
			on = !given || value == "true"
		}
	}
	return on
}
