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

// optOut finds the reason to leave the whole template alone, nil for none.
func (w *work) optOut() *Finding {
	template := &w.in.Template
	var own *Finding
	for _, place := range w.optOutPlaces() {
		if f := w.switchedOff(ownRewrite, "opt-out", place); f != nil && own == nil {
			own = f
		}
	}
	const what = "the mesh does not capture this pod"
	switch {
	case own != nil:
		return own
	case w.in.Shape.ProbesMadeBy != "" && w.mesh.optOut == nil:
		f := w.finding("probes-made-elsewhere", nil, "", "%s makes the pods' probes itself, of those in the template, so that rewritten ones would break; Istio's injector rewrites what the pods get", w.in.Shape.ProbesMadeBy)
		return &f
	case w.mesh.optOut != nil:
		return w.mesh.optOut
	case template.Spec.HostNetwork:
		f := w.finding("host-network", w.spec.Key("hostNetwork"), "", what)
		return &f
	case isWindows(&template.Spec):
		f := w.finding("windows", nil, "", "a pod for Windows, where no mesh has a sidecar")
		return &f
	}
	return nil
}

func isWindows(spec *PodSpec) bool {
	return spec.OS != nil && spec.OS.Name == "windows" || spec.NodeSelector.Get("kubernetes.io/os") == "windows"
}

// An optOutPlace is metadata that may hold an annotation of ours.
type optOutPlace struct {
	metadata *Metadata
	path     field.Path // of the metadata
	other    bool       // it is the Namespace's
}

func (p optOutPlace) annotation(key string) field.Path {
	return p.path.Key("annotations", key)
}

func (w *work) optOutPlaces() []optOutPlace {
	places := make([]optOutPlace, 0, 3)
	places = append(places, optOutPlace{metadata: &w.in.Template.Metadata, path: w.metadata})
	if w.hasOwnMetadata() {
		places = append(places, optOutPlace{metadata: &w.in.Workload, path: field.NewPath("metadata")})
	}
	if w.in.Namespace != nil {
		places = append(places, optOutPlace{metadata: w.in.Namespace, other: true})
	}
	return places
}

// switchedOff gives a finding where an annotation that holds a boolean is
// false. One that cannot be read is said to be an error: whoever wrote it
// wanted something else than the default.
func (w *work) switchedOff(key, reason string, place optOutPlace) *Finding {
	v, set := place.metadata.Annotations.Lookup(key)
	if !set {
		return nil
	}
	on, err := strconv.ParseBool(v)
	switch {
	case err != nil:
		const allowed = "must be one of true, false, 1, 0, t, f, T, F, TRUE, FALSE, True, False"
		if place.other {
			w.say(w.finding("annotation-invalid", nil, "", "Namespace %q: annotation `%s` is %q, but "+allowed, place.metadata.Name, key, v))
		} else {
			w.say(w.metadataFinding("annotation-invalid", place.annotation(key), v, allowed))
		}
		return nil
	case on:
		return nil
	}
	var f Finding
	if place.other {
		f = w.finding(reason, nil, "", "Namespace %q has the annotation `%s: %s`", place.metadata.Name, key, v)
	} else {
		f = w.metadataFinding(reason, place.annotation(key), v, "takes the pods out of the rewriting")
	}
	return &f
}

// skipped gives the names of the containers to be left alone; a name that no
// container has is warned of, since it is likely a slip.
func (w *work) skipped() map[string]bool {
	var skip map[string]bool
	for _, place := range w.optOutPlaces() {
		v, set := place.metadata.Annotations.Lookup(ownSkipContainers)
		if !set || place.other {
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
			if known := w.appNames(); !slices.Contains(known, name) {
				w.say(w.metadataFinding("unknown-container", place.annotation(ownSkipContainers), v,
					"names the container %q, but the pod has only %s", name, strings.Join(known, ", ")))
			}
		}
	}
	return skip
}

func (w *work) containerNames() []string {
	var names []string
	containers(&w.in.Template.Spec, func(_ place, c *Container) { names = append(names, c.Name) })
	return names
}

// appNames returns the names of the containers that we did not add.
func (w *work) appNames() []string {
	var names []string
	containers(&w.in.Template.Spec, func(at place, c *Container) {
		if !w.isOurs(at) {
			names = append(names, c.Name)
		}
	})
	return names
}
