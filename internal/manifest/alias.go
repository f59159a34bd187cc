package manifest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// nameEnd returns the end of the name of an anchor that starts at p.
func nameEnd(in []byte, p int) int {
	for p < len(in) && (in[p] == '_' || in[p] == '-' || in[p] >= '0' && in[p] <= '9' || in[p]|0x20 >= 'a' && in[p]|0x20 <= 'z') {
		p++
	}
	return p
}

// tagEnd returns the end of the tag that starts at p.
func tagEnd(in []byte, p int) int {
	for p++; p < len(in) && !isBlank(in, p) && !isFlowIndicator(in[p]); p++ {
	}
	return p
}

// isTag reports whether a text is a tag that needs no directive.
func isTag(tag []byte) bool {
	if bytes.HasPrefix(tag, []byte("!<")) {
		return len(tag) > 3 && bytes.IndexByte(tag, '>') == len(tag)-1 && bytes.IndexByte(tag, '%') < 0
	}
	name := bytes.TrimPrefix(tag[1:], []byte("!"))
	for i, c := range name {
		if nameEnd(name, i) == i && strings.IndexByte(";/?:@&=+$.~*'()", c) < 0 {
			return false
		}
	}
	return len(name) > 0 || len(tag) == 1
}

func isFlowIndicator(c byte) bool {
	return c == ',' || c == '[' || c == ']' || c == '{' || c == '}'
}

// properties reads the anchor and the tag at p, and returns the offset behind them and the
// blanks that follow.
func (s *scanner) properties(p int) (int, bool) {
	in, anchors, tags := s.in, 0, 0
	for p < len(in) && (in[p] == '&' || in[p] == '!') {
		start := p
		s.special = true
		if in[p] == '&' {
			p = nameEnd(in, p+1)
			anchors++
			if s.names == nil {
				s.names = map[string]int{}
			}
			s.names[view(in[start+1:p])] = start
		} else {
			p = tagEnd(in, p)
			tags++
		}
		if !isProperty(in, start, p) || anchors > 1 || tags > 1 {
			return s.refuse(start, "an anchor (&) or a tag (!) must have a name of letters, digits, - and _")
		}
		p = skipBlanks(in, p)
	}
	return p, true
}

// isProperty reports whether an anchor or a tag ends at p.
func isProperty(in []byte, start, p int) bool {
	if in[start] == '!' {
		return isBlank(in, p) && isTag(in[start:p])
	}
	return p > start+1 && (isBlank(in, p) || in[p] == ',' || in[p] == ']' || in[p] == '}')
}

// alias reads the alias at p and returns the offset behind it.
func (s *scanner) alias(p int) (int, bool) {
	in := s.in
	end := nameEnd(in, p+1)
	name := view(in[p+1 : end])
	anchor, known := s.names[name]
	if !known && !s.lenient {
		return s.refuse(p, fmt.Sprintf("the alias %s must be behind an anchor of this name", in[p:end]))
	}
	if c := byte(':'); end == p+1 || !isBlank(in, end) && in[end] != c && in[end] != ',' && in[end] != ']' && in[end] != '}' {
		return s.refuse(p, "an alias (*) must have a name of letters, digits, - and _")
	}
	s.special = true
	s.shared = append(s.shared, aliasUse{p, anchor, name})
	return end, true
}

// contentStart returns where a value starts, behind its anchor and tag.
func contentStart(b []byte) int {
	p := 0
	for p < len(b) && (b[p] == '&' || b[p] == '!') {
		p, _ = flowSpace(b, tagEnd(b, p))
	}
	return p
}

// maxExpanded limits how many nodes the aliases of one object may expand to.
const maxExpanded = 200_000

// A resolver gives the aliases of a tree the value of their anchors, and mappings the
// entries that merge keys bring.
type resolver struct {
	*tree
	anchors map[string]int32 // negative while the anchor's value is read, 0 if it is of a key
	copies  int
}

// resolve resolves the tree, whose nodes are in the order of the text.
func (t *tree) resolve() bool {
	t.source, t.merges, t.keys = map[int32]int32{}, map[int32][]int32{}, map[int32]string{}
	r := resolver{tree: t, anchors: map[string]int32{}}
	return r.node(1)
}

func (t *tree) refuse(at int32, why string) bool {
	t.refused = refusal{int(at), why}
	return false
}

func (r *resolver) node(n int32) bool {
	v := r.nodes[n]
	if v.marks&specialKey != 0 && !r.key(n) {
		return false
	}
	if v.marks&isAlias != 0 {
		return r.alias(n)
	}
	if v.marks&hasProperties != 0 {
		anchor, tag := r.properties(n)
		if !r.tag(n, tag) {
			return false
		}
		if anchor != "" {
			r.anchors[anchor] = -n
			defer func() {
				if r.anchors[anchor] == -n { // else it has another one of the same name
					r.anchors[anchor] = n
				}
			}()
		}
	}
	merges := false
	for c := v.child; c != 0; c = r.nodes[c].next {
		if !r.node(c) {
			return false
		}
		merges = merges || r.nodes[c].marks&isMergeKey != 0
	}
	r.joinExplicit(n)
	return !merges || r.merge(n)
}

// properties returns the anchor and the tag of a node.
func (t *tree) properties(n int32) (anchor, tag string) {
	end := t.nodes[n].end
	if c := t.nodes[n].child; c != 0 {
		end = t.nodes[c].key // which may have its own
	}
	b := t.text[t.nodes[n].start:end]
	for p := 0; p < len(b) && (b[p] == '&' || b[p] == '!'); {
		end := tagEnd(b, p)
		if b[p] == '&' {
			anchor = string(b[p+1 : end])
		} else {
			tag = string(b[p:end])
		}
		p, _ = flowSpace(b, end)
	}
	return anchor, tag
}

// tag sets a node to the style that means the same as its tag.
func (r *resolver) tag(n int32, tag string) bool {
	v := &r.nodes[n]
	switch tag {
	case "", "!":
	case "!!map", "!!seq":
		if (tag == "!!map") != (v.kind == mapping) || v.kind == scalar {
			return r.refuse(v.start, fmt.Sprintf("%s must not have the tag %s", r.describe(n), tag))
		}
	case "!!str":
		if v.kind == scalar && (v.style == plain || v.style == absent) {
			v.style = double
		}
	case "!!int", "!!float", "!!bool", "!!null":
		if v.kind != scalar || readsAsString(r.str(n)) {
			return r.refuse(v.start, fmt.Sprintf("%q must not have the tag %s", r.str(n), tag))
		}
		v.style = plain
	default:
		return r.refuse(v.start, "a Kubernetes object must not have the tag "+tag)
	}
	return true
}

// key reads the key of a node that is an alias, or has an anchor or a tag.
func (r *resolver) key(n int32) bool {
	v := &r.nodes[n]
	b := r.text[v.key:v.keyEnd]
	start := contentStart(b)
	if len(b) > start && b[start] == '*' {
		source := r.anchors[string(b[start+1:])]
		if source <= 0 || r.nodes[source].kind != scalar {
			return r.refuse(v.key, "an alias that is a key must be behind an anchor of a text")
		}
		r.keys[n] = r.str(source)
		return true
	}
	if len(b) > start && (b[start] == '{' || b[start] == '[') {
		return true // the tree is not used
	}
	// The key is a node for a moment.
	i := int32(len(r.nodes))
	key := node{kind: scalar, style: styleOf(view(b[start:])), start: v.key, end: v.keyEnd}
	if start > 0 {
		key.marks = hasProperties
	}
	r.nodes = append(r.nodes, key)
	anchor, tag := r.properties(i)
	if anchor != "" {
		r.anchors[anchor] = 0 // what it was before must not be taken for it
	}
	ok := tag == "!!merge" && v.marks&isMergeKey != 0 || r.tag(i, tag)
	if tag == "!!str" {
		r.nodes[n].marks &^= isMergeKey
	}
	r.keys[n] = r.str(i)
	r.nodes = r.nodes[:i]
	return ok
}

// joinExplicit makes one entry of each explicit key and its value.
func (r *resolver) joinExplicit(n int32) {
	last := int32(0)
	for c := r.nodes[n].child; c != 0; c = r.nodes[c].next {
		k := &r.nodes[c]
		if k.marks&isExplicit == 0 {
			last = c
			continue
		}
		v := k.next
		isKey := r.text[k.key] == '?'
		switch {
		case !isKey || k.kind != scalar:
			r.fixed = refusal{int(k.key), notKey}
			last = c
			continue
		case v == 0 || r.nodes[v].marks&isExplicit == 0 || r.text[r.nodes[v].key] != ':': // it has no value
			v = int32(len(r.nodes))
			r.nodes = append(r.nodes, node{kind: scalar, style: absent, key: k.key, keyEnd: k.keyEnd, start: k.end, end: k.end, next: k.next})
		}
		r.keys[v] = r.str(c)
		r.nodes[v].marks = r.nodes[v].marks&^isExplicit | specialKey
		r.link(n, last, v)
		last, c = v, v
	}
}

// alias sets an alias to the value of its anchor.
func (r *resolver) alias(n int32) bool {
	at := r.nodes[n].start
	name := string(r.text[at+1 : r.nodes[n].end])
	source, known := r.anchors[name]
	if source <= 0 {
		if known || !r.lenient {
			return r.refuse(at, fmt.Sprintf("the alias *%s must not be within the value of its anchor, and not of a key's", name))
		}
		return true
	}
	r.source[n] = source
	r.aliases = append(r.aliases, n)
	v, from := &r.nodes[n], r.nodes[source]
	v.kind, v.style, v.col = from.kind, from.style, from.col
	return r.copyChildren(n, from.child)
}

// copyChildren adds copies of a child and its siblings to a node.
func (r *resolver) copyChildren(n, child int32) bool {
	last := int32(0)
	r.nodes[n].child = 0
	for c := child; c != 0; c = r.nodes[c].next {
		if last = r.copyNode(n, last, c); last == 0 {
			return false
		}
	}
	return true
}

// copyNode appends a copy to the children of a node; 0 if there are too many.
func (r *resolver) copyNode(n, last, from int32) int32 {
	if r.copies++; r.copies > maxExpanded {
		r.refuse(r.nodes[n].key, "aliases must not expand to so much")
		return 0
	}
	i := int32(len(r.nodes))
	v := r.nodes[from]
	v.next = 0
	r.nodes = append(r.nodes, v)
	if source, ok := r.source[from]; ok {
		r.source[i] = source
	}
	if key, ok := r.keys[from]; ok {
		r.keys[i] = key
	}
	r.link(n, last, i)
	if !r.copyChildren(i, v.child) {
		return 0
	}
	return i
}

// link makes a node the child behind the last one.
func (r *resolver) link(n, last, child int32) {
	if last == 0 {
		r.nodes[n].child = child
	} else {
		r.nodes[last].next = child
	}
}

// merge puts what merge keys bring in their place among a mapping's children. A mapping's
// own keys win, and earlier merged mappings over later ones.
func (r *resolver) merge(n int32) bool {
	has := map[string]bool{}
	for c := r.nodes[n].child; c != 0; c = r.nodes[c].next {
		if r.nodes[c].marks&isMergeKey == 0 {
			has[r.keyOf(c)] = true
		}
	}
	r.nodes[n].marks |= hasMergeKey
	last := int32(0)
	for c, next := r.nodes[n].child, int32(0); c != 0; c = next {
		if next = r.nodes[c].next; r.nodes[c].marks&isMergeKey == 0 {
			r.link(n, last, c)
			last = c
			continue
		}
		sources := []int32{c}
		if r.nodes[c].kind == sequence {
			sources = nil
			for item := r.nodes[c].child; item != 0; item = r.nodes[item].next {
				sources = append(sources, item)
			}
		}
		for _, from := range sources {
			if r.nodes[from].kind != mapping {
				return r.refuse(r.nodes[c].key, "a merge key (<<) must have a mapping or a list of mappings")
			}
			if source, ok := r.source[from]; ok {
				r.merges[n] = append(r.merges[n], source)
			}
			for k := r.nodes[from].child; k != 0; k = r.nodes[k].next {
				if has[r.keyOf(k)] {
					continue
				}
				has[r.keyOf(k)] = true
				if last = r.copyNode(n, last, k); last == 0 {
					return false
				}
				r.nodes[last].marks |= isMerged
			}
		}
	}
	if last == 0 {
		r.nodes[n].child = 0
	} else {
		r.nodes[last].next = 0
	}
	return true
}

// hasMerges reports whether a mapping has merge keys.
func (t *tree) hasMerges() bool {
	return slices.ContainsFunc(t.nodes, func(v node) bool { return v.marks&hasMergeKey != 0 })
}
