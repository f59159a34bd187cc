package manifest

import (
	"bytes"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// An outline is the text of an object that the scanner refuses, together with
// a tree of it. The tree has the positions of all nodes in the text; the nodes
// of the full parser have their values. Aliases are scalars of the tree, and
// merge keys are entries.
type outline struct {
	tree  tree
	nodes []*yaml.Node // by the index of the tree's node
	at    *placer
}

// newOutline returns the outline of a text that starts in column col and that
// the full parser reads as root. ok is false for text that differs from what
// the scanner accepts by more than anchors, aliases, tags, merge keys, tabs in
// front of values and unusual line breaks within quotes and comments.
func newOutline(text []byte, col int, root *yaml.Node) (o *outline, ok bool) {
	last := text
	for bytes.HasSuffix(last, []byte("\n")) {
		last = bytes.TrimSuffix(bytes.TrimSuffix(last, []byte("\n")), []byte("\r"))
	}
	if endsWithBreak(last) {
		return nil, false
	}
	m := masker{text: text, masked: bytes.Clone(text), at: newPlacer(text, 0, col)}
	m.mask(root, false)
	o = &outline{at: m.at}
	if !o.tree.parse(maskBreaks(m.masked), col) {
		return nil, false
	}
	o.tree.text = text
	o.nodes = make([]*yaml.Node, len(o.tree.nodes))
	return o, o.match(1, root)
}

// outline returns the outline of the loaded object, which the scanner refuses; nil if its
// text is too unusual.
func (o *Object) outline() *outline {
	s := o.stream
	if s.shown == nil && o.node == nil {
		if out, ok := newOutline(o.source(), int(o.col), s.parsed); ok {
			s.shown = out
		}
	}
	return s.shown
}

// A masker replaces what the scanner refuses by something of the same length
// that it accepts.
type masker struct {
	text, masked []byte
	at           *placer
}

// mask masks the node and what is below it. A key keeps its column: its anchor
// or tag becomes a part of it.
func (m *masker) mask(n *yaml.Node, isKey bool) {
	start := m.at.offset(n)
	for i := start - 1; i >= 0 && (m.text[i] == ' ' || m.text[i] == '\t'); i-- {
		m.masked[i] = ' '
	}
	switch {
	case n.Kind == yaml.AliasNode:
		m.fill(start, min(start+1+len(n.Value), len(m.text)), 'x')
	case hasProperties(n):
		for start < len(m.text) && (m.text[start] == '&' || m.text[start] == '!') {
			end := start
			for !isBlank(m.text, end) && !isFlowIndicator(m.text[end]) {
				end++
			}
			end = skipBlanks(m.text, end)
			if isKey {
				m.fill(start, end, 'x')
			} else {
				m.fill(start, end, ' ')
			}
			start = end
		}
	}
	if isMerge(n) {
		m.fill(start, min(start+len(n.Value), len(m.text)), 'x')
	}
	for i, c := range n.Content {
		m.mask(c, n.Kind == yaml.MappingNode && i%2 == 0)
	}
}

func (m *masker) fill(start, end int, c byte) {
	for i := start; i < end; i++ {
		m.masked[i] = c
	}
}

// maskBreaks returns the text without the line breaks that only the full parser
// knows; each is masked by characters of the same length.
func maskBreaks(text []byte) []byte {
	for _, breaks := range []string{"\u0085", "\u2028", "\u2029", "\ufeff"} {
		text = bytes.ReplaceAll(text, []byte(breaks), bytes.Repeat([]byte("x"), len(breaks)))
	}
	for i, c := range text {
		if c == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			text[i] = 'x' // ReplaceAll has made a copy
		}
	}
	return text
}

// hasOddBreak reports whether a text has a line break that only the full
// parser knows.
func hasOddBreak(text []byte) bool {
	info, _, err := checkText(text)
	return err != nil || len(info.odd) > 0
}

// match pairs the tree's node with the full parser's, and reports whether all
// below them agree. A value starts with its anchor and tag.
func (o *outline) match(n int32, y *yaml.Node) bool {
	if !o.agree(n, y) {
		return false
	}
	v := &o.tree.nodes[n]
	o.nodes[n] = y
	if hasProperties(y) && v.style != absent {
		start := int32(o.at.offset(y))
		if v.key == v.start { // an item in flow style
			v.key, v.keyEnd = start, start
		}
		v.start = start
	}
	return true
}

func hasProperties(y *yaml.Node) bool {
	return y.Kind != yaml.AliasNode && (y.Anchor != "" || y.Style&yaml.TaggedStyle != 0)
}

func (o *outline) agree(n int32, y *yaml.Node) bool {
	v := &o.tree.nodes[n]
	switch y.Kind {
	case yaml.MappingNode:
		c := v.child
		for i := 0; i+1 < len(y.Content); i += 2 {
			key := y.Content[i]
			if c == 0 || key.Kind != yaml.ScalarNode || !o.match(c, y.Content[i+1]) {
				return false
			}
			if !hasProperties(key) && string(o.tree.keyBytes(c)) != key.Value {
				return false
			}
			c = o.tree.nodes[c].next
		}
		return v.kind == mapping && c == 0
	case yaml.SequenceNode:
		c := v.child
		for _, k := range y.Content {
			if c == 0 || !o.match(c, k) {
				return false
			}
			c = o.tree.nodes[c].next
		}
		return v.kind == sequence && c == 0
	case yaml.AliasNode:
		return v.kind == scalar && string(o.tree.text[v.start:v.end]) == "*"+y.Value
	}
	isQuoted := v.style == single || v.style == double
	return v.kind == scalar && (o.tree.str(n) == y.Value || isQuoted && hasOddBreak(o.tree.text[v.start:v.end]))
}

// A transfer carries an edited tree of an object's plain text over to its
// outline. An alias that is edited is written out, and so is one whose anchor
// gets another value or goes, and a mapping whose merged entries do.
type transfer struct {
	plain   *tree
	outline *outline
	changed map[*yaml.Node]bool // anchored nodes and those around them whose text reads differently now
	again   bool                // changed has grown
	writes  map[int32]string    // the nodes of the outline that no edit names, and that are written out: why
}

// newTransfer returns the edited tree of the outline.
func (o *outline) transfer(plain *tree, root *editNode) (*editNode, *transfer) {
	x := &transfer{plain: plain, outline: o, changed: map[*yaml.Node]bool{}}
	for {
		x.again, x.writes = false, map[int32]string{}
		if edited := x.edited(root, 1); !x.again {
			return edited, x
		}
	}
}

func (x *transfer) change(y *yaml.Node) {
	if !x.changed[y] {
		x.changed[y], x.again = true, true
	}
}

func (x *transfer) changeAll(y *yaml.Node) {
	x.change(y)
	for _, c := range y.Content {
		x.changeAll(c)
	}
}

// edited returns the edited node n of the outline for that of the plain tree.
func (x *transfer) edited(o *editNode, n int32) *editNode {
	y := x.outline.nodes[n]
	out := &editNode{node: n, key: o.key, was: o.was}
	switch {
	case o.deleted:
		x.changeAll(y)
		out.deleted = true
	case o.set:
		x.changeAll(y)
		out.set, out.val, out.text = true, o.value(x.plain), o.text
	case !o.open || !slices.ContainsFunc(o.children, (*editNode).differs):
		out = x.kept(n)
		out.key, out.was = o.key, o.was
	case y.Kind == yaml.AliasNode:
		out.set, out.val = true, o.value(x.plain)
	case slices.ContainsFunc(y.Content, isMerge) && y.Kind == yaml.MappingNode:
		x.merging(o, out)
	default:
		x.change(y)
		out.open, out.kind, out.text = true, o.kind, o.text
		c := x.outline.tree.nodes[n].child
		for _, k := range o.children {
			if k.node == 0 {
				out.children = append(out.children, x.added(k))
				continue
			}
			out.children = append(out.children, x.edited(k, c))
			c = x.outline.tree.nodes[c].next
		}
	}
	return out
}

// added returns a new node of the plain tree as one of the outline.
func (x *transfer) added(k *editNode) *editNode {
	return &editNode{key: k.key, was: k.was, set: true, val: k.value(x.plain), text: k.text}
}

// merging edits a mapping with merge keys. Its own entries are edited in
// place; merged ones are set in the mapping itself, where they win. Only what
// takes a merged entry away has the whole mapping written out.
func (x *transfer) merging(o, out *editNode) {
	t := &x.outline.tree
	y := x.outline.nodes[out.node]
	x.change(y)
	own := map[string]int32{}
	var merges []int32
	for c, i := t.nodes[out.node].child, 0; c != 0; c, i = t.nodes[c].next, i+2 {
		if isMerge(y.Content[i]) {
			merges = append(merges, c)
		} else {
			own[y.Content[i].Value] = c
		}
	}
	isMerged := func(k *editNode) bool { return k.node != 0 && own[k.was] == 0 }
	whole := slices.ContainsFunc(o.children, func(k *editNode) bool { return isMerged(k) && (k.deleted || k.key != k.was) })
	for _, c := range merges {
		whole = whole || x.refersToChanged(x.outline.nodes[c])
	}
	if whole {
		x.changeAll(y)
		x.writes[out.node] = "the mapping with the merge key (<<) was written out"
		out.set, out.val = true, o.value(x.plain)
		return
	}
	out.open, out.kind = true, mapping
	for c := t.nodes[out.node].child; c != 0; c = t.nodes[c].next {
		if slices.Contains(merges, c) {
			out.children = append(out.children, &editNode{node: c, key: "<<", was: "<<"})
		}
		for _, k := range o.children {
			if k.node != 0 && own[k.was] == c {
				out.children = append(out.children, x.edited(k, c))
			}
		}
	}
	for _, k := range o.children {
		if k.node == 0 || isMerged(k) && k.differs() {
			out.children = append(out.children, x.added(k))
		}
	}
}

// refersToChanged reports whether the value of a merge key refers to a node
// that reads differently now.
func (x *transfer) refersToChanged(y *yaml.Node) bool {
	if y.Kind == yaml.AliasNode {
		return x.changed[y.Alias]
	}
	return slices.ContainsFunc(y.Content, x.refersToChanged)
}

// kept returns a node of the outline whose value stays.
func (x *transfer) kept(n int32) *editNode {
	y := x.outline.nodes[n]
	out := &editNode{node: n}
	writeOut := func(format string, args ...any) {
		x.writes[n] = fmt.Sprintf(format, args...)
		left := maxExpanded
		if full, err := expand(y, &left, 0); err == nil {
			out.set, out.val = true, valueOf(full)
		}
	}
	t := &x.outline.tree
	switch {
	case y.Kind == yaml.AliasNode && x.changed[y.Alias]:
		writeOut("the alias *%s was written out, because its anchor has another value now", y.Value)
		return out
	case y.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(y.Content); i += 2 {
			if isMerge(y.Content[i]) && x.refersToChanged(y.Content[i+1]) {
				x.changeAll(y)
				writeOut("the mapping with the merge key (<<) was written out, because the anchor has another value now")
				return out
			}
		}
	}
	var children []*editNode
	for c, i := t.nodes[n].child, 0; c != 0; c, i = t.nodes[c].next, i+2 {
		k := x.kept(c)
		if t.nodes[n].kind == mapping {
			k.key, k.was = y.Content[i].Value, y.Content[i].Value
		}
		children = append(children, k)
	}
	if slices.ContainsFunc(children, (*editNode).differs) {
		out.open, out.kind, out.children = true, t.nodes[n].kind, children
	}
	return out
}

// sameValue reports whether two values are the same for every reader of YAML,
// whatever the order of keys.
func sameValue(a, b field.Value) bool {
	switch a := a.(type) {
	case field.Map:
		b, ok := b.(field.Map)
		if !ok || len(a) != len(b) {
			return false
		}
		for i, e := range a {
			v, ok := b[i].Value, b[i].Key == e.Key
			if !ok {
				v, ok = b.Get(e.Key)
			}
			if !ok || !sameValue(e.Value, v) {
				return false
			}
		}
		return true
	case field.List:
		b, ok := b.(field.List)
		return ok && slices.EqualFunc(a, b, sameValue)
	}
	switch b.(type) {
	case field.Map, field.List:
		return false
	}
	return resolved(a) == resolved(b)
}

// resolved returns the value of a scalar that may be written as it was read.
func resolved(v field.Value) any {
	switch v := v.(type) {
	case rawScalar:
		if _, old := oldBool(string(v)); old {
			return v
		}
		return resolve(string(v))
	case int64:
		return int(v)
	}
	return v
}
