// Package krm is rewrite-probes for functions on the KRM functions SDK, which was
// kpt-functions-sdk before: github.com/kptdev/krm-functions-sdk/go/fn.
//
// A function is one line:
//
//	func main() {
//		if err := fn.AsMain(fn.ResourceListProcessorFunc(krm.Process)); err != nil {
//			os.Exit(1)
//		}
//	}
package krm

import (
	"encoding/json"
	"errors"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rewrite-probes/rewrite-probes/fn/internal/nodes"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

var _ fn.ResourceListProcessor = fn.ResourceListProcessorFunc(Process)

// Process rewrites the probes of a ResourceList; as a
// fn.ResourceListProcessorFunc it is a processor of the functions SDK. The
// functionConfig is decoded strictly: a RewriteProbes, or its short form, a
// ConfigMap.
//
// Objects that need no change are left as they are. Findings are appended to the
// results; success is false if one of them is an error, or in a strict run a
// warning. If the functionConfig or the list cannot be used, Process returns an
// error and changes nothing.
func Process(rl *fn.ResourceList) (success bool, err error) {
	defer pipeline.Recover(&err)
	if rl == nil {
		return false, errors.New("the ResourceList must not be nil")
	}
	var text []byte
	if rl.FunctionConfig != nil && !rl.FunctionConfig.IsEmpty() {
		text = rl.FunctionConfig.Bytes()
	}
	given := make([]*yaml.RNode, len(rl.Items))
	for i, item := range rl.Items {
		given[i] = item.CopyToResourceNode()
	}
	changes, r, err := nodes.Rewrite(given, text)
	if err != nil {
		return false, err
	}
	items := make(fn.KubeObjects, len(changes))
	for i, change := range changes {
		if kept, ok := change.Kept(); ok {
			items[i] = rl.Items[kept]
			continue
		}
		items[i] = fn.MoveToKubeObject(change.Apply(given))
	}
	rl.Items = items
	rl.Results = appendResults(rl.Results, r)
	return !r.Failed(), nil
}

// appendResults appends the messages of a run, each once, except for those that are there
// from an earlier one.
func appendResults(results fn.Results, r *report.Report) fn.Results {
	seen := make(map[string]bool, len(results))
	key := func(result *fn.Result) string {
		text, _ := json.Marshal(result)
		return string(text)
	}
	for _, result := range results {
		seen[key(result)] = true
	}
	for m := range r.Results() {
		result := new(fn.Result)
		_ = json.Unmarshal(field.AppendJSON(nil, m), result) // both have the form of the specification
		if k := key(result); !seen[k] {
			seen[k] = true
			results = append(results, result)
		}
	}
	return results
}
