package manifest

import (
	"bytes"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// change edits an entry of a block collection in column col.
func (s *splicer) change(k *editNode, isMap bool, col int) {
	v := &s.t.Nodes[k.node]
	if isMap && k.key != k.was {
		s.putKey(v, s.l.key(nil, k.key, s.keyStyle(v), false))
	}
	isFilled := v.Child == 0 && len(k.children) > 0
	isEmptied := k.open &&
		k.lastKept() < 0 &&
		(v.Style != yaml.Flow || isFilled)
	switch {
	case isEmptied || k.set || k.wasLinked():
		s.replace(k, isMap, col)
	case k.open && v.Style == yaml.Flow:
		s.flow(k, false)
	case k.open:
		s.block(k)
	}
}

// replace writes a new value behind a key or dash in column col.
func (s *splicer) replace(k *editNode, isMap bool, col int) {
	v := s.t.Written(k.node)
	val := k.value(s.t)
	behind := int(v.KeyEnd)
	if isMap {
		behind = s.t.BehindColon(&v)
	}
	end := int(v.End)
	_, text, asWritten := k.asWritten(false)
	switch {
	case asWritten && startsBelow(text):
		// What follows the key on its line is still there.
		_, lines, _ := strings.Cut(text, "\n")
		lines = s.l.eol + spaces(col) + s.l.indented(lines, col)
		if !s.startsBehind(&v, behind) {
			s.put(s.eol(behind), s.eol(end), lines)
			break
		}
		s.putValue(&v, behind, "", "")
		s.insert(s.eol(end), lines)
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

// putValue puts a text in the place of a value, behind its key or dash and the space;
// without a space the text has its own, and replaces what is in front of the value too.
func (s *splicer) putValue(v *yaml.Node, behind int, space, text string) {
	start := int(v.Start)
	end := int(v.End)
	switch {
	case v.Style == yaml.Absent:
		s.insert(behind, space+text)
		return
	case !s.startsBehind(v, behind):
		s.insert(behind, space+text)
		s.put(s.eol(behind), s.eol(end), "")
		return
	case v.Style == yaml.Block ||
		v.Style == yaml.Literal ||
		v.Style == yaml.Folded:
		end = s.eol(end)
	}
	if space == "" {
		start = behind
	}
	s.put(start, end, text)
}

// replaceLines replaces the lines of a literal block scalar, below its header. It returns
// false if the scalar must be written anew.
func (s *splicer) replaceLines(v *yaml.Node, val field.Value) bool {
	_, ok := keepsLines(s.t, v, val)
	if ok {
		header := s.eol(int(v.Start))
		end := s.eol(int(v.End))
		s.put(header, end, s.linesOf(v, val.(string)))
	}
	return ok
}

// keepsLines reports whether a value can be written into a literal block scalar, and
// what that has now.
func keepsLines(t *yaml.Tree, v *yaml.Node, val field.Value) (have string, ok bool) {
	want, isString := val.(string)
	if v.Style != yaml.Literal ||
		v.Marks&^yaml.Overrides != 0 ||
		v.Col < 0 {
		return have, false
	}
	indicators := t.Text[v.Start:min(v.Start+3, v.End)]
	if bytes.IndexByte(indicators, '+') > 0 {
		return have, false
	}
	if !isString || !isLiteral(strings.TrimSuffix(want, "\n")+"\n") {
		return have, false
	}
	have = yaml.ScalarOf(t, v)
	return have, strings.HasSuffix(have, "\n") == strings.HasSuffix(want, "\n")
}

// linesOf returns a string as the lines below the header of a literal block scalar.
func (s *splicer) linesOf(v *yaml.Node, text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return string(s.l.lines(nil, lines, int(v.Col)))
}

// block edits a block collection that keeps at least one of its entries.
func (s *splicer) block(o *editNode) {
	v := &s.t.Nodes[o.node]
	b := blockEdit{splicer: s, col: int(v.Col), end: int(v.KeyEnd)}
	b.isMap = v.Kind == yaml.Mapping
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
				b.insert(key, b.render("", x, b.l.eol+spaces(b.col)))
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
	start := int(n.Key)
	end := int(n.Key)
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
		b.insert(at, b.render(spaces(b.col), x, x.lineBreak(b.l.eol)))
	}
	b.added = nil
}

// aboveComments returns the start of the comment lines directly above a line;
// they belong to its entry.
func (s *splicer) aboveComments(at, col, bound int) int {
	for at > 0 {
		above := s.lineStart(at - 1)
		q := yaml.SkipSpaces(s.t.Text, above)
		if above <= bound ||
			q-above != col ||
			s.t.Text[q] != '#' {
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
		hasEnd := yaml.LineEnd(s.t.Text, line) < len(s.t.Text)
		if s.t.Text[q] != '#' ||
			q-line <= col ||
			!hasEnd {
			break
		}
		at = s.next(line)
	}
	return at
}
