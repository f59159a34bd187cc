package nodes

import (
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// merge changes a node as base has changed, which is the node written and read
// again: it touches only what differs between base and changed, so that
// everything else keeps its comments, its style and its identity. An object with
// anchors gets new content as a whole, below the comments at its head, which the pipeline does not see.
func merge(node, base, changed *yaml.Node) {
	if !hasAnchors(node) {
		mergeNode(node, base, changed)
		return
	}
	head := node.HeadComment
	first := node.Content[0].HeadComment
	*node = *changed
	node.HeadComment, node.Content[0].HeadComment = head, first
}

func hasAnchors(n *yaml.Node) bool {
	return n.Anchor != "" ||
		n.Kind == yaml.AliasNode ||
		slices.ContainsFunc(n.Content, hasAnchors)
}

func mergeNode(node, base, changed *yaml.Node) {
	areAll := func(kind yaml.Kind) bool {
		return node.Kind == kind && changed.Kind == kind // base is the node, read again
	}
	switch {
	case equal(base, changed):
	case areAll(yaml.MappingNode):
		mergeMapping(node, base, changed)
	case areAll(yaml.SequenceNode) && len(node.Content) == len(base.Content):
		mergeSequence(node, base, changed)
	default:
		*node = *changed
	}
}

func mergeMapping(node, base, changed *yaml.Node) {
	var content []*yaml.Node
	for i := 0; i < len(changed.Content); i += 2 {
		key := changed.Content[i]
		value := changed.Content[i+1]
		was := entry(base, key.Value)
		is := entry(node, key.Value)
		if was >= 0 && is >= 0 {
			key = node.Content[is]
			mergeNode(node.Content[is+1], base.Content[was+1], value)
			value = node.Content[is+1]
		}
		content = append(content, key, value)
	}
	node.Content = content
}

// entry returns the index of a key of a mapping; -1 if it has none.
func entry(mapping *yaml.Node, key string) int {
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// mergeSequence takes the items that stay as they are from the node, and
// merges those that have the same name.
func mergeSequence(node, base, changed *yaml.Node) {
	var content []*yaml.Node
	from := 0 // items of base before this index have been used
	for _, item := range changed.Content {
		i := slices.IndexFunc(base.Content[from:], func(b *yaml.Node) bool {
			return equal(b, item) ||
				name(b) != "" && name(b) == name(item)
		})
		if i < 0 {
			content = append(content, item)
			continue
		}
		i += from
		from = i + 1
		mergeNode(node.Content[i], base.Content[i], item)
		content = append(content, node.Content[i])
	}
	node.Content = content
}

// name returns the value of the key name of an item; "" if it has none.
func name(item *yaml.Node) string {
	if item.Kind != yaml.MappingNode {
		return ""
	}
	if i := entry(item, "name"); i >= 0 {
		return item.Content[i+1].Value
	}
	return ""
}
