package yaml

import "bytes"

// maxDepth bounds the nesting of flow collections that the scanner follows.
const maxDepth = 200

// flow reads the flow collection that starts at p, {...} or [...], JSON
// included, on one line or several, into the node at, whose key is set already.
// It returns the offset behind it.
func (t *Parser) flow(p, depth int, at int32) (end int, ok bool) {
	if depth > maxDepth {
		return t.invalid(p, "collections must not be nested so deeply")
	}
	outer := t.bracket
	isInner := t.inFlowStyle
	t.bracket = p
	t.inFlowStyle = true
	v := &t.Nodes[at]
	v.Kind = Sequence
	v.Style = Flow
	v.Start = int32(p)
	if t.Text[p] == '{' {
		v.Kind = Mapping
	}
	if p, ok = t.flowEntries(p, depth, at); !ok {
		return 0, false
	}
	t.Nodes[at].End = int32(p + 1)
	t.bracket = outer
	t.inFlowStyle = isInner
	return p + 1, true
}

// flowEntries reads the entries or items of the collection at, whose bracket is at start, and
// returns the offset of the closing one.
func (t *Parser) flowEntries(start, depth int, at int32) (p int, ok bool) {
	in := t.Text
	last := int32(0)
	closing := in[start] + 2 // ']' and '}' are 2 behind '[' and '{'
	p, ok = t.inFlow(start + 1)
	for ok && in[p] != closing {
		if p, last, ok = t.flowEntry(p, depth, at, last); !ok {
			break
		}
		if p, ok = t.inFlow(p); !ok || in[p] == closing {
			break
		}
		if in[p] != ',' {
			return t.invalid(p, "a comma or a closing bracket must come here")
		}
		p, ok = t.inFlow(p + 1)
	}
	return p, ok
}

// inFlow skips white space, line ends and comments. Something must follow, at least the
// bracket that closes the innermost collection.
func (t *Parser) inFlow(p int) (int, bool) {
	p, ok := flowSpace(t.Text, p)
	if !ok || p >= len(t.Text) {
		return t.invalid(t.bracket, unclosed)
	}
	return p, true
}

const unclosed = "a bracket must be closed before the document ends"

// flowEntry reads the entry or item at p of the collection at, whose last one was last. It
// returns the offset behind it, and its node.
func (t *Parser) flowEntry(p, depth int, at, last int32) (end int, n int32, ok bool) {
	isMap := t.Nodes[at].Kind == Mapping
	if isMap &&
		t.Text[p] == '?' &&
		IsBlank(t.Text, p+1) {
		t.readOnly(p, "a key behind a question mark")
		if p, ok = t.inFlow(p + 1); !ok {
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
func (t *Parser) flowPair(start, p, depth int, n int32, isMap bool) (end int, ok bool) {
	in := t.Text
	colon := SkipBlanks(in, p)
	hasColon := colon < len(in) && in[colon] == ':'
	if !isMap && !hasColon {
		return p, true
	}
	v := &t.Nodes[n]
	isPlain := v.Style == Plain
	if v.Kind != Scalar { // a template in braces, most likely
		t.readOnly(start, NotKey)
	}
	t.Nodes = t.Nodes[:n+1]
	entry := n
	if v.Marks, v.Child = 0, 0; isMap {
		v.Kind = Scalar
		v.Style = Absent
		v.KeyEnd = int32(p)
	} else {
		t.readOnly(start, "a pair in brackets without braces")
		v.Kind = Mapping
		v.Style = Flow
		v.Start = int32(start)
		entry = t.add(n, 0, 0, start, p, p)
	}
	t.markKey(entry, start, start+ContentStart(in[start:p]), p)
	if !hasColon {
		t.readOnly(start, "a key without a colon")
		v.Marks |= specialKey
		v.Start = int32(p)
		v.End = int32(p)
		return p, true
	}
	if isPlain && hasBreak(in[start:colon]) {
		return t.missingComma(colon)
	}
	if !isShortKey(in[start:colon]) {
		return t.invalid(start, longKey)
	}
	value, ok := t.inFlow(colon + 1)
	if !ok {
		return 0, false
	}
	if endsFlowItem(in[value]) {
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
func (t *Parser) flowValue(p, depth int, me int32) (end int, ok bool) {
	in := t.Text
	start := p
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
		if end, ok = flowQuoted(t, p); !ok {
			return 0, false
		}
		how = StyleOf(View(in[p:end]))
	case c == '*' && p > start:
		return t.invalid(p, aliasProperties)
	case c == '*':
		if end, ok = t.alias(p); !ok {
			return 0, false
		}
		t.Nodes[me].Marks |= IsAlias
	case p > start && endsFlowItem(c):
		end = trimEnd(in, p) // only an anchor or a tag
	default:
		if end, ok = t.flowPlain(p); !ok {
			return 0, false
		}
	}
	v := &t.Nodes[me]
	v.Style = how
	v.Start = int32(start)
	v.End = int32(end)
	return end, true
}

// flowQuoted returns the end of the text in quotes at p.
func flowQuoted(t *Parser, p int) (end int, ok bool) {
	if end, ok = quotedEnd(t.Text, p); !ok {
		return t.invalid(p, "a text in quotes has no end, or a bad escape")
	}
	if !t.isJSON && hasJSONEscape(t.Text[p:end]) {
		return t.invalid(p, ofJSON)
	}
	if t.isJSON && isFoldedByYAML(t, p, end) {
		t.readOnly(p, FoldedByYAML)
	}
	return end, true
}

// FoldedByYAML is the form of a text that two parsers read as two texts.
const FoldedByYAML = "a line break in quotes that parsers of JSON keep and those of YAML fold"

// isFoldedByYAML reports whether a text in quotes may be JSON, and has a line break that YAML reads as another text.
// JSON has no LF and CR in texts, and no other line breaks.
func isFoldedByYAML(t *Parser, start, end int) bool {
	in := t.In[start:end]
	text := t.Text[start:end]
	key := t.Nodes[t.Nodes[1].Child].Key // the first of the root
	return in[0] == '"' &&
		t.Text[key] == '"' &&
		hasBreak(text) &&
		!bytes.ContainsAny(in, "\n\r") &&
		!bytes.Equal(foldLines(text, Double), in)
}

// flowProperties reads the anchor and the tag at p, if there are any, of the node me, and
// returns the offset of its value.
func (t *Parser) flowProperties(p int, me int32) (value int, ok bool) {
	if c := t.Text[p]; c != '&' && c != '!' {
		return p, true
	}
	if value, ok = t.properties(p); !ok {
		return 0, false
	}
	t.Nodes[me].Marks |= HasProperties
	return t.inFlow(value)
}

func hasBreak(b []byte) bool {
	return bytes.IndexByte(b, '\n') >= 0
}

// flowSpace skips white space, line ends and comments; ok is false at a
// document marker.
func flowSpace(in []byte, p int) (int, bool) {
	for p < len(in) {
		switch in[p] {
		case ' ', '\t', '\r', lineSeparator[0], paragraphSeparator[0]:
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
// collection, which may go over several lines.
func (t *Parser) flowPlain(p int) (end int, ok bool) {
	in := t.Text
	start := p
	if !plainStart(in, p) || in[p] == ':' {
		return t.invalid(p, mustQuote(in[p]))
	}
	for end = p; p < len(in); {
		switch c := in[p]; {
		case isColon(in, p), c == '#' && IsBlank(in, p-1), endsFlowItem(c):
			return end, true
		case c == '\n' && !t.flowGoesOn(p+1):
			return t.endOfPlain(p + 1)
		case c == '[' || c == '{' || c == '?':
			return t.indicatorInPlain(start, p)
		case IsBlank(in, p):
			p++
		default:
			p++
			end = p
		}
	}
	return t.invalid(t.bracket, unclosed)
}

// indicatorInPlain refuses the indicator at p in a plain scalar.
func (t *Parser) indicatorInPlain(start, p int) (int, bool) {
	if hasBreak(t.Text[start:p]) {
		return t.missingComma(p)
	}
	return t.invalid(p, "a text with this character must be in quotes")
}

// endOfPlain refuses a plain scalar that does not go on in the line that starts at p.
func (t *Parser) endOfPlain(p int) (int, bool) {
	if IsMarker(t.Text, p) {
		return t.invalid(t.bracket, unclosed)
	}
	return t.invalid(p, "a tab must not be indentation")
}

// missingComma refuses what goes on in the line of an offset, and cannot: nearly always the line
// above lacks its end.
func (t *Parser) missingComma(p int) (int, bool) {
	return t.invalid(SkipBlanks(t.Text, LineStart(t.Text, p)), "a comma or a closing bracket must come before this line")
}

// flowGoesOn reports whether a plain scalar may go on in the line that starts at p.
func (t *Parser) flowGoesOn(p int) bool {
	if IsMarker(t.Text, p) {
		return false
	}
	text := SkipSpaces(t.Text, p)
	isIndentation := text-p < t.flowIndent
	return text == len(t.Text) ||
		t.Text[text] != '\t' ||
		!isIndentation
}
