package main

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/workload"
)

// A patchText is a patch of kustomize: a part of an object, or a JSON patch.
type patchText struct {
	text string
	kind string // of what it patches, as its kustomization says; "" if it does not
}

// The ways in which a patch concerns the rewriting of what it is applied to.
const (
	patchesProbes    = "its probes must be rewritten "
	patchesRewriting = "it may change what rewriting adds, so its target must be rewritten "
	patchesInjection = "it may decide whether the mesh injects, so its target must be rewritten "
)

// concern returns in what way a patch concerns the rewriting; "" if it does not. A patch of
// something that makes no pods does not, nor one of an exec probe.
func (p patchText) concern() string {
	if p.kind != "" && !canHavePods(p.kind) {
		return ""
	}
	s, err := workload.ReadText(p.text)
	if err != nil {
		return concernOf(p.text, namesProbe().MatchString(p.text))
	}
	worst := ""
	for _, o := range s.Objects() {
		if o.Kind() != "" && !canHavePods(o.Kind()) {
			continue
		}
		all, _ := o.Value(nil)
		if concern := concernOf(p.text, workload.ChangesProbe(all)); worst != patchesProbes && concern != "" {
			worst = concern
		}
	}
	return worst
}

// concernOf returns the concern of a text that changes a probe or does not.
func concernOf(text string, probe bool) string {
	switch {
	case probe:
		return patchesProbes
	case operation().MatchString(text):
		return patchesRewriting
	case injection().MatchString(text):
		return patchesInjection
	}
	return ""
}

// canHavePods reports whether objects of a kind can be rewritten, or decide about it as a Namespace does.
// The schemas of a CustomResourceDefinition name probes, and the values of a release are not
// rewritten with or without the patch.
func canHavePods(kind string) bool {
	return kind != "CustomResourceDefinition" && !workload.IsReleaseKind(kind)
}

// concernOfAny returns the gravest concern of some patches; "" if they have none.
func concernOfAny(patches []patchText) string {
	for _, grave := range []string{patchesProbes, patchesRewriting, patchesInjection} {
		if slices.ContainsFunc(patches, func(p patchText) bool {
			return p.concern() == grave
		}) {
			return grave
		}
	}
	return ""
}
