package yaml

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
)

type frame struct {
	col int
	seq bool
	// The last key, and the one before it, are explicit ones whose value may come.
	asks, asked bool
	node        int32
	last        int32
}

// An AliasUse is an alias and the anchor that it refers to, by their offsets.
type AliasUse struct {
	At, Anchor int
	Name       string
}

func (t *Parser) invalid(at int, why string) (int, bool) {
	if t.Refused.Why == "" {
		t.Refused = refusalAt(at, "invalid YAML: "+why)
		if t.inFlowStyle {
			t.Refused.Open = t.bracket
		}
	}
	return 0, false
}

// readOnly notes that a text cannot be edited because of the form of YAML at an offset.
func (t *Parser) readOnly(at int, form string) {
	t.Special = true
	if t.ReadOnly.Why == "" || form == NotKey && t.ReadOnly.Why != NotKey {
		t.ReadOnly = refusalAt(at, form)
	}
}

// SkipSpaces returns the offset of the first byte from p on that is no space.
func SkipSpaces(in []byte, p int) int {
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

// SkipBlanks returns the offset of the first byte from p on that is neither a
// space nor a tab.
func SkipBlanks(in []byte, p int) int {
	for p < len(in) && (in[p] == ' ' || in[p] == '\t') {
		p++
	}
	return p
}

// LineEnd returns the offset of the next line feed, or the end of the text.
func LineEnd(in []byte, p int) int {
	if i := bytes.IndexByte(in[p:], '\n'); i >= 0 {
		return p + i
	}
	return len(in)
}

// LineStart returns the start of the line that contains the offset.
func LineStart(in []byte, p int) int {
	return bytes.LastIndexByte(in[:p], '\n') + 1
}

// trimEnd returns the end of the content in front of e.
func trimEnd(in []byte, e int) int {
	for in[e-1] == ' ' ||
		in[e-1] == '\t' ||
		isBreakMark(in[e-1]) {
		e--
	}
	return e
}

func atBreak(in []byte, p int) bool {
	for p < len(in) && isBreakMark(in[p]) {
		p++
	}
	return p >= len(in) || in[p] == '\n'
}

// IsBlank reports whether p is at white space or the end.
func IsBlank(in []byte, p int) bool {
	return p >= len(in) ||
		in[p] == ' ' ||
		in[p] == '\n' ||
		in[p] == '\t' ||
		isBreakMark(in[p])
}

// IsMarker reports whether a line that starts at p starts or ends a document.
func IsMarker(in []byte, p int) bool {
	if len(in)-p < 3 {
		return false
	}
	marker := string(in[p : p+3])
	return (marker == "---" || marker == "...") && IsBlank(in, p+3)
}

// scan reads the block mapping whose first line has its content at p, in column
// col, and returns where it ends: at a document marker or at the end.
func (t *Parser) scan(p, col int) (int, bool) {
	b := blockScan{
		t:         t,
		in:        t.Text,
		lineStart: p - col,
		open:      t.stack[:0],
		lastEnd:   p,
	}
	b.topCol = -1
	b.props = -1
	b.p = SkipSpaces(b.in, p) // what was the first line may have been deleted, and a blank one be first
	ok := b.lines()
	return b.p, ok
}

// A blockScan is the state of one pass over a block mapping.
type blockScan struct {
	t  *Parser
	in []byte

	p         int  // where the scan is
	lineStart int  // where its line starts
	inline    bool // a dash or key is before p on its line

	open    []frame // the open collections, from the root on
	topCol  int     // the column of the innermost one; -1 if none is open
	lastEnd int     // behind the last content
	pending bool    // a key or dash waits for its value
	goesOn  bool    // the last value is a plain scalar, which may go on
	current int32   // the node that waits or may go on
	props   int     // where the anchor or tag of the value that waits is; -1 if it has none
}

func (b *blockScan) refuse(why string) bool {
	b.t.invalid(b.p, why)
	return false
}

func (b *blockScan) lines() bool {
	for b.p < len(b.in) {
		ok := true
		switch c := b.in[b.p]; {
		case c == '\n' || c == '\t' || isBreakMark(c):
			if ok = atBreak(b.in, b.p); !ok {
				return b.refuse("a tab must not be indentation")
			}
			b.nextLine(LineEnd(b.in, b.p))
		case c == '#':
			b.goesOn = false
			b.nextLine(LineEnd(b.in, b.p))
		case (c == '-' || c == '.') &&
			b.p == b.lineStart &&
			IsMarker(b.in, b.p):
			return b.finish()
		default:
			ok = b.line()
		}
		if !ok {
			return false
		}
	}
	return b.finish()
}

// nextLine goes to the line behind the one that ends at eol.
func (b *blockScan) nextLine(eol int) {
	b.lineStart = eol + 1
	b.p = min(SkipSpaces(b.in, b.lineStart), len(b.in))
}

// line reads a line with content, and a value that goes over several to its
// end.
func (b *blockScan) line() bool {
	if b.goesOn && b.p-b.lineStart > b.topCol {
		return b.plainLine("a text of several lines must not have a colon and a space, or this line is indented too far")
	}
	b.goesOn = false
	b.inline = false
	done, ok := b.indicators()
	start := b.p
	if ok && !done {
		start, done, ok = b.properties(true)
	}
	if done || !ok {
		return ok
	}
	keyEnd, colon, isKey := scanKey(b.in, b.p)
	switch {
	case isKey && b.isLongKey(start, keyEnd, colon):
		return b.refuse(longKey)
	case isKey:
		if done, ok := b.keyLine(start, keyEnd, colon); done || !ok {
			return ok
		}
	case !b.pending && b.in[b.p] != '*':
		return b.refuse("a key, a colon and a space must come here, or the indentation is wrong")
	case !b.mayHaveValue():
		return b.refuse("a value must be indented further than its key, and come once only")
	}
	return b.value()
}

// isLongKey reports whether a key, with its anchor and tag, is too long. A plain one is on one line.
func (b *blockScan) isLongKey(start, keyEnd, colon int) bool {
	return (colon-start > 1024 || b.in[keyEnd-1] <= '\'') && !isShortKey(b.in[start:colon])
}

// keyLine reads a key, and the anchor and tag of its value; done is true if the line has
// nothing else.
func (b *blockScan) keyLine(start, keyEnd, colon int) (done, ok bool) {
	if ok = b.key(start, keyEnd, colon); !ok || b.atLineEnd() {
		return true, ok
	}
	_, done, ok = b.properties(false)
	return done, ok
}

// atLineEnd reports whether the line has nothing more but perhaps a comment.
func (b *blockScan) atLineEnd() bool {
	return atBreak(b.in, b.p) || b.in[b.p] == '#'
}

// mayHaveValue reports whether a value that is no block collection may be at p.
func (b *blockScan) mayHaveValue() bool {
	return len(b.open) > 0 &&
		b.pending &&
		b.p-b.lineStart > b.topCol
}

// indicators reads the dashes, and the indicators of explicit keys, that a line starts
// with; done is true if the line has nothing else.
func (b *blockScan) indicators() (done, ok bool) {
	for isIndicator(b.in, b.p) {
		if b.in[b.p] == '-' {
			ok = b.dash()
		} else {
			ok = b.explicit()
		}
		if !ok {
			return false, false
		}
		if b.p == b.lineStart { // behind an item that was stepped over
			b.p = SkipSpaces(b.in, b.p)
			return true, true
		}
		if b.atLineEnd() {
			return true, true
		}
	}
	return false, true
}

// isIndicator reports whether a dash, or the indicator of an explicit key or its
// value, is at p.
func isIndicator(in []byte, p int) bool {
	return (in[p] == '-' ||
		in[p] == '?' ||
		in[p] == ':') &&
		IsBlank(in, p+1)
}

// explicit reads the indicator of an explicit key, or of its value, as a key without
// text.
func (b *blockScan) explicit() bool {
	b.t.readOnly(b.p, "a key behind a question mark")
	at := b.p
	if !b.key(at, at, at) {
		return false
	}
	b.t.Nodes[b.current].Marks |= isExplicit
	f := &b.open[len(b.open)-1]
	if f.asks = b.in[at] == '?'; !f.asks && !f.asked {
		return b.refuse("a colon must be behind a key")
	}
	return true
}

// properties reads the anchor and tag in front of a value or, if mayBeKey is set, of a key,
// which then starts at start. done is true if the line has nothing else.
func (b *blockScan) properties(mayBeKey bool) (start int, done, ok bool) {
	start = b.p
	if c := b.in[start]; c != '&' && c != '!' {
		return start, false, true
	}
	end, ok := b.t.properties(start)
	if !ok {
		return start, false, false
	}
	done = atBreak(b.in, end) || b.in[end] == '#'
	if mayBeKey && !done {
		if _, _, isKey := scanKey(b.in, end); isKey {
			b.p = end
			return start, false, true
		}
	}
	isRoot := b.current == 0
	if b.props >= 0 ||
		!isRoot && (!b.pending || b.p-b.lineStart <= b.topCol) {
		return start, false, b.refuse("an anchor or a tag must be in front of a value")
	}
	b.props = start
	b.lastEnd = trimEnd(b.in, end)
	if !isRoot {
		v := &b.t.Nodes[b.current]
		v.Marks, v.Style, v.Start, v.End = v.Marks|HasProperties, Plain, int32(start), int32(b.lastEnd)
	}
	if b.p = end; done {
		b.nextLine(LineEnd(b.in, end))
	}
	return start, done, true
}

// plainLine reads a line of a plain scalar; hasColon says why a key must not come here.
func (b *blockScan) plainLine(hasColon string) bool {
	end := plainEnd(b.in, b.p)
	if isColon(b.in, end) {
		return b.refuse(hasColon)
	}
	b.goesOn = atBreak(b.in, end)
	b.lastEnd = trimEnd(b.in, end)
	b.t.Nodes[b.current].End = int32(b.lastEnd)
	if !b.goesOn {
		end = LineEnd(b.in, end)
	}
	b.nextLine(end)
	return true
}

// closeDeeper closes the collections that a key or dash in a column ends.
func (b *blockScan) closeDeeper(col int, isKey bool) {
	for n := len(b.open); n > 0; n-- {
		f := &b.open[n-1]
		if f.col < col ||
			f.col == col && !(isKey && f.seq && n > 1) {
			return
		}
		v := &b.t.Nodes[f.node]
		v.End = int32(b.lastEnd)
		if n > 1 {
			b.t.drop(f.node, b.open[n-2].node)
		}
		b.open = b.open[:n-1]
		b.pending = false
		b.props = -1
	}
}

// set fills in the node that waits for its value.
func (b *blockScan) set(k Kind, how Style, col, start, end int) {
	v := &b.t.Nodes[b.current]
	if b.props >= 0 {
		start, b.props = b.props, -1
		v.Marks |= HasProperties
	}
	v.fill(k, how, col, start, end)
}

func (b *blockScan) dash() bool {
	col := b.p - b.lineStart
	if !b.inline {
		b.closeDeeper(col, false)
	}
	if len(b.open) == 0 {
		return b.refuse("a document must be a mapping, and has items of a list")
	}
	if top := &b.open[len(b.open)-1]; b.inline || !top.seq || top.col != col {
		if !b.openSequence(top, col) {
			return false
		}
	}
	b.topCol, b.lastEnd = col, b.p+1
	b.pending = true
	b.props = -1
	top := &b.open[len(b.open)-1]
	behind := b.p + 1
	top.last = b.t.add(top.node, top.last, col, b.p, behind, behind)
	b.current = top.last
	p := SkipSpaces(b.in, b.p+1)
	if end, ok := b.t.stepOver(p, b.current, p-b.lineStart); ok {
		b.pending, b.lastEnd = false, trimEnd(b.in, end)
		b.p = end
		b.lineStart = end
		return true
	}
	b.p = p
	if b.p < len(b.in) && b.in[b.p] == '\t' {
		return b.refuse("a tab must not be behind a dash")
	}
	b.inline = true
	return true
}

func (b *blockScan) openSequence(top *frame, col int) bool {
	if !b.pending ||
		top.col > col ||
		top.seq && top.col == col {
		return b.refuse("an item of a list must not come here, or its indentation is wrong")
	}
	b.set(Sequence, Block, col, b.p, b.p)
	b.open = append(b.open, frame{col: col, seq: true, node: b.current})
	return true
}

// key reads a key that starts at start, with its anchor or tag, and ends at keyEnd.
func (b *blockScan) key(start, keyEnd, colon int) bool {
	text := b.p
	b.p = start
	col := start - b.lineStart
	if !b.inline {
		b.closeDeeper(col, true)
	}
	if !b.openFor(col) {
		return false
	}
	top := &b.open[len(b.open)-1]
	top.asked, top.asks = top.asks, false
	b.topCol = col
	b.props = -1
	top.last = b.t.add(top.node, top.last, col, b.p, keyEnd, colon+1)
	b.current = top.last
	b.t.markKey(b.current, b.p, text, keyEnd)
	if b.in[text] == '*' {
		if text > b.p {
			return b.refuse(aliasProperties)
		}
		if _, ok := b.t.alias(text); !ok {
			return false
		}
	}
	b.pending = true
	b.inline = true
	b.lastEnd, b.p = colon+1, SkipBlanks(b.in, colon+1)
	if colon == start && hasTab(b.in[colon+1:b.p]) {
		return b.refuse("a tab must not be behind an indicator")
	}
	return true
}

// markKey notes what is special about the key of a node, which starts at start with its anchor or tag, and
// at text without.
func (t *Parser) markKey(n int32, start, text, end int) {
	if t.Text[text] == '*' || text > start {
		t.readOnly(start, "a key with an anchor or a tag")
		t.Nodes[n].Marks |= specialKey
	}
	if string(t.Text[text:end]) == "<<" {
		t.Nodes[n].Marks |= isMergeKey
		t.Special = true
	}
}

// openFor makes the mapping that a key in a column belongs to the innermost
// collection, or the root.
func (b *blockScan) openFor(col int) bool {
	if n := len(b.open); n > 0 {
		top := &b.open[n-1]
		switch {
		case !b.inline && !top.seq && top.col == col:
			return true
		case !b.pending || col <= top.col:
			return b.refuse("a key must not come here, or its indentation is wrong")
		}
	} else {
		if b.current != 0 {
			return b.refuse("a key must be in the column of the others of its mapping")
		}
		b.current = 1
		b.t.Nodes = append(b.t.Nodes, Node{Key: int32(b.p), KeyEnd: int32(b.p)})
	}
	b.set(Mapping, Block, col, b.p, b.p)
	b.open = append(b.open, frame{col: col, node: b.current})
	return true
}

func (b *blockScan) value() bool {
	switch b.in[b.p] {
	case '"', '\'':
		return b.quoted()
	case '{', '[':
		return b.flowValue()
	case '|', '>':
		return b.blockScalar()
	case '*':
		return b.alias()
	default:
		return b.plain()
	}
}

func (b *blockScan) quoted() bool {
	end, ok := quotedEnd(b.in, b.p)
	if !ok {
		return b.refuse("a text in quotes has no end, or a bad escape")
	}
	if hasJSONEscape(b.in[b.p:end]) {
		return b.refuse(ofJSON)
	}
	b.set(Scalar, StyleOf(View(b.in[b.p:end])), b.topCol, b.p, end)
	return b.endValue(end)
}

func (b *blockScan) alias() bool {
	end, ok := b.t.alias(b.p)
	if !ok {
		return false
	}
	if b.props >= 0 {
		return b.refuse(aliasProperties)
	}
	b.set(Scalar, Plain, b.topCol, b.p, end)
	b.t.Nodes[b.current].Marks |= IsAlias
	return b.endValue(end)
}

func (b *blockScan) flowValue() bool {
	props := b.props
	b.t.flowIndent = b.topCol + 1
	end, ok := b.t.flow(b.p, 0, b.current)
	if !ok {
		return false
	}
	b.t.drop(b.current, b.open[len(b.open)-1].node)
	if props >= 0 {
		b.t.Nodes[b.current].Start, b.props = int32(props), -1
	}
	return b.endValue(end)
}

// endValue goes behind a value that must be the last on its line.
func (b *blockScan) endValue(end int) bool {
	b.lastEnd = end
	b.pending = false
	b.p = SkipBlanks(b.in, end)
	if !atBreak(b.in, b.p) && b.in[b.p] != '#' {
		return b.refuse("a value must be the last of its line")
	}
	return true
}

func (b *blockScan) blockScalar() bool {
	next, end, indent, ok := blockScalar(b.in, b.p, b.topCol)
	if !ok {
		return b.refuse("a block scalar (| or >) must have its lines indented by more than its key, with spaces")
	}
	header := b.in[b.p:LineEnd(b.in, b.p)]
	if next == len(b.in) && bytes.IndexByte(header, '-') < 0 {
		b.t.TextEnd = next
	}
	b.set(Scalar, StyleOf(View(b.in[b.p:end])), indent, b.p, end)
	b.lastEnd = end
	b.pending = false
	b.nextLine(next - 1)
	return true
}

// plain reads the first line of a plain scalar.
func (b *blockScan) plain() bool {
	if !plainStart(b.in, b.p) {
		return b.refuse(mustQuote(b.in[b.p]))
	}
	b.set(Scalar, Plain, b.topCol, b.p, b.p)
	b.pending = false
	return b.plainLine("a text with a colon and a space must be in quotes, or the key before it be alone on its line")
}

func (b *blockScan) finish() bool {
	if len(b.open) == 0 {
		return b.refuse("a mapping must come here")
	}
	b.closeDeeper(-1, false)
	return true
}

// stepOver makes a node without entries of the verified object that starts at p, in
// column col, and returns its end; ok is false if there is none.
func (t *Parser) stepOver(p int, n int32, col int) (end int, ok bool) {
	k := Find(t.verified, p)
	if k == nil ||
		k.Col != col ||
		t.Text[p] == '{' {
		return 0, false
	}
	if k.End > len(t.Text) ||
		t.Text[k.End-1] != '\n' {
		return 0, false
	}
	t.Nodes[n].fill(Mapping, Block, col, p, k.End)
	return k.End, true
}

// drop drops what is in the collection n, a value of another one, unless it tells objects
// apart: it is a value of the root, the items of a list or one of them.
func (t *Parser) drop(n, in int32) {
	if !t.prunes ||
		t.Nodes[n].Child == 0 ||
		in <= 1 ||
		t.isItems(n) ||
		t.isItems(in) {
		return
	}
	t.Nodes = t.Nodes[:n+1]
	t.Nodes[n].Child = 0
}

func (t *Parser) isItems(n int32) bool {
	return t.Nodes[n].Kind == Sequence && t.KeyOf(n) == "items"
}

// add appends a child, an absent value as yet, to the collection at, whose last one was last.
func (t *Parser) add(at, last int32, col, key, keyEnd, value int) int32 {
	i := int32(len(t.Nodes))
	if len(t.Nodes) == cap(t.Nodes) {
		t.Nodes = slices.Grow(t.Nodes, max(len(t.Nodes), 64)) // append grows large slices by a quarter, which leaves much garbage
	}
	t.Nodes = t.Nodes[:i+1]
	v := &t.Nodes[i] // set in place: to copy a node takes longer
	v.Kind = Scalar
	v.Style = Absent
	v.Marks = 0
	v.Col = int32(col)
	v.Key = int32(key)
	v.KeyEnd = int32(keyEnd)
	v.Start = int32(value)
	v.End = int32(value)
	v.Child = 0
	v.Next = 0
	if last == 0 {
		t.Nodes[at].Child = i
	} else {
		t.Nodes[last].Next = i
	}
	return i
}

// isShortKey reports whether a key, which ends at its colon, needs no question mark: it is on
// one line and has 1024 characters at most.
func isShortKey(key []byte) bool {
	return (len(key) <= 1024 || utf8.RuneCount(key) <= 1024) &&
		!hasBreak(key)
}

// scanKey reports whether a key starts at p, where it ends, and where its colon is.
func scanKey(in []byte, p int) (end, colon int, isKey bool) {
	if c := in[p] | ' '; c >= 'a' && c <= 'z' { // a letter, as nearly always: a twentieth of the CPU of a list
		switch q := nextSpecial(in, p); {
		case q == len(in) || in[q] == '\n':
			return 0, 0, false
		case isColon(in, q) && in[q-1] > ' ':
			return q, q, true
		}
	}
	switch in[p] {
	case '{', '[', '|', '>', '#', '&', '!', '%', '@', '`', ',', ']', '}':
		return 0, 0, false
	case '"', '\'':
		end, isKey = quotedEnd(in, p)
		isKey = isKey && !hasJSONEscape(in[p:end])
		colon = SkipBlanks(in, end)
	case '*':
		end = nameEnd(in, p+1)
		colon = SkipBlanks(in, end)
		isKey = true
	default:
		if isKey = !isIndicator(in, p); isKey { // which may be behind a tag
			colon = plainEnd(in, p)
			end = trimEnd(in, colon)
		}
	}
	return end, colon, isKey && isColon(in, colon)
}

// isColon reports whether a colon is at p that ends a key.
func isColon(in []byte, p int) bool {
	return p < len(in) &&
		in[p] == ':' &&
		IsBlank(in, p+1)
}

// mustQuote is why no plain scalar may start with a character.
func mustQuote(first byte) string {
	return "a text that starts with " + string(rune(first)) + " must be in quotes"
}

// plainStart reports whether a plain scalar may start at p (in block style).
func plainStart(in []byte, p int) bool {
	switch in[p] {
	case '&', '*', '!', '%', '@', '`', ',', '[', ']', '{', '}', '|', '>', '#', '"', '\'':
		return false
	case '-', '?', ':':
		return !IsBlank(in, p+1)
	}
	return true
}

// plainEnd returns where a plain scalar or key that starts at p ends on its line: at the colon of
// the key, the number sign of a comment, the line feed or the end of the text.
func plainEnd(in []byte, p int) int {
	for q := nextSpecial(in, p); ; q = nextSpecial(in, q+1) {
		if q == len(in) ||
			in[q] == '\n' ||
			isColon(in, q) {
			return q
		}
		if in[q] == '#' &&
			q > p &&
			IsBlank(in, q-1) {
			return q
		}
	}
}

// nextSpecial returns the offset of the next line feed, colon or number sign
// from p on, or the end of the text.
func nextSpecial(in []byte, p int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for p+8 <= len(in) {
		x := binary.LittleEndian.Uint64(in[p:])
		feed := x ^ '\n'*ones
		colon := x ^ ':'*ones
		sign := x ^ '#'*ones
		// The lowest high bit marks the first byte that is zero in one.
		if hit := ((feed-ones)&^feed | (colon-ones)&^colon | (sign-ones)&^sign) & highs; hit != 0 {
			return p + bits.TrailingZeros64(hit)>>3
		}
		p += 8
	}
	for p < len(in) &&
		in[p] != '\n' &&
		in[p] != ':' &&
		in[p] != '#' {
		p++
	}
	return p
}

// quotedEnd returns the end of the quoted scalar that starts at p. It may go
// over several lines; an unknown escape or a document marker is not accepted.
func quotedEnd(in []byte, p int) (int, bool) {
	quote := in[p]
	at := p + 1
	for end := p; ; { // end is that of the next quote; bytes are not looked at one by one, since texts are long
		if end < at {
			i := bytes.IndexByte(in[at:], quote)
			if i < 0 {
				return 0, false
			}
			end = at + i
		}
		escape := -1
		if quote == '"' {
			escape = bytes.IndexByte(in[at:end], '\\')
		}
		switch {
		case escape >= 0:
			n := escapeLen(in, at+escape+1)
			if n == 0 {
				return 0, false
			}
			at += escape + 1 + n
		case quote == '\'' && end+1 < len(in) && in[end+1] == quote: // two single quotes are one
			at = end + 2
		default:
			return end + 1, !hasMarker(in, p, end)
		}
	}
}

// ofJSON is why an escape is refused.
const ofJSON = "only JSON has this escape, not YAML: write the character itself"

// hasJSONEscape reports whether a text in quotes has an escape that JSON has and the API server's parser of YAML does not:
// "\/", or one of the two that stand for a character beyond 16 bits.
func hasJSONEscape(quoted []byte) bool {
	if quoted[0] != '"' {
		return false
	}
	for i := bytes.IndexByte(quoted, '\\'); i >= 0 && i < len(quoted)-1; i++ {
		if quoted[i] != '\\' {
			continue
		}
		i++
		if c := quoted[i]; c == '/' || c == 'u' && isSurrogate(quoted[i+1:]) {
			return true
		}
	}
	return false
}

// isSurrogate reports whether four digits begin a text that stand for half of a character.
func isSurrogate(digits []byte) bool {
	r, ok := hexRune(digits[:min(4, len(digits))])
	return ok && r >= 0xd800 && r < 0xe000
}

// hasMarker reports whether a line that starts between p and end starts or ends a document.
func hasMarker(in []byte, p, end int) bool {
	for p = LineEnd(in[:end], p); p < end; p = LineEnd(in[:end], p+1) {
		if IsMarker(in, p+1) {
			return true
		}
	}
	return false
}

// escapeLen returns the length of the escape whose backslash is before p, 0
// where it is unknown.
func escapeLen(in []byte, p int) int {
	if p >= len(in) {
		return 0
	}
	if escapes[in[p]] != "" {
		return 1
	}
	if in[p] == '\n' || isBreakMark(in[p]) {
		if end := LineEnd(in, p); end < len(in) && atBreak(in, p) {
			return end + 1 - p
		}
	}
	digits := hexDigits[in[p]]
	if digits == 0 || p+1+digits > len(in) {
		return 0
	}
	r, ok := hexRune(in[p+1 : p+1+digits])
	if !ok || digits == 8 && !utf8.ValidRune(r) {
		return 0
	}
	return 1 + digits
}

// blockScalar reads a literal or folded scalar whose header is at p, inside a
// collection in column parent: where the next line starts, where the content
// ends, and the column of its lines (-1 if there are none).
func blockScalar(in []byte, p, parent int) (next, end, indent int, ok bool) {
	end, indent, keep := blockHeader(in, p+1, parent)
	q := SkipSpaces(in, end)
	if !atBreak(in, q) && in[q] != '#' {
		return 0, 0, 0, false
	}
	p = LineEnd(in, q) + 1
	if indent < 0 {
		if indent, ok = blockIndent(in, p, parent); !ok {
			return 0, 0, 0, false
		}
	}
	next, last, hasText, ok := blockLines(in, p, parent, indent, keep)
	if !hasText {
		indent = -1
	}
	return next, max(end, last), indent, ok
}

// blockIndent returns the column of the lines of a block scalar whose first one starts at
// p, inside a collection in column parent: -1 if there are none.
func blockIndent(in []byte, p, parent int) (col int, ok bool) {
	widest := 0 // of the blank lines
	for ; p < len(in); p = LineEnd(in, p) + 1 {
		q := SkipSpaces(in, p)
		switch col = q - p; {
		case atBreak(in, q):
			widest = max(widest, col)
		case col <= parent:
			return -1, true
		default:
			return col, widest <= col && in[q] != '\t'
		}
	}
	return -1, true
}

// blockLines reads the lines of a block scalar, which are in column indent, from p on: where the next
// line starts, where the content ends, 0 if there is none, and whether a line has text.
func blockLines(in []byte, p, parent, indent int, keep bool) (next, end int, hasText, ok bool) {
	for eol := 0; p < len(in); p = eol + 1 {
		q := SkipSpaces(in, p)
		col := q - p
		eol = LineEnd(in, q)
		switch {
		case atBreak(in, q) && (indent < 0 || col <= indent): // a blank line
			if keep {
				end = BreakBefore(in, eol)
			}
		case indent < 0:
			return p, end, hasText, true
		case col < indent || q == p && IsMarker(in, p):
			return p, end, hasText, in[q] != '\t' && (col <= parent || in[q] == '#')
		default:
			hasText = true
			end = BreakBefore(in, eol)
		}
	}
	return p, end, hasText, true
}

// blockHeader reads the indicators of a block scalar: the column of its lines, -1 if none says
// it, and whether the line ends behind the text are kept.
func blockHeader(in []byte, p, parent int) (end, indent int, keep bool) {
	chomp := false
	indent = -1
	for i := 0; i < 2 && p < len(in); i++ {
		switch c := in[p]; {
		case (c == '+' || c == '-') && !chomp:
			keep = c == '+'
			chomp = true
			p++
		case c >= '1' && c <= '9' && indent < 0:
			indent = parent + int(c-'0')
			p++
		}
	}
	return p, indent, keep
}
