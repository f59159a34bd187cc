package yaml

import "bytes"

// maxDepth bounds the nesting of flow collections that the scanner follows.
const maxDepth = 200

// flow reads the flow collection that starts at p, {...} or [...], JSON
// included, on one line or several, into the node at, whose key is set already.
// It returns the offset behind it.
func (s *scanner) flow(p, depth int, at int32) (int, bool) {
	if depth > maxDepth {
		return s.refuse(p, "collections must not be nested so deeply")
	}
	in, start := s.in, p
	k, closing := Sequence, in[p]+2 // ']' and '}' are 2 behind '[' and '{'
	if in[p] == '{' {
		k = Mapping
	}
	v := &s.nodes[at]
	v.Kind, v.Style, v.Start = k, Flow, int32(start)
	var last int32
	p, ok := s.inFlow(start, p+1)
	for ok && in[p] != closing {
		if p, last, ok = s.flowEntry(p, depth, at, last); ok {
			p, ok = s.inFlow(start, p)
		}
		switch {
		case !ok || in[p] == closing:
		case in[p] != ',':
			return s.refuse(p, "a comma or a closing bracket must come here")
		default:
			p, ok = s.inFlow(start, p+1)
		}
	}
	s.nodes[at].End = int32(p + 1)
	return p + 1, ok
}

// inFlow skips white space, line ends and comments. Something must follow, at least the
// bracket that closes the one at start.
func (s *scanner) inFlow(start, p int) (int, bool) {
	p, ok := flowSpace(s.in, p)
	if !ok || p >= len(s.in) {
		return s.refuse(start, "a bracket must be closed before the document ends")
	}
	return p, true
}

// flowEntry reads the entry or item at p of the collection at, whose last one was last. It
// returns the offset behind it, and its node.
func (s *scanner) flowEntry(p, depth int, at, last int32) (end int, n int32, ok bool) {
	isMap := s.nodes[at].Kind == Mapping
	if isMap && s.in[p] == '?' && IsBlank(s.in, p+1) {
		s.fix(p, "a key behind a question mark")
		if p, ok = s.inFlow(p, p+1); !ok {
			return end, n, ok
		}
	}
	n = s.add(at, last, 0, p, p, p)
	if end, ok = s.flowValue(p, depth, n); ok {
		end, ok = s.flowPair(p, end, depth, n, isMap)
	}
	s.drop(n, at)
	return end, n, ok
}

// flowPair reads the rest of an entry of a mapping, or of a pair in a sequence: [a: b] holds a
// mapping of one entry. What was read from start to p into the node n is its key.
func (s *scanner) flowPair(start, p, depth int, n int32, isMap bool) (end int, ok bool) {
	in := s.in
	colon := SkipBlanks(in, p)
	hasColon := colon < len(in) && in[colon] == ':'
	if !isMap && !hasColon {
		return p, true
	}
	v := &s.nodes[n]
	if v.Kind != Scalar { // a template in braces, most likely
		s.fix(start, NotKey)
	}
	s.nodes = s.nodes[:n+1]
	entry := n
	if v.Marks, v.Child = 0, 0; isMap {
		v.Kind, v.Style, v.KeyEnd = Scalar, Absent, int32(p)
	} else {
		s.fix(start, "a pair in brackets without braces")
		v.Kind, v.Style, v.Start = Mapping, Flow, int32(start)
		entry = s.add(n, 0, 0, start, p, p)
	}
	s.markKey(entry, start, start+ContentStart(in[start:p]), p)
	if !hasColon {
		s.fix(start, "a key without a colon")
		v.Marks |= specialKey
		v.Start, v.End = int32(p), int32(p)
		return p, true
	}
	if !isShortKey(in[start:colon]) {
		return s.refuse(start, longKey)
	}
	value, ok := s.inFlow(start, colon+1)
	if !ok {
		return 0, false
	}
	if c := in[value]; c == ',' || c == '}' || c == ']' {
		if end = colon + 1; in[end] == ' ' { // so that a comma may be put there
			end++
		}
		s.nodes[entry].Start, s.nodes[entry].End = int32(end), int32(end)
	} else if end, ok = s.flowValue(value, depth, entry); !ok {
		return 0, false
	}
	if !isMap {
		s.nodes[n].End = int32(end)
	}
	return end, true
}

// longKey says what YAML demands of a key without a question mark.
const longKey = "a key must be on one line, with at most 1024 characters up to its colon"

// NotKey is the form of a key that is a collection.
const NotKey = "a key that is a mapping or a list"

// flowValue reads the value at p of an entry or item, the node me, and
// returns the offset behind it.
func (s *scanner) flowValue(p, depth int, me int32) (end int, ok bool) {
	in, start := s.in, p
	if p, ok = s.flowProperties(p, me); !ok {
		return 0, false
	}
	how := Plain
	switch c := in[p]; {
	case c == '{' || c == '[':
		end, ok = s.flow(p, depth+1, me)
		s.nodes[me].Start = int32(start)
		return end, ok
	case c == '"' || c == '\'':
		if end, ok = quotedEnd(in, p); !ok {
			return s.refuse(p, "a text in quotes has no end, or a bad escape")
		}
		how = StyleOf(View(in[p:end]))
	case c == '*' && p == start:
		if end, ok = s.alias(p); !ok {
			return 0, false
		}
		s.nodes[me].Marks |= IsAlias
	case p > start && (c == ',' || c == '}' || c == ']'):
		end = trimEnd(in, p) // only an anchor or a tag
	default:
		if end = s.flowPlain(p); end == p {
			return s.refuse(p, "a text that starts with this character must be in quotes, and so must one with ? : [ or { where more text follows")
		}
	}
	v := &s.nodes[me]
	v.Style, v.Start, v.End = how, int32(start), int32(end)
	return end, true
}

// flowProperties reads the anchor and the tag at p, if there are any, of the node me, and
// returns the offset of its value.
func (s *scanner) flowProperties(p int, me int32) (value int, ok bool) {
	if c := s.in[p]; c != '&' && c != '!' {
		return p, true
	}
	if value, ok = s.properties(p); !ok {
		return 0, false
	}
	s.nodes[me].Marks |= HasProperties
	return s.inFlow(p, value)
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
			if IsMarker(in, p) {
				return p, false
			}
		case '#':
			p = LineEnd(in, p)
		default:
			return p, true
		}
	}
	return p, true
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
	for _, c := range ",[]{}?" { // ? ends the scalar too
		t[c] = 0
	}
	for _, c := range "#&*!|>'\"%@`:-" {
		t[c] = plainInside
	}
	t['\x7f'] = 0
	return t
}()

// flowPlain returns the end of the plain scalar that starts at p in a flow
// collection, which may go over several lines; p if none may start there.
func (s *scanner) flowPlain(p int) int {
	in := s.in
	start, end := p, p
	if flowPlainChar[in[p]]&plainFirst == 0 && (in[p] != '-' || IsBlank(in, p+1)) {
		return start
	}
	for p < len(in) {
		switch c := in[p]; {
		case isColon(in, p), c == '#' && IsBlank(in, p-1), c == ',', c == ']', c == '}':
			return end
		case flowPlainChar[c] != 0:
			p++
			end = p
		case c == ' ', c == '\t', c == '\r', c == '\n' && s.flowGoesOn(p+1):
			p++
		default:
			return start
		}
	}
	return start
}

// flowGoesOn reports whether a plain scalar may go on in the line that starts at p.
func (s *scanner) flowGoesOn(p int) bool {
	text := SkipSpaces(s.in, p)
	return !IsMarker(s.in, p) && (text == len(s.in) || s.in[text] != '\t' || text-p >= s.flowIndent) // such a tab would be indentation
}
