package transformer

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/resources"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// A view is a template next to one mesh and the options: all that a mesh's profile sees.
type view struct {
	*template
	p               *Planner
	userAnnotations field.KeyValues       // without what was added for past answerers in any mesh
	resources       func() *resources.Pod // of the template's own containers, read once
}

func newView(p *Planner, t *template, user field.KeyValues) *view {
	b := &view{template: t, p: p, userAnnotations: user}
	b.resources = sync.OnceValue(b.readResources)
	return b
}

// A knowledge is what is known of a template before anything is decided: its mesh, what that
// does to the pod, and who has opted out.
type knowledge struct {
	*view
	detected   detection
	inspection inspection
	off        *Finding  // why the whole template is left alone; nil if it is not
	skipped    []string  // the containers to leave alone
	invalid    []Finding // about the annotations that opt out
}

// know finds out which mesh a template is in, and what that says. A template that is restored
// is not asked whether it is in another mesh.
func (p *Planner) know(t *template, restoring bool) *knowledge {
	b := newView(p, t, userAnnotations(t))
	detected, in := p.detect(b)
	if in != p {
		b = newView(in, t, b.userAnnotations)
	}
	k := &knowledge{view: b, detected: detected, inspection: in.mesh.inspect(b)}
	if restoring {
		return k
	}
	k.inspection.conflicts = append(k.inspection.conflicts, detected.conflicts...)
	k.inspection.optOut = cmp.Or(k.inspection.optOut, detected.optOut)
	sources := b.optOutSources()
	own, invalid := firstOff(sources)
	k.off = k.optOut(own)
	skipped, unknown := k.skippedBy(sources)
	k.skipped, k.invalid = skipped, slices.Concat(invalid, unknown)
	return k
}

// read reads a template with the options of the planner, whatever its mesh is.
func (p *Planner) read(in *Input) *template { return read(&p.opts, originalFinders(), in) }

// originalFinders returns those of all meshes.
func originalFinders() (finders []originalFinder) {
	for _, d := range serviceMeshes {
		if d.findOriginal != nil {
			finders = append(finders, d.findOriginal)
		}
	}
	return finders
}

// answersItself reports whether the app itself is to answer: the probes stay as they
// are, and the mesh is told not to capture their ports.
func (b *knowledge) answersItself() bool { return b.inspection.answerer.who == AnsweredByApp }

// withoutExcluded returns the annotations without the ports that an earlier run took out
// of the mesh.
func withoutExcluded(b *template, annotations field.KeyValues) field.KeyValues {
	for _, p := range b.record.Values(recordExcluded) {
		var ports []int
		for item := range strings.SplitSeq(p.Value, ",") {
			port, _ := strconv.Atoi(item)
			ports = append(ports, port)
		}
		annotations = portList{key: p.Key}.without(annotations, b.record.Values(recordAnnotations), ports...)
	}
	return annotations
}

// userAnnotations returns the annotations of the template without what was added for past
// answerers in any mesh.
func userAnnotations(b *template) field.KeyValues {
	user := undoAll(withoutExcluded(b, b.annotations().Without(OriginalsAnnotation)), b.previousAnswerers(), b.record.Values(recordAnnotations))
	for _, p := range b.record.Values(recordInherited) { // the template would have replaced them
		if user.Get(p.Key) == p.Value {
			user = user.Without(p.Key)
		}
	}
	return user
}

// undoAll returns the annotations without what any mesh added for past
// answerers.
func undoAll(annotations field.KeyValues, past []answerer, recorded field.KeyValues) field.KeyValues {
	for _, d := range serviceMeshes {
		annotations = d.undo(annotations, past, recorded)
	}
	return annotations.Without(earlierAnnotation)
}

// answeredByUs reports whether a probe-proxy is to make rewritten probes.
func (b *knowledge) answeredByUs() bool {
	return b.inspection.answerer.who == AnsweredByProbeProxy
}

// native reports whether probe-proxy must be a native sidecar: as the options
// say, unless the kind's API has none.
func (b *view) native() bool {
	return b.p.opts.ProbeProxy.Placement == PlacementNative && !b.in.Shape.NoNativeSidecars
}

// firstIsApp reports whether the first container is taken for the app.
func (b *view) firstIsApp() bool { return b.in.Shape.FirstIsApp || b.p.mesh.firstIsApp }

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

// readResources returns the requirements of the template's own containers. A proxy whose
// resources the mesh's injector fills in is not counted.
func (b *view) readResources() *resources.Pod {
	filledLater := func(c *pod.Container) bool { return c.Image == autoImage && b.p.mesh.isProxy(c) }
	return resources.Read(b.spec, b.containers(), b.in.Around.LimitRanges, filledLater, b.sourceMap)
}

const appArmorField = "appArmorProfile"
