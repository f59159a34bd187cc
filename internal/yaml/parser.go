package yaml

// A Parser parses one text after another.
type Parser struct {
	Tree            // of the last text
	Refused Refusal // why the last text was not accepted
	Lenient bool    // aliases need no anchor
	TextEnd int     // behind the last block scalar whose value ends with its last line end

	stack       []frame        // memory for the collections that are open
	names       map[string]int // where the anchors so far are
	prunes      bool           // only what tells objects apart is kept
	verified    []Verified     // what is stepped over
	isJSON      bool           // the root is in flow style, so that it may be JSON
	inFlowStyle bool           // the scanner is in a collection in flow style:
	bracket     int            // where the innermost one starts
	flowIndent  int            // tabs in columns before it are no indentation of a plain scalar in flow style
}

// Parse parses a text that starts in column col and reports whether the scanner
// accepts it. The tree before is gone: its memory is used again.
func (t *Parser) Parse(in []byte, col int) bool {
	checked, err := Check(in, nil)
	if wrong, ok := err.(*Refusal); ok {
		t.reset(nil, nil, col)
		_, _ = t.invalid(wrong.At, wrong.Error())
		return false
	}
	return parse(t, checked.Bytes, in, col)
}

// parse is Parse for a text that has been checked, and the same as it is in the input.
func parse(t *Parser, text, in []byte, col int) bool {
	if t.stack == nil {
		t.Nodes = make([]Node, 0, 512)
		t.stack = newStack()
	}
	t.reset(text, in, col)
	end, ok := t.root(0, col)
	if ok && end != len(text) {
		_, ok = t.invalid(end, "nothing must come here")
	}
	return ok && (!t.Special || t.resolve())
}

// reset empties the tree, whose memory stays.
func (t *Parser) reset(text, in []byte, col int) {
	tree := Tree{Text: text, In: in, Col: col, Nodes: append(t.Nodes[:0], Node{})}
	*t = Parser{
		Tree:     tree,
		Lenient:  t.Lenient,
		stack:    t.stack,
		prunes:   t.prunes,
		verified: t.verified,
	}
}

func newStack() []frame { return make([]frame, 0, 64) }

// root reads the root, which starts at p in column col, into node 1.
func (t *Parser) root(p, col int) (end int, ok bool) {
	start := p + ContentStart(t.Text[p:])
	if start == len(t.Text) || t.Text[start] != '{' {
		return t.scan(p, col)
	}
	t.Nodes = append(t.Nodes, Node{Key: int32(p), KeyEnd: int32(p)})
	if !t.rootProperties(p, start) {
		return 0, false
	}
	t.isJSON = true
	if end, ok = t.flow(start, 0, 1); !ok {
		return 0, false
	}
	if end, ok = endOfFlow(t.Text, end); !ok {
		return t.invalid(end, "nothing must be behind the closing bracket, not even a tab at the start of a line")
	}
	if start > p {
		t.Nodes[1].Start, t.Nodes[1].Marks = int32(p), HasProperties
	}
	return end, true
}

// rootProperties reads the anchor and the tag of a root, which are all that is between two offsets.
func (t *Parser) rootProperties(start, end int) bool {
	p, ok := t.properties(start)
	if !ok {
		return false
	}
	for line := LineEnd(t.Text, start) + 1; line < end; line = LineEnd(t.Text, line) + 1 {
		if text := SkipSpaces(t.Text, line); text < end && t.Text[text] == '\t' {
			_, ok = t.invalid(text, "a tab must not be indentation")
			return ok
		}
	}
	if p, _ = flowSpace(t.Text, p); p != end {
		_, ok = t.invalid(p, "the anchor and the tag of an object must be on one line, with names of letters, digits, - and _")
	}
	return ok
}

// ParseUsual parses a text; ok is false if it has a form that is not edited.
func (t *Parser) ParseUsual(text []byte) (ok bool) {
	return t.Parse(text, 0) && t.ReadOnly.Why == ""
}
