package transformer

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/spelling"
)

// optOut returns the reason to leave the whole template alone, which may be an annotation of
// ours or what meshes say; nil if there is none.
func (v *view) optOut(own, byMesh *Finding) *Finding {
	spec := &v.in.Template.Spec
	switch {
	case own != nil:
		return own
	case v.in.Shape.ProbesMadeBy != "" && byMesh == nil:
		return new(NewFinding(reason.ProbesMadeElsewhere, nil, "%s makes the pods' probes itself, so rewritten ones would break", v.in.Shape.ProbesMadeBy).
			Why("Istio's injector rewrites the probes that the pods get"))
	case v.in.Shape.IsPatch && byMesh == nil:
		return new(NewFinding(reason.ProbesMadeElsewhere, nil, "a container has no image, so another program completes this pod template").
			Why("A rewritten probe would get a second handler there, and the API server refuses that"))
	case byMesh != nil:
		return byMesh
	case spec.HostNetwork:
		return new(NewFinding(reason.HostNetwork, v.spec.Key("hostNetwork"), "the mesh does not capture a pod on the node's network"))
	case pod.IsWindows(spec):
		return new(NewFinding(reason.Windows, nil, "the pod runs on Windows, where no mesh has a sidecar"))
	case pod.IsVirtual(spec):
		return new(NewFinding(reason.VirtualNode, nil, "the pod runs on a virtual node, where no mesh has a sidecar"))
	}
	return nil
}

func (t *template) optOutSources() []optOutSource {
	sources := append(make([]optOutSource, 0, 3), optOutSource{&t.ofPods, t.metadata, "the pods"})
	if t.hasOwnMetadata() {
		sources = append(sources, optOutSource{&t.ofWorkload, field.NewPath("metadata"), "the pods"})
	}
	ns, _ := t.namespace()
	return append(sources, optOutSource{NotedMetadata: ns})
}

// OptOut returns a finding if an annotation takes an object without a pod template
// out of the rewriting: its own annotation, or that of its Namespace, which is empty
// if unknown. invalid has findings about values that are no boolean, and about misspelt keys of ours.
func OptOut(workload, namespace *field.NotedMetadata) (off *Finding, invalid []Finding) {
	sources := []optOutSource{
		{workload, field.NewPath("metadata"), "the object"}, {NotedMetadata: namespace},
	}
	off, invalid = firstOff(sources)
	return off, append(invalid, ownMistakes(sources)...)
}

// firstOff returns the finding about the first source in which our annotation is
// false; nil if it is false in none. invalid has those about values that are no
// boolean, in all sources.
func firstOff(sources []optOutSource) (off *Finding, invalid []Finding) {
	for _, source := range sources {
		f, wrong := source.switchedOff(ownRewrite, reason.OptOut)
		if wrong != nil {
			invalid = append(invalid, *wrong)
		}
		if off == nil {
			off = f
		}
	}
	return off, invalid
}

// skippedBy returns the names of the containers to leave alone. It warns of a name
// that no container has, which is probably a typo.
func (v *view) skippedBy(sources []optOutSource) (names []string, unknown []Finding) {
	have := pod.Names(v.containers())
	for _, source := range sources {
		if source.path == nil {
			continue
		}
		value := source.Annotations.Get(ownSkipContainers)
		for name := range strings.SplitSeq(value, ",") {
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			names = append(names, name)
			if !slices.Contains(have, name) {
				unknown = append(unknown, metadataFinding(reason.UnknownContainer, source.path.Key("annotations", ownSkipContainers), value,
					"names the container %q, but the pod has only %s", name, strings.Join(have, ", ")))
			}
		}
	}
	return names, unknown
}

const (
	ownPrefix         = "rewrite-probes.io/"
	ownRewrite        = ownPrefix + "rewrite"
	ownSkipContainers = ownPrefix + "skip-containers"
	// ProbeFromAnnotation names the workload whose probe a WorkloadGroup takes.
	ProbeFromAnnotation = ownPrefix + "probe-from"
	// SeenAnnotation marks the objects that patches were made from.
	SeenAnnotation = ownPrefix + "seen"
)

// ownKeys are the annotations with our prefix: those that people write, and then those of a run.
var ownKeys = []string{ownRewrite, ownSkipContainers, ProbeFromAnnotation, OriginalsAnnotation, SeenAnnotation}

// ownMistakes warns of labels and annotations with our prefix that have no effect: their author
// wants something that does not happen. They are no questions of the plan, which they do not change.
func ownMistakes(sources []optOutSource) (found []Finding) {
	for _, s := range sources {
		if s.NotedMetadata == nil {
			continue
		}
		for _, l := range s.Labels.Unnoted() {
			if strings.HasPrefix(l.Key, ownPrefix) {
				found = append(found, s.mistake(reason.AnnotationMisplaced, "labels", l,
					"rewrite-probes reads annotations, not labels").Fix("Move it to the annotations"))
			}
		}
		for _, a := range s.Annotations.Unnoted() {
			switch {
			case !strings.HasPrefix(a.Key, ownPrefix):
			case !slices.Contains(ownKeys, a.Key):
				found = append(found, s.mistake(reason.AnnotationMisspelt, "annotations", a,
					"rewrite-probes has no annotation of this name").Fix("%s", ownFix(a.Key)))
			case s.path == nil && a.Key == ownSkipContainers:
				found = append(found, s.mistake(reason.AnnotationMisplaced, "annotations", a,
					"rewrite-probes does not read it on a Namespace").Fix("Move it to the pod templates"))
			}
		}
	}
	return found
}

// ownFix returns what to write for a misspelt annotation with our prefix.
func ownFix(key string) string {
	if meant := spelling.Near(key, ownKeys); len(meant) > 0 {
		return "Write `" + meant[0] + "`"
	}
	return "Write `" + ownRewrite + "` or `" + ownSkipContainers + "`, or remove it"
}
