// Package yamljudge reads YAML with a full parser, for tests of the reader that the programs have.
package yamljudge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	// MaxExpanded limits how many nodes the aliases of a text may Expand to.
	MaxExpanded = 200_000
	maxDepth    = 200
)

// Document returns what the full parser reads from the one document in a text that starts in
// column col: nil if it is empty.
func Document(text []byte, col int) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(append(bytes.Repeat([]byte(" "), col), text...)))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("more than one document: %w", err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind == yaml.ScalarNode && IsNull(doc.Content[0].Value) {
		return nil, nil
	}
	return doc.Content[0], nil
}

// Value returns what the full parser reads, without aliases, merge keys and tags.
func Value(text []byte, col int) (*yaml.Node, error) {
	root, err := Document(text, col)
	if err != nil || root == nil {
		return root, err
	}
	left := MaxExpanded
	return Expand(root, &left, 0)
}

// A Placer converts the parser's lines and columns to offsets in the input.
type Placer struct {
	in    []byte // up to the end of the document
	lines []int  // where the lines start; the first may lie before the input
	pad   int    // spaces that were put before the text
}

// NewPlacer returns one for a text whose first line starts at an offset, before which spaces were put.
func NewPlacer(in []byte, start, pad int) *Placer {
	p := &Placer{in: in, lines: []int{start}, pad: pad}
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

// Offset returns where a node starts.
func (p *Placer) Offset(n *yaml.Node) int {
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

// Lookup returns the value of a key, seen through aliases and merge keys, and
// the second occurrence of the key, if any.
func Lookup(n *yaml.Node, key string) (value, again *yaml.Node) {
	return lookupIn(n, key, 0)
}

func lookupIn(n *yaml.Node, key string, depth int) (value, again *yaml.Node) {
	n = target(n)
	if n.Kind != yaml.MappingNode || depth > maxDepth {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key && n.Content[i].Kind == yaml.ScalarNode {
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
		sources := []*yaml.Node{from}
		if from.Kind == yaml.SequenceNode {
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

func isMergeNode(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "<<" && (n.Tag == "" || n.Tag == "!" || n.ShortTag() == "!!merge")
}

// target returns the node that an alias refers to.
func target(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func yamlKind(n *yaml.Node) string {
	switch target(n).Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if n.ShortTag() == "!!null" {
		return "null"
	}
	return fmt.Sprintf("%q", target(n).Value)
}

// Expand returns a copy of the node with all aliases and merge keys written
// out, without redundant tags.
func Expand(n *yaml.Node, left *int, depth int) (*yaml.Node, error) {
	if *left--; *left < 0 || depth > 10*maxDepth {
		return nil, errors.New("aliases must not Expand to so much")
	}
	if n.Kind == yaml.AliasNode {
		c, err := Expand(n.Alias, left, depth+1)
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
	if n.Kind != yaml.MappingNode {
		for _, k := range n.Content {
			x, err := Expand(k, left, depth+1)
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
func expandMapping(c, n *yaml.Node, left *int, depth int) error {
	own := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !isMergeNode(n.Content[i]) {
			own[n.Content[i].Value] = true
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMergeNode(key) {
			x, err := Expand(value, left, depth+1)
			if err != nil {
				return err
			}
			sources := []*yaml.Node{x}
			if x.Kind == yaml.SequenceNode {
				sources = x.Content
			}
			for _, src := range sources {
				if src.Kind != yaml.MappingNode {
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
		if target(key).Kind != yaml.ScalarNode {
			return fmt.Errorf("a key of a mapping must be a string, not %s", yamlKind(key))
		}
		k, err := Expand(key, left, depth+1)
		if err != nil {
			return err
		}
		v, err := Expand(value, left, depth+1)
		if err != nil {
			return err
		}
		c.Content = append(c.Content, k, v)
	}
	return nil
}

// plainTag removes an explicit tag of the core schema. The node gets the style
// that means the same.
func plainTag(n *yaml.Node) error {
	if n.Style&yaml.TaggedStyle == 0 {
		return nil
	}
	n.Style &^= yaml.TaggedStyle
	switch tag := n.ShortTag(); tag {
	case "!!str", "!":
		if n.Style == 0 {
			n.Style = yaml.DoubleQuotedStyle
		}
	case "!!int", "!!float", "!!bool", "!!null":
		if isString(n.Value) {
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

// IsNull reports whether a plain scalar is null.
func IsNull(s string) bool { return s == "" || s == "~" || s == "null" || s == "Null" || s == "NULL" }

// isString reports whether a plain scalar is a string.
func isString(s string) bool {
	var v any
	if s == "" || (&yaml.Node{Kind: yaml.ScalarNode, Value: s}).Decode(&v) != nil {
		return false
	}
	switch v.(type) {
	case string, time.Time:
		return true
	}
	return false
}
