package pipeline

import (
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
)

// isOwned reports whether another object of the run makes this one, as in a list of
// everything in a cluster. What there is to say of its pods is said of the other, and
// nobody edits this one.
func (in *inputs) isOwned(o *manifest.Object) bool {
	if k := o.Kind(); k != "Pod" && k != "ReplicaSet" && k != "Job" && !o.Stream().FromCluster {
		return false
	}
	var refs []struct {
		Kind       string `json:"kind"`
		Name       string `json:"name"`
		Controller bool   `json:"controller"`
	}
	if found, err := o.Decode(field.NewPath("metadata", "ownerReferences"), &refs); !found || err != nil {
		return false
	}
	for _, ref := range refs {
		if !ref.Controller {
			continue
		}
		if in.makers(ref.Kind, o.Namespace(), ref.Name) != nil {
			return true
		}
		// A Deployment names its ReplicaSets, which may not be in the list.
		hash := o.Labels().Get("pod-template-hash")
		name, made := strings.CutSuffix(ref.Name, "-"+hash)
		if made &&
			hash != "" &&
			ref.Kind == "ReplicaSet" &&
			in.makers("Deployment", o.Namespace(), name) != nil {
			return true
		}
	}
	return false
}

// A maker is what names an object that makes pods.
type maker struct{ kind, namespace, name string }

// makers returns the objects of the run that make pods and have the names.
func (in *inputs) makers(kind, namespace, name string) []*manifest.Object {
	if in.byName == nil {
		in.byName = make(map[maker][]*manifest.Object)
		for o := range objectsOf(in.streams) {
			if workload.Classify(o, in.custom) == workload.Known {
				m := maker{o.Kind(), o.Namespace(), o.Name()}
				in.byName[m] = append(in.byName[m], o)
			}
		}
	}
	return in.byName[maker{kind, namespace, name}]
}
