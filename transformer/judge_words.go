package transformer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// describeMesh says in one line what is known of the mesh around the pod, and from where.
func (k *knowledge) describeMesh() string {
	f := &k.inspection.learned
	if known := k.inspection.known; known != nil && len(k.sites) > 0 {
		if words := known(); len(words) > 0 {
			return "known: " + strings.Join(words, "; ")
		}
	}
	if len(k.sites) == 0 || f.InjectionCure == "" {
		return ""
	}
	var words []string
	add := func(x world.Fact, yes, no string) {
		switch {
		case x.Is == certain.Always:
			words = append(words, yes+": "+x.At)
		case x.Is == certain.Never:
			words = append(words, no+": "+x.At)
		case x.At != "":
			words = append(words, "unknown if "+yes+": "+x.At)
		}
	}
	if f.Injected.Is == certain.Maybe {
		return "unknown: whether Istio injects its sidecar (" + f.InjectionCure + ")"
	}
	add(f.Injected, "injected", "not injected")
	if f.Injected.Is == certain.Always {
		add(f.Native, "native sidecar", "not a native sidecar")
		add(f.Holds, "starts first", "does not start first")
		add(f.Rewrites, "the injector rewrites probes", "the injector rewrites no probes")
		words = append(words, k.knownMTLS()...)
	}
	return "known: " + strings.Join(words, "; ")
}

// knownMTLS says which mode of mutual TLS the manifests demand for the probes' ports.
func (v *view) knownMTLS() (words []string) {
	for _, s := range v.sites {
		if !s.current.Dials() {
			continue
		}
		var modes []string
		said := false
		for _, m := range v.mtls(s.dialed()) {
			said = said || m.At != ""
			modes = append(modes, m.Mode+": "+cmp.Or(m.At, "by default"))
		}
		if w := "mTLS " + strings.Join(modes, ", or "); said && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return words
}
