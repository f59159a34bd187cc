package yaml

import "bytes"

// maxDepth bounds the nesting of flow collections that the scanner follows.
const maxDepth = 200

// flow reads the flow collection that starts at p, {...} or [...], JSON
// included, on one line or several, into the node at, whose key is set already.
// It returns the offset behind it.
func (t *Tree) flow(p, depth int, at int32) (int, bool) {
	if depth > maxDepth {
		return t.invalid(p, "collections must not be nested so deeply")
	}
	in, start := t.Text, p
	k, closing := Sequence, in[p]+2 // ']' and '}' are 2 behind '[' and '{'
	if in[p] == '{' {
		k = Mapping
	}
	v := &t.Nodes[at]
	v.Kind, v.Style, v.Start = k, Flow, int32(start)
	var last int32
	p, ok := t.inFlow(start, p+1)
	for ok && in[p] != closing {
		if p, last, ok = t.flowEntry(p, depth, at, last); ok {
			p, ok = t.inFlow(start, p)
		}
		switch {
		case !ok || in[p] == closing:
		case in[p] != ',':
			return t.invalid(p, "a comma or a closing bracket must come here")
		default:
			p, ok = t.inFlow(start, p+1)
		}
	}
	t.Nodes[at].End = int32(p + 1)
	return p + 1, ok
}

// inFlow skips white space, line ends and comments. Something must follow, at least the
// bracket that closes the one at start.
func (t *Tree) inFlow(start, p int) (int, bool) {
	p, ok := flowSpace(t.Text, p)
	if !ok || p >= len(t.Text) {
		return t.invalid(start, "a bracket must be closed before the document ends")
	}
	return p, true
}

// flowEntry reads the entry or item at p of the collection at, whose last one was last. It
// returns the offset behind it, and its node.
func (t *Tree) flowEntry(p, depth int, at, last int32) (end int, n int32, ok bool) {
	isMap := t.Nodes[at].Kind == Mapping
	if isMap && t.Text[p] == '?' && IsBlank(t.Text, p+1) {
		t.fix(p, "a key behind a question mark")
		if p, ok = t.inFlow(p, p+1); !ok {
			return end, n, ok
		}
	}
	n = t.add(at, last, 0, p, p, p)
	if end, ok = t.flowValue(p, depth, n); ok {
		end, ok = t.flowPair(p, end, depth, n, isMap)
	}
	t.drop(n, at)
	return end, n, ok
}

// flowPair reads the rest of an entry of a mapping, or of a pair in a sequence: [a: b] holds a
// mapping of one entry. What was read from start to p into the node n is its key.
func (t *Tree) flowPair(start, p, depth int, n int32, isMap bool) (end int, ok bool) {
	in := t.Text
	colon := SkipBlanks(in, p)
	hasColon := colon < len(in) && in[colon] == ':'
	if !isMap && !hasColon {
		return p, true
	}
	v := &t.Nodes[n]
	if v.Kind != Scalar { // a template in braces, most likely
		t.fix(start, NotKey)
	}
	t.Nodes = t.Nodes[:n+1]
	entry := n
	if v.Marks, v.Child = 0, 0; isMap {
		v.Kind, v.Style, v.KeyEnd = Scalar, Absent, int32(p)
	} else {
		t.fix(start, "a pair in brackets without braces")
		v.Kind, v.Style, v.Start = Mapping, Flow, int32(start)
		entry = t.add(n, 0, 0, start, p, p)
	}
	t.markKey(entry, start, start+ContentStart(in[start:p]), p)
	if !hasColon {
		t.fix(start, "a key without a colon")
		v.Marks |= specialKey
		v.Start, v.End = int32(p), int32(p)
		return p, true
	}
	if !isShortKey(in[start:colon]) {
		return t.invalid(start, longKey)
	}
	value, ok := t.inFlow(start, colon+1)
	if !ok {
		return 0, false
	}
	if c := in[value]; c == ',' || c == '}' || c == ']' {
		if end = colon + 1; in[end] == ' ' { // so that a comma may be put there
			end++
		}
		t.Nodes[entry].Start, t.Nodes[entry].End = int32(end), int32(end)
	} else if end, ok = t.flowValue(value, depth, entry); !ok {
		return 0, false
	}
	if !isMap {
		t.Nodes[n].End = int32(end)
	}
	return end, true
}

// longKey says what YAML demands of a key without a question mark.
const longKey = "a key must be on one line, with at most 1024 characters up to its colon"

// NotKey is the form of a key that is a collection.
const NotKey = "a key that is a mapping or a list"

// flowValue reads the value at p of an entry or item, the node me, and
// returns the offset behind it.
func (t *Tree) flowValue(p, depth int, me int32) (end int, ok bool) {
	in, start := t.Text, p
	if p, ok = t.flowProperties(p, me); !ok {
		return 0, false
	}
	how := Plain
	switch c := in[p]; {
	case c == '{' || c == '[':
		end, ok = t.flow(p, depth+1, me)
		t.Nodes[me].Start = int32(start)
		return end, ok
	case c == '"' || c == '\'':
		if end, ok = quotedEnd(in, p); !ok {
			return t.invalid(p, "a text in quotes has no end, or a bad escape")
		}
		how = StyleOf(View(in[p:end]))
	case c == '*' && p == start:
		if end, ok = t.alias(p); !ok {
			return 0, false
		}
		t.Nodes[me].Marks |= IsAlias
	case p > start && (c == ',' || c == '}' || c == ']'):
		end = trimEnd(in, p) // only an anchor or a tag
	default:
		if end = t.flowPlain(p); end == p {
			return t.invalid(p, "a text that starts with this character must be in quotes, and so must one with ? : [ or { where more text follows")
		}
	}
	v := &t.Nodes[me]
	v.Style, v.Start, v.End = how, int32(start), int32(end)
	return end, true
}

// flowProperties reads the anchor and the tag at p, if there are any, of the node me, and
// returns the offset of its value.
func (t *Tree) flowProperties(p int, me int32) (value int, ok bool) {
	if c := t.Text[p]; c != '&' && c != '!' {
		return p, true
	}
	if value, ok = t.properties(p); !ok {
		return 0, false
	}
	t.Nodes[me].Marks |= HasProperties
	return t.inFlow(p, value)
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

// flowPlain returns the end of the plain scalar that starts at p in a flow
// collection, which may go over several lines; p if none may start there.
func (t *Tree) flowPlain(p int) int {
	in := t.Text
	start, end := p, p
	if !plainStart(in, p) || in[p] == ':' {
		return start
	}
	for p < len(in) {
		switch c := in[p]; {
		case isColon(in, p), c == '#' && IsBlank(in, p-1), c == ',', c == ']', c == '}':
			return end
		case c == '[', c == '{', c == '?', c == '\n' && !t.flowGoesOn(p+1):
			return start
		case IsBlank(in, p):
			p++
		default:
			p++
			end = p
		}
	}
	return start
}

// flowGoesOn reports whether a plain scalar may go on in the line that starts at p.
func (t *Tree) flowGoesOn(p int) bool {
	text := SkipSpaces(t.Text, p)
	return !IsMarker(t.Text, p) && (text == len(t.Text) || t.Text[text] != '\t' || text-p >= t.flowIndent) // such a tab would be indentation
}
