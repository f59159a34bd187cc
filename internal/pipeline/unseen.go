package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// reportUnseen warns of everything in an object that looks like a probe and is in
// none of its templates, and of a kind that does not exist.
func (r *run) reportUnseen(o *manifest.Object, class workload.Class, templates []workload.Template) {
	if class == workload.WorkloadGroup {
		return // it makes no pods, and its one probe has been looked at
	}
	hint := ""
	if class == workload.Unknown {
		meant := workload.Meant(o.Group(), o.Kind())
		if meant != nil && workload.IsBuiltinGroup(o.APIVersion()) {
			r.reportMisspelt(o, meant)
			return
		}
		if meant != nil {
			hint = "; or is kind " + meant.Name + " of the group " + meant.Group + " meant?"
		}
	}
	holders := workload.Unseen(o, templates)
	if len(holders) > 0 && workload.IsRelease(o.Group(), o.Kind()) {
		r.addFinding(o, releaseFinding(holders))
		return
	}
	for _, h := range holders {
		r.addFinding(o, unseenFinding(o, h, class == workload.Known)).Text.What += hint
	}
}

// reportTexts warns of the texts in an object that have probes: values, patches and
// manifests that another program puts into objects.
func (r *run) reportTexts(o *manifest.Object) {
	for path := range workload.Texts(o) {
		r.addFinding(o, transformer.NewFinding(reason.HelmTemplate, path,
			"is a text with probes, and nothing in it is looked at; pipe what is made of it through rewrite-probes"))
	}
}

// reportYTT warns of an object that is a template of ytt, which puts values and whole parts
// into it where comments begin with "#@", and reports whether it is one.
func (r *run) reportYTT(o *manifest.Object) bool {
	line := o.CommentLine("#@")
	if line == 0 {
		return false
	}
	m := r.addFinding(o, transformer.NewFinding(reason.HelmTemplate, nil,
		"is a ytt template (#@ in line %d), and nothing in it is looked at; run `ytt -f FILE | rewrite-probes -`", line))
	if !inList(o) {
		m.Line = line
	}
	return true
}

// hasVariable reports whether the value of a field looks like it has a variable.
func hasVariable(o *manifest.Object, path field.Path) bool {
	v, _ := o.Value(path)
	text, _ := v.(string)
	return pod.IsVariable(text)
}

func (r *run) reportMisspelt(o *manifest.Object, meant *workload.Kind) {
	apiVersion := o.APIVersion()
	if meant.Group != o.Group() {
		version := apiVersion[strings.LastIndexByte(apiVersion, '/')+1:]
		apiVersion = strings.TrimPrefix(meant.Group+"/"+version, "/")
	}
	m := r.addFinding(o, transformer.NewFinding(reason.KindMisspelt, field.NewPath("kind"),
		"%q is no kind of %s; did you mean %s of %s? Nothing in the object is looked at", o.Kind(), o.APIVersion(), meant.Name, apiVersion))
	m.Current, m.Proposed = o.Kind(), meant.Name
}

func unseenFinding(o *manifest.Object, h workload.Holder, known bool) transformer.Finding {
	key, why := reason.UnseenProbe, "no pod template of a "+o.Kind()+" is known to be there"
	if !known {
		key, why = reason.UnknownKind, "the kind is not known"
	}
	at := h.Path
	if len(at) == 0 {
		at = h.Probes[0][:1] // spec, or the list
	}
	spec, n := len(h.Spec), len(at)
	switch {
	case spec > 1 && h.Spec[spec-2].Key == "ephemeralContainers":
		return transformer.NewFinding(key, at, "has probes, which ephemeral containers cannot have: the API server refuses them")
	case h.Nameable:
		return transformer.NewFinding(key, at, "looks like a pod template, but %s; its probes are not looked at unless spec.podTemplates of the functionConfig has %s", why, entryOf(o, h))
	case n > 2 && at[n-2].IsIndex && strings.HasSuffix(at[n-3].Key, "ontainers"):
		return transformer.NewFinding(key, at, "looks like a probe, but no field of a container has that name; it is not looked at")
	}
	return transformer.NewFinding(key, at, "%s, but %s, and it is not in a list `containers` that spec.podTemplates of the functionConfig could name; nothing in it is looked at", probeWords(at, h.Probes), why)
}

// releaseFinding returns the one finding about the values of a chart.
func releaseFinding(holders []workload.Holder) transformer.Finding {
	var probes []field.Path
	at := holders[0].Probes[0]
	for _, h := range holders {
		for _, p := range h.Probes {
			probes, at = append(probes, p), at.Common(p)
		}
	}
	return transformer.NewFinding(reason.HelmTemplate, at, "%s, and is among the values of a chart, so nothing in it is looked at; render the chart and pipe the result through rewrite-probes", probeWords(at, probes))
}

// probeWords says that a field has what looks like probes.
func probeWords(at field.Path, probes []field.Path) string {
	switch {
	case len(probes) > 1:
		return fmt.Sprintf("has %d of what looks like probes, the first at `%s`", len(probes), probes[0])
	case len(at) == len(probes[0]):
		return "looks like a probe"
	}
	return fmt.Sprintf("has what looks like a probe, at `%s`", probes[0])
}

// entryOf returns the entry of podTemplates of the functionConfig that names a pod template.
func entryOf(o *manifest.Object, h workload.Holder) string {
	return manifest.Inline(field.Map{
		{Key: "group", Value: o.Group()},
		{Key: "kind", Value: o.Kind()},
		{Key: "path", Value: pathName(h.Pattern)},
	})
}

// pathName returns a pattern as podTemplates of the functionConfig names it.
func pathName(pattern field.Path) string {
	if len(pattern) == 0 {
		return field.Root
	}
	return pattern.String()
}

// A pathUse says whether the path of an entry of podTemplates has found a pod
// template, and in which object of its kind it was looked for first.
type pathUse struct {
	found  bool
	object *manifest.Object
	ref    *report.Object
}

func (r *run) notePathUses(o *manifest.Object, templates []workload.Template) {
	for i, c := range r.custom {
		use := &r.pathUses[i]
		if use.found || c.Group != o.Group() || c.Kind != o.Kind() {
			continue
		}
		if use.object == nil {
			use.object, use.ref = o, r.refer(o)
		}
		use.found = slices.ContainsFunc(templates, func(t workload.Template) bool {
			return slices.Equal(t.Path.Pattern(), c.Pattern)
		})
	}
}

// reportIdlePaths warns of the entries of podTemplates that found no pod
// template in any object of their kind.
func (r *run) reportIdlePaths() {
	for i, use := range r.pathUses {
		if use.found || use.object == nil {
			continue
		}
		r.ref = use.ref
		r.addFinding(use.object, transformer.NewFinding(reason.PathFindsNothing, nil,
			"spec.podTemplates[%d] of the functionConfig: the path %q finds no pod template here, nor in any other %s; there must be a mapping with `spec` or with a list `containers`", i, pathName(r.custom[i].Pattern), use.object.Kind()))
	}
}
