// Package nodes runs objects that kyaml has read through the pipeline. Both entry points that
// speak kyaml, those for kyaml itself and for the functions SDK, are made of it.
package nodes

import (
	"fmt"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pipeline"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

// A Change says where an object of the output comes from.
type Change struct {
	old  int         // its index in the input; -1 if it was added
	base *yaml.RNode // the object as the pipeline read it, if it was changed
	new  *yaml.RNode // what it has become; nil if it was not changed
}

// Kept returns the index of an object of the input that was not changed; ok is false
// for any other.
func (c Change) Kept() (index int, ok bool) {
	return c.old, c.new == nil
}

// Apply returns the object of the output. One of the nodes of the input stays
// the same node.
func (c Change) Apply(nodes []*yaml.RNode) *yaml.RNode {
	if c.old < 0 {
		return c.new
	}
	node := nodes[c.old]
	if c.new != nil {
		merge(node.YNode(), c.base.YNode(), c.new.YNode())
	}
	return node
}

// Rewrite runs the objects through the pipeline, as a ResourceList with the functionConfig.
// The nodes themselves are not changed.
func Rewrite(nodes []*yaml.RNode, functionConfig []byte) ([]Change, *report.Report, error) {
	c, err := config.DecodeText(functionConfig)
	if err != nil {
		return nil, nil, err
	}
	text, err := listOf(nodes)
	if err != nil {
		return nil, nil, err
	}
	s, err := manifest.Read("ResourceList", []byte(text))
	if err != nil {
		return nil, nil, err
	}
	r := pipeline.Run([]*manifest.Stream{s}, c, pipeline.Rewrite)
	out, err := s.Text()
	if err != nil {
		return nil, nil, err
	}
	before, err := itemsOf(text)
	if err != nil {
		return nil, nil, err
	}
	after, err := itemsOf(string(out))
	if err != nil {
		return nil, nil, err
	}
	return align(before, after), r, nil
}

func itemsOf(list string) ([]*yaml.RNode, error) {
	root, err := yaml.Parse(list)
	if err == nil {
		var items []*yaml.RNode
		if items, err = root.Field("items").Value.Elements(); err == nil {
			return items, nil
		}
	}
	return nil, fmt.Errorf("internal error: a list of the objects cannot be read: %w", err)
}

// listOf returns the text of a ResourceList of the nodes, without the comments
// at their heads.
func listOf(nodes []*yaml.RNode) (string, error) {
	list := yaml.MustParse("apiVersion: " + kio.ResourceListAPIVersion + "\nkind: " + kio.ResourceListKind + "\nitems:\n")
	items := &yaml.Node{Kind: yaml.SequenceNode}
	for _, n := range nodes {
		item := *n.YNode()
		item.HeadComment = ""
		if len(item.Content) > 0 {
			item.Content = slices.Clone(item.Content)
			first := *item.Content[0]
			first.HeadComment, item.Content[0] = "", &first
		}
		items.Content = append(items.Content, &item)
	}
	list.Field("items").Value.SetYNode(items)
	return list.String()
}

// align finds for each object of the output the one of the input. Both are in
// the same order, either may lack objects of the other, and no object changes its
// name or shares that of one that was removed.
func align(in, out []*yaml.RNode) []Change {
	named := make(map[yaml.ResourceIdentifier][]int) // the indexes of those that are not yet found
	for i, n := range in {
		named[identify(n)] = append(named[identify(n)], i)
	}
	var changes []Change
	for _, n := range out {
		id := identify(n)
		if len(named[id]) == 0 {
			changes = append(changes, Change{old: -1, new: n})
			continue
		}
		old := named[id][0]
		named[id] = named[id][1:]
		if equal(in[old].YNode(), n.YNode()) {
			changes = append(changes, Change{old: old})
		} else {
			changes = append(changes, Change{old, in[old], n})
		}
	}
	return changes
}

func identify(n *yaml.RNode) yaml.ResourceIdentifier {
	return yaml.ResourceIdentifier{
		TypeMeta: yaml.TypeMeta{APIVersion: n.GetApiVersion(), Kind: n.GetKind()},
		NameMeta: yaml.NameMeta{Namespace: n.GetNamespace(), Name: n.GetName()},
	}
}

func equal(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.ShortTag() != b.ShortTag() {
		return false
	}
	if a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !equal(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}
