package manifest

import (
	"bytes"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// Texts returns the texts of entries, for [field.Edit.Texts], that Apply would write in
// another way if the opposite of the edits were made after them: with other quotes, with
// another word for null, without a comment, above a comment that was above it, written out
// where it was an alias. They are by the keys of the entries, which must differ. What is
// no entry of a mapping, and a collection that is not empty, has no text here.
//
// A text starts with a line feed for every line that is empty or a comment above an
// entry that will be gone. Its other lines are indented as if its key were in column 0.
func (o *Object) Texts(edits []field.Edit) field.KeyValues {
	t, err := o.load()
	if err != nil {
		return nil
	}
	r := textReader{splicer: &splicer{t: t}}
	if o.stream.parsed != nil {
		if r.outline = o.outline(); r.outline == nil {
			return nil
		}
		r.t = &r.outline.tree
	}
	for _, e := range edits {
		to, isMap := e.Value.(field.Map)
		switch p, found := r.placeOf(e.Path); {
		case !found:
		case e.Op == field.Rename && isMap && p.child != 0:
			for c := p.child; c != 0; c = r.t.nodes[c].next {
				instead, stays := to.Get(r.t.keyOf(c))
				r.note(r.within(p, c), !stays, instead)
			}
		case e.Op != field.Insert:
			r.note(p, e.Op == field.Delete, e.Value)
		}
	}
	return r.texts
}

// A textReader reads the texts of entries.
type textReader struct {
	*splicer                 // of the tree, which it does not change
	outline  *outline        // of an object that only the full parser reads; else nil
	texts    field.KeyValues // those that were read
}

// note notes the text of the entry at a place if the entry would be written in another
// way after it was gone or, if gone is not set, after its value has been instead.
func (r *textReader) note(p place, gone bool, instead field.Value) {
	if p.child != 0 || r.t.nodes[p.parent].kind != mapping || !gone && p.comesBack(instead) {
		return
	}
	text, above := p.entry(gone)
	switch {
	case p.inFlow && strings.Contains(text, "\n"):
	case gone && above == "" && p.isUsual(text):
	default:
		r.texts = r.texts.With(strings.Clone(r.t.keyOf(p.n)), above+text)
	}
}

// A place is an entry of a mapping, or an item of a list, in an object's text.
type place struct {
	*node
	*splicer  // of the tree, which it does not change
	n, parent int32
	inFlow    bool
	l         layout // of what is written there
	special   bool   // it is an alias, or has an anchor or a tag
}

// placeOf returns the place at path; ok is false if there is none. An alias on the way
// is noted.
func (r *textReader) placeOf(path field.Path) (p place, ok bool) {
	p = place{node: &r.t.nodes[1], splicer: r.splicer, n: 1}
	for _, step := range path {
		c := r.t.child(p.n, step)
		if c == 0 {
			if p.special && p.kind == scalar {
				r.note(p, false, field.Map{})
			}
			return p, false
		}
		p = r.within(p, c)
	}
	return p, true
}

// within returns the place of an entry or item of a collection.
func (r *textReader) within(p place, n int32) place {
	in := place{node: &r.t.nodes[n], splicer: r.splicer, n: n, parent: p.n, l: p.l, inFlow: p.style == flow}
	if in.inFlow {
		in.l = r.flowLayout(p.n, p.l.json)
	}
	if r.outline != nil {
		y := r.outline.nodes[n]
		in.special = y.Kind == yaml.AliasNode || hasProperties(y)
	}
	return in
}

// value returns the text of the value.
func (p *place) value() string {
	if p.style == absent {
		return ""
	}
	return string(p.t.text[p.start:p.end])
}

// entry returns the text of the entry. If the entry will be gone, its comment is a part
// of it, and above has a line feed for each line above that is empty or a comment.
func (p *place) entry(gone bool) (text, above string) {
	key, end := int(p.key), int(p.end)
	if p.style == absent { // it ends behind the colon
		end = int(p.keyEnd) + 1
		if p.inFlow {
			end = max(end, int(p.start))
		}
	}
	if gone && !p.inFlow {
		end = p.eol(end)
		above = strings.Repeat("\n", max(bytes.Count(p.t.text[p.t.endBefore(p.parent, p.n):key], []byte("\n"))-1, 0))
	}
	return outdented(p.t.text[key:end], key-p.lineStart(key)), above
}

// isUsual reports whether the text of an entry is what a new entry gets.
func (p *place) isUsual(text string) bool {
	key, v := p.t.keyOf(p.n), p.t.any(p.n)
	if p.inFlow {
		return !p.special && text == string(p.l.flowEntry(nil, key, v, 0))
	}
	return !p.special && text == string(p.l.entry(nil, key, v, 0))
}

// comesBack reports whether the value is written as it is now if it is set again after
// another value has been in its place.
func (p *place) comesBack(instead field.Value) bool {
	stays := p.startsBehind(p.node, int(p.keyEnd)) // the text in front of the value
	switch instead.(type) {
	case field.Map, field.List:
		stays = p.style == absent || p.start == p.keyEnd+2
	}
	if !stays || p.special {
		return false
	}
	if p.style == plain { // what most ports and paths are
		text := view(p.t.text[p.start:p.end])
		if _, isNumber := decimal(text); isNumber || isPlain(text, p.inFlow) && !p.l.json {
			return true
		}
	}
	if _, linesAreEdited := p.t.keepsLines(p.node, instead); linesAreEdited {
		return true
	}
	text, old := p.t.str(p.n), p.style
	for _, v := range []field.Value{instead, p.t.any(p.n)} {
		if p.inFlow {
			text = string(p.l.replacing(old, text).flowInstead(nil, v, old, 0))
		} else {
			text = string(p.l.inlineInstead(nil, v, old))
		}
		old = styleOf(text)
	}
	return text == p.value()
}

// styleOf returns the style of a scalar that a layout has written.
func styleOf(text string) style {
	switch text[0] {
	case '"':
		return double
	case '\'':
		return single
	}
	return plain
}

// endBefore returns the end of the entry before one in a block mapping, or of the key
// of that mapping.
func (t *tree) endBefore(parent, n int32) int {
	end := int(t.nodes[parent].keyEnd)
	for c := t.nodes[parent].child; c != n; c = t.nodes[c].next {
		end = max(int(t.nodes[c].end), int(t.nodes[c].keyEnd))
	}
	return end
}

// outdented returns a text with its lines after the first col columns further left.
func outdented(text []byte, col int) string {
	lines := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	for i, line := range lines[1:] {
		rest := strings.TrimLeft(line, " ")
		lines[1+i] = line[min(col, len(line)-len(rest)):]
	}
	return strings.Join(lines, "\n")
}

// indented is the opposite of outdented.
func (l *layout) indented(text string, col int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines[1:] {
		if line != "" {
			lines[1+i] = spaces(col) + line
		}
	}
	return strings.Join(lines, l.eol)
}

// linesAbove returns how many lines that are empty or comments were above the entry
// when its author wrote it.
func (k *editNode) linesAbove() int { return len(k.text) - len(strings.TrimLeft(k.text, "\n")) }

// below returns the start of the line below as many lines as given at most, from the
// start of one; only empty lines and comments are passed.
func below(text []byte, at, lines int) int {
	for ; lines > 0; lines-- {
		end := lineEnd(text, at)
		if line := bytes.TrimSpace(text[at:end]); end == len(text) || len(line) > 0 && line[0] != '#' {
			break
		}
		at = end + 1
	}
	return at
}

// asWritten returns the entry as its author once wrote it, and the text of its value
// with the spaces in front; ok is false if that text is not known, or reads as something
// else. A text that only the full parser reads is taken on trust: who uses it reads the
// result.
func (k *editNode) asWritten(inFlow bool) (entry, value string, ok bool) {
	entry = strings.TrimLeft(k.text, "\n")
	if entry == "" || inFlow && strings.Contains(entry, "\n") {
		return "", "", false
	}
	text, brackets := entry+"\n", 0
	if inFlow {
		text, brackets = "{"+entry+" }", 1
	}
	wasCollection := k.open && !k.set // which only an alias may have been
	var t tree
	if wasCollection || !t.parse([]byte(text), 0) {
		keyEnd, isKey, ok := scanKey([]byte(text), brackets)
		value = entry[max(keyEnd+1-brackets, 0):]
		isAlias := strings.HasPrefix(strings.TrimLeft(value, " "), "*")
		return entry, value, ok && isKey && (isAlias || !wasCollection)
	}
	n := t.nodes[1].child
	v := &t.nodes[n]
	if n == 0 || v.next != 0 || t.keyOf(n) != k.key || !t.equalValue(n, k.val) {
		return "", "", false
	}
	value = entry[int(v.keyEnd)+1-brackets:]
	if v.style != absent {
		value = text[v.keyEnd+1 : v.end] // without a comment
	}
	return entry, value, true
}

// withoutTexts returns the edits without the texts that drop chooses.
func withoutTexts(edits []field.Edit, drop func(text field.KeyValue) bool) []field.Edit {
	edits = slices.Clone(edits)
	for i := range edits {
		edits[i].Texts = slices.DeleteFunc(slices.Clone(edits[i].Texts), drop)
	}
	return edits
}

// needsFullParser reports whether the scanner cannot say what a text means.
func needsFullParser(text field.KeyValue) bool {
	var t tree
	return !t.parse([]byte(strings.TrimLeft(text.Value, "\n")+"\n"), 0)
}

func anyText(field.KeyValue) bool { return true }

// startsBelow reports whether the text of a value starts on the line below its key.
func startsBelow(value string) bool {
	line, _, more := strings.Cut(strings.TrimLeft(value, " "), "\n")
	return more && (line == "" || line[0] == '#')
}

// wasAlias reports whether a collection was an alias when its author wrote it.
func (k *editNode) wasAlias() bool {
	if !k.open || k.set {
		return false
	}
	_, _, ok := k.asWritten(false)
	return ok
}
