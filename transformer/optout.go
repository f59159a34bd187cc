package transformer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// Our own annotations.
const (
	ownRewrite        = "rewrite-probes.io/rewrite"
	ownSkipContainers = "rewrite-probes.io/skip-containers"
)

// optOut finds the reason to leave the whole template alone, nil if there is none.
func (b *planBuilder) optOut() *Finding {
	template := &b.in.Template
	var own *Finding
	for _, source := range b.optOutSources() {
		if f := b.switchedOff(ownRewrite, "opt-out", source); f != nil && own == nil {
			own = f
		}
	}
	const what = "the mesh does not capture this pod"
	switch {
	case own != nil:
		return own
	case b.in.Shape.ProbesMadeBy != "" && b.mesh.optOut == nil:
		f := b.finding("probes-made-elsewhere", nil, "", "%s makes the pods' probes itself, of those in the template, so that rewritten ones would break; Istio's injector rewrites what the pods get", b.in.Shape.ProbesMadeBy)
		return &f
	case b.mesh.optOut != nil:
		return b.mesh.optOut
	case template.Spec.HostNetwork:
		f := b.finding("host-network", b.spec.Key("hostNetwork"), "", what)
		return &f
	case isWindows(&template.Spec):
		f := b.finding("windows", nil, "", "a pod for Windows, where no mesh has a sidecar")
		return &f
	}
	return nil
}

func isWindows(spec *PodSpec) bool {
	return spec.OS != nil && spec.OS.Name == "windows" || spec.NodeSelector.Get("kubernetes.io/os") == "windows"
}

// An optOutSource is metadata that may hold an annotation of ours.
type optOutSource struct {
	metadata *Metadata
	path     field.Path // of the metadata
	other    bool       // it is the Namespace's
}

func (p optOutSource) annotation(key string) field.Path {
	return p.path.Key("annotations", key)
}

func (b *planBuilder) optOutSources() []optOutSource {
	sources := make([]optOutSource, 0, 3)
	sources = append(sources, optOutSource{metadata: &b.in.Template.Metadata, path: b.metadata})
	if b.hasOwnMetadata() {
		sources = append(sources, optOutSource{metadata: &b.in.Workload, path: field.NewPath("metadata")})
	}
	if b.in.Namespace != nil {
		sources = append(sources, optOutSource{metadata: b.in.Namespace, other: true})
	}
	return sources
}

// switchedOff returns a finding if a boolean annotation is false. A value that
// is no boolean is an error, since its author wanted something other than the
// default.
func (b *planBuilder) switchedOff(key, reason string, source optOutSource) *Finding {
	v, set := source.metadata.Annotations.Lookup(key)
	if !set {
		return nil
	}
	on, err := strconv.ParseBool(v)
	switch {
	case err != nil:
		const allowed = "must be one of true, false, 1, 0, t, f, T, F, TRUE, FALSE, True, False"
		if source.other {
			b.addFinding(b.finding("annotation-invalid", nil, "", "Namespace %q: annotation `%s` is %q, but "+allowed, source.metadata.Name, key, v))
		} else {
			b.addFinding(b.metadataFinding("annotation-invalid", source.annotation(key), v, allowed))
		}
		return nil
	case on:
		return nil
	}
	var f Finding
	if source.other {
		f = b.finding(reason, nil, "", "Namespace %q has the annotation `%s: %s`", source.metadata.Name, key, v)
	} else {
		f = b.metadataFinding(reason, source.annotation(key), v, "takes the pods out of the rewriting")
	}
	return &f
}

// skipped returns the names of the containers to leave alone. It warns of a name
// that no container has, which is probably a typo.
func (b *planBuilder) skipped() map[string]bool {
	var skip map[string]bool
	for _, source := range b.optOutSources() {
		v, set := source.metadata.Annotations.Lookup(ownSkipContainers)
		if !set || source.other {
			continue
		}
		for name := range strings.SplitSeq(v, ",") {
			name = strings.TrimSpace(name)
			if name == "" {
				continue
			}
			if skip == nil {
				skip = make(map[string]bool)
			}
			skip[name] = true
			if known := b.appNames(); !slices.Contains(known, name) {
				b.addFinding(b.metadataFinding("unknown-container", source.annotation(ownSkipContainers), v,
					"names the container %q, but the pod has only %s", name, strings.Join(known, ", ")))
			}
		}
	}
	return skip
}

func (b *planBuilder) containerNames() []string {
	var names []string
	eachContainer(&b.in.Template.Spec, func(_ containerRef, c *Container) { names = append(names, c.Name) })
	return names
}

// appNames returns the names of the containers that we did not add.
func (b *planBuilder) appNames() []string {
	var names []string
	eachContainer(&b.in.Template.Spec, func(at containerRef, c *Container) {
		if !b.isOurs(at) {
			names = append(names, c.Name)
		}
	})
	return names
}
