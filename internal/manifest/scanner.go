package manifest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"go.yaml.in/yaml/v3"
)

// The scanner reads the YAML that people and tools really write: block
// mappings and sequences, scalars of all styles, flow collections and JSON.
// It accepts a text only where it is sure to read it as a full parser does
// (FuzzFastAgreesWithTheFullParser holds it to that); all else it refuses,
// and the full parser takes over: anchors, aliases, tags, merge keys, complex
// keys, directives, tabs as indentation and whatever is odd or wrong.
//
// It runs in two ways over the same code: to index (find the items of a list
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

// A node is a value, together with the key or the dash before it.
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
type span struct{ start, end int32 }

// An entry is a key of a document's root that the reader wants to know more
// about. Its value is absent where start is 0.
type entry struct {
	key        int // where the key starts
	keyEnd     int // behind the colon; 0 if the root has no such key
	start, end int // the value
	col        int // the column of its keys or dashes; -1 where not block style
}

// A docInfo is what indexing finds out about a mapping: a document or an item
// of its list.
type docInfo struct {
	*rootInfo            // nil for an item, unless its own items are known
	start, col       int // of the first key, or of the brace
	end              int // behind the last content
	dash             int // of an item of a block list
	apiVersion, kind span
	hasAPI, hasKind  bool
	flow             bool
	notMapping       bool        // an item that is something else
	parsed           *parsedInfo // nil where the scanner has read it
	same             *Object     // the known object that it is
}

// A rootInfo is what indexing finds out about a document, or about an item that
// has items itself.
type rootInfo struct {
	items          entry
	functionConfig entry
	results        entry
	list           []docInfo // the items
}

// A parsedInfo is what is known where the full parser had to read a mapping.
type parsedInfo struct {
	apiVersion, kind string
	shared           string     // an anchor that the item shares with others
	node             *yaml.Node // the item, where it shares an anchor
}

// newDocInfo returns an empty docInfo for a document.
func newDocInfo() docInfo { return docInfo{rootInfo: &rootInfo{}} }

// reset makes it empty; the memory of the list is used again.
func (d *docInfo) reset() {
	root := d.rootInfo
	*root = rootInfo{list: root.list[:0]}
	*d = docInfo{rootInfo: root}
}

// addParsed returns the parsedInfo of d, and adds it first if there is none.
func (d *docInfo) addParsed() *parsedInfo {
	if d.parsed == nil {
		d.parsed = &parsedInfo{}
	}
	return d.parsed
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
	info  *docInfo            // where indexing notes what it finds
	odd   int                 // when indexing: the next line break that only the full parser knows
	items int                 // how many items a list may have; 0 if nothing is known
	known func(p int) *Object // when indexing an output: the object whose text, read before, is at p
	wide  bool                // sequences have been seen that are indented under their key
}

func (s *scanner) refuse(why string) (int, bool) {
	s.why = why
	return 0, false
}

// skipSpaces returns the offset of the first byte from p on that is no space.
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

// skipBlanks returns the offset of the first byte from p on that is neither a
// space nor a tab.
func skipBlanks(in []byte, p int) int {
	for p < len(in) && (in[p] == ' ' || in[p] == '\t') {
		p++
	}
	return p
}

// lineEnd returns the offset of the next line feed, or the end of the text.
func lineEnd(in []byte, p int) int {
	if i := bytes.IndexByte(in[p:], '\n'); i >= 0 {
		return p + i
	}
	return len(in)
}

// trimEnd returns the end of the content of a line that ends at e.
func trimEnd(in []byte, p, e int) int {
	for e > p && (in[e-1] == ' ' || in[e-1] == '\r' || in[e-1] == '\t') {
		e--
	}
	return e
}

// atBreak reports whether a line ends at p.
func atBreak(in []byte, p int) bool {
	return p >= len(in) || in[p] == '\n' || in[p] == '\r' && p+1 < len(in) && in[p+1] == '\n'
}

// isBlank reports whether p is at white space or the end.
func isBlank(in []byte, p int) bool {
	return p >= len(in) || in[p] == ' ' || in[p] == '\n' || in[p] == '\t' || in[p] == '\r'
}

// isMarker reports whether a line that starts at p starts or ends a document.
func isMarker(in []byte, p int) bool {
	if len(in)-p < 3 {
		return false
	}
	c := in[p]
	return (c == '-' || c == '.') && in[p+1] == c && in[p+2] == c && isBlank(in, p+3)
}

// scan reads the block mapping whose first key is at p, in column col, and
// returns where it ends: at a document marker or at the end.
func (s *scanner) scan(p, col int) (int, bool) { return s.run(p, col, false) }

// run is scan or, with resume, continues indexing at the start of the line behind
// an item.
func (s *scanner) run(p, col int, resume bool) (int, bool) {
	b := blockScan{s: s, in: s.in, info: s.info, lineStart: p - col, open: s.stack[:0], topCol: -1, lastEnd: p}
	if resume {
		b.resume(p)
	}
	b.p = skipSpaces(b.in, p) // what was the first line may have been deleted, and a blank one be first
	ok := b.lines()
	return b.p, ok
}

// A blockScan is the state of one pass over a block mapping.
type blockScan struct {
	s    *scanner
	in   []byte
	info *docInfo // nil when building

	p         int  // where the scan is
	lineStart int  // where its line starts
	inline    bool // a dash or key is before p on its line
	least     int  // content in a column before this one is behind the mapping

	open    []frame // the open collections, from the root on
	topCol  int     // the column of the innermost one; -1 if none is open
	lastEnd int     // behind the last content
	pending bool    // a key or dash waits for its value
	goesOn  bool    // the last value is a plain scalar, which may go on
	current int32   // the node that waits or may go on

	// When indexing, near the root:
	started   bool     // the root's first key has been seen
	oneLine   bool     // the value of the last key must end on its line
	inItems   bool     // the open root entry is items
	next      *entry   // the root entry whose value comes next
	rootEntry *entry   // the open root entry
	item      *docInfo // the open item
}

func (b *blockScan) refuse(why string) bool {
	b.s.why = why
	return false
}

// resume makes the state that of a scan behind an item.
func (b *blockScan) resume(p int) {
	b.started, b.inItems, b.rootEntry = true, true, &b.info.items
	b.topCol = b.info.items.col
	b.open = append(b.open, frame{col: b.info.col}, frame{col: b.topCol, seq: true})
	b.lastEnd = trimEnd(b.in, b.info.start, p-1)
	b.lineStart = p
}

// lines reads lines to the end of the mapping.
func (b *blockScan) lines() bool {
	for b.p < len(b.in) {
		ok := true
		switch c := b.in[b.p]; {
		case c <= ' ':
			ok = b.blankLine(c)
		case c == '#':
			b.goesOn = false
			b.nextLine(lineEnd(b.in, b.p))
		case b.p-b.lineStart < b.least:
			return b.finish(b.lineStart)
		case (c == '-' || c == '.') && b.p == b.lineStart && isMarker(b.in, b.p):
			return b.finish(b.p)
		default:
			ok = b.line()
		}
		if !ok {
			return false
		}
	}
	return b.finish(b.p)
}

// nextLine goes to the line behind the one that ends at eol.
func (b *blockScan) nextLine(eol int) {
	b.lineStart = eol + 1
	b.p = len(b.in)
	if b.lineStart <= len(b.in) {
		b.p = skipSpaces(b.in, b.lineStart)
	}
}

// blankLine ends a line without content.
func (b *blockScan) blankLine(c byte) bool {
	switch {
	case c == '\n':
		b.lineStart = b.p + 1
	case c == '\r' && b.p+1 < len(b.in) && b.in[b.p+1] == '\n':
		b.lineStart = b.p + 2
	default:
		return b.refuse("tab or control character as indentation")
	}
	b.p = skipSpaces(b.in, b.lineStart)
	return true
}

// line reads a line with content, and a value that goes over several to its
// end.
func (b *blockScan) line() bool {
	if b.goesOn && b.p-b.lineStart > b.topCol {
		return b.continuePlain()
	}
	b.goesOn, b.inline = false, false
	for b.in[b.p] == '-' && isBlank(b.in, b.p+1) {
		if known, ok := b.dash(); known || !ok {
			return ok
		}
		if atBreak(b.in, b.p) || b.in[b.p] == '#' {
			return true
		}
	}
	keyEnd, isKey, ok := scanKey(b.in, b.p)
	switch {
	case !ok:
		return b.refuse("unusual key")
	case isKey:
		if hasValue, ok := b.key(keyEnd); !hasValue || !ok {
			return ok
		}
	case len(b.open) == 0 || !b.pending || b.oneLine || b.p-b.lineStart <= b.topCol:
		return b.refuse("misplaced scalar")
	}
	return b.value()
}

// continuePlain reads one more line of a plain scalar.
func (b *blockScan) continuePlain() bool {
	eol, end, comment, ok := plainLine(b.in, b.p)
	if !ok {
		return b.refuse("colon or comment in a plain scalar of several lines")
	}
	b.goesOn = !comment
	b.lastEnd = end
	if b.s.build {
		b.s.nodes[b.current].end = int32(end)
	}
	b.nextLine(eol)
	return true
}

// closeDeeper closes the collections that a key or dash in a column ends.
func (b *blockScan) closeDeeper(col int, isKey bool) {
	for n := len(b.open); n > 0; n-- {
		f := &b.open[n-1]
		if f.col < col || f.col == col && !(isKey && f.seq && n > 1) {
			return
		}
		if b.s.build {
			b.s.nodes[f.node].end = int32(b.lastEnd)
		}
		b.open = b.open[:n-1]
		b.pending = false
	}
}

// dash reads a dash. known is true if the item behind it has been stepped over.
func (b *blockScan) dash() (known, ok bool) {
	col := b.p - b.lineStart
	if !b.inline {
		b.closeDeeper(col, false)
	}
	if len(b.open) == 0 {
		return false, b.refuse("sequence at the root")
	}
	if top := &b.open[len(b.open)-1]; b.inline || !top.seq || top.col != col {
		if !b.openSequence(top, col) {
			return false, false
		}
	}
	b.topCol, b.lastEnd = col, b.p+1
	b.pending, b.oneLine = true, false
	if b.s.build {
		b.current = b.s.add(&b.open[len(b.open)-1], col, b.p, b.p+1, b.p+1)
	} else if b.inItems && len(b.open) == 2 {
		if known, ok = b.newItem(); known || !ok {
			return known, ok
		}
	}
	b.p = skipSpaces(b.in, b.p+1)
	if b.p < len(b.in) && b.in[b.p] == '\t' {
		return false, b.refuse("tab after a dash")
	}
	b.inline = true
	return false, true
}

// openSequence opens a sequence below the collection top.
func (b *blockScan) openSequence(top *frame, col int) bool {
	if !b.pending || top.col > col || top.seq && top.col == col {
		return b.refuse("misplaced dash")
	}
	if b.oneLine {
		return b.refuse("apiVersion or kind is a sequence")
	}
	if !top.seq && top.col < col {
		b.s.wide = true
	}
	if b.next != nil {
		b.next.start, b.next.col = b.p, col
		b.next = nil
	}
	if b.s.build {
		v := &b.s.nodes[b.current]
		v.kind, v.style, v.col, v.start = sequence, block, int32(col), int32(b.p)
	}
	b.open = append(b.open, frame{col: col, seq: true, node: b.current})
	return true
}

// newItem notes an item of the list, whose dash is at p. known is true if its
// text has been read before: the scan has stepped over it.
func (b *blockScan) newItem() (known, ok bool) {
	if b.s.odd < b.lineStart {
		return false, b.refuse("odd line break")
	}
	if b.item != nil {
		b.item.end = b.lineStart
	}
	if list := b.info.list; list == nil && b.least == 0 {
		// If nothing is known: as if objects had 1 KiB on average.
		b.info.list = make([]docInfo, 0, cmp.Or(b.s.items, max(4, min(len(b.in)>>10, 4096))))
	} else if len(list) > 1000 && len(list) == cap(list) {
		b.info.list = slices.Grow(list, len(list)*(len(b.in)-b.p)/b.p) // as if the others were as long
	}
	b.info.list = append(b.info.list, docInfo{start: b.p, dash: b.p, end: -1, notMapping: true})
	b.item = &b.info.list[len(b.info.list)-1]
	if b.s.known == nil {
		return false, true
	}
	start := skipSpaces(b.in, b.p+1)
	if !b.s.stepItem(b.item, start, start-b.lineStart) {
		return false, true
	}
	end := b.item.end
	b.item, b.pending = nil, false
	b.lastEnd = trimEnd(b.in, start, end)
	b.nextLine(end - 1)
	return true, true
}

// key reads a key that ends at keyEnd. hasValue is true if its value starts on
// the same line, at p.
func (b *blockScan) key(keyEnd int) (hasValue, ok bool) {
	col := b.p - b.lineStart
	if !b.inline {
		b.closeDeeper(col, true)
	}
	if !b.openFor(col) {
		return false, false
	}
	b.topCol, b.oneLine, b.next = col, false, nil
	if b.inItems && len(b.open) == 3 && b.item != nil && string(b.in[b.p:keyEnd]) == "items" {
		return false, b.nestedItems(col)
	}
	var want *span
	if b.s.build {
		b.current = b.s.add(&b.open[len(b.open)-1], col, b.p, keyEnd, keyEnd+1)
	} else if want, ok = b.noteKey(keyEnd); !ok {
		return false, false
	}
	b.oneLine, b.pending = want != nil, true
	b.lastEnd, b.p = keyEnd+1, keyEnd+1
	if p := b.p; p+1 < len(b.in) && b.in[p] == ' ' && b.in[p+1] > ' ' && b.in[p+1] != '#' {
		b.p++ // nearly always
	} else {
		b.p = skipSpaces(b.in, p)
		if atBreak(b.in, b.p) || b.in[b.p] == '#' {
			return false, true
		}
	}
	if b.in[b.p] == '\t' {
		return false, b.refuse("tab after a key")
	}
	if want != nil {
		return false, b.shortValue(want)
	}
	b.inline = true
	return true, true
}

// nestedItems indexes the open item from its key items at p on, as if it were a
// document: it is a List, most likely.
func (b *blockScan) nestedItems(col int) bool {
	b.item.rootInfo = &rootInfo{}
	nested := blockScan{
		s: b.s, in: b.in, info: b.item, p: b.p, lineStart: b.p - col, least: col, started: true,
		open: append(b.open[len(b.open):], frame{col: col}), topCol: col, lastEnd: b.lastEnd,
	}
	ok := nested.lines()
	b.item.end = -1 // the next line says where it ends
	b.p, b.lineStart, b.lastEnd = nested.p, nested.lineStart, nested.lastEnd
	b.pending = false
	return ok
}

// openFor makes the mapping that a key in a column belongs to the innermost
// collection.
func (b *blockScan) openFor(col int) bool {
	if len(b.open) == 0 {
		return b.openRoot(col)
	}
	top := &b.open[len(b.open)-1]
	switch {
	case !b.inline && !top.seq && top.col == col:
		return true
	case !b.pending || col <= top.col || b.oneLine:
		return b.refuse("misplaced key")
	case b.s.build:
		v := &b.s.nodes[b.current]
		v.kind, v.style, v.col, v.start = mapping, block, int32(col), int32(b.p)
	default:
		if b.next != nil {
			b.next.start, b.next.col = b.p, col
		}
		if b.item != nil && len(b.open) == 2 {
			b.item.start, b.item.col, b.item.notMapping = b.p, col, false
		}
	}
	b.open = append(b.open, frame{col: col, node: b.current})
	return true
}

// openRoot opens the root mapping.
func (b *blockScan) openRoot(col int) bool {
	if b.started {
		return b.refuse("key outside of the root's column")
	}
	if b.s.build {
		b.current = int32(len(b.s.nodes))
		at := int32(b.p)
		b.s.nodes = append(b.s.nodes, node{kind: mapping, style: block, col: int32(col), key: at, keyEnd: at, start: at})
	} else {
		b.info.start, b.info.col = b.p, col
	}
	b.started = true
	b.open = append(b.open, frame{col: col, node: b.current})
	return true
}

// noteKey notes a key of the root or of an item. want is where to note its
// value, for an apiVersion or kind.
func (b *blockScan) noteKey(keyEnd int) (want *span, ok bool) {
	switch {
	case len(b.open) == 1:
		if b.s.odd < b.lineStart {
			return nil, b.refuse("odd line break")
		}
		if b.item != nil {
			b.item.end, b.item = b.lineStart, nil
		}
		if b.rootEntry != nil {
			b.rootEntry.end = b.lastEnd
		}
		if want, b.next, ok = b.info.note(b.in, b.p, keyEnd); !ok {
			return nil, b.refuse("duplicate key at the root")
		}
		b.rootEntry = b.next
		b.inItems = b.next == &b.info.items
	case b.inItems && len(b.open) == 3 && b.item != nil && mayBeNoted(b.in, b.p, keyEnd):
		if want, _, ok = b.item.note(b.in, b.p, keyEnd); !ok {
			return nil, b.refuse("duplicate key in an item")
		}
	}
	return want, true
}

// mayBeNoted reports whether a key is as long as apiVersion or kind, or
// quoted.
func mayBeNoted(in []byte, p, end int) bool {
	return end-p == len("kind") || end-p == len("apiVersion") || in[p] == '"' || in[p] == '\''
}

// shortValue reads the value of an apiVersion or kind, which nothing continues.
func (b *blockScan) shortValue(want *span) bool {
	eol, end, text, ok := shortValue(b.in, b.p)
	if !ok {
		return b.refuse("unusual apiVersion or kind")
	}
	*want = text
	b.pending, b.lastEnd = false, end
	b.nextLine(eol)
	return true
}

// value reads a value, behind its key or dash or on a line of its own.
func (b *blockScan) value() bool {
	if b.next != nil {
		b.next.start, b.next.col = b.p, -1
	}
	switch c := b.in[b.p]; c {
	case '"', '\'':
		return b.quoted(c)
	case '{', '[':
		return b.flowValue(c)
	case '|', '>':
		return b.blockScalar(c)
	default:
		return b.plain(c)
	}
}

func (b *blockScan) quoted(c byte) bool {
	end, ok := quotedEnd(b.in, b.p)
	if !ok {
		return b.refuse("unusual or unclosed quoted scalar")
	}
	if b.s.build {
		v := &b.s.nodes[b.current]
		v.kind, v.style, v.start, v.end, v.col = scalar, double, int32(b.p), int32(end), int32(b.topCol)
		if c == '\'' {
			v.style = single
		}
	}
	return b.endValue(end)
}

func (b *blockScan) flowValue(c byte) bool {
	isItem := b.item != nil && len(b.open) == 2
	if isItem {
		b.item.start, b.item.flow, b.item.notMapping = b.p, true, c == '['
	}
	end, ok := b.p+2, true
	if b.p+1 < len(b.in) && b.in[b.p+1] == c+2 { // empty: ']' and '}' are 2 behind '[' and '{'
		if b.s.build {
			v := &b.s.nodes[b.current]
			v.kind, v.style, v.start, v.end, v.col = mapping, flow, int32(b.p), int32(end), 0
			if c == '[' {
				v.kind = sequence
			}
		}
	} else {
		var info *docInfo
		if b.next != nil && b.inItems && c == '[' {
			info = b.info
		} else if isItem {
			info = b.item
		}
		if end, ok = b.s.flow(b.p, 0, b.current, info); !ok {
			return false
		}
	}
	if isItem {
		b.item.end, b.item = end, nil
	}
	return b.endValue(end)
}

// endValue goes behind a value that must be the last on its line.
func (b *blockScan) endValue(end int) bool {
	b.lastEnd, b.pending, b.next = end, false, nil
	b.p = skipSpaces(b.in, end)
	if !atBreak(b.in, b.p) && (b.in[b.p] != '#' || b.p == end) {
		return b.refuse("text behind a value")
	}
	return true
}

func (b *blockScan) blockScalar(c byte) bool {
	if !b.inline {
		return b.refuse("block scalar header on a line of its own")
	}
	next, end, indent, ok := blockScalar(b.in, b.p, b.topCol)
	if !ok {
		return b.refuse("unusual block scalar")
	}
	if b.s.build {
		v := &b.s.nodes[b.current]
		v.style, v.start, v.end, v.col = literal, int32(b.p), int32(end), int32(indent)
		if c == '>' {
			v.style = folded
		}
	}
	b.lastEnd, b.pending, b.next = end, false, nil
	b.lineStart = next
	b.p = skipSpaces(b.in, next)
	return true
}

// plain reads the first line of a plain scalar.
func (b *blockScan) plain(c byte) bool {
	if (!keyChar[c] || c == '-') && !plainStart(b.in, b.p) {
		return b.refuse("anchor, alias, tag or indicator")
	}
	eol, end, comment, ok := plainLine(b.in, b.p)
	if !ok {
		return b.refuse("colon in a plain scalar")
	}
	if b.s.build {
		v := &b.s.nodes[b.current]
		v.style, v.start, v.end, v.col = plain, int32(b.p), int32(end), int32(b.topCol)
	}
	b.lastEnd, b.pending, b.goesOn, b.next = end, false, !comment, nil
	b.nextLine(eol)
	return true
}

// finish ends the scan; the mapping's lines end at the offset.
func (b *blockScan) finish(end int) bool {
	if len(b.open) == 0 {
		return b.refuse("no mapping")
	}
	if b.s.build {
		for _, f := range b.open {
			b.s.nodes[f.node].end = int32(b.lastEnd)
		}
		return true
	}
	if b.s.odd < end {
		return b.refuse("odd line break")
	}
	if b.item != nil {
		b.item.end = end
	}
	if b.rootEntry != nil {
		b.rootEntry.end = b.lastEnd
	}
	b.info.end = b.lastEnd
	return true
}

// stepItem notes the item whose value starts at p, in column col, if it is a
// known one that ends its last line.
func (s *scanner) stepItem(it *docInfo, p, col int) bool {
	o := s.known(p)
	if o == nil || int(o.col) != col || s.in[p] == '{' {
		return false
	}
	end := p + o.length()
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

// note says where the value of a root key is to be noted; ok is false if the key
// is there already or is written with an escape.
func (d *docInfo) note(in []byte, p, end int) (want *span, noted *entry, ok bool) {
	start := p
	if in[p] == '"' || in[p] == '\'' {
		if bytes.IndexByte(in[p:end], '\\') >= 0 {
			return nil, nil, false // the text does not say which key it is
		}
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
	if noted = d.entryOf(view(in[p:end])); noted == nil {
		return nil, nil, true
	}
	if noted.keyEnd != 0 {
		return nil, nil, false
	}
	noted.key, noted.keyEnd = start, end+1
	if start != p {
		noted.keyEnd++
	}
	return nil, noted, true
}

// entryOf returns where to note the entry of a root key; nil if it is not noted.
func (d *docInfo) entryOf(key string) *entry {
	switch key {
	case "items":
		return &d.items
	case "functionConfig":
		return &d.functionConfig
	case "results":
		return &d.results
	}
	return nil
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

// scanKey reports whether a key starts at p, and where it ends: at its colon.
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
		q = p + i + 2
		if c == '"' && bytes.IndexByte(in[p:q], '\\') >= 0 || c == '\'' && q < len(in) && in[q] == '\'' {
			if q, ok = quotedEnd(in, p); !ok || q > eol {
				return 0, false, ok && !followedByColon(in, q)
			}
		}
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
	p = skipBlanks(in, p)
	return p < len(in) && in[p] == ':'
}

// plainStart reports whether a plain scalar may start at p (in block style).
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
// end, and whether a comment follows; ok is false if it is not one.
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

// wordEnd returns the offset of the next colon or white space from p on, or the
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

// nextSpecial returns the offset of the next line feed, colon or number sign
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
// escapes on one line. It returns the line's end, that of the value with its
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
		return eol, end, span{int32(p + 1), int32(end - 1)}, true
	}
	if !plainStart(in, p) {
		return 0, 0, text, false
	}
	eol, end, _, ok = plainLine(in, p)
	return eol, end, span{int32(p), int32(end)}, ok
}

// quotedEnd returns the end of the quoted scalar that starts at p. It may go
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

// holdsMarker reports whether a line of the text (not the first) looks like
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

// escapeLen returns the length of the escape whose backslash is before p, 0
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
// ends, and the column of its lines (-1 if there are none).
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
