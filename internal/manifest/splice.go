package manifest

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// A splicer turns an edited tree into changes to the original text.
type splicer struct {
	t   *yaml.Tree
	l   layout
	mem *scratch
}

// A scratch is memory that is used for one edited object after another.
type scratch struct {
	text     []byte // the edited object, as it was read again
	rendered []byte // its new entries
	out      []splice
	original original
	kept     textMemory
	fault    func([]splice) // makes changes wrong, for tests of what catches that
}

// newSplicer returns a splicer for the tree's text, whose lines end with eol.
func newSplicer(t *yaml.Tree, eol string, mem *scratch) *splicer {
	mem.rendered, mem.out = mem.rendered[:0], mem.out[:0]
	return &splicer{t: t, l: layout{eol: eol, wide: isWide(t)}, mem: mem}
}

// rewrite returns the changes that make the edited tree of the text, as few as
// possible, in memory that the next splicer uses again, and what they do besides
// the edits; ok is false if the result would not read as the edited tree.
func (s *splicer) rewrite(root *editNode, check *yaml.Tree) (changes []splice, notices []Notice, ok bool) {
	edited, why := root, map[int32]string(nil)
	if s.t.Special {
		edited, why = editText(s.t, root)
	}
	if !s.splice(edited) {
		return nil, nil, false
	}
	for n, text := range why {
		v := &s.t.Nodes[n]
		notices = append(notices, Notice{lineIn(s.t.Text, int(v.Start)), lineIn(s.t.Text, int(v.End)), text})
	}
	slices.SortFunc(notices, func(a, b Notice) int { return cmp.Or(a.Line-b.Line, a.End-b.End, strings.Compare(a.Text, b.Text)) })
	text := applySplices(s.mem.text[:0], s.t.Text, s.mem.out)
	s.mem.text = text
	return s.mem.out, notices, check.Parse(text, s.t.Col) && check.Fixed.Why != yaml.NotKey && root.isIn(check, 1, s.t)
}

func lineIn(text []byte, at int) int { return 1 + bytes.Count(text[:at], []byte("\n")) }

// splice collects the changes in order; ok is false if some overlap.
func (s *splicer) splice(root *editNode) (ok bool) {
	if s.t.Nodes[1].Style == yaml.Flow {
		s.flow(root, false)
	} else {
		s.block(root)
	}
	slices.SortStableFunc(s.mem.out, func(a, b splice) int { return cmp.Compare(a.start, b.start) })
	if s.mem.fault != nil {
		s.mem.fault(s.mem.out)
	}
	at := 0
	for _, c := range s.mem.out {
		if c.start < at || c.end < c.start {
			return false
		}
		at = c.end
	}
	return true
}

// applySplices appends the text with the changes made, which must be sorted.
func applySplices(b, text []byte, changes []splice) []byte {
	at := 0
	for _, c := range changes {
		b = append(b, text[at:c.start]...)
		b = append(b, c.text...)
		at = c.end
	}
	return append(b, text[at:]...)
}

// isWide reports whether most lists of the tree are indented under their key.
func isWide(t *yaml.Tree) bool {
	wide, compact := 0, 0
	for i := range t.Nodes {
		p := &t.Nodes[i]
		if p.Kind != yaml.Mapping || p.Style != yaml.Block {
			continue
		}
		for c := p.Child; c != 0; c = t.Nodes[c].Next {
			if v := &t.Nodes[c]; v.Kind == yaml.Sequence && v.Style == yaml.Block {
				if v.Col > p.Col {
					wide++
				} else {
					compact++
				}
			}
		}
	}
	return wide > compact
}

func (s *splicer) put(start, end int, text string) {
	s.mem.out = append(s.mem.out, splice{start, end, text})
}

func (s *splicer) lineStart(at int) int { return yaml.LineStart(s.t.Text, at) }

// eol returns the end of the line that contains the offset: the offset of its
// CRLF or LF.
func (s *splicer) eol(at int) int {
	return at + len(bytes.TrimSuffix(s.t.Text[at:yaml.LineEnd(s.t.Text, at)], []byte("\r")))
}

// next returns the start of the line behind the one that contains the offset.
func (s *splicer) next(at int) int { return min(yaml.LineEnd(s.t.Text, at)+1, len(s.t.Text)) }

func (s *splicer) keyStyle(n *yaml.Node) yaml.Style {
	return yaml.StyleOf(yaml.View(s.t.Text[n.Key:n.KeyEnd]))
}

// onOwnLine reports whether only spaces precede the node's key or dash on its
// line.
func (s *splicer) onOwnLine(n int32, col int) bool {
	at := int(s.t.Nodes[n].Key)
	ls := s.lineStart(at)
	return at-ls == col && yaml.SkipSpaces(s.t.Text, ls) == at
}

// change edits an entry of a block collection in column col.
func (s *splicer) change(k *editNode, isMap bool, col int) {
	v := &s.t.Nodes[k.node]
	if isMap && k.key != k.was {
		s.put(int(v.Key), int(v.KeyEnd), string(s.l.key(nil, k.key, s.keyStyle(v), false)))
	}
	isEmptied := k.open && k.lastKept() < 0 && (v.Style != yaml.Flow || v.Child == 0 && len(k.children) > 0)
	switch {
	case isEmptied || k.set || k.wasAlias():
		s.replace(k, isMap, col)
	case k.open && v.Style == yaml.Flow:
		s.flow(k, false)
	case k.open:
		s.block(k)
	}
}

// replace writes a new value behind a key or dash in column col.
func (s *splicer) replace(k *editNode, isMap bool, col int) {
	v, val := s.t.Written(k.node), k.value(s.t)
	behind := int(v.KeyEnd)
	if isMap {
		behind = s.t.BehindColon(&v)
	}
	end := int(v.End)
	_, text, asWritten := k.asWritten(false)
	switch {
	case asWritten && startsBelow(text) && s.startsBehind(&v, behind):
		// What follows the key on its line is still there.
		s.putValue(&v, behind, "", "")
		_, lines, _ := strings.Cut(text, "\n")
		s.put(s.eol(end), s.eol(end), s.l.eol+spaces(col)+s.l.indented(lines, col))
	case asWritten:
		s.putValue(&v, behind, "", s.l.indented(text, col))
	case s.replaceLines(&v, val):
	case isInline(val):
		s.putValue(&v, behind, " ", string(s.l.inline(nil, val, v.Style)))
	case isMap:
		if s.startsBehind(&v, behind) {
			s.put(behind, end, "")
			behind = end
		}
		s.put(s.eol(behind), s.eol(end), string(s.l.behindKey(nil, val, col)))
	default:
		s.put(behind, s.eol(end), string(s.l.item([]byte{' '}, val, col)))
	}
}

// startsBehind reports whether a value starts on the line of its key or dash, which
// ends at the offset behind.
func (s *splicer) startsBehind(v *yaml.Node, behind int) bool {
	return v.Style == yaml.Absent || bytes.IndexByte(s.t.Text[behind:v.Start], '\n') < 0
}

// putValue puts a text in the place of a value, behind its key or dash and the space;
// without a space the text has its own, and replaces what is in front of the value too.
func (s *splicer) putValue(v *yaml.Node, behind int, space, text string) {
	start, end := int(v.Start), int(v.End)
	switch {
	case v.Style == yaml.Absent:
		s.put(behind, behind, space+text)
		return
	case !s.startsBehind(v, behind):
		s.put(behind, behind, space+text)
		s.put(s.eol(behind), s.eol(end), "")
		return
	case v.Style == yaml.Block || v.Style == yaml.Literal || v.Style == yaml.Folded:
		end = s.eol(end)
	}
	if space == "" {
		start = behind
	}
	s.put(start, end, text)
}

// block edits a block collection that keeps at least one of its entries.
func (s *splicer) block(o *editNode) {
	v := &s.t.Nodes[o.node]
	b := blockEdit{splicer: s, col: int(v.Col), isMap: v.Kind == yaml.Mapping, end: int(v.KeyEnd)}
	for i, k := range o.children {
		switch {
		case k.node == 0:
			b.added = append(b.added, k)
			continue
		case !k.deleted:
			b.keep(k)
		case !b.firstRemoved:
			b.delete(k, o.children[i:])
		}
		b.end = int(s.t.Nodes[k.node].End)
	}
	b.addLines(s.belowComments(s.next(b.end), b.col))
}

// A blockEdit goes through the entries of a block collection.
type blockEdit struct {
	*splicer
	col          int
	isMap        bool
	end          int         // of the last original entry so far; lines above belong to others
	added        []*editNode // new entries that come before the next one that stays
	firstRemoved bool        // the entries on the line of a dash, and none since, are deleted
}

// render returns a new entry between two texts.
func (b *blockEdit) render(before string, k *editNode, behind string) string {
	start := len(b.mem.rendered)
	text := append(b.mem.rendered, before...)
	if entry, _, ok := k.asWritten(false); ok {
		text = append(text, b.l.indented(entry, b.col)...)
	} else if b.isMap {
		text = b.l.entry(text, k.key, k.value(b.t), b.col)
	} else {
		text = b.l.item(append(text, "- "...), k.value(b.t), b.col)
	}
	b.mem.rendered = append(text, behind...)
	return yaml.View(b.mem.rendered[start:])
}

// keep adds the new entries before an original one, and edits that.
func (b *blockEdit) keep(k *editNode) {
	if len(b.added) > 0 {
		key := int(b.t.Nodes[k.node].Key)
		if b.onOwnLine(k.node, b.col) && !b.firstRemoved {
			at := b.aboveComments(b.lineStart(key), b.col, b.end)
			if b.added[0].text != "" {
				at = b.next(b.end)
			}
			b.addLines(at)
		} else {
			for _, x := range b.added {
				b.put(key, key, b.render("", x, b.l.eol+spaces(b.col)))
			}
			b.added = nil
		}
	}
	b.firstRemoved = false
	b.change(k, b.isMap, b.col)
}

// delete deletes an original entry, the first of the given ones.
func (b *blockEdit) delete(k *editNode, rest []*editNode) {
	n := &b.t.Nodes[k.node]
	if b.onOwnLine(k.node, b.col) {
		at := b.lineStart(int(n.Key))
		b.addLines(at)
		b.put(at, b.next(int(n.End)), "")
		return
	}
	// The collection starts on the line of a dash, to which the next entry moves up.
	b.firstRemoved = true
	start, end := int(n.Key), int(n.Key)
	for _, k := range rest {
		if k.node == 0 {
			continue
		}
		if !k.deleted {
			b.put(start, b.upToComment(end, int(b.t.Nodes[k.node].Key)), "") // comment lines stay
			return
		}
		end = int(b.t.Nodes[k.node].End)
	}
}

// addLines adds the new entries at the start of a line, each below the comments that
// it has had above it.
func (b *blockEdit) addLines(at int) {
	for _, x := range b.added {
		at = skipBlankAndComments(b.t.Text, at, x.linesAbove())
		b.put(at, at, b.render(spaces(b.col), x, x.lineBreak(b.l.eol)))
	}
	b.added = nil
}

// aboveComments returns the start of the comment lines directly above a line;
// they belong to its entry.
func (s *splicer) aboveComments(at, col, bound int) int {
	for at > 0 {
		above := s.lineStart(at - 1)
		q := yaml.SkipSpaces(s.t.Text, above)
		if above <= bound || q-above != col || s.t.Text[q] != '#' {
			break
		}
		at = above
	}
	return at
}

// belowComments returns the start of the line below the comments that follow an entry
// of a collection in column col, and are indented further: they belong to the entry.
func (s *splicer) belowComments(at, col int) int {
	for line := at; line < len(s.t.Text); line = s.next(line) {
		q := yaml.SkipSpaces(s.t.Text, line)
		if q == s.eol(line) {
			continue
		}
		if s.t.Text[q] != '#' || q-line <= col || yaml.LineEnd(s.t.Text, line) == len(s.t.Text) {
			break
		}
		at = s.next(line)
	}
	return at
}

func (s *splicer) flow(o *editNode, inJSON bool) {
	v := s.t.Nodes[o.node]
	l := s.flowLayout(o.node, inJSON)
	lastKept := o.lastKept()
	if lastKept < 0 {
		s.put(int(v.Start), int(v.End), string(l.flow(nil, o.value(s.t), yaml.Absent, s.indentOf(int(v.Start)))))
		return
	}
	childCol := 0 // of the lines of entries, in the pretty form
	separator := l.comma
	if l.pretty {
		childCol = s.indentOf(int(s.t.Nodes[v.Child].Key))
		separator = "," + l.eol + spaces(childCol)
	}
	render := func(k *editNode) string {
		if entry, _, ok := k.asWritten(true); ok {
			return entry
		}
		if v.Kind == yaml.Mapping {
			return string(l.flowEntry(nil, k.key, k.value(s.t), childCol))
		}
		return string(l.flow(nil, k.value(s.t), yaml.Absent, childCol))
	}
	var added []string
	for i, k := range o.children {
		n := &s.t.Nodes[k.node]
		if k.node != 0 && i <= lastKept {
			for _, text := range added {
				s.put(int(n.Key), int(n.Key), text+separator)
			}
			added = nil
		}
		switch {
		case k.node == 0:
			added = append(added, render(k))
		case k.deleted && i < lastKept: // comments on their own lines in front of the next one stay
			s.put(int(n.Key), s.upToComment(int(n.End), int(s.t.Nodes[n.Next].Key)), "")
		case !k.deleted:
			s.changeInFlow(k, &l, childCol)
		}
	}
	at := s.cutFlow(o.children[lastKept:])
	if len(added) > 0 {
		if bytes.HasPrefix(bytes.TrimLeft(s.t.Text[at:], " \t,"), []byte("#")) { // the comment of the last entry stays on its line
			separator = ", "
		}
		s.put(at, at, separator+strings.Join(added, separator))
	}
}

// lastKept returns the index of the last original child that is not deleted; -1 if there is
// none.
func (o *editNode) lastKept() int {
	i := len(o.children) - 1
	for i >= 0 && (o.children[i].node == 0 || o.children[i].deleted) {
		i--
	}
	return i
}

func (s *splicer) changeInFlow(k *editNode, l *layout, childCol int) {
	n := &s.t.Nodes[k.node]
	if old := s.keyStyle(n); k.key != k.was {
		keys := *l
		keys.json = l.json && old == yaml.Double
		s.put(int(n.Key), int(n.KeyEnd), string(keys.key(nil, k.key, old, true)))
	}
	switch {
	case k.set || k.wasAlias():
		v := s.t.Written(k.node)
		if _, text, ok := k.asWritten(true); ok && s.startsBehind(n, int(n.KeyEnd)) {
			s.put(s.t.BehindColon(n), int(n.End), text)
			break
		}
		text := string(l.flow(nil, k.value(s.t), v.Style, childCol))
		if n.Style == yaml.Absent && s.t.Text[n.Start-1] == ':' {
			text = " " + text
		}
		s.put(int(n.Start), int(n.End), text)
	case k.open:
		s.flow(k, l.json)
	}
}

// upToComment returns the start of the first comment behind the line of an offset, and to if
// there is none before that.
func (s *splicer) upToComment(at, to int) int {
	at = min(s.eol(at), to)
	before, _, _ := bytes.Cut(s.t.Text[at:to], []byte("#"))
	return at + len(before)
}

// cutFlow deletes the original entries behind the first of the children, and returns the offset at
// which new ones may come.
func (s *splicer) cutFlow(children []*editNode) (at int) {
	text := s.t.Text
	at = int(s.t.Nodes[children[0].node].End)
	first, end := at, at
	for _, k := range slices.Backward(children[1:]) {
		if k.node != 0 {
			first, end = int(s.t.Nodes[k.node].Key), max(end, int(s.t.Nodes[k.node].End))
		}
	}
	if bytes.IndexByte(text[at:first], '#') < 0 {
		s.put(at, end, "")
		return end
	}
	// Comments in front of them stay, with the comma.
	if comma := yaml.SkipBlanks(text, end); text[comma] == ',' {
		end = comma + 1
	}
	if eol := s.eol(end); isBlankText(text[end:eol]) { // nothing else is on their lines
		first, end = len(bytes.TrimRight(text[:first], " \t\r\n")), eol
	}
	s.put(first, end, "")
	return at
}

// indentOf returns the indentation of the line that contains the offset.
func (s *splicer) indentOf(at int) int {
	ls := s.lineStart(at)
	if ls == 0 {
		return s.t.Col
	}
	return yaml.SkipSpaces(s.t.Text, ls) - ls
}

// flowLayout returns the layout of a flow collection, or of those around it if
// it is empty.
func (s *splicer) flowLayout(n int32, inJSON bool) layout {
	l := s.l
	l.colon, l.comma, l.json = ": ", ", ", inJSON
	for _, n := range []int32{1, n} { // the root too: an empty collection or one of scalars says little
		v := s.t.Nodes[n]
		if v.Style != yaml.Flow || v.Child == 0 {
			continue
		}
		k := s.t.Nodes[v.Child]
		if v.Kind == yaml.Mapping {
			l.json = s.t.Text[k.Key] == '"'
			l.colon = ":"
			if k.Start > k.KeyEnd+1 || k.Style == yaml.Absent {
				l.colon = ": "
			}
			if l.json && l.colon == ":" {
				l.comma = ","
			}
		}
		if k.Next != 0 {
			between := s.t.Text[k.End:s.t.Nodes[k.Next].Key]
			if bytes.IndexByte(between, '\n') < 0 {
				l.comma = string(bytes.TrimLeft(between, " \t"))
			}
		}
	}
	l.json = l.json || inJSON
	s.learnPretty(n, &l)
	return l
}

// learnPretty notes in the layout how the lines of a flow collection are indented, or those
// of the root if the collection is empty.
func (s *splicer) learnPretty(n int32, l *layout) {
	v := s.t.Nodes[n]
	if v.Child == 0 && s.t.Nodes[1].Style == yaml.Flow {
		v = s.t.Nodes[1]
	}
	first := int(s.t.Nodes[v.Child].Key)
	if v.Child == 0 || bytes.IndexByte(s.t.Text[v.Start:first], '\n') < 0 {
		return
	}
	l.pretty = true
	from := int(v.Start)
	if from == 0 { // the root, on whose first line the text does not start
		from = int(v.End) - 1
	}
	l.step = max(s.indentOf(first)-s.indentOf(from), 0)
	if strings.TrimSpace(l.comma) != "," {
		l.comma = ", "
	}
}
