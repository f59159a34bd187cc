package manifest

import (
	"bytes"
	"iter"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// Texts returns the texts that edits replace, for [field.Edit.Texts], as far as Apply would
// write them in another way if the opposite of the edits were made after them: with other
// quotes, with another word for null, without a comment, above a comment that was above it,
// written out where it was an alias. What is no entry of a mapping, and a collection that is
// not empty, has no text here.
//
// A text starts with a line feed for every line that is empty or a comment above an
// entry that will be gone, and ends with a carriage return if its line ends with LF and the
// object's with CRLF, or the other way round. Its other lines are indented as if its key were
// in column 0.
func (o *Object) Texts(edits []field.Edit) []field.WrittenText {
	t, err := o.load()
	if err != nil {
		return nil
	}
	root, err := o.stream.scratch.original.overlay(t, edits)
	if err != nil {
		return nil
	}
	s := splicer{
		t: t,
		l: layout{eol: lineBreak(o.source(), o.stream.eol)},
	}
	whole := entryText{Node: t.Nodes[1], splicer: &s, n: 1}
	if len(t.Merges) > 0 {
		_, whole.writtenOut = editText(t, root)
		root, _ = o.stream.scratch.original.overlay(t, edits) // the other one has what is written out
	}
	var path [16]field.Step // most are shorter, and need no memory
	return whole.texts(nil, root, path[:0])
}

// texts appends the texts below an entry or item, at a path, that keeps some of its contents. (An entry that is
// passed by value is not on the heap.)
func (p entryText) texts(to []field.WrittenText, o *editNode, at field.Path) []field.WrittenText {
	item := int32(-1) // the index before the edits
	for _, k := range o.children {
		if k.node != 0 {
			item++
		}
		if k.node == 0 || !k.deleted && !k.set && !k.open {
			continue
		}
		c := p.within(k.node)
		step := field.Step{Index: item, IsIndex: true}
		if o.kind == yaml.Mapping {
			step = field.Step{Key: p.t.KeyOf(k.node)}
		}
		path := append(at, step)
		isBrought := c.Marks&yaml.IsMerged != 0
		switch {
		case isBrought: // its text is elsewhere
		case k.open &&
			c.Child != 0 &&
			(o.kind == yaml.Sequence || !c.losesMergeKeys()):
			to = c.texts(to, k, path)
		case o.kind == yaml.Mapping && k.differs():
			to = c.note(to, k, path)
		}
	}
	return to
}

// losesMergeKeys reports whether the entry is a mapping whose merge keys the edits write out: one of what the
// keys bring, or of the anchor that they name.
func (p *entryText) losesMergeKeys() bool {
	return p.Marks&yaml.HasMergeKey != 0 &&
		p.writtenOut[p.n] != ""
}

// maxLinked is the longest text of a mapping with merge keys that is kept: it may be a whole pod.
const maxLinked = 1 << 10

// note appends the text of an entry unless undoing its edit would give the same.
func (p entryText) note(to []field.WrittenText, k *editNode, path field.Path) []field.WrittenText {
	isLinked := k.open && p.Marks&yaml.HasMergeKey != 0
	if p.Child != 0 && !isLinked ||
		!k.deleted && p.comesBack(k.value(p.t)) {
		return to
	}
	text, above, below := p.entry(k.deleted)
	isLost := p.inFlow && strings.Contains(text, "\n") || isLinked && len(text) > maxLinked
	if isLost || k.deleted &&
		above+below == "" &&
		p.isUsual(text) {
		return to
	}
	path = slices.Clone(path)
	for i := range path {
		path[i].Key = strings.Clone(path[i].Key)
	}
	return append(to, field.WrittenText{Path: path, Text: above + text + below})
}

// An entryText is an entry of a mapping, or an item of a list, in an object's text.
type entryText struct {
	yaml.Node
	*splicer  // of the tree, which it does not change
	n, parent int32
	inFlow    bool
	l         layout // of what is written there

	writtenOut map[int32]string // the aliases and mappings with merge keys that the edits write out
}

// within returns an entry or item of a collection.
func (p *entryText) within(n int32) entryText {
	in := entryText{
		Node:    p.t.Written(n),
		splicer: p.splicer,
		l:       p.l,

		writtenOut: p.writtenOut,
	}
	in.n, in.parent = n, p.n
	if in.inFlow = p.Style == yaml.Flow; in.inFlow {
		in.l = p.flowLayout(p.n, p.l.json)
	}
	return in
}

// isSpecial reports whether the entry is an alias, or has an anchor or a tag.
func (p *entryText) isSpecial() bool {
	return p.Marks&^(yaml.IsMerged|yaml.Overrides) != 0
}

// entry returns the text of the entry. If the entry will be gone, or its value is below its
// key, its comment is a part of it. If it will be gone, above has a line feed for each line
// above that is empty or a comment, and below a carriage return if its line break is not the
// object's.
func (p *entryText) entry(gone bool) (text, above, below string) {
	key := int(p.Key)
	end := int(p.End)
	if p.Style == yaml.Absent { // it ends behind the colon
		end = p.t.BehindColon(&p.Node)
		if p.inFlow {
			end = max(end, int(p.Start))
		}
	}
	if !p.inFlow &&
		(gone || !p.startsBehind(&p.Node, int(p.KeyEnd))) {
		end = p.eol(end)
	}
	if gone && !p.inFlow {
		between := p.t.Text[p.t.EndBefore(p.parent, p.n):key]
		lines := bytes.Count(between, []byte("\n"))
		above = strings.Repeat("\n", max(lines-1, 0))
		below = markOf(string(p.t.In[end:p.splicer.next(end)]), p.splicer.l.eol)
	}
	if text = string(p.t.In[key:end]); p.inFlow { // one of several lines is not kept
		return text, "", ""
	}
	return outdented(text, key-p.lineStart(key)), above, below
}

// isUsual reports whether the text of an entry is what a new entry gets.
func (p *entryText) isUsual(text string) bool {
	write := p.l.entry
	if p.inFlow {
		write = p.l.flowEntry
	}
	usual := write(nil, p.t.KeyOf(p.n), p.t.Any(p.n), 0)
	return !p.isSpecial() && text == string(usual)
}

// comesBack reports whether the value is written as it is now if it is set again after
// another value has been in its place.
func (p *entryText) comesBack(instead field.Value) bool {
	stays := p.startsBehind(&p.Node, int(p.KeyEnd)) // the text in front of the value
	switch instead.(type) {
	case field.Map, field.List:
		stays = p.Style == yaml.Absent || p.Start == p.KeyEnd+2
	}
	if !stays || p.isSpecial() {
		return false
	}
	if have, ok := keepsLines(p.t, &p.Node, instead); ok {
		lines := p.t.In[p.eol(int(p.Start)):p.End]
		return p.linesOf(&p.Node, have) == string(lines)
	}
	text := ""
	old := p.Style
	for _, v := range []field.Value{instead, p.t.Any(p.n)} {
		if p.inFlow {
			text = string(p.l.flow(nil, v, old, 0))
		} else {
			text = string(p.l.inline(nil, v, old))
		}
		old = yaml.StyleOf(text)
	}
	return text == string(p.t.In[p.Start:p.End])
}

// outdented returns a text with its lines after the first col columns further left. Its CRLF become LF.
func outdented(text string, col int) string {
	var out strings.Builder
	out.Grow(len(text))
	for line, end := range textLines(text) {
		if out.Len() > 0 {
			rest := strings.TrimLeft(line, " ")
			line = line[min(col, len(line)-len(rest)):]
		}
		out.WriteString(line)
		out.WriteString(end)
	}
	return out.String()
}

// indented is the opposite of outdented.
func (l *layout) indented(text string, col int) string {
	var out strings.Builder
	for line, end := range textLines(text) {
		if out.Len() > 0 && line != "" {
			out.WriteString(spaces(col))
		}
		out.WriteString(line)
		if end == "\n" {
			end = l.eol
		}
		out.WriteString(end)
	}
	return out.String()
}

// textLines returns the lines of the text of an entry or a value, each with its line break. CRLF is LF. All other line breaks end the
// lines of a block scalar alone: texts in quotes often have them in the middle of a line.
func textLines(text string) iter.Seq2[string, string] {
	return func(yield func(line, end string) bool) {
		whole := ""
		isBlock := false
		for line, end := range yaml.Lines(text) {
			if end == "\r\n" {
				end = "\n"
			}
			whole += line
			isBlock = isBlock || startsBlock(whole)
			if !isBlock && end != "" && end != "\n" {
				whole += end
				continue
			}
			if !yield(whole, end) {
				return
			}
			whole = ""
		}
	}
}

// startsBlock reports whether a line ends with the header of a block scalar.
func startsBlock(line string) bool {
	line, _, _ = strings.Cut(line, " #")
	line = strings.TrimRight(strings.TrimRight(line, " \t"), "+-0123456789")
	return strings.HasSuffix(line, " |") || strings.HasSuffix(line, " >")
}

// linesAbove returns how many lines that are empty or comments were above the entry
// when its author wrote it.
func (k *editNode) linesAbove() int {
	return len(k.text) - len(strings.TrimLeft(k.text, "\n"))
}

// markOf returns what the text of an entry ends with if its line ended with a line break, and the object's lines end with eol.
func markOf(lineBreak, eol string) string {
	switch lineBreak {
	case "", eol:
		return ""
	case "\n", "\r\n":
		return "\r"
	case "\r":
		return "\r\r"
	}
	return lineBreak
}

// lineBreak returns what the entry's line ended with when its author wrote it, if the
// object's lines end with eol.
func (k *editNode) lineBreak(eol string) string {
	for _, end := range []string{"\r", "\n", "\r\n", "\u0085", "\u2028", "\u2029"} {
		if mark := markOf(end, eol); mark != "" && strings.HasSuffix(k.text, mark) {
			return end
		}
	}
	return eol
}

// skipBlankAndComments returns the start of the line below as many lines as given at most, from the
// start of one; only empty lines and comments are passed.
func skipBlankAndComments(text []byte, at, lines int) int {
	for ; lines > 0; lines-- {
		end := yaml.LineEnd(text, at)
		if end == len(text) || !isBlankText(text[at:end]) {
			break
		}
		at = end + 1
	}
	return at
}

// asWritten returns the entry as its author once wrote it, and the text of its value
// with the spaces in front; ok is false if that text is not known, or reads as something
// else. A text with aliases is taken on trust: the result is read.
func (k *editNode) asWritten(inFlow bool) (entry, value string, ok bool) {
	entry = strings.TrimRight(strings.TrimLeft(k.text, "\n"), "\r\u0085\u2028\u2029")
	if entry == "" || inFlow && strings.Contains(entry, "\n") {
		return "", "", false
	}
	text := entry + "\n"
	brackets := 0
	if inFlow {
		text = "{" + entry + " }"
		brackets = 1
	}
	t := yaml.Parser{Lenient: true}
	if !t.ParseUsual([]byte(text)) {
		return "", "", false
	}
	n := t.Nodes[1].Child
	v := &t.Nodes[n]
	hasValue := (!k.open || k.set) && t.EqualValue(n, k.val) // a collection of which only entries change was linked
	if n == 0 ||
		v.Next != 0 ||
		t.KeyOf(n) != k.key ||
		len(t.Uses) == 0 && !hasValue {
		return "", "", false
	}
	behind := t.BehindColon(v)
	if value = entry[behind-brackets:]; v.Style != yaml.Absent && !startsBelow(value) {
		value = text[behind:v.End] // without a comment
	}
	return entry, value, true
}

// startsBelow reports whether the text of a value starts on the line below its key.
func startsBelow(value string) bool {
	line, _, more := strings.Cut(strings.TrimLeft(value, " "), "\n")
	return more && (line == "" || line[0] == '#')
}

// wasLinked reports whether a collection was an alias, or had a merge key, when its author wrote it.
func (k *editNode) wasLinked() bool {
	if !k.open || k.set {
		return false
	}
	_, _, ok := k.asWritten(false)
	return ok
}
