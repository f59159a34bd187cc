package manifest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"

	"go.yaml.in/yaml/v3"
)

// The scanner reads the YAML that people and tools really write: block
// mappings and sequences, scalars of all styles, flow collections and JSON.
// It accepts a text only where it is sure to read it as a full parser does
// (FuzzFastAgreesWithTheFullParser holds it to that); all else it refuses,
// and the full parser takes over: anchors, aliases, tags, merge keys, complex
// keys, directives, tabs as indentation and whatever is odd or wrong.
//
// It runs in two ways over the same code: to skim (find the items of a list
// and the apiVersion and kind of each, without building anything) and to
// build the tree of one object.

// A kind is what a node is.
type kind uint8

const (
	scalar kind = iota + 1
	mapping
	sequence
)

// A style is how a node is written.
type style uint8

const (
	absent  style = iota // no text at all: null
	plain                // scalars, here and below
	single               // '...'
	double               // "..."
	literal              // |
	folded               // >
	block                // collections, here and below
	flow                 // {...}, [...]
)

// A node is a value, together with the key or the dash it stands behind.
// Offsets count from the start of the tree's text.
type node struct {
	kind  kind
	style style
	// col is, for a block collection, the column of its keys or dashes; for a
	// block scalar, the column of its lines; for other scalars, that of the
	// block collection it is in.
	col         int32
	key, keyEnd int32 // the key with its quotes, or the dash
	start, end  int32 // the value, without comments and line end
	child, next int32 // first child and next sibling; 0 is none
}

// A span is a part of a text.
type span struct{ start, end int }

// An entry is a key of a document's root that the reader wants to know more
// about. Its value is absent where start is 0.
type entry struct {
	key        int // where the key starts; -1 where the root has no such key
	keyEnd     int // behind the colon
	start, end int // the value
	col        int // the column of its keys or dashes; -1 where not block style
}

// A docInfo is what skimming tells about a mapping: a document, or an item of
// its list, of which there may be many.
type docInfo struct {
	*rootInfo            // nil for an item
	start, col       int // of the first key, or of the brace
	end              int // behind the last content
	flow             bool
	dash             int  // of an item of a block list
	notMapping       bool // an item that is something else
	apiVersion, kind span
	hasAPI, hasKind  bool
	slow             *slowInfo // nil where the scanner has read it
	same             *Object   // the known object that it is
}

// A rootInfo is what skimming tells about a document besides.
type rootInfo struct {
	items          entry
	functionConfig entry
	results        entry
	list           []docInfo // the items
}

// A slowInfo is what is known where the full parser had to read a mapping.
type slowInfo struct {
	apiVersion, kind string
	shared           string     // an anchor that the item shares with others
	node             *yaml.Node // the item, where it shares an anchor
}

// newDocInfo gives an empty one for a document.
func newDocInfo() docInfo { return docInfo{rootInfo: &rootInfo{}} }

// reset makes it empty; the memory of the list is used again.
func (d *docInfo) reset() {
	root := d.rootInfo
	*root = rootInfo{list: root.list[:0]}
	*d = docInfo{rootInfo: root}
}

// slowly gives the place for what the full parser tells.
func (d *docInfo) slowly() *slowInfo {
	if d.slow == nil {
		d.slow = &slowInfo{}
	}
	return d.slow
}

type frame struct {
	col  int
	seq  bool
	node int32
	last int32
}

type scanner struct {
	in    []byte
	why   string // why the text was refused
	build bool
	nodes []node
	stack []frame
	rec   *docInfo            // where skimming notes what it finds
	odd   int                 // when skimming: the next line break that only the full parser knows
	items int                 // how many items a list may have; 0 if nothing is known
	known func(p int) *Object // when skimming an output: the untouched object whose text is at p
	wide  bool                // sequences have been seen that are indented under their key
}

func (s *scanner) refuse(why string) (int, bool) {
	s.why = why
	return 0, false
}

// skipSpaces gives the offset of the first byte from p on that is no space.
func skipSpaces(in []byte, p int) int {
	for p+8 <= len(in) {
		x := binary.LittleEndian.Uint64(in[p:]) ^ 0x2020202020202020
		if x != 0 {
			return p + bits.TrailingZeros64(x)>>3
		}
		p += 8
	}
	for p < len(in) && in[p] == ' ' {
		p++
	}
	return p
}

// lineEnd gives the offset of the next line feed, or the end of the text.
func lineEnd(in []byte, p int) int {
	if i := bytes.IndexByte(in[p:], '\n'); i >= 0 {
		return p + i
	}
	return len(in)
}

// trimEnd gives the end of the content of a line that ends at e.
func trimEnd(in []byte, p, e int) int {
	for e > p && (in[e-1] == ' ' || in[e-1] == '\r' || in[e-1] == '\t') {
		e--
	}
	return e
}

// atBreak tells whether a line ends at p.
func atBreak(in []byte, p int) bool {
	return p >= len(in) || in[p] == '\n' || in[p] == '\r' && p+1 < len(in) && in[p+1] == '\n'
}

// isBlank tells whether p is at white space or the end.
func isBlank(in []byte, p int) bool {
	return p >= len(in) || in[p] == ' ' || in[p] == '\n' || in[p] == '\t' || in[p] == '\r'
}

// isMarker tells whether a line that starts at p starts or ends a document.
func isMarker(in []byte, p int) bool {
	if len(in)-p < 3 {
		return false
	}
	c := in[p]
	return (c == '-' || c == '.') && in[p+1] == c && in[p+2] == c && isBlank(in, p+3)
}

// scan reads a block mapping whose first key stands at p, in column col, and
// gives the offset where it ends: that of a document marker or the end.
func (s *scanner) scan(p, col int) (int, bool) { return s.run(p, col, false) }

// run is scan, or, to resume when skimming, goes on at the start of a line
// behind an item.
func (s *scanner) run(p, col int, resume bool) (int, bool) {
	in := s.in
	n := len(in)
	ls := p - col
	st := s.stack[:0]
	lastEnd := p
	pend := false   // a key or dash waits for its value
	more := false   // the last value is a plain scalar that may go on
	cur := int32(0) // the node that waits, or that may go on
	topCol := -1    // the column of the innermost collection
	var rec = s.rec // nil when building
	// What matters near the root only: as one struct it stays out of the way
	// of what every line needs.
	var near struct {
		started bool     // the root's first key has been seen
		fixed   bool     // the last key's value must end on its line
		inItems bool     // the open root entry is items
		ent     *entry   // the root entry whose value comes next
		root    *entry   // the root entry that is open
		item    *docInfo // the open item
	}

	if resume {
		near.started, near.inItems, near.root = true, true, &rec.items
		topCol = rec.items.col
		st = append(st, frame{col: rec.col}, frame{col: topCol, seq: true})
		lastEnd = trimEnd(in, rec.start, p-1)
		ls = p
		p = skipSpaces(in, p)
	}

	// What was the first line may have been deleted, and a blank one be first.
	p = skipSpaces(in, p)
line:
	for p < n {
		c := in[p]
		if c <= ' ' {
			switch {
			case c == '\n':
				ls = p + 1
			case c == '\r' && p+1 < n && in[p+1] == '\n':
				ls = p + 2
			default:
				return s.refuse("tab or control character as indentation")
			}
			p = skipSpaces(in, ls)
			continue
		}
		if c == '#' {
			more = false
			ls = lineEnd(in, p) + 1
			if ls > n {
				p = n
				break
			}
			p = skipSpaces(in, ls)
			continue
		}
		col = p - ls
		if col == 0 && (c == '-' || c == '.') && isMarker(in, p) {
			break
		}
		if more && col > topCol {
			if near.fixed {
				return s.refuse("apiVersion or kind on several lines")
			}
			eol, e, comment, ok := plainLine(in, p)
			if !ok {
				return s.refuse("colon or comment in a plain scalar of several lines")
			}
			more = !comment
			lastEnd = e
			if s.build {
				s.nodes[cur].end = int32(e)
			}
			ls = eol + 1
			if ls > n {
				p = n
				break
			}
			p = skipSpaces(in, ls)
			continue
		}
		more = false
		inline := false

		for c == '-' && isBlank(in, p+1) {
			// A dash.
			if !inline {
				popped := false
				for len(st) > 0 && st[len(st)-1].col > col {
					if s.build {
						s.nodes[st[len(st)-1].node].end = int32(lastEnd)
					}
					st = st[:len(st)-1]
					popped = true
				}
				if popped {
					pend = false
				}
			}
			if len(st) == 0 {
				return s.refuse("sequence at the root")
			}
			top := &st[len(st)-1]
			if inline || !(top.seq && top.col == col) {
				if !pend || top.col > col || top.seq && top.col == col {
					return s.refuse("misplaced dash")
				}
				if near.fixed {
					return s.refuse("apiVersion or kind is a sequence")
				}
				if !top.seq && top.col < col {
					s.wide = true
				}
				if near.ent != nil {
					near.ent.start, near.ent.col = p, col
					near.ent = nil
				}
				if s.build {
					v := &s.nodes[cur]
					v.kind, v.style, v.col, v.start = sequence, block, int32(col), int32(p)
				}
				st = append(st, frame{col: col, seq: true, node: cur})
				top = &st[len(st)-1]
			}
			topCol = col
			lastEnd = p + 1
			pend, near.fixed = true, false
			if s.build {
				cur = s.add(top, col, p, p+1, p+1)
			} else if near.inItems && len(st) == 2 {
				if s.odd < ls {
					return s.refuse("odd line break")
				}
				if near.item != nil {
					near.item.end = ls
				}
				if rec.list == nil {
					// If nothing is known: as if objects had 1 KiB on average.
					rec.list = make([]docInfo, 0, cmp.Or(s.items, max(4, min(n>>10, 4096))))
				}
				rec.list = append(rec.list, docInfo{start: p, dash: p, end: -1, notMapping: true})
				near.item = &rec.list[len(rec.list)-1]
				if s.known != nil {
					if q := skipSpaces(in, p+1); s.stepItem(near.item, q, q-ls) {
						ls, near.item, pend = near.item.end, nil, false
						lastEnd = trimEnd(in, q, ls)
						p = skipSpaces(in, ls)
						continue line
					}
				}
			}
			p = skipSpaces(in, p+1)
			if p < n && in[p] == '\t' {
				return s.refuse("tab after a dash")
			}
			inline = true
			if atBreak(in, p) || in[p] == '#' {
				break
			}
			c = in[p]
			col = p - ls
		}
		if inline && (atBreak(in, p) || in[p] == '#') {
			continue // p is at the break or the comment: the top of the loop steps over it
		}

		keyEnd, isKey, ok := scanKey(in, p)
		if !ok {
			return s.refuse("unusual key")
		}
		if isKey {
			if !inline {
				popped := false
				for len(st) > 0 && (st[len(st)-1].col > col || st[len(st)-1].seq && st[len(st)-1].col == col && len(st) > 1) {
					if s.build {
						s.nodes[st[len(st)-1].node].end = int32(lastEnd)
					}
					st = st[:len(st)-1]
					popped = true
				}
				if popped {
					pend = false
				}
			}
			var top *frame
			if len(st) > 0 {
				top = &st[len(st)-1]
			}
			switch {
			case top == nil:
				if near.started {
					return s.refuse("key outside of the root's column")
				}
				if s.build {
					cur = int32(len(s.nodes))
					s.nodes = append(s.nodes, node{kind: mapping, style: block, col: int32(col), key: int32(p), keyEnd: int32(p), start: int32(p)})
				} else {
					rec.start, rec.col = p, col
				}
				near.started = true
				st = append(st, frame{col: col, node: cur})
				top = &st[0]
			case !inline && !top.seq && top.col == col:
			case pend && col > top.col && !near.fixed:
				if s.build {
					v := &s.nodes[cur]
					v.kind, v.style, v.col, v.start = mapping, block, int32(col), int32(p)
				} else {
					if near.ent != nil {
						near.ent.start, near.ent.col = p, col
					}
					if near.item != nil && len(st) == 2 {
						near.item.start, near.item.col, near.item.notMapping = p, col, false
					}
				}
				st = append(st, frame{col: col, node: cur})
				top = &st[len(st)-1]
			default:
				return s.refuse("misplaced key")
			}
			topCol = col
			near.fixed, near.ent = false, nil
			var want *span
			if s.build {
				cur = s.add(top, col, p, keyEnd, keyEnd+1)
			} else if len(st) == 1 {
				if s.odd < ls {
					return s.refuse("odd line break")
				}
				if near.item != nil {
					near.item.end, near.item = ls, nil
				}
				if near.root != nil {
					near.root.end = lastEnd
					near.root = nil
				}
				near.inItems = false
				if want, near.ent, ok = rec.note(in, p, keyEnd); !ok {
					return s.refuse("duplicate key at the root")
				}
				near.root = near.ent
				near.inItems = near.ent == &rec.items
			} else if near.inItems && len(st) == 3 && near.item != nil && (keyEnd-p == 4 || keyEnd-p == 10 || in[p] == '"' || in[p] == '\'') {
				if want, _, ok = near.item.note(in, p, keyEnd); !ok {
					return s.refuse("duplicate key in an item")
				}
			}
			near.fixed = want != nil
			lastEnd = keyEnd + 1
			pend = true
			p = keyEnd + 1
			if p+1 < n && in[p] == ' ' && in[p+1] > ' ' && in[p+1] != '#' {
				p++ // nearly always
			} else {
				p = skipSpaces(in, p)
				if atBreak(in, p) || in[p] == '#' {
					continue
				}
			}
			if in[p] == '\t' {
				return s.refuse("tab after a key")
			}
			if want != nil {
				eol, e, sp, ok := shortValue(in, p)
				if !ok {
					return s.refuse("unusual apiVersion or kind")
				}
				*want = sp
				pend, more, lastEnd = false, in[p] != '"' && in[p] != '\'' && e == trimEnd(in, p, eol), e
				ls = eol + 1
				if ls > n {
					p = n
					break
				}
				p = skipSpaces(in, ls)
				continue
			}
			inline = true
		} else if len(st) == 0 || !pend || near.fixed || p-ls <= topCol {
			return s.refuse("misplaced scalar")
		}

		// A value, behind its key or dash or on a line of its own.
		c = in[p]
		start, is, how := p, scalar, double
		if near.ent != nil {
			near.ent.start, near.ent.col = p, -1
		}
		var e int
		switch c {
		case '"', '\'':
			e, ok = quotedEnd(in, p)
			if !ok {
				return s.refuse("unusual or unclosed quoted scalar")
			}
			if c == '\'' {
				how = single
			}
		case '{', '[':
			if p+1 < n && in[p+1] == c+2 { // empty: ']' and '}' are 2 behind '[' and '{'
				e = p + 2
				is, how = mapping, flow
				if c == '[' {
					is = sequence
				}
				if near.item != nil && len(st) == 2 {
					near.item.start, near.item.end, near.item.flow, near.item.notMapping = p, e, true, c == '['
					near.item = nil
				}
				break
			}
			var frec *docInfo
			if near.ent != nil && near.inItems && c == '[' {
				frec = rec
			} else if near.item != nil && len(st) == 2 {
				frec = near.item
				near.item.start, near.item.flow, near.item.notMapping = p, true, c == '['
			}
			if e, ok = s.flow(p, 0, cur, frec); !ok {
				return 0, false
			}
			if near.item != nil && len(st) == 2 {
				near.item.end, near.item = e, nil
			}
			is = 0 // flow has filled the node in
		case '|', '>':
			if !inline {
				return s.refuse("block scalar header on a line of its own")
			}
			next, end, ind, ok := blockScalar(in, p, topCol)
			if !ok {
				return s.refuse("unusual block scalar")
			}
			lastEnd = end
			pend, near.ent = false, nil
			if s.build {
				w := &s.nodes[cur]
				w.style, w.start, w.end, w.col = literal, int32(p), int32(end), int32(ind)
				if c == '>' {
					w.style = folded
				}
			}
			ls = next
			p = skipSpaces(in, ls)
			continue
		default:
			if (!keyChar[c] || c == '-') && !plainStart(in, p) {
				return s.refuse("anchor, alias, tag or indicator")
			}
			eol, end, comment, ok := plainLine(in, p)
			if !ok {
				return s.refuse("colon in a plain scalar")
			}
			if s.build {
				w := &s.nodes[cur]
				w.style, w.start, w.end, w.col = plain, int32(p), int32(end), int32(topCol)
			}
			lastEnd = end
			pend, more, near.ent = false, !comment, nil
			ls = eol + 1
			if ls > n {
				p = n
				continue
			}
			p = skipSpaces(in, ls)
			continue
		}
		if s.build && is != 0 {
			w := &s.nodes[cur]
			w.kind, w.style, w.start, w.end, w.col = is, how, int32(start), int32(e), 0
			if is == scalar {
				w.col = int32(topCol)
			}
		}
		lastEnd = e
		pend, near.ent = false, nil
		q := skipSpaces(in, e)
		if !atBreak(in, q) && (in[q] != '#' || q == e) {
			return s.refuse("text behind a value")
		}
		p = q
	}

	if len(st) == 0 {
		return s.refuse("no mapping")
	}
	if s.build {
		for len(st) > 0 {
			s.nodes[st[len(st)-1].node].end = int32(lastEnd)
			st = st[:len(st)-1]
		}
	} else {
		if p > n {
			p = n
		}
		if s.odd < p {
			return s.refuse("odd line break")
		}
		if near.item != nil {
			near.item.end = p
		}
		if near.root != nil {
			near.root.end = lastEnd
		}
		rec.end = lastEnd
	}
	return p, true
}

// stepItem notes the item whose value starts at p, in column col, if it is a
// known one that ends its last line.
func (s *scanner) stepItem(it *docInfo, p, col int) bool {
	o := s.known(p)
	if o == nil || o.col != col || s.in[p] == '{' {
		return false
	}
	end := p + o.end - o.start
	if end < len(s.in) && s.in[end-1] != '\n' {
		return false
	}
	it.start, it.col, it.end, it.notMapping, it.same = p, col, end, false, o
	return true
}

// add appends a child, an absent value as yet, to the collection of the frame.
func (s *scanner) add(f *frame, col, key, keyEnd, value int) int32 {
	i := int32(len(s.nodes))
	if len(s.nodes) < cap(s.nodes) {
		s.nodes = s.nodes[:i+1]
	} else {
		s.nodes = append(s.nodes, node{})
	}
	v := &s.nodes[i] // set in place: to copy a node takes longer
	v.kind, v.style, v.col = scalar, absent, int32(col)
	v.key, v.keyEnd = int32(key), int32(keyEnd)
	v.start, v.end = int32(value), int32(value)
	v.child, v.next = 0, 0
	if f.last == 0 {
		s.nodes[f.node].child = i
	} else {
		s.nodes[f.last].next = i
	}
	f.last = i
	return i
}

// note says where the value of a root key is to be noted; ok is false where
// the key is there already.
func (d *docInfo) note(in []byte, p, end int) (want *span, ent *entry, ok bool) {
	start := p
	if in[p] == '"' || in[p] == '\'' {
		p, end = p+1, end-1
	}
	switch string(in[p:end]) {
	case "apiVersion":
		ok = !d.hasAPI
		d.hasAPI = true
		return &d.apiVersion, nil, ok
	case "kind":
		ok = !d.hasKind
		d.hasKind = true
		return &d.kind, nil, ok
	}
	if d.rootInfo == nil {
		return nil, nil, true
	}
	switch string(in[p:end]) {
	case "items":
		ent = &d.items
	case "functionConfig":
		ent = &d.functionConfig
	case "results":
		ent = &d.results
	default:
		return nil, nil, true
	}
	if ent.keyEnd != 0 {
		return nil, nil, false
	}
	ent.key, ent.keyEnd = start, end+1
	if start != p {
		ent.keyEnd++
	}
	return nil, ent, true
}

// keyChar holds what a plain key is made of nearly always.
var keyChar = func() (t [256]bool) {
	for c := range 256 {
		t[c] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '/' || c == '_' || c == '-' || c == '$'
	}
	return
}()

// The full parser looks for a key's colon in the next 1024 characters.
const maxKey = 1000

// scanKey tells whether a key starts at p, and where it ends (at its colon).
func scanKey(in []byte, p int) (end int, isKey, ok bool) {
	q := p
	if keyChar[in[p]] && (in[p] != '-' || !isBlank(in, p+1)) {
		q = wordEnd(in, p)
		if q < len(in) && in[q] == ':' && isBlank(in, q+1) && q-p < maxKey {
			return q, true, true
		}
	}
	switch c := in[p]; c {
	case '"', '\'':
		eol := lineEnd(in, p)
		i := bytes.IndexByte(in[p+1:eol], c)
		if i < 0 {
			return 0, false, true
		}
		q = p + 1 + i
		if c == '"' && bytes.IndexByte(in[p:q], '\\') >= 0 {
			// An escape in a value is fine, but this might be a key.
			e, ok := quotedEnd(in, p)
			return 0, false, ok && !followedByColon(in, e)
		}
		if c == '\'' && q+1 < len(in) && in[q+1] == '\'' {
			e, ok := quotedEnd(in, p)
			return 0, false, ok && !followedByColon(in, e)
		}
		q++
		if q < len(in) && in[q] == ':' && isBlank(in, q+1) {
			return q, true, q-p < maxKey
		}
		return 0, false, !followedByColon(in, q)
	case '{', '[', '|', '>', '#', '&', '*', '!', '%', '@', '`', ',', ']', '}':
		return 0, false, true
	case '?', ':', '-':
		if isBlank(in, p+1) {
			return 0, false, false
		}
	}
	eol := lineEnd(in, p)
	for q = p; q < eol; q++ {
		switch in[q] {
		case ':':
			if isBlank(in, q+1) {
				merge := q == p+2 && in[p] == '<' && in[p+1] == '<'
				return q, true, !merge && in[q-1] != ' ' && q-p < maxKey && bytes.IndexByte(in[p:q], '\t') < 0
			}
		case '#':
			if in[q-1] == ' ' || in[q-1] == '\t' {
				return 0, false, true
			}
		}
	}
	return 0, false, true
}

func followedByColon(in []byte, p int) bool {
	for p < len(in) && (in[p] == ' ' || in[p] == '\t') {
		p++
	}
	return p < len(in) && in[p] == ':'
}

// plainStart tells whether a plain scalar may start at p (in block style).
func plainStart(in []byte, p int) bool {
	switch in[p] {
	case '&', '*', '!', '%', '@', '`', ',', '[', ']', '{', '}', '|', '>', '#', '"', '\'':
		return false
	case '-', '?', ':':
		return !isBlank(in, p+1)
	}
	return true
}

// plainLine reads a line of a plain scalar: where the line and its content
// end, and whether a comment follows; ok is false where it is not one.
func plainLine(in []byte, p int) (eol, end int, comment, ok bool) {
	for q := p; ; q++ {
		q = nextSpecial(in, q)
		switch {
		case q >= len(in) || in[q] == '\n':
			return q, trimEnd(in, p, q), false, true
		case in[q] == ':':
			if isBlank(in, q+1) {
				return 0, 0, false, false
			}
		case q == p:
			return 0, 0, false, false
		case in[q-1] == ' ' || in[q-1] == '\t':
			return lineEnd(in, q), trimEnd(in, p, q), true, true
		}
	}
}

// wordEnd gives the offset of the next colon or white space from p on, or the
// end of the text. (A number sign before it starts no comment.)
func wordEnd(in []byte, p int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for p+8 <= len(in) {
		x := binary.LittleEndian.Uint64(in[p:])
		colon := x ^ ':'*ones
		// The lowest high bit marks the first byte that is a colon or below '!'.
		if hit := ((colon-ones)&^colon | (x-'!'*ones)&^x) & highs; hit != 0 {
			return p + bits.TrailingZeros64(hit)>>3
		}
		p += 8
	}
	for p < len(in) && in[p] > ' ' && in[p] != ':' {
		p++
	}
	return p
}

// nextSpecial gives the offset of the next line feed, colon or number sign
// from p on, or the end of the text.
func nextSpecial(in []byte, p int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for p+8 <= len(in) {
		x := binary.LittleEndian.Uint64(in[p:])
		feed, colon, sign := x^'\n'*ones, x^':'*ones, x^'#'*ones
		// The lowest high bit marks the first byte that is zero in one.
		if hit := ((feed-ones)&^feed | (colon-ones)&^colon | (sign-ones)&^sign) & highs; hit != 0 {
			return p + bits.TrailingZeros64(hit)>>3
		}
		p += 8
	}
	for p < len(in) && in[p] != '\n' && in[p] != ':' && in[p] != '#' {
		p++
	}
	return p
}

// shortValue reads the value of an apiVersion or a kind: a scalar without
// escapes on one line. It gives the line's end, that of the value with its
// quotes, and the text within.
func shortValue(in []byte, p int) (eol, end int, text span, ok bool) {
	c := in[p]
	if c == '"' || c == '\'' {
		eol = lineEnd(in, p)
		i := bytes.IndexByte(in[p+1:eol], c)
		if i < 0 || bytes.IndexByte(in[p+1:p+1+i], '\\') >= 0 {
			return 0, 0, text, false
		}
		end = p + i + 2
		q := skipSpaces(in, end)
		if !atBreak(in, q) && (in[q] != '#' || q == end) {
			return 0, 0, text, false
		}
		return eol, end, span{p + 1, end - 1}, true
	}
	if !plainStart(in, p) {
		return 0, 0, text, false
	}
	eol, end, _, ok = plainLine(in, p)
	return eol, end, span{p, end}, ok
}

// quotedEnd gives the end of the quoted scalar that starts at p. It may go
// over several lines; an unknown escape or a document marker is not accepted.
func quotedEnd(in []byte, p int) (int, bool) {
	c := in[p]
	start := p
	p++
	if c == '\'' {
		for {
			i := bytes.IndexByte(in[p:], '\'')
			if i < 0 {
				return 0, false
			}
			p += i + 1
			if p < len(in) && in[p] == '\'' {
				p++
				continue
			}
			return p, !holdsMarker(in[start:p])
		}
	}
	for {
		i := bytes.IndexByte(in[p:], '"')
		if i < 0 {
			return 0, false
		}
		j := bytes.IndexByte(in[p:p+i], '\\')
		if j < 0 {
			p += i + 1
			return p, !holdsMarker(in[start:p])
		}
		p += j + 1
		n := escapeLen(in, p)
		if n == 0 {
			return 0, false
		}
		p += n
	}
}

// holdsMarker tells whether a line of the text (not the first) looks like
// the start or the end of a document.
func holdsMarker(text []byte) bool {
	for {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			return false
		}
		text = text[i+1:]
		if isMarker(text, 0) {
			return true
		}
	}
}

// escapeLen gives the length of the escape whose backslash is before p, 0
// where it is unknown.
func escapeLen(in []byte, p int) int {
	if p >= len(in) {
		return 0
	}
	digits := 0
	switch in[p] {
	case '0', 'a', 'b', 't', 'n', 'v', 'f', 'r', 'e', ' ', '"', '/', '\\', 'N', '_', 'L', 'P', '\t', '\n':
		return 1
	case '\r':
		if p+1 < len(in) && in[p+1] == '\n' {
			return 2
		}
		return 0
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		return 0
	}
	if p+1+digits > len(in) {
		return 0
	}
	for _, c := range in[p+1 : p+1+digits] {
		if hexDigit(c) < 0 {
			return 0
		}
	}
	return 1 + digits
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// blockScalar reads a literal or folded scalar whose header is at p, inside a
// collection in column parent: where the next line starts, where the content
// ends, and the column of its lines (-1 where there are none).
func blockScalar(in []byte, p, parent int) (next, end, indent int, ok bool) {
	n := len(in)
	p++
	keep, chomp := false, false
	indent = -1
	for i := 0; i < 2 && p < n; i++ {
		switch c := in[p]; {
		case (c == '+' || c == '-') && !chomp:
			keep, chomp = c == '+', true
			p++
		case c >= '1' && c <= '9' && indent < 0:
			indent = parent + int(c-'0')
			p++
		}
	}
	end = p
	q := skipSpaces(in, p)
	if !atBreak(in, q) && (q == p || in[q] != '#') {
		return 0, 0, 0, false
	}
	ls := lineEnd(in, q) + 1
	if ls > n {
		return 0, 0, 0, false // the text ends without a line feed
	}
	widest := 0
	found := false
	for ls < n {
		q = skipSpaces(in, ls)
		if atBreak(in, q) && (indent < 0 || q-ls <= indent) {
			if q >= n {
				return 0, 0, 0, false
			}
			widest = max(widest, q-ls)
			ls = lineEnd(in, q) + 1
			if keep {
				end = ls - 1
			}
			continue
		}
		if !found && indent < 0 {
			if q-ls <= parent || isMarkerAt(in, ls, q) {
				break
			}
			if in[q] == '\t' || widest > q-ls {
				return 0, 0, 0, false
			}
			indent = q - ls
		}
		if q-ls < indent || isMarkerAt(in, ls, q) {
			if in[q] == '\t' || q-ls > parent && in[q] != '#' {
				return 0, 0, 0, false
			}
			break
		}
		found = true
		e := lineEnd(in, q)
		if e >= n {
			return 0, 0, 0, false
		}
		ls = e + 1
		end = e
		if in[e-1] == '\r' {
			end--
		}
	}
	if !found && keep && widest > 0 {
		return 0, 0, 0, false
	}
	return ls, end, indent, true
}

func isMarkerAt(in []byte, ls, q int) bool { return ls == q && isMarker(in, q) }
