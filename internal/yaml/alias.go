package yaml

import (
	"bytes"
	"fmt"
	"strings"
)

// nameEnd returns the end of the name of an anchor that starts at p.
func nameEnd(in []byte, p int) int {
	for p < len(in) && isNameChar(in[p]) {
		p++
	}
	return p
}

func isNameChar(c byte) bool {
	switch {
	case c == '_', c == '-', c >= '0' && c <= '9':
		return true
	}
	c |= 0x20 // the small letter of a capital one
	return c >= 'a' && c <= 'z'
}

// endsName reports whether the name of an anchor or an alias may end at p.
func endsName(in []byte, p int) bool {
	return IsBlank(in, p) || endsFlowItem(in[p])
}

// endsFlowItem reports whether a character ends an item or an entry in flow style.
func endsFlowItem(c byte) bool {
	return c == ',' || c == ']' || c == '}'
}

func tagEnd(in []byte, p int) int {
	for p++; !IsBlank(in, p) && strings.IndexByte(",[]{}", in[p]) < 0; p++ {
	}
	return p
}

// isTag reports whether a text is a tag that needs no directive.
func isTag(tag []byte) bool {
	if bytes.HasPrefix(tag, []byte("!<")) {
		return len(tag) > 3 &&
			bytes.IndexByte(tag, '>') == len(tag)-1 &&
			bytes.IndexByte(tag, '%') < 0
	}
	name := bytes.TrimPrefix(tag[1:], []byte("!"))
	for i, c := range name {
		if nameEnd(name, i) == i && strings.IndexByte(";/?:@&=+$.~*'()", c) < 0 {
			return false
		}
	}
	return len(name) > 0 || len(tag) == 1
}

// properties reads the anchor and the tag at p, and returns the offset behind them and the
// blanks that follow.
func (t *Parser) properties(p int) (int, bool) {
	in := t.Text
	anchors := 0
	tags := 0
	for p < len(in) && (in[p] == '&' || in[p] == '!') {
		start := p
		t.Special = true
		if in[p] == '&' {
			p = nameEnd(in, p+1)
			anchors++
			if t.names == nil {
				t.names = map[string]int{}
			}
			t.names[View(in[start+1:p])] = start
		} else {
			p = tagEnd(in, p)
			tags++
		}
		if !isProperty(in, start, p) ||
			anchors > 1 ||
			tags > 1 {
			return t.invalid(start, "an anchor (&) or a tag (!) must have a name of letters, digits, - and _")
		}
		p = SkipBlanks(in, p)
	}
	return p, true
}

// isProperty reports whether an anchor or a tag ends at p.
func isProperty(in []byte, start, p int) bool {
	if in[start] == '!' {
		return IsBlank(in, p) && isTag(in[start:p])
	}
	return p > start+1 && endsName(in, p)
}

const aliasProperties = "an alias must not have an anchor or a tag"

// alias reads the alias at p and returns the offset behind it.
func (t *Parser) alias(p int) (int, bool) {
	in := t.Text
	end := nameEnd(in, p+1)
	name := View(in[p+1 : end])
	anchor, known := t.names[name]
	if !known && !t.Lenient {
		return t.invalid(p, fmt.Sprintf("the alias %s must be behind an anchor of this name", in[p:end]))
	}
	if end == p+1 || !endsName(in, end) && in[end] != ':' {
		return t.invalid(p, "an alias (*) must have a name of letters, digits, - and _")
	}
	t.Special = true
	t.Uses = append(t.Uses, AliasUse{p, anchor, name})
	return end, true
}

// ContentStart returns where a value starts, behind its anchor and tag.
func ContentStart(b []byte) int {
	_, _, start := splitProperties(b)
	return start
}

// splitProperties returns the anchor in front of a value, without the &, its tag, and where the value starts.
func splitProperties(b []byte) (anchor, tag []byte, start int) {
	for start < len(b) && (b[start] == '&' || b[start] == '!') {
		end := tagEnd(b, start)
		if b[start] == '&' {
			anchor = b[start+1 : end]
		} else {
			tag = b[start:end]
		}
		start, _ = flowSpace(b, end)
	}
	return anchor, tag, start
}

// maxExpanded limits how many nodes the aliases of one object may expand to.
const maxExpanded = 200_000

// A resolver gives the aliases of a tree the value of their anchors, and mappings the
// entries that merge keys bring.
type resolver struct {
	*Parser
	anchors map[string]int32 // negative while the anchor's value is read, 0 if it is of a key
	copies  int
}

// resolve resolves the tree, whose nodes are in the order of the text.
func (t *Parser) resolve() bool {
	t.Source = map[int32]int32{}
	t.Merges = map[int32][]int32{}
	t.keys = map[int32]string{}
	r := resolver{Parser: t, anchors: map[string]int32{}}
	return r.node(1)
}

func (t *Parser) refuse(at int32, why string) bool {
	t.Refused = refusalAt(int(at), why)
	return false
}

func (r *resolver) node(n int32) bool {
	v := r.Nodes[n]
	if v.Marks&specialKey != 0 && !r.key(n) {
		return false
	}
	if v.Marks&IsAlias != 0 {
		return r.alias(n)
	}
	anchor := ""
	merges := false
	if v.Marks&HasProperties != 0 {
		name, tag := r.propertiesOf(n)
		if !r.tag(n, tag) {
			return false
		}
		if anchor = name; anchor != "" {
			r.anchors[anchor] = -n
		}
	}
	for c := v.Child; c != 0; c = r.Nodes[c].Next {
		if !r.node(c) {
			return false
		}
		merges = merges || r.Nodes[c].Marks&isMergeKey != 0
	}
	r.joinExplicit(n)
	if merges && !r.merge(n) {
		return false
	}
	if anchor != "" && r.anchors[anchor] == -n { // else it has another one of the same name
		r.anchors[anchor] = n
	}
	return true
}

func (t *Tree) propertiesOf(n int32) (anchor, tag string) {
	end := t.Nodes[n].End
	if c := t.Nodes[n].Child; c != 0 {
		end = t.Nodes[c].Key // which may have its own
	}
	a, b, _ := splitProperties(t.Text[t.Nodes[n].Start:end])
	return string(a), string(b)
}

// tag sets a node to the style that means the same as its tag.
func (r *resolver) tag(n int32, tag string) bool {
	v := &r.Nodes[n]
	switch tag {
	case "", "!":
	case "!!map", "!!seq":
		if (tag == "!!map") != (v.Kind == Mapping) || v.Kind == Scalar {
			return r.refuse(v.Start, fmt.Sprintf("%s must not have the tag %s", r.Describe(n), tag))
		}
	case "!!str":
		if v.Style == Plain { // no collection is
			v.Style = Double
		}
	case "!!int", "!!float", "!!bool", "!!null":
		if v.Kind != Scalar || ReadsAsString(r.Str(n)) {
			return r.refuse(v.Start, fmt.Sprintf("%q must not have the tag %s", r.Str(n), tag))
		}
		v.Style = Plain
	default:
		return r.refuse(v.Start, "a Kubernetes object must not have the tag "+tag)
	}
	return true
}

// key reads the key of a node that is an alias, or has an anchor or a tag.
func (r *resolver) key(n int32) bool {
	v := &r.Nodes[n]
	b := r.Text[v.Key:v.KeyEnd]
	start := ContentStart(b)
	if len(b) > start && b[start] == '*' {
		source := r.anchors[string(b[start+1:])]
		if source <= 0 || r.Nodes[source].Kind != Scalar {
			return r.refuse(v.Key, "an alias that is a key must be behind an anchor of a text")
		}
		r.keys[n] = r.Str(source)
		return true
	}
	if len(b) > start && (b[start] == '{' || b[start] == '[') {
		return true // the tree is not used
	}
	// The key becomes a node until its anchor, its tag and its text are read.
	i := int32(len(r.Nodes))
	style := StyleOf(View(b[start:]))
	r.Nodes = append(r.Nodes, Node{Kind: Scalar, Style: style, Start: v.Key, End: v.KeyEnd})
	anchor, tag := r.propertiesOf(i)
	if anchor != "" {
		r.anchors[anchor] = 0 // what it was before must not be taken for it
	}
	ok := tag == "!!merge" && v.Marks&isMergeKey != 0 || r.tag(i, tag)
	if tag == "!!str" {
		r.Nodes[n].Marks &^= isMergeKey
	}
	r.keys[n] = r.Str(i)
	r.Nodes = r.Nodes[:i]
	return ok
}

// joinExplicit makes one entry of each explicit key and its value.
func (r *resolver) joinExplicit(n int32) {
	last := int32(0)
	for c := r.Nodes[n].Child; c != 0; c = r.Nodes[c].Next {
		k := &r.Nodes[c]
		if k.Marks&isExplicit == 0 {
			last = c
			continue
		}
		v := k.Next
		isKey := r.Text[k.Key] == '?'
		switch {
		case !isKey || k.Kind != Scalar || r.Str(c) == "<<": // which may be a merge key
			r.ReadOnly = refusalAt(int(k.Key), NotKey)
			last = c
			continue
		case v == 0 || r.Nodes[v].Marks&isExplicit == 0 || r.Text[r.Nodes[v].Key] != ':': // it has no value
			absent := *k
			absent.Style = Absent
			absent.Marks = 0
			absent.Child = 0
			absent.Start = k.End
			v = int32(len(r.Nodes))
			r.Nodes = append(r.Nodes, absent)
		}
		r.keys[v] = r.Str(c)
		r.Nodes[v].Marks = r.Nodes[v].Marks&^isExplicit | specialKey
		r.link(n, last, v)
		last = v
		c = v
	}
}

// alias sets an alias to the value of its anchor.
func (r *resolver) alias(n int32) bool {
	at := r.Nodes[n].Start
	name := string(r.Text[at+1 : r.Nodes[n].End])
	source, known := r.anchors[name]
	if source <= 0 {
		if known || !r.Lenient {
			return r.refuse(at, fmt.Sprintf("the alias *%s must not be within the value of its anchor, and not of a key's", name))
		}
		return true
	}
	r.Source[n] = source
	r.Aliases = append(r.Aliases, n)
	v := &r.Nodes[n]
	from := r.Nodes[source]
	v.Kind, v.Style, v.Col = from.Kind, from.Style, from.Col
	return r.copyChildren(n, from.Child)
}

// copyChildren adds copies of a child and its siblings to a node.
func (r *resolver) copyChildren(n, child int32) bool {
	last := int32(0)
	r.Nodes[n].Child = 0
	for c := child; c != 0; c = r.Nodes[c].Next {
		if last = r.copyNode(n, last, c); last == 0 {
			return false
		}
	}
	return true
}

// copyNode appends a copy to the children of a node; 0 if there are too many.
func (r *resolver) copyNode(n, last, from int32) int32 {
	if r.copies++; r.copies > maxExpanded {
		r.refuse(r.Nodes[n].Key, fmt.Sprintf("aliases must expand to at most %d values, and expand to more: write the values out, or take fewer", maxExpanded))
		return 0
	}
	i := int32(len(r.Nodes))
	v := r.Nodes[from]
	v.Next = 0
	r.Nodes = append(r.Nodes, v)
	if source, ok := r.Source[from]; ok {
		r.Source[i] = source
	}
	if key, ok := r.keys[from]; ok {
		r.keys[i] = key
	}
	r.link(n, last, i)
	if !r.copyChildren(i, v.Child) {
		return 0
	}
	return i
}

// link makes a node the child behind the last one.
func (r *resolver) link(n, last, child int32) {
	if last == 0 {
		r.Nodes[n].Child = child
	} else {
		r.Nodes[last].Next = child
	}
}

// isUnknown reports whether a node is an alias without an anchor.
func (r *resolver) isUnknown(n int32) bool {
	_, known := r.Source[n]
	return r.Nodes[n].Marks&IsAlias != 0 && !known
}

// merge puts what merge keys bring in their place among a mapping's children. A mapping's
// own keys win, and earlier merged mappings over later ones.
func (r *resolver) merge(n int32) bool {
	m := merging{
		resolver: r,
		n:        n,
		has:      map[string]bool{},
	}
	for c := r.Nodes[n].Child; c != 0; c = r.Nodes[c].Next {
		if r.Nodes[c].Marks&isMergeKey == 0 {
			m.has[r.KeyOf(c)] = true
		}
	}
	r.Nodes[n].Marks |= HasMergeKey
	for c, next := r.Nodes[n].Child, int32(0); c != 0; c = next {
		next = r.Nodes[c].Next
		if r.Nodes[c].Marks&isMergeKey == 0 {
			r.link(n, m.last, c)
			m.last = c
			continue
		}
		for _, from := range r.sourcesOf(c) {
			if !m.bring(c, from) {
				return false
			}
		}
	}
	r.link(n, m.last, 0)
	m.markOverrides()
	return true
}

// A merging is a mapping whose merge keys are resolved.
type merging struct {
	*resolver
	n     int32
	has   map[string]bool // the keys that it has so far
	again []string        // those that a merge key would bring too
	last  int32           // its last child so far
}

// sourcesOf returns the nodes that a merge key names: its value, or the items of that.
func (r *resolver) sourcesOf(mergeKey int32) []int32 {
	if r.Nodes[mergeKey].Kind != Sequence {
		return []int32{mergeKey}
	}
	var items []int32
	for item := r.Nodes[mergeKey].Child; item != 0; item = r.Nodes[item].Next {
		items = append(items, item)
	}
	return items
}

// markOverrides marks the mapping's own entries that a merge key would bring too.
func (m *merging) markOverrides() {
	for _, key := range m.again {
		own := &m.Nodes[m.Get(m.n, key)]
		if own.Marks&IsMerged == 0 {
			own.Marks |= Overrides
		}
	}
}

// bring appends copies of the entries of a source of a merge key, except for those that the mapping has.
func (m *merging) bring(mergeKey, from int32) bool {
	if m.Lenient && m.isUnknown(from) {
		return true
	}
	if m.Nodes[from].Kind != Mapping {
		return m.refuse(m.Nodes[mergeKey].Key, "a merge key (<<) must have a mapping or a list of mappings")
	}
	if source, ok := m.Source[from]; ok {
		m.Merges[m.n] = append(m.Merges[m.n], source)
	}
	for k := m.Nodes[from].Child; k != 0; k = m.Nodes[k].Next {
		key := m.KeyOf(k)
		if m.has[key] {
			m.again = append(m.again, key)
			continue
		}
		m.has[key] = true
		if m.last = m.copyNode(m.n, m.last, k); m.last == 0 {
			return false
		}
		m.Nodes[m.last].Marks |= IsMerged
	}
	return true
}
