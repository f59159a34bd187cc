package cluster

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/nearby"
	"github.com/rewrite-probes/rewrite-probes/internal/surroundings"
)

// Meshes returns a line for each version of a mesh that the cluster runs, such as "Istio 1.31.0,
// revisions canary, default". controlPlanes are the meshes by the names of the Deployments that make them; a star
// stands for the rest of a name.
func (r *Reading) Meshes(controlPlanes map[string]string) (lines []string) {
	patterns := slices.Sorted(maps.Keys(controlPlanes))
	var names []string
	revisions := make(map[string][]string)
	for o := range r.deployments() {
		mesh := controlPlanes[patternOf(o.Name(), patterns)]
		if mesh == "" {
			continue
		}
		if v := versionOf(o); v != "" {
			mesh += " " + v
		}
		if !slices.Contains(names, mesh) {
			names = append(names, mesh)
		}
		if rev := o.Labels().Get("istio.io/rev"); rev != "" && !slices.Contains(revisions[mesh], rev) {
			revisions[mesh] = append(revisions[mesh], rev)
		}
	}
	for _, name := range names {
		switch revs := revisions[name]; len(revs) {
		case 0:
			lines = append(lines, name)
		case 1:
			lines = append(lines, name+", revision "+revs[0])
		default:
			slices.Sort(revs)
			lines = append(lines, name+", revisions "+strings.Join(revs, ", "))
		}
	}
	return lines
}

// Injectors returns a line for each revision of Istio's that the cluster has: whether its injector rewrites probes,
// and which object says so. rootNamespace is Istio's.
func (r *Reading) Injectors(rootNamespace string) (lines []string) {
	around := r.around(rootNamespace)
	revisions, noWebhook := around.Revisions()
	revisions = withShown(revisions, surroundings.Shown(around))
	for _, rev := range revisions {
		line := "revision " + cmp.Or(rev.Name, "default") + ": "
		at := " (" + strings.ReplaceAll(rev.Rewrites.At, " at the API server", "") + ")"
		switch {
		case rev.Rewrites.Is == certain.Always:
			line += "its injector rewrites probes" + at
		case rev.Rewrites.Is == certain.Never:
			line += "its injector rewrites no probes" + at
		case rev.Rewrites.At != "":
			line += "unknown if its injector rewrites probes" + at
		default:
			line += "unknown if its injector rewrites probes"
		}
		lines = append(lines, line)
	}
	_, hasIstio := r.types[peerAuthentication]
	if noWebhook && (hasIstio || len(lines) > 0) {
		lines = append(lines, "no webhook injects Istio's sidecar")
	}
	return lines
}

// around returns what was read, as surroundings of the whole cluster.
func (r *Reading) around(rootNamespace string) *surroundings.Surroundings {
	return new(nearby.Collect(slices.Concat(r.Streams, r.Beside), rootNamespace).Cluster())
}

// withShown adds what running pods show, where a revision's objects say nothing.
func withShown(revisions, shown []surroundings.Revision) []surroundings.Revision {
	for _, x := range shown {
		i := slices.IndexFunc(revisions, func(r surroundings.Revision) bool { return r.Name == x.Name })
		if i < 0 {
			revisions = append(revisions, x)
		} else if revisions[i].Rewrites.At == "" {
			revisions[i].Rewrites = x.Rewrites
		}
	}
	return revisions
}

// patternOf returns the first pattern that a Deployment's name fits; "" if it fits none.
func patternOf(name string, patterns []string) string {
	for _, pattern := range patterns {
		end, isBehind := strings.CutPrefix(pattern, "*")
		if _, isNamed := restOf(name, pattern); isNamed || isBehind && strings.HasSuffix(name, end) {
			return pattern
		}
	}
	return ""
}

// restOf returns what a star at the end of a pattern stands for in a name, such as -canary in istiod-canary.
func restOf(name, pattern string) (rest string, ok bool) {
	begin, isPrefix := strings.CutSuffix(pattern, "*")
	rest, begins := strings.CutPrefix(name, begin)
	return rest, begins && (rest == "" || isPrefix && rest[0] == '-')
}

// versionOf returns the version of a control plane: that of its label, or the tag of its first image.
func versionOf(o *manifest.Object) string {
	if v := o.Labels().Get("app.kubernetes.io/version"); v != "" {
		return v
	}
	var containers []struct {
		Image string `json:"image"`
	}
	at := field.NewPath("spec", "template", "spec", "containers")
	if _, err := o.Decode(at, &containers); err != nil || len(containers) == 0 {
		return ""
	}
	image, _, _ := strings.Cut(containers[0].Image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndexByte(image, '/')+1:], ":")
	return tag
}
