package manifest

import "bytes"

// maxDepth bounds the nesting of flow collections that the scanner follows.
const maxDepth = 200

// flow reads the flow collection that starts at p, {...} or [...], JSON
// included, on one line or several. It returns the offset behind it.
//
// When building, flow fills in the node at, whose key is set already. When
// indexing, it notes in info, unless that is nil, what the mapping holds, or
// the items of the sequence.
func (s *scanner) flow(p, depth int, at int32, info *docInfo) (int, bool) {
	if depth > maxDepth {
		return s.refuse("deeply nested")
	}
	in := s.in
	isMap := in[p] == '{'
	closing := in[p] + 2 // ']' and '}' are 2 behind '[' and '{'
	start := p
	var last int32
	p, ok := flowSpace(in, p+1)
	for {
		if !ok || p >= len(in) {
			return s.refuse("unclosed or unusual flow collection")
		}
		if in[p] == closing {
			break
		}
		e := flowEntry{node: node{kind: scalar, style: absent, key: int32(p), keyEnd: int32(p)}}
		if isMap {
			if p, ok = s.flowKey(p, info, &e); !ok {
				return 0, false
			}
		} else if info != nil && info.rootInfo != nil {
			info.list = append(info.list, docInfo{start: p, flow: true, notMapping: in[p] != '{'})
			e.info = &info.list[len(info.list)-1]
		}
		e.node.start, e.node.end = int32(p), int32(p)
		if s.build {
			last = s.addFlow(&e.node, at, last)
		}
		end, ok := s.flowValue(p, depth, last, &e, info)
		if !ok {
			return 0, false
		}
		if info != nil && info.rootInfo != nil {
			info.noteFlowEnd(&e, isMap, end)
		}
		if p, ok = flowSpace(in, end); !ok || p >= len(in) {
			return s.refuse("unclosed or unusual flow collection")
		}
		if in[p] == closing {
			break
		}
		if in[p] != ',' {
			return s.refuse("unusual text in a flow collection")
		}
		if p, ok = flowSpace(in, p+1); !ok {
			return s.refuse("document marker in a flow collection")
		}
	}
	p++
	if s.build {
		w := &s.nodes[at]
		w.kind, w.style, w.start, w.end = sequence, flow, int32(start), int32(p)
		if isMap {
			w.kind = mapping
		}
	} else if info != nil && isMap {
		info.start, info.end, info.flow = start, p, true
	}
	return p, true
}

// A flowEntry is the entry or item of a flow collection that is being read.
type flowEntry struct {
	node node
	want *span    // where to note the value, an apiVersion or a kind
	info *docInfo // what to note of the value when indexing
}

// addFlow appends a child to the node at; last is the child before it.
func (s *scanner) addFlow(v *node, at, last int32) int32 {
	i := int32(len(s.nodes))
	s.nodes = append(s.nodes, *v)
	if last == 0 {
		s.nodes[at].child = i
	} else {
		s.nodes[last].next = i
	}
	return i
}

// flowKey reads the key at p of a flow mapping. It returns the offset of the
// value or, if there is none, that behind the colon.
func (s *scanner) flowKey(p int, info *docInfo, e *flowEntry) (int, bool) {
	in := s.in
	keyEnd, colon, ok := flowKeyEnd(in, p)
	if !ok {
		return s.refuse("unusual key in a flow collection")
	}
	e.node.keyEnd = int32(keyEnd)
	value, ok := flowSpace(in, colon+1)
	if !ok || value >= len(in) {
		return s.refuse("unclosed or unusual flow collection")
	}
	isAbsent := in[value] == ',' || in[value] == '}'
	if info != nil {
		var noted *entry
		if e.want, noted, ok = info.note(in, p, keyEnd); !ok {
			return s.refuse("duplicate or escaped key at the root")
		}
		if isAbsent && (e.want != nil || noted != nil) {
			return s.refuse("key without a value at the root")
		}
		if noted != nil {
			noted.keyEnd, noted.start, noted.col = colon+1, value, -1
			if noted == &info.items {
				e.info = info
			}
		}
	}
	if isAbsent { // behind a space, so that a comma may be put there
		return min(value, colon+1+skipOne(in, colon+1)), true
	}
	return value, true
}

// flowValue reads the value at p of an entry or item, the node me, and
// returns the offset behind it.
func (s *scanner) flowValue(p, depth int, me int32, e *flowEntry, info *docInfo) (end int, ok bool) {
	in := s.in
	how := plain
	switch c := in[p]; c {
	case '{', '[':
		if e.want != nil {
			return s.refuse("apiVersion or kind is no string")
		}
		// Only the list of items and an item itself are looked into.
		if e.info != nil && (e.info == info) != (c == '[') {
			e.info = nil
		}
		return s.flow(p, depth+1, me, e.info)
	case '"', '\'':
		if end, ok = quotedEnd(in, p); !ok {
			return s.refuse("unusual quoted scalar in a flow collection")
		}
		how = double
		if c == '\'' {
			how = single
		}
		if e.want != nil && !isSimpleQuoted(in[p:end]) {
			return s.refuse("unusual apiVersion or kind")
		}
		if e.want != nil {
			*e.want = span{int32(p + 1), int32(end - 1)}
		}
	default:
		if e.node.key < e.node.keyEnd && (in[p-1] == ':' || in[p-1] == ' ') && flowEnds(in, p) {
			return p, true // no value: the node stays absent
		}
		if end = flowPlain(in, p); end == p {
			return s.refuse("unusual scalar in a flow collection")
		}
		if e.want != nil && hasBreak(in[p:end]) {
			return s.refuse("apiVersion or kind on several lines")
		}
		if e.want != nil {
			*e.want = span{int32(p), int32(end)}
		}
	}
	if s.build {
		w := &s.nodes[me]
		w.style, w.end = how, int32(end)
	}
	return end, true
}

// skipOne returns the length of the space at p, if there is one.
func skipOne(in []byte, p int) int {
	if in[p] == ' ' {
		return 1
	}
	return 0
}

// flowEnds reports whether an entry that has no value ends at p: a comma or a
// bracket comes next.
func flowEnds(in []byte, p int) bool {
	q, ok := flowSpace(in, p)
	return ok && q < len(in) && (in[q] == ',' || in[q] == '}')
}

// noteFlowEnd notes where the value of a root key, or an item, ends.
func (d *docInfo) noteFlowEnd(e *flowEntry, isMap bool, end int) {
	if e.info != nil && e.info != d {
		e.info.end = end
	}
	if !isMap {
		return
	}
	for _, noted := range []*entry{&d.items, &d.functionConfig, &d.results} {
		if noted.keyEnd != 0 && noted.start == int(e.node.start) {
			noted.end = end
		}
	}
}

// isSimpleQuoted reports whether a quoted scalar has no escapes and is on
// one line.
func isSimpleQuoted(b []byte) bool {
	return !bytes.ContainsAny(b[1:len(b)-1], "\\'\n")
}

func hasBreak(b []byte) bool { return bytes.IndexByte(b, '\n') >= 0 }

// flowSpace skips white space, line ends and comments; ok is false at a
// document marker.
func flowSpace(in []byte, p int) (int, bool) {
	for p < len(in) {
		switch in[p] {
		case ' ', '\t', '\r':
			p++
		case '\n':
			p++
			if isMarker(in, p) {
				return p, false
			}
		case '#':
			if !isBlank(in, p-1) {
				return p, true
			}
			p = lineEnd(in, p)
		default:
			return p, true
		}
	}
	return p, true
}

// flowKeyEnd reads the key of a flow mapping: where it ends, and its colon.
func flowKeyEnd(in []byte, p int) (end, colon int, ok bool) {
	switch in[p] {
	case '"', '\'':
		end, ok = quotedEnd(in, p)
		if !ok || hasBreak(in[p:end]) || end-p >= maxKey {
			return 0, 0, false
		}
		colon = skipSpaces(in, end)
		return end, colon, colon < len(in) && in[colon] == ':' && colon-p < maxKey
	}
	end = p
	for end < len(in) && keyChar[in[end]] {
		end++
	}
	if end < len(in) && in[end] != ':' { // less usual
		end = flowPlain(in, p)
	}
	isDash := in[p] == '-' && end == p+1
	isMerge := end == p+2 && in[p] == '<' && in[p+1] == '<'
	if end == p || end-p >= maxKey || isDash || isMerge || hasBreak(in[p:end]) {
		return 0, 0, false
	}
	return end, end, end+1 < len(in) && in[end] == ':' && isBlank(in, end+1)
}

// What a character does in a plain scalar of a flow collection.
const (
	plainInside = 1 << iota // may stand inside
	plainFirst              // may be the first
)

var flowPlainChar = func() (t [256]byte) {
	for c := '!'; c < 256; c++ {
		t[c] = plainInside | plainFirst
	}
	for _, c := range ",[]{}?" { // the full parser ends the scalar at ? too
		t[c] = 0
	}
	for _, c := range "#&*!|>'\"%@`:-" {
		t[c] = plainInside
	}
	t['\x7f'] = 0
	return t
}()

// flowPlain returns the end of the plain scalar that starts at p in a flow
// collection, which may go over several lines; p where it is no usual one.
func flowPlain(in []byte, p int) int {
	start, end := p, p
	if flowPlainChar[in[p]]&plainFirst == 0 && !(in[p] == '-' && p+1 < len(in) && keyChar[in[p+1]]) {
		return start
	}
	for p < len(in) {
		c := in[p]
		switch {
		case c == ':' && isBlank(in, p+1):
			return end
		case c == ':' && (p+1 >= len(in) || flowPlainChar[in[p+1]] == 0):
			return start
		case c == '#' && isBlank(in, p-1):
			return end
		case flowPlainChar[c] != 0:
			p++
			end = p
		case c == ' ' || c == '\t' || c == '\r':
			p++
		case c == '\n':
			p++
			if text := skipSpaces(in, p); isMarker(in, p) || text < len(in) && in[text] == '\t' {
				return start // the full parser refuses a tab in an indentation
			}
		case c == ',' || c == ']' || c == '}':
			return end
		default:
			return start
		}
	}
	return start
}
