package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	yamlv3 "go.yaml.in/yaml/v3"
)

// The full parser judges the scanner in tests.

// judged returns what the full parser reads from the one document in a text that starts in
// column col: nil if it is empty.
func judged(text []byte, col int) (*yamlv3.Node, error) {
	dec := yamlv3.NewDecoder(bytes.NewReader(append(appendSpaces(nil, col), text...)))
	var doc, more yamlv3.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("more than one document: %w", err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind == yamlv3.ScalarNode && isNullText(doc.Content[0].Value) {
		return nil, nil
	}
	return doc.Content[0], nil
}

// judgedValue returns what the full parser reads, without aliases, merge keys and tags.
func judgedValue(text []byte, col int) (*yamlv3.Node, error) {
	root, err := judged(text, col)
	if err != nil || root == nil {
		return root, err
	}
	left := maxExpanded
	return expand(root, &left, 0)
}

// A placer converts the parser's lines and columns to offsets in the input.
type placer struct {
	in    []byte // up to the end of the document
	lines []int  // where the lines start; the first may lie before the input
	pad   int    // spaces that were put before the text
}

func newPlacer(in []byte, start, pad int) *placer {
	p := &placer{in: in, lines: []int{start}, pad: pad}
	for i := start; i < len(in); i++ {
		switch c := in[i]; {
		case c == '\n', c == '\r' && (i+1 == len(in) || in[i+1] != '\n'):
			p.lines = append(p.lines, i+1)
		case c == 0xc2 && i+1 < len(in) && in[i+1] == 0x85:
			p.lines = append(p.lines, i+2)
		case c == 0xe2 && i+2 < len(in) && in[i+1] == 0x80 && (in[i+2] == 0xa8 || in[i+2] == 0xa9):
			p.lines = append(p.lines, i+3)
		}
	}
	return p
}

func (p *placer) offset(n *yamlv3.Node) int {
	line, col := n.Line-1, n.Column-1
	if line < 0 || line >= len(p.lines) {
		return len(p.in)
	}
	at := p.lines[line]
	if line == 0 {
		col -= p.pad
	}
	for ; col > 0 && at < len(p.in); col-- {
		_, n := utf8.DecodeRune(p.in[at:])
		at += n
	}
	return at
}

// lookup returns the value of a key, seen through aliases and merge keys, and
// the second occurrence of the key, if any.
func lookup(n *yamlv3.Node, key string) (value, again *yamlv3.Node) {
	return lookupIn(n, key, 0)
}

func lookupIn(n *yamlv3.Node, key string, depth int) (value, again *yamlv3.Node) {
	n = target(n)
	if n.Kind != yamlv3.MappingNode || depth > maxDepth {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key && n.Content[i].Kind == yamlv3.ScalarNode {
			if value != nil {
				return value, n.Content[i]
			}
			value = target(n.Content[i+1])
		}
	}
	if value != nil {
		return value, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !isMergeNode(n.Content[i]) {
			continue
		}
		from := target(n.Content[i+1])
		sources := []*yamlv3.Node{from}
		if from.Kind == yamlv3.SequenceNode {
			sources = from.Content
		}
		for _, src := range sources {
			if v, _ := lookupIn(src, key, depth+1); v != nil {
				return v, nil
			}
		}
	}
	return nil, nil
}

func isMergeNode(n *yamlv3.Node) bool {
	return n.Kind == yamlv3.ScalarNode && n.Value == "<<" && (n.Tag == "" || n.Tag == "!" || n.ShortTag() == "!!merge")
}

// target returns the node that an alias refers to.
func target(n *yamlv3.Node) *yamlv3.Node {
	for n.Kind == yamlv3.AliasNode {
		n = n.Alias
	}
	return n
}

func yamlKind(n *yamlv3.Node) string {
	switch target(n).Kind {
	case yamlv3.MappingNode:
		return "a mapping"
	case yamlv3.SequenceNode:
		return "a list"
	}
	if n.ShortTag() == "!!null" {
		return "null"
	}
	return fmt.Sprintf("%q", target(n).Value)
}

// expand returns a copy of the node with all aliases and merge keys written
// out, without redundant tags.
func expand(n *yamlv3.Node, left *int, depth int) (*yamlv3.Node, error) {
	if *left--; *left < 0 || depth > 10*maxDepth {
		return nil, errors.New("aliases must not expand to so much")
	}
	if n.Kind == yamlv3.AliasNode {
		c, err := expand(n.Alias, left, depth+1)
		if err != nil {
			return nil, err
		}
		c.HeadComment, c.LineComment, c.FootComment = n.HeadComment, n.LineComment, n.FootComment
		return c, nil
	}
	c := *n
	c.Anchor, c.Content = "", nil
	if err := plainTag(&c); err != nil {
		return nil, err
	}
	if n.Kind != yamlv3.MappingNode {
		for _, k := range n.Content {
			x, err := expand(k, left, depth+1)
			if err != nil {
				return nil, err
			}
			c.Content = append(c.Content, x)
		}
		return &c, nil
	}
	return &c, expandMapping(&c, n, left, depth)
}

// expandMapping fills c with the entries of n. A mapping's own keys win over
// merged ones, and earlier merged mappings over later ones.
func expandMapping(c, n *yamlv3.Node, left *int, depth int) error {
	own := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !isMergeNode(n.Content[i]) {
			own[n.Content[i].Value] = true
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMergeNode(key) {
			x, err := expand(value, left, depth+1)
			if err != nil {
				return err
			}
			sources := []*yamlv3.Node{x}
			if x.Kind == yamlv3.SequenceNode {
				sources = x.Content
			}
			for _, src := range sources {
				if src.Kind != yamlv3.MappingNode {
					return fmt.Errorf("line %d: a merge key (<<) must have a mapping or a list of mappings", key.Line)
				}
				for j := 0; j+1 < len(src.Content); j += 2 {
					if !own[src.Content[j].Value] {
						own[src.Content[j].Value] = true
						c.Content = append(c.Content, src.Content[j], src.Content[j+1])
					}
				}
			}
			continue
		}
		if target(key).Kind != yamlv3.ScalarNode {
			return fmt.Errorf("%w, not %s", ErrNotKey, yamlKind(key))
		}
		k, err := expand(key, left, depth+1)
		if err != nil {
			return err
		}
		v, err := expand(value, left, depth+1)
		if err != nil {
			return err
		}
		c.Content = append(c.Content, k, v)
	}
	return nil
}

// plainTag removes an explicit tag of the core schema. The node gets the style
// that means the same.
func plainTag(n *yamlv3.Node) error {
	if n.Style&yamlv3.TaggedStyle == 0 {
		return nil
	}
	n.Style &^= yamlv3.TaggedStyle
	switch tag := n.ShortTag(); tag {
	case "!!str", "!":
		if n.Style == 0 {
			n.Style = yamlv3.DoubleQuotedStyle
		}
	case "!!int", "!!float", "!!bool", "!!null":
		if readsAsString(n.Value) {
			return fmt.Errorf("%q must not have the tag %s", n.Value, tag)
		}
		n.Style = 0
	case "!!map", "!!seq":
		n.Tag = ""
	default:
		return fmt.Errorf("a Kubernetes object must not have the tag %s", tag)
	}
	return nil
}

// equalYAML reports whether the node has the same value as the parser's node.
func equalYAML(t *tree, n int32, y *yamlv3.Node) bool {
	v := &t.nodes[n]
	c := v.child
	switch y.Kind {
	case yamlv3.MappingNode:
		if v.kind != mapping {
			return false
		}
		for i := 0; i+1 < len(y.Content); i += 2 {
			if c == 0 || y.Content[i].Kind != yamlv3.ScalarNode || string(t.keyBytes(c)) != y.Content[i].Value || !equalYAML(t, c, y.Content[i+1]) {
				return false
			}
			c = t.nodes[c].next
		}
		return c == 0
	case yamlv3.SequenceNode:
		if v.kind != sequence {
			return false
		}
		for _, k := range y.Content {
			if c == 0 || !equalYAML(t, c, k) {
				return false
			}
			c = t.nodes[c].next
		}
		return c == 0
	case yamlv3.ScalarNode:
		const quoted = yamlv3.SingleQuotedStyle | yamlv3.DoubleQuotedStyle | yamlv3.LiteralStyle | yamlv3.FoldedStyle
		if y.Style&quoted == 0 && isNullText(y.Value) {
			return t.isNull(n)
		}
		if v.kind != scalar || t.str(n) != y.Value {
			return false
		}
		// Quotes may differ if the type does not.
		_, isString := t.value(n).(string)
		_, mustBe := resolve(y.Value).(string)
		return isString == (mustBe || y.Style&quoted != 0)
	}
	return false
}
