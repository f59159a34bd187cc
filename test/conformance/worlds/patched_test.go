package worlds

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// A patch changes a pod template as one of an overlay may, after it was rewritten; it returns
// false if there is nothing for it to change.
type patch func(r *rand.Rand, metadata, spec map[string]any) bool

var patches = map[string]patch{
	"an init container in front":      inFront("initContainers"),
	"a container in front":            inFront("containers"),
	"another port of a probe":         ofProbe("port", 8080),
	"another scheme of a probe":       ofProbe("scheme", "HTTPS"),
	"another list of excluded ports":  annotated(excludeInboundPorts, "8081"),
	"another port of the status":      annotated("status.sidecar.istio.io/port", "15099"),
	"a sidecar that is no longer one": withoutRestartPolicy,
}

// inFront moves a container to where kustomize puts one that a merge patch names.
func inFront(list string) patch {
	return func(r *rand.Rand, _, spec map[string]any) bool {
		all, _ := spec[list].([]any)
		if len(all) < 2 {
			return false
		}
		i := 1 + r.IntN(len(all)-1)
		moved := all[i]
		copy(all[1:], all[:i])
		all[0] = moved
		return true
	}
}

func ofProbe(key string, value any) patch {
	return func(_ *rand.Rand, _, spec map[string]any) bool {
		for _, list := range []string{"initContainers", "containers"} {
			all, _ := spec[list].([]any)
			for _, c := range all {
				for _, probe := range []string{"readinessProbe", "livenessProbe", "startupProbe"} {
					p, _ := c.(map[string]any)[probe].(map[string]any)
					h, _ := p["httpGet"].(map[string]any)
					if path, _ := h["path"].(string); strings.HasPrefix(path, "/app-health/") {
						h[key] = value
						return true
					}
				}
			}
		}
		return false
	}
}

func annotated(key, value string) patch {
	return func(_ *rand.Rand, metadata, _ map[string]any) bool {
		annotations, _ := metadata["annotations"].(map[string]any)
		if annotations == nil {
			return false
		}
		annotations[key] = value
		return true
	}
}

func withoutRestartPolicy(_ *rand.Rand, _, spec map[string]any) bool {
	all, _ := spec["initContainers"].([]any)
	for _, c := range all {
		if m := c.(map[string]any); m["name"] == "probe-proxy" {
			delete(m, "restartPolicy")
			return true
		}
	}
	return false
}

// judgePatched holds what check says of the output with each of the patches against its
// worlds. A pod whose app takes a port of Istio's is not in order without a patch either.
func (t *trial) judgePatched(g *source) error {
	if strings.Contains(t.input.key, oddPort) {
		return nil
	}
	first := firstObject(t.output)
	for _, what := range slices.Sorted(maps.Keys(patches)) {
		if !g.one(2 * len(patches)) {
			continue
		}
		var object map[string]any
		if err := yaml.Unmarshal(first, &object); err != nil {
			return err
		}
		template := object
		if t.output.object.Kind != "Pod" {
			template = object["spec"].(map[string]any)["template"].(map[string]any)
		}
		if !patches[what](g.Rand, template["metadata"].(map[string]any), template["spec"].(map[string]any)) {
			continue
		}
		text, err := yaml.Marshal(object)
		if err != nil {
			return err
		}
		s, err := newSide(append(bytes.TrimSuffix(text, []byte("\n")), t.output.text[len(first):]...))
		if err != nil {
			return err
		}
		s.asked = asked(t.input, s)
		checked, _, err := check(s.text, t.k.files, t.k.checked())
		if err != nil {
			return err
		}
		s.hear(checked)
		t.count("patched: " + what)
		output := t.output
		t.output = s
		t.judgeCheck("output with "+what, s)
		t.output = output
	}
	return nil
}
