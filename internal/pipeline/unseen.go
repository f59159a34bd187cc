package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/patches"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/spelling"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// reportUnseen warns of everything in an object that looks like a probe and is in
// none of its templates, and of a kind that does not exist.
func (r *run) reportUnseen(s *subject, templates []workload.TemplatePlace) {
	o := s.Object
	if s.class == workload.WorkloadGroup {
		return // it makes no pods, and its one probe is checked
	}
	holders := workload.Unseen(o, templates)
	if s.class == workload.Unknown {
		meant := workload.Meant(o.Group(), o.Kind())
		if meant != nil && (len(holders) > 0 || workload.IsBuiltinGroup(o.APIVersion())) {
			r.addFinding(s, misspelt(o, meant))
			return
		}
	}
	if len(holders) > 0 && workload.IsOpenShiftTemplate(o.Group(), o.Kind()) {
		r.addFinding(s, transformer.NewFinding(reason.HelmTemplate, nil,
			"not checked: this is a template of OpenShift").
			Fix("Run `oc process -f FILE --local -o yaml | rewrite-probes -`"))
		return
	}
	if len(holders) > 0 &&
		workload.IsRelease(o.Group(), o.Kind()) {
		r.addFinding(s, releaseFinding(holders))
		return
	}
	if workload.IsSidecarSet(o.Group(), o.Kind()) {
		r.reportAdded(s, workload.ProbesBeside(o, holders, transformer.AnsweredByIstioProxy))
		return
	}
	dedented := workload.Dedented(o, templates)
	for _, d := range dedented {
		r.addFinding(s, dedentedFinding(d))
	}
	for _, h := range holders {
		isDedented := func(d workload.Handler) bool { return slices.Equal(d.Container, h.Path) }
		if !slices.ContainsFunc(dedented, isDedented) {
			r.addFinding(s, unseenFinding(o, h, s.class == workload.Known))
		}
	}
}

// dedentedFinding is about a handler that a container has in the place of a probe.
func dedentedFinding(d workload.Handler) transformer.Finding {
	fix := "Indent it under its probe"
	if d.Empty != "" {
		fix = "Indent it under `" + d.Empty + "`, which is empty"
	}
	return transformer.NewFinding(reason.UnseenProbe, d.Container.Key(d.Key),
		"not checked: no field of a container has the name `%s`", d.Key).Fix("%s", fix)
}

// reportTexts warns of the texts in an object that have probes: values, patches and
// manifests that another program puts into objects.
func (r *run) reportTexts(s *subject) {
	own := patches.Own(s.Object)
	if own != nil { // each render is tested by them
		r.out.Patched++
	}
	for path := range workload.Texts(s.Object) {
		isOwn := func(p field.Path) bool { return path.HasPrefix(p) }
		if slices.ContainsFunc(own, isOwn) {
			continue
		}
		if s.Kind() == "ConfigMap" && workload.IsPartOfPods(workload.TextAt(s.Object, path)) {
			r.addFinding(s, transformer.NewFinding(reason.ProbesInText, path, "not checked: a controller may make pods of this text").
				Fix("Check its output. To silence this, add `exclude: {kinds: [ConfigMap], names: [%s]}` to the functionConfig", s.Name()))
			continue
		}
		r.addFinding(s, transformer.NewFinding(reason.HelmTemplate, path,
			"not checked: this is a text with probes").
			Fix("Pipe the objects that are made of it through rewrite-probes"))
	}
}

// reportTemplate warns of an object with comments in place of values, and reports whether it has any: ytt puts values
// and whole parts where comments begin with "#@", and Azure DevOps and Octopus replace "#{NAME}".
func (r *run) reportTemplate(s *subject) bool {
	what, fix := "this is a ytt template (#@ in line %d)", "Run `ytt -f FILE | rewrite-probes -`"
	line := s.CommentLine("#@")
	if line == 0 {
		line = s.TokenLine()
		what, fix = "it has a token in place of a value (#{ in line %d)", substituteFix
	}
	if line == 0 {
		return false
	}
	m := s.message(transformer.NewFinding(reason.HelmTemplate, nil, "not checked: "+what, line).Fix("%s", fix))
	if s.inFile() {
		m.Line = line
	}
	r.add(m)
	return true
}

// substituteFix is for what another program replaces.
const substituteFix = "Run rewrite-probes after the substitution"

// A placeholder is a port of a probe that something else will stand for: whether rewritten probes fit then is unknown.
type placeholder struct{ transformer.Finding }

func (p placeholder) Error() string { return p.Text.What }

// placeholderIn returns the placeholder that a plan leaves a probe unchanged for, as an error; nil if there is none.
// A plan that is refused says what else to do.
func placeholderIn(p *transformer.Plan) error {
	if transformer.FirstError(p.Findings) != nil {
		return nil
	}
	for _, f := range p.Findings {
		port, _ := f.Current.(string)
		if f.Reason == reason.PortUnresolved && pod.IsPortPlaceholder(port) {
			f.Reason = reason.HelmTemplate
			return placeholder{f}
		}
	}
	return nil
}

// misspelt returns the finding about a kind that does not exist.
func misspelt(o *manifest.Object, meant *workload.Kind) transformer.Finding {
	apiVersion := o.APIVersion()
	if meant.Group != o.Group() {
		version := apiVersion[strings.LastIndexByte(apiVersion, '/')+1:]
		apiVersion = strings.TrimPrefix(meant.Group+"/"+version, "/")
	}
	f := transformer.NewFinding(reason.KindMisspelt, field.NewPath("kind"),
		"not checked: %q is not a kind of %s", o.Kind(), o.APIVersion()).
		Fix("Write `apiVersion: %s` and `kind: %s`", apiVersion, meant.Name)
	f.Current, f.Proposed = o.Kind(), meant.Name
	return f
}

// withoutKind returns the finding about an object without a kind that looks like one with pods.
func withoutKind(o *manifest.Object, at field.Path) transformer.Finding {
	if o.APIVersion() == "" {
		return transformer.NewFinding(reason.UnknownKind, at, "not checked: perhaps a pod template, but without `apiVersion` and `kind`").
			Fix("Write both. If these are a chart's values, pipe `helm template CHART` into the command")
	}
	return transformer.NewFinding(reason.UnknownKind, at, "not checked: perhaps a pod template, but the object has no `kind`").
		Fix("Write `kind`, such as `kind: Deployment`")
}

func unseenFinding(o *manifest.Object, h workload.Holder, known bool) transformer.Finding {
	key := reason.UnseenProbe
	why := "but no " + o.Kind() + " has a pod template there"
	if !known {
		key = reason.UnknownKind
		why = "in an unknown kind"
	}
	at := h.Path
	if len(at) == 0 {
		at = h.Probes[0][:1] // spec, or the list
	}
	spec := len(h.Spec)
	switch operator := workload.OperatorOf(o.Group()); {
	case spec > 1 && h.Spec[spec-2].Key == "ephemeralContainers":
		return transformer.NewFinding(key, at, "the API server refuses probes of ephemeral containers").
			Fix("Remove the probes")
	case o.Kind() == "":
		return withoutKind(o, at)
	case workload.IsRule(o.Group()):
		return transformer.NewFinding(key, at, "not checked: %s, in a rule that changes other objects", probeWords(at, h.Probes)).
			Fix("Check the objects as the rule leaves them: `kubectl get deploy -A -o yaml | rewrite-probes check -`. Or exclude this one")
	case h.IsPatch:
		return transformer.NewFinding(key, at, "not checked: %s, in a container without an image", probeWords(at, h.Probes)).
			Why("Another program completes it").
			Fix("Exclude the object, or write exec probes")
	case h.Nameable && operator != "":
		return transformer.NewFinding(key, at, "not checked: perhaps a pod template, and %s adds probes", operator).
			Why("Those need Istio's rewriter").
			Fix("Exclude the object. If that rewriter is off, set `istio: {injectorRewrites: false}`, and add `%s` to `podTemplates`", entryOf(o, h))
	case h.Nameable:
		return transformer.NewFinding(key, at, "not checked: perhaps a pod template, %s", why).
			Fix("Add `%s` to `podTemplates`, or exclude the object", entryOf(o, h))
	case known && misspeltList(h.Probes[0]) != "":
		name := misspeltList(h.Probes[0])
		return transformer.NewFinding(key, at, "not checked: %s, but a pod spec has no field `%s`", probeWords(at, h.Probes), name).
			Fix("Write `%s`", spelling.Near(name, podLists)[0])
	case isOfContainer(h.Probes[0]):
		name := h.Probes[0][len(h.Probes[0])-1].Key
		f := transformer.NewFinding(key, at, "not checked: %s, but containers have no field `%s`", probeWords(at, h.Probes), name)
		if meant := spelling.Near(name, workload.ProbeFields()); len(meant) == 1 {
			f = f.Fix("Write `%s`", meant[0])
		}
		return f
	}
	return transformer.NewFinding(key, at, "not checked: %s, %s", probeWords(at, h.Probes), why).
		Fix("Pipe its pods through rewrite-probes, or exclude the object")
}

// podLists are the lists of containers of a pod spec.
var podLists = []string{"containers", "initContainers"}

// misspeltList returns the field on a path that is nearly a list of containers; "" if there is none.
func misspeltList(at field.Path) string {
	for _, e := range at {
		meant := spelling.Near(e.Key, podLists)
		if len(meant) == 1 && meant[0] != e.Key && spelling.Within(2, e.Key, meant[0]) {
			return e.Key
		}
	}
	return ""
}

// isOfContainer reports whether a path is of a field of a container, which has no such probe.
func isOfContainer(at field.Path) bool {
	n := len(at)
	return n > 2 && at[n-2].IsIndex && strings.HasSuffix(at[n-3].Key, "ontainers") &&
		!slices.Contains(workload.ProbeFields(), at[n-1].Key)
}

// reportAdded warns of probes of containers that OpenKruise adds to pods. Those of istio-proxy are
// Istio's own: they ask Istio's agent, whatever mTLS demands.
func (r *run) reportAdded(s *subject, probes []field.Path) {
	if len(probes) == 0 {
		return
	}
	at := probes[0]
	for _, p := range probes {
		at = at.Common(p)
	}
	r.addFinding(s, transformer.NewFinding(reason.UnseenProbe, at,
		"not checked: %s, which OpenKruise adds to pods", probeWords(at, probes)).
		Fix("For pods in a mesh, write exec probes. Else exclude the object"))
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
	return transformer.NewFinding(reason.HelmTemplate, at, "not checked: %s, in a chart's values", probeWords(at, probes)).
		Fix("Pipe the rendered chart through rewrite-probes")
}

// probeWords says that a field has what looks like probes.
func probeWords(at field.Path, probes []field.Path) string {
	switch {
	case len(probes) > 1:
		return fmt.Sprintf("perhaps %d probes, the first at `%s`", len(probes), probes[0])
	case len(at) == len(probes[0]):
		return "perhaps a probe"
	}
	return fmt.Sprintf("perhaps a probe at `%s`", probes[0])
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
	found bool
	*subject
}

func (r *run) notePathUses(s *subject, templates []workload.TemplatePlace) {
	for i, c := range r.custom {
		use := &r.pathUses[i]
		if use.found ||
			c.Group != s.Group() ||
			c.Kind != s.Kind() {
			continue
		}
		if use.subject == nil {
			use.subject = s
		}
		use.found = slices.ContainsFunc(templates, func(t workload.TemplatePlace) bool {
			return slices.Equal(t.Path.Pattern(), c.Pattern)
		})
	}
}

// reportIdlePaths warns of the entries of podTemplates that found no pod
// template in any object of their kind.
func (r *run) reportIdlePaths() {
	for i, use := range r.pathUses {
		if use.found || use.subject == nil {
			continue
		}
		r.addFinding(use.subject, transformer.NewFinding(reason.PathFindsNothing, nil,
			"the path %q of spec.podTemplates[%d] finds no pod template in any %s", pathName(r.custom[i].Pattern), i, use.Kind()))
	}
}
