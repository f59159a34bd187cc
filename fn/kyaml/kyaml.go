// Package kyaml is rewrite-probes for pipelines of sigs.k8s.io/kustomize/kyaml, and for
// what is built on them, such as plugins of kustomize.
package kyaml

import (
	"encoding/json"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rewrite-probes/rewrite-probes/fn/findings"
	"github.com/rewrite-probes/rewrite-probes/fn/internal/nodes"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
)

// Filter rewrites probes in a pipeline of kyaml. The objects of one call are one
// package: a Namespace among them counts for all workloads in it.
//
// Nodes that need no change are left as they are; the others keep their comments
// and their order. If an object cannot be rewritten, the call fails with a
// *[findings.RunError] and changes no node.
type Filter struct {
	// Config is the functionConfig, a *[yaml.RNode] or a *RewriteProbes of package
	// fn, which links k8s.io/api; nil stands for the defaults.
	Config json.Marshaler
	// Found is called for each finding, errors first, if it is set.
	Found func(findings.Finding)
}

var _ kio.Filter = Filter{}

// Filter implements [kio.Filter].
func (f Filter) Filter(given []*yaml.RNode) (out []*yaml.RNode, err error) {
	defer pipeline.Recover(&err)
	text, err := json.Marshal(f.Config)
	if err != nil {
		return nil, err
	}
	given = slices.DeleteFunc(slices.Clone(given), (*yaml.RNode).IsNil)
	changes, r, err := nodes.Rewrite(given, text)
	if err != nil {
		return nil, err
	}
	all := findings.Of(r)
	if f.Found != nil {
		for _, one := range all {
			f.Found(one)
		}
	}
	if r.Failed() {
		return nil, &findings.RunError{Findings: all}
	}
	out = make([]*yaml.RNode, len(changes))
	for i, change := range changes {
		out[i] = change.Apply(given)
	}
	return out, nil
}
