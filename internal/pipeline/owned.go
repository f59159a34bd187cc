package pipeline

import (
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/workload"
)

// An owner is what an ownerReference names.
type owner struct{ namespace, kind, name string }

// isOwned reports whether another object of the run makes this one, as in a list of
// everything in a cluster. What there is to say of its pods is said of the other, and
// nobody edits this one.
func (r *run) isOwned(o *manifest.Object) bool {
	if k := o.Kind(); k != "Pod" && k != "ReplicaSet" && k != "Job" {
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
		if r.makers()[owner{o.Namespace(), ref.Kind, ref.Name}] {
			return true
		}
		// A Deployment names its ReplicaSets, which may not be in the list.
		hash := o.Labels().Get("pod-template-hash")
		name, made := strings.CutSuffix(ref.Name, "-"+hash)
		if made && hash != "" && ref.Kind == "ReplicaSet" && r.makers()[owner{o.Namespace(), "Deployment", name}] {
			return true
		}
	}
	return false
}

// makers returns the objects of the run that make pods.
func (r *run) makers() map[owner]bool {
	if r.owners == nil {
		r.owners = make(map[owner]bool)
		for _, s := range r.streams {
			for _, o := range s.Objects() {
				if workload.Classify(o, r.custom) == workload.Known {
					r.owners[owner{o.Namespace(), o.Kind(), o.Name()}] = true
				}
			}
		}
	}
	return r.owners
}
