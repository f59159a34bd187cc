package yaml

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrNotObject is part of the error of a document that is a list or a single value.
var ErrNotObject = errors.New("a document must be a Kubernetes object, which is a mapping")

// ErrScalar is part of the error of a document that is a single value: what is left of a link that was
// checked out as text, for example. It is an [ErrNotObject] too.
var ErrScalar = fmt.Errorf("%w", ErrNotObject)

// Documents are those of a text, which are read one after the other.
type Documents struct {
	text  *Checked
	Start int // of the document at hand: the start of the line with its first content
	End   int // behind it

	parser Parser
}

// Tree returns the tree of the document at hand, of which only what tells objects apart is kept.
func (d *Documents) Tree() *Tree { return &d.parser.Tree }

// TextEnd is that of the parser.
func (d *Documents) TextEnd() int { return d.parser.TextEnd }

// Documents returns the documents of the text, before the first one. The verified ones are stepped over.
func (x *Checked) Documents(verified []Verified) *Documents {
	// An output that is read back has three nodes for most objects: to grow would leave garbage where memory peaks.
	nodes := make([]Node, 0, 3*len(verified))
	p := Parser{
		Tree:     Tree{Nodes: nodes},
		stack:    newStack(),
		prunes:   true,
		verified: verified,
	}
	return &Documents{text: x, End: x.Start, parser: p}
}

// Next goes to the start of the next document; ok is false if there is none.
func (d *Documents) Next() (ok bool) {
	d.Start, ok = d.text.NextDocument(d.End)
	return ok
}

// NextDocument returns the offset of the line with the first content from p on
// (which is at the start of a line or behind a document); ok is false if
// there is none. A document that starts on the line of its marker, or with
// directives, starts there.
func (x *Checked) NextDocument(p int) (int, bool) {
	in := x.Bytes
	for p < len(in) {
		q := SkipBlanks(in, p)
		switch {
		case hasTab(in[p:q]): // which rootStart refuses
			return p, true
		case atBreak(in, q) || in[q] == '#':
		case q == p && IsMarker(in, p):
			r := SkipBlanks(in, p+3)
			if !atBreak(in, r) && in[r] != '#' {
				return p, true
			}
		default:
			return p, true
		}
		p = LineEnd(in, q) + 1
	}
	return len(in), false
}

func hasTab(b []byte) bool {
	return bytes.IndexByte(b, '\t') >= 0
}

// rootStart returns where the root of the document starts that [Checked.NextDocument] returned, behind its
// directives and its marker, and where the line of that starts, which may have the marker.
func (x *Checked) rootStart(p int) (at, line int, err error) {
	in := x.Bytes
	if in[p] == '%' {
		marker := x.documentEnd(p)
		if marker == len(in) || in[marker] != '-' {
			return 0, 0, errorAt(p, errors.New("invalid YAML: a directive (%) must be followed by the marker of its document (---)"))
		}
		p, _ = x.NextDocument(marker)
	}
	line = p
	isMarked := IsMarker(in, p)
	if isMarked {
		if in[p] == '.' {
			return 0, 0, errorAt(p, errors.New("invalid YAML: nothing must come behind the end of a document (...)"))
		}
		p += 3
	}
	if at = SkipBlanks(in, p); !isMarked && hasTab(in[p:at]) {
		return 0, 0, errorAt(at, errors.New("invalid YAML: a tab must not be indentation"))
	}
	return at, line, nil
}

// Read reads the document at hand; empty is true if it holds nothing.
func (d *Documents) Read() (empty bool, err error) {
	in := d.text.Bytes
	t := &d.parser
	t.reset(in, d.text.in, 0)
	p, line, err := d.text.rootStart(d.Start)
	if err != nil {
		return false, err
	}
	if p >= len(in) {
		d.End = p
		return true, nil
	}
	content := p + ContentStart(in[p:])
	switch isFlow := content < len(in) && in[content] == '{'; {
	case content < len(in) &&
		(in[content] == '[' || in[content] == '-' && IsBlank(in, content+1)):
		return false, errorAt(content, fmt.Errorf("%w, not a list", ErrNotObject))
	case !isFlow && !startsWithKey(in, content):
		return d.scalar(p, content)
	case !isFlow &&
		IsMarker(in, line) &&
		!hasBreak(in[p:content]):
		return false, errorAt(p, errors.New("invalid YAML: a key must not be on the line of its document's marker"))
	}
	var ok bool
	if d.End, ok = t.document(p, p-line); !ok {
		return false, t.Refused.From(0)
	}
	return false, nil
}

// document reads a document that starts at p, in column col. A verified object is stepped over.
func (t *Parser) document(p, col int) (end int, ok bool) {
	t.Nodes = append(t.Nodes, Node{Key: int32(p), KeyEnd: int32(p)})
	end, ok = t.stepOver(p, 1, col)
	if ok && (end == len(t.Text) || IsMarker(t.Text, end)) {
		return end, true
	}
	t.Nodes, t.reached = t.Nodes[:1], cursor{}
	return t.root(p, col)
}

// startsWithKey reports whether a key or an indicator is at p, behind its anchor and tag.
func startsWithKey(in []byte, p int) bool {
	if p == len(in) {
		return false
	}
	_, _, isKey := scanKey(in, p)
	return isKey || isIndicator(in, p)
}

// scalar reads a document that is a single value, which starts at content behind its anchor and
// tag: it must be null, and the document is empty then.
func (d *Documents) scalar(p, content int) (empty bool, err error) {
	in := d.text.Bytes
	if !d.parser.rootProperties(p, content) {
		return false, d.parser.Refused.From(0)
	}
	value := ""
	tag := []byte(nil)
	line := p
	if d.End = d.text.documentEnd(p); content < d.End {
		_, tag, _ = splitProperties(in[p:])
		value = View(in[content:trimEnd(in, plainEnd(in, content))])
		line = content
	}
	next, _ := d.text.NextDocument(LineEnd(in, line) + 1)
	if isNullText(value) &&
		(len(tag) == 0 || string(tag) == "!!null") &&
		next >= d.End {
		return true, nil
	}
	return false, errorAt(content, fmt.Errorf("%w, not %q", ErrScalar, value))
}

// Parse parses a part of the input, which starts in column col, into the tree, whose text
// then starts at the offset at. If it has an alias of an anchor that is elsewhere, all of
// its document is read.
func (x *Checked) Parse(t *Parser, start, end, col int) (at int, ok bool) {
	if parse(t, x.Bytes[start:end], x.in[start:end], col) {
		return start, true
	}
	refused := t.Refused
	at, end = x.documentAround(start)
	at, _ = x.NextDocument(at)
	if root, line, err := x.rootStart(at); err == nil {
		at = root
		if at < end &&
			parse(t, x.Bytes[at:end], x.in[at:end], at-line) {
			for n := range t.Nodes {
				if v := &t.Nodes[n]; n > 1 && at+int(v.Start) == start && v.Marks&IsMerged == 0 {
					t.Nodes[1] = *v
					return at, true
				}
			}
		}
	}
	t.Refused = refused
	return start, false
}

func (x *Checked) documentAround(at int) (start, end int) {
	start = LineStart(x.Bytes, at)
	for start > x.Start && !IsMarker(x.Bytes, start) {
		start = LineStart(x.Bytes, start-1)
	}
	return max(start, x.Start), x.documentEnd(at)
}

// endOfFlow skips what may follow a root in flow style, white space and
// comments, up to the end, the next document marker or, since tools concatenate
// JSON, the next brace; ok is false at anything else, and at a line that starts with a tab.
func endOfFlow(in []byte, p int) (end int, ok bool) {
	for p < len(in) {
		q := SkipBlanks(in, p)
		startsLine := in[p-1] == '\n'
		switch {
		case startsLine && IsMarker(in, p):
			return p, true
		case startsLine && hasTab(in[p:q]):
			return p, false
		case !atBreak(in, q) &&
			!(in[q] == '#' && (startsLine || q > p)):
			return q, in[q] == '{'
		}
		p = LineEnd(in, q) + 1
	}
	return len(in), true
}

// documentEnd returns the offset of the marker that ends the document in which p is, or
// the end of the input.
func (x *Checked) documentEnd(p int) int {
	in := x.Bytes
	for p = LineEnd(in, p) + 1; p < len(in); p = LineEnd(in, p) + 1 {
		if IsMarker(in, p) {
			return p
		}
	}
	return len(in)
}

// IsHidden reports whether a document or an item may have another apiVersion or kind than its text says.
func (t *Tree) IsHidden(n int32) bool {
	if t.Nodes[n].Marks&IsAlias != 0 {
		return true
	}
	for c := t.Nodes[n].Child; c != 0; c = t.Nodes[c].Next {
		switch marks := t.Nodes[c].Marks; {
		case marks&(isMergeKey|isExplicit|specialKey) != 0:
			return true
		case marks&(IsAlias|HasProperties) != 0 &&
			(t.KeyOf(c) == "apiVersion" || t.KeyOf(c) == "kind"):
			return true
		}
	}
	return false
}

// ColumnOf returns the column in which the text of a value starts, 0 in braces.
func (x *Checked) ColumnOf(v *Node) int {
	if x.Bytes[v.Start] == '{' {
		return 0
	}
	return int(v.Start) - max(LineStart(x.Bytes, int(v.Start)), x.Start)
}

// IsListOfMappings reports whether a node is a list that has items, and only mappings.
func (t *Tree) IsListOfMappings(n int32) bool {
	c := t.Nodes[n].Child
	for ; c != 0 && t.Nodes[c].Kind == Mapping; c = t.Nodes[c].Next {
	}
	return t.Nodes[n].Kind == Sequence &&
		t.Nodes[n].Child != 0 &&
		c == 0
}
