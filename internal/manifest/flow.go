package manifest

// maxDepth bounds the nesting of flow collections that the scanner follows.
const maxDepth = 200

// flow reads a flow collection that starts at p: {...} or [...], JSON among
// them, on one line or several. When building, it fills in the node at, which
// has its key already. When skimming, it notes in rec, where that is not nil,
// what the mapping holds, or the items of the sequence.
func (s *scanner) flow(p, depth int, at int32, rec *docInfo) (int, bool) {
	if depth > maxDepth {
		return s.refuse("deeply nested")
	}
	in := s.in
	isMap := in[p] == '{'
	closing := in[p] + 2
	start := p
	var last int32
	p, ok := flowSpace(in, p+1)
	for first := true; ; first = false {
		if !ok || p >= len(in) {
			return s.refuse("unclosed or unusual flow collection")
		}
		if in[p] == closing {
			if !first {
				return s.refuse("comma before a closing bracket")
			}
			break
		}
		v := node{kind: scalar, key: int32(p), keyEnd: int32(p)}
		var want *span
		var frec *docInfo
		if isMap {
			keyEnd, colon, ok := flowKey(in, p)
			if !ok {
				return s.refuse("unusual key in a flow collection")
			}
			v.keyEnd = int32(keyEnd)
			if rec != nil {
				var ent *entry
				if want, ent, ok = rec.note(in, p, keyEnd); !ok {
					return s.refuse("duplicate key at the root")
				}
				p, ok = flowSpace(in, colon+1)
				if ent != nil {
					ent.keyEnd, ent.start, ent.col = colon+1, p, -1
					if ent == &rec.items {
						frec = rec
					}
				}
			} else {
				p, ok = flowSpace(in, colon+1)
			}
			if !ok || p >= len(in) {
				return s.refuse("unclosed or unusual flow collection")
			}
		} else if rec != nil && rec.rootInfo != nil {
			rec.list = append(rec.list, docInfo{start: p, flow: true, notMapping: in[p] != '{'})
			frec = &rec.list[len(rec.list)-1]
		}
		v.start = int32(p)
		var me int32
		if s.build {
			me = int32(len(s.nodes))
			s.nodes = append(s.nodes, v)
			if last == 0 {
				s.nodes[at].child = me
			} else {
				s.nodes[last].next = me
			}
			last = me
		}
		e := 0
		switch c := in[p]; c {
		case '{', '[':
			if want != nil {
				return s.refuse("apiVersion or kind is no string")
			}
			// Only the list of items and an item itself are looked into.
			if frec != nil && (frec == rec) != (c == '[') {
				frec = nil
			}
			if e, ok = s.flow(p, depth+1, me, frec); !ok {
				return 0, false
			}
		case '"', '\'':
			e, ok = quotedEnd(in, p)
			if !ok || hasBreak(in[p:e]) {
				return s.refuse("unusual quoted scalar in a flow collection")
			}
			if s.build {
				w := &s.nodes[me]
				w.style, w.end = double, int32(e)
				if c == '\'' {
					w.style = single
				}
			}
			if want != nil {
				_, _, sp, ok := shortFlow(in, p, e)
				if !ok {
					return s.refuse("unusual apiVersion or kind")
				}
				*want = sp
			}
		default:
			e = flowPlain(in, p)
			if e == p {
				return s.refuse("unusual scalar in a flow collection")
			}
			if s.build {
				w := &s.nodes[me]
				w.style, w.end = plain, int32(e)
			}
			if want != nil {
				*want = span{p, e}
			}
		}
		if frec != nil && frec != rec {
			frec.end = e
		}
		if isMap && rec != nil && rec.rootInfo != nil {
			for _, ent := range []*entry{&rec.items, &rec.functionConfig, &rec.results} {
				if ent.keyEnd != 0 && ent.start == int(v.start) {
					ent.end = e
				}
			}
		}
		if p, ok = flowSpace(in, e); !ok || p >= len(in) {
			return s.refuse("unclosed or unusual flow collection")
		}
		if in[p] == closing {
			break
		}
		if in[p] != ',' {
			return s.refuse("unusual text in a flow collection")
		}
		p, ok = flowSpace(in, p+1)
	}
	p++
	if s.build {
		w := &s.nodes[at]
		w.kind, w.style, w.start, w.end = sequence, flow, int32(start), int32(p)
		if isMap {
			w.kind = mapping
		}
	} else if rec != nil && isMap {
		rec.start, rec.end, rec.flow = start, p, true
	}
	return p, true
}

// shortFlow gives the text within the quotes of an apiVersion or kind.
func shortFlow(in []byte, p, e int) (int, int, span, bool) {
	for _, c := range in[p+1 : e-1] {
		if c == '\\' || c == '\'' {
			return 0, 0, span{}, false
		}
	}
	return e, e, span{p + 1, e - 1}, true
}

func hasBreak(b []byte) bool {
	for _, c := range b {
		if c == '\n' {
			return true
		}
	}
	return false
}

// flowSpace skips white space and line ends; ok is false at a document marker.
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
		default:
			return p, true
		}
	}
	return p, true
}

// flowKey reads the key of a flow mapping: its end, and its colon.
func flowKey(in []byte, p int) (end, colon int, ok bool) {
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
	if end == p || end-p >= maxKey || in[p] == '-' && end == p+1 {
		return 0, 0, false
	}
	return end, end, end < len(in) && in[end] == ':' && isBlank(in, end+1) && end+1 < len(in)
}

// flowPlain gives the end of the plain scalar that starts at p in a flow
// collection; p where it is none of the usual ones.
func flowPlain(in []byte, p int) int {
	start, end := p, p
	for p < len(in) {
		c := in[p]
		switch {
		case keyChar[c] && !(c == '-' && p == start && isBlank(in, p+1)), c >= 0x80:
		case c == '+' || c == '=' || c == '~' || c == '(' || c == ')' || c == '^' || c == ';' || c == '\\':
		case p > start && (c == '*' || c == '&' || c == '!' || c == '%' || c == '@' || c == '<' || c == '>' || c == '|'):
		case p > start && c == ':' && p+1 < len(in) && (keyChar[in[p+1]]):
		case p > start && c == ' ':
			p++
			continue
		case c == ',' || c == ']' || c == '}' || c == '\n' || c == '\r':
			return end
		default:
			return start
		}
		p++
		end = p
	}
	return start
}
