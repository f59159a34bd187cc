package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// What the scanner refuses is read by the full parser, only to find the items
// and their apiVersion and kind. Items that are not edited still come back byte
// for byte.

// parseYAML returns the one document in the text, which starts at the offset at
// of the input, or nil if it is empty.
func (s *Stream) parseYAML(text []byte, at int) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, s.yamlError(err, at)
	}
	var more yaml.Node
	switch err := dec.Decode(&more); {
	case err == nil:
		return nil, s.errorAt(at, errors.New("line breaks must be LF or CRLF where a document starts"))
	case !errors.Is(err, io.EOF):
		return nil, s.yamlError(err, at)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind == yaml.ScalarNode && isNullText(doc.Content[0].Value) {
		return nil, nil
	}
	return doc.Content[0], nil
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// yamlError returns the parser's error with its line in the input.
func (s *Stream) yamlError(err error, at int) error {
	msg := err.Error()
	line := s.line(at)
	if m := yamlLine.FindStringSubmatch(msg); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			line += n - 1
		}
		msg = msg[len(m[0]):]
	}
	return &Error{File: s.name, Line: line, Err: fmt.Errorf("invalid YAML: %s", msg)}
}

// parsedDocument reads a document and reports whether it is empty.
func (s *Stream) parsedDocument(start, end int, info *docInfo) (empty bool, err error) {
	root, err := s.parseYAML(s.in[start:end], start)
	if err != nil {
		return false, err
	}
	if root == nil {
		return true, nil
	}
	return false, s.locate(root, start, end, 0, info)
}

// indexParsed reads the mapping that starts in column col.
func (s *Stream) indexParsed(start, end, col int, info *docInfo) error {
	text := append(appendSpaces(nil, col), s.in[start:end]...)
	root, err := s.parseYAML(text, start)
	if err != nil {
		return err
	}
	if root == nil {
		return s.errorAt(start, errors.New("must be a mapping, and is empty"))
	}
	return s.locate(root, start, end, col, info)
}

// A placer converts the parser's lines and columns to offsets in the input.
type placer struct {
	in    []byte // up to the end of the document
	lines []int  // where the lines start; the first may lie before the input
	pad   int    // spaces that were put before the text
}

func newPlacer(in []byte, start, pad int) *placer {
	p := &placer{in: in, lines: []int{start}, pad: pad}
	for i := start; i < len(in); i++ {
		switch c := in[i]; {
		case c == '\n', c == '\r' && (i+1 == len(in) || in[i+1] != '\n'):
			p.lines = append(p.lines, i+1)
		case c == 0xc2 && i+1 < len(in) && in[i+1] == 0x85:
			p.lines = append(p.lines, i+2)
		case c == 0xe2 && i+2 < len(in) && in[i+1] == 0x80 && (in[i+2] == 0xa8 || in[i+2] == 0xa9):
			p.lines = append(p.lines, i+3)
		}
	}
	return p
}

func (p *placer) offset(n *yaml.Node) int {
	line, col := n.Line-1, n.Column-1
	if line < 0 || line >= len(p.lines) {
		return len(p.in)
	}
	at := p.lines[line]
	if line == 0 {
		col -= p.pad
	}
	for ; col > 0 && at < len(p.in); col-- {
		_, n := utf8.DecodeRune(p.in[at:])
		at += n
	}
	return at
}

// lineStart returns the start of the line that contains the offset.
func (p *placer) lineStart(at int) int {
	i, found := slices.BinarySearch(p.lines, at)
	if found {
		return at
	}
	return p.lines[max(i-1, 0)]
}

// locate notes the apiVersion and kind of the root and where its items are.
func (s *Stream) locate(root *yaml.Node, start, end, pad int, info *docInfo) error {
	if root.Kind != yaml.MappingNode {
		return s.errorAt(start, fmt.Errorf("%w, not %s", ErrNotObject, yamlKind(root)))
	}
	p := newPlacer(s.in[:end], start, pad)
	info.start = p.offset(root)
	info.col = root.Column - 1
	info.end = end
	info.flow = root.Style&yaml.FlowStyle != 0
	if err := s.noteKind(root, p, info); err != nil {
		return err
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		noted := info.entryOf(key.Value)
		if noted == nil {
			continue
		}
		if noted.keyEnd != 0 {
			return s.errorAt(p.offset(key), fmt.Errorf("key %q must stand only once in its mapping, and is here again", key.Value))
		}
		next := end
		if i+2 < len(root.Content) {
			next = p.offset(root.Content[i+2])
			if !info.flow {
				next = p.lineStart(next)
			}
		}
		s.noteEntry(noted, key, value, next, p)
		if key.Value == "items" {
			if err := s.locateItems(value, next, p, info); err != nil {
				return err
			}
			if value.Kind == yaml.SequenceNode {
				noteShared(root, value, info)
			}
		}
	}
	return nil
}

func (s *Stream) noteEntry(noted *entry, key, value *yaml.Node, next int, p *placer) {
	noted.key = p.offset(key)
	noted.keyEnd = noted.key + bytes.IndexByte(s.in[noted.key:], ':') + 1
	if q := noted.key + len(key.Value) + 2; key.Style != 0 && q < len(s.in) && s.in[q] == ':' {
		noted.keyEnd = q + 1
	}
	noted.end, noted.col = next, -1
	if value.Tag == "!!null" && value.Value == "" {
		noted.end = noted.keyEnd
		return
	}
	noted.start = p.offset(value)
	if value.Style&yaml.FlowStyle != 0 {
		noted.end = looseFlowEnd(p.in, noted.start)
	} else if value.Kind != yaml.ScalarNode && value.Kind != yaml.AliasNode {
		noted.col = value.Column - 1
	}
}

// noteKind notes the apiVersion and kind of a mapping.
func (s *Stream) noteKind(n *yaml.Node, p *placer, info *docInfo) error {
	parsed := info.addParsed()
	for _, want := range []struct {
		key  string
		text *string
		has  *bool
	}{{"apiVersion", &parsed.apiVersion, &info.hasAPI}, {"kind", &parsed.kind, &info.hasKind}} {
		v, again := lookup(n, want.key)
		switch {
		case again != nil:
			return s.errorAt(p.offset(again), fmt.Errorf("key %q must stand only once in its mapping, and is here again", want.key))
		case v == nil || v.ShortTag() == "!!null":
		case v.Kind != yaml.ScalarNode:
			return s.errorAt(p.offset(v), fmt.Errorf("`%s` must be a string, not %s", want.key, yamlKind(v)))
		default:
			*want.text, *want.has = v.Value, true
		}
	}
	return nil
}

// lookup returns the value of a key, seen through aliases and merge keys, and
// the second occurrence of the key, if any.
func lookup(n *yaml.Node, key string) (value, again *yaml.Node) {
	return lookupIn(n, key, 0)
}

func lookupIn(n *yaml.Node, key string, depth int) (value, again *yaml.Node) {
	n = target(n)
	if n.Kind != yaml.MappingNode || depth > maxDepth {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key && n.Content[i].Kind == yaml.ScalarNode {
			if value != nil {
				return value, n.Content[i]
			}
			value = target(n.Content[i+1])
		}
	}
	if value != nil {
		return value, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !isMerge(n.Content[i]) {
			continue
		}
		from := target(n.Content[i+1])
		sources := []*yaml.Node{from}
		if from.Kind == yaml.SequenceNode {
			sources = from.Content
		}
		for _, src := range sources {
			if v, _ := lookupIn(src, key, depth+1); v != nil {
				return v, nil
			}
		}
	}
	return nil, nil
}

func isMerge(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "<<" && (n.Tag == "" || n.Tag == "!" || n.ShortTag() == "!!merge")
}

// target returns the node that an alias refers to.
func target(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func yamlKind(n *yaml.Node) string {
	switch target(n).Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if n.ShortTag() == "!!null" {
		return "null"
	}
	return fmt.Sprintf("%q", target(n).Value)
}

// locateItems notes the items of a list whose entry ends at next.
func (s *Stream) locateItems(seq *yaml.Node, next int, p *placer, info *docInfo) error {
	if seq.Kind == yaml.AliasNode {
		return s.errorAt(p.offset(seq), fmt.Errorf("`items` must be written out, not the alias *%s", seq.Value))
	}
	if seq.Kind != yaml.SequenceNode {
		return nil
	}
	isFlow := seq.Style&yaml.FlowStyle != 0
	for i, n := range seq.Content {
		it := docInfo{start: p.offset(n), col: n.Column - 1, end: next, notMapping: target(n).Kind != yaml.MappingNode}
		it.flow = n.Style&yaml.FlowStyle != 0
		if isFlow || it.flow {
			it.end = looseFlowEnd(p.in, it.start)
		}
		if !isFlow && i > 0 && !info.list[i-1].flow {
			info.list[i-1].end = p.dashLine(it.start, seq.Column-1)
		}
		if !it.notMapping {
			if err := s.noteKind(n, p, &it); err != nil {
				return inItem(i, "", err)
			}
		}
		info.list = append(info.list, it)
	}
	return nil
}

// inItem adds the index of the item to its error, unless that names an object
// already.
func inItem(i int, list string, err error) error {
	if e := (*Error)(nil); errors.As(err, &e) && e.Path == nil && e.Object == "" {
		e.Err = fmt.Errorf("%s`items[%d]`: %w", list, i, e.Err)
	}
	return err
}

// dashLine returns the start of the line with the dash, in column col, of the
// item whose content starts at the offset.
func (p *placer) dashLine(at, col int) int {
	for ls := p.lineStart(at); ; ls = p.lineStart(ls - 1) {
		if q := skipSpaces(p.in, ls); q-ls == col && q < at && p.in[q] == '-' {
			return ls
		}
		if ls <= p.lines[0] {
			return at
		}
	}
}

// looseFlowEnd returns the end of a node in flow style that the full parser
// has accepted: that of a collection is behind its closing bracket.
func looseFlowEnd(in []byte, p int) int {
	depth := 0
	inPlain := false // in a plain scalar, where quotes are text
	for p < len(in) {
		c := in[p]
		switch {
		case isBlank(in, p):
		case (c == '"' || c == '\'') && !inPlain:
			e, ok := quotedEnd(in, p)
			if !ok {
				return len(in)
			}
			p = e
			continue
		case (c == '&' || c == '*' || c == '!') && !inPlain:
			for p < len(in) && !isBlank(in, p) && !isFlowIndicator(in[p]) {
				p++
			}
			continue
		case c == '{' || c == '[':
			depth++
			inPlain = false
		case c == '}' || c == ']':
			if depth--; depth <= 0 {
				return p + depth + 1
			}
			inPlain = false
		case c == '#' && (!inPlain || isBlank(in, p-1)):
			p = lineEnd(in, p)
			continue
		case c == ',' && depth == 0:
			return p
		case c == ',', c == '?' && !inPlain && isBlank(in, p+1),
			c == ':' && (!inPlain || isBlank(in, p+1) || isFlowIndicator(in[p+1])):
			inPlain = false
		default:
			inPlain = true
		}
		p++
	}
	return p
}

func isFlowIndicator(c byte) bool {
	return c == ',' || c == '[' || c == ']' || c == '{' || c == '}'
}

// noteShared marks the items of a list that share an anchor with another item
// or another field of the list.
func noteShared(root, seq *yaml.Node, info *docInfo) {
	owner := map[*yaml.Node]int{}
	var aliases bool
	var walk func(n *yaml.Node, visit func(*yaml.Node))
	walk = func(n *yaml.Node, visit func(*yaml.Node)) {
		visit(n)
		for _, c := range n.Content {
			walk(c, visit)
		}
	}
	for i, it := range seq.Content {
		walk(it, func(n *yaml.Node) {
			if n.Anchor != "" {
				owner[n] = i
			}
		})
	}
	walk(root, func(n *yaml.Node) { aliases = aliases || n.Kind == yaml.AliasNode })
	if !aliases {
		return
	}
	mark := func(i int, anchor string) {
		parsed := info.list[i].addParsed()
		parsed.shared, parsed.node = anchor, seq.Content[i]
	}
	for _, n := range root.Content {
		if n == seq {
			continue
		}
		walk(n, func(n *yaml.Node) {
			if j, inside := owner[n.Alias]; inside && n.Kind == yaml.AliasNode {
				mark(j, n.Value)
			}
		})
	}
	for i, it := range seq.Content {
		walk(it, func(n *yaml.Node) {
			if n.Kind != yaml.AliasNode {
				return
			}
			j, inside := owner[n.Alias]
			if inside && j == i {
				return
			}
			mark(i, n.Value)
			if inside {
				mark(j, n.Value)
			}
		})
	}
}

// maxExpanded limits how many nodes the aliases of one object may expand to.
const maxExpanded = 200_000

// expand returns a copy of the node with all aliases and merge keys written
// out, without redundant tags.
func expand(n *yaml.Node, left *int, depth int) (*yaml.Node, error) {
	if *left--; *left < 0 || depth > 10*maxDepth {
		return nil, errors.New("aliases must not expand to so much")
	}
	if n.Kind == yaml.AliasNode {
		c, err := expand(n.Alias, left, depth+1)
		if err != nil {
			return nil, err
		}
		c.HeadComment, c.LineComment, c.FootComment = n.HeadComment, n.LineComment, n.FootComment
		return c, nil
	}
	c := *n
	c.Anchor, c.Content = "", nil
	if err := plainTag(&c); err != nil {
		return nil, err
	}
	if n.Kind != yaml.MappingNode {
		for _, k := range n.Content {
			x, err := expand(k, left, depth+1)
			if err != nil {
				return nil, err
			}
			c.Content = append(c.Content, x)
		}
		return &c, nil
	}
	return &c, expandMapping(&c, n, left, depth)
}

// expandMapping fills c with the entries of n. A mapping's own keys win over
// merged ones, and earlier merged mappings over later ones.
func expandMapping(c, n *yaml.Node, left *int, depth int) error {
	own := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !isMerge(n.Content[i]) {
			own[n.Content[i].Value] = true
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMerge(key) {
			x, err := expand(value, left, depth+1)
			if err != nil {
				return err
			}
			sources := []*yaml.Node{x}
			if x.Kind == yaml.SequenceNode {
				sources = x.Content
			}
			for _, src := range sources {
				if src.Kind != yaml.MappingNode {
					return fmt.Errorf("line %d: a merge key (<<) must have a mapping or a list of mappings", key.Line)
				}
				for j := 0; j+1 < len(src.Content); j += 2 {
					if !own[src.Content[j].Value] {
						own[src.Content[j].Value] = true
						c.Content = append(c.Content, src.Content[j], src.Content[j+1])
					}
				}
			}
			continue
		}
		if target(key).Kind != yaml.ScalarNode {
			return fmt.Errorf("%w, not %s", ErrNotKey, yamlKind(key))
		}
		k, err := expand(key, left, depth+1)
		if err != nil {
			return err
		}
		v, err := expand(value, left, depth+1)
		if err != nil {
			return err
		}
		c.Content = append(c.Content, k, v)
	}
	return nil
}

// plainTag removes an explicit tag of the core schema. The node gets the style
// that means the same.
func plainTag(n *yaml.Node) error {
	if n.Style&yaml.TaggedStyle == 0 {
		return nil
	}
	n.Style &^= yaml.TaggedStyle
	switch tag := n.ShortTag(); tag {
	case "!!str", "!":
		if n.Style == 0 {
			n.Style = yaml.DoubleQuotedStyle
		}
	case "!!int", "!!float", "!!bool", "!!null":
		if readsAsString(n.Value) {
			return fmt.Errorf("%q must not have the tag %s", n.Value, tag)
		}
		n.Style = 0
	case "!!map", "!!seq":
		n.Tag = ""
	default:
		return fmt.Errorf("a Kubernetes object must not have the tag %s", tag)
	}
	return nil
}

// parseNode returns the object as the full parser reads it, a mapping.
func (o *Object) parseNode() (*yaml.Node, error) {
	if o.node != nil {
		return o.node, nil
	}
	return o.parseText(o.source())
}

// plainTree reads the object into t in the scanner's own form, with aliases
// written out and without comments. It returns the parsed node too, for line
// numbers.
func (o *Object) plainTree(t *tree) (root *yaml.Node, err error) {
	if root, err = o.parseNode(); err != nil {
		return nil, err
	}
	want, err := o.expanded(root)
	if err != nil {
		return nil, err
	}
	text := encodePlain(want, int(o.col), want.Style&yaml.FlowStyle != 0, o.stream.eol())
	if !t.parse(text, int(o.col)) || !t.equalYAML(1, want) {
		return o.normalize(t)
	}
	if o.node != nil {
		root = nil // its lines count from the start of the list
	}
	return root, nil
}

// normalize writes the object in a form that the scanner accepts, with aliases
// written out, and parses that into t. The text keeps the blank and comment
// lines at its end. It returns the parsed node too, for line numbers.
func (o *Object) normalize(t *tree) (root *yaml.Node, err error) {
	s := o.stream
	src := o.source()
	if root, err = o.parseNode(); err != nil {
		return nil, err
	}
	want, err := o.expanded(root)
	if err != nil {
		return nil, err
	}
	for _, head := range [][]byte{trimTail(src, int(o.col)), src} {
		x := want
		if o.node != nil {
			root = nil // its lines count from the start of the list
		} else if n, err := o.parseText(head); err != nil {
			continue
		} else if x, err = o.expanded(n); err != nil {
			continue
		}
		isFlow := x.Style&yaml.FlowStyle != 0
		text, err := encodeYAML(x, int(o.col), isFlow, s.eol())
		if err == nil && o.parseEncoded(t, text, head, want) {
			return root, nil
		}
		if o.parseEncoded(t, encodePlain(x, int(o.col), isFlow, s.eol()), head, want) {
			return root, nil
		}
	}
	return nil, s.errorAt(o.start, errors.New("must be in a simpler form of YAML to be edited"))
}

// expanded returns a copy of the node without aliases, merge keys and tags.
func (o *Object) expanded(n *yaml.Node) (*yaml.Node, error) {
	left := maxExpanded
	x, err := expand(n, &left, 0)
	if err != nil {
		return nil, o.stream.errorAt(o.start, err)
	}
	return x, nil
}

// parseEncoded parses an encoded text in the place of head, which the object's
// text starts with, and reports whether it reads as wanted.
func (o *Object) parseEncoded(t *tree, text, head []byte, want *yaml.Node) bool {
	// A text may end without a line end, but not in a block scalar.
	if trimmed := bytes.TrimRight(text, "\r\n"); !endsWithBreak(head) && t.parse(trimmed, int(o.col)) && t.equalYAML(1, want) {
		return true
	}
	return t.parse(append(text, o.source()[len(head):]...), int(o.col)) && t.equalYAML(1, want)
}

// endsWithBreak reports whether a text ends with a line break of YAML.
func endsWithBreak(text []byte) bool {
	switch r, _ := utf8.DecodeLastRune(text); r {
	case '\n', '\r', 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

// mayKeep matches the header of a block scalar that keeps the line ends behind
// it.
var mayKeep = regexp.MustCompile(`[|>][1-9]?\+`)

// trimTail returns the text without the blank and comment lines at its end that
// cannot belong to a value.
func trimTail(text []byte, col int) []byte {
	if mayKeep.Match(text) {
		return text
	}
	for {
		body := bytes.TrimSuffix(text, []byte("\n"))
		ls := bytes.LastIndexByte(body, '\n') + 1
		q := skipSpaces(body, ls)
		if ls == 0 || !(atBreak(text, q) || text[q] == '#' && q-ls <= col) {
			return text
		}
		text = text[:ls]
	}
}

func (s *Stream) eol() string {
	if s.info.crlf {
		return "\r\n"
	}
	return "\n"
}

// encodeYAML returns what the full parser's encoder writes for the node, which
// starts in column col.
func encodeYAML(n *yaml.Node, col int, isFlow bool, eol string) ([]byte, error) {
	if isFlow {
		dropComments(n)
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if !isFlow && isCompact(n) {
		enc.CompactSeqIndent()
	}
	if err := enc.Encode(n); err != nil {
		return nil, err
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	return indent(b.Bytes(), col, eol), nil
}

// indent indents all lines but the first.
func indent(text []byte, col int, eol string) []byte {
	pad := spaces(col)
	var out bytes.Buffer
	first := true
	for line := range bytes.Lines(text) {
		body := bytes.TrimSuffix(line, []byte("\n"))
		if !first && len(body) > 0 {
			out.WriteString(pad)
		}
		first = false
		out.Write(body)
		if len(body) < len(line) {
			out.WriteString(eol)
		}
	}
	return out.Bytes()
}

func dropComments(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, c := range n.Content {
		dropComments(c)
	}
}

// isCompact reports whether most lists start in the column of their key.
func isCompact(n *yaml.Node) bool {
	wide, compact := 0, 0
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		for i, c := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 1 && c.Kind == yaml.SequenceNode && c.Style&yaml.FlowStyle == 0 {
				if c.Column > n.Content[i-1].Column {
					wide++
				} else {
					compact++
				}
			}
			walk(c)
		}
	}
	walk(n)
	return compact >= wide
}

// equalYAML reports whether the node has the same value as the parser's node.
func (t *tree) equalYAML(n int32, y *yaml.Node) bool {
	v := &t.nodes[n]
	c := v.child
	switch y.Kind {
	case yaml.MappingNode:
		if v.kind != mapping {
			return false
		}
		for i := 0; i+1 < len(y.Content); i += 2 {
			if c == 0 || y.Content[i].Kind != yaml.ScalarNode || string(t.keyBytes(c)) != y.Content[i].Value || !t.equalYAML(c, y.Content[i+1]) {
				return false
			}
			c = t.nodes[c].next
		}
		return c == 0
	case yaml.SequenceNode:
		if v.kind != sequence {
			return false
		}
		for _, k := range y.Content {
			if c == 0 || !t.equalYAML(c, k) {
				return false
			}
			c = t.nodes[c].next
		}
		return c == 0
	case yaml.ScalarNode:
		const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
		if y.Style&quoted == 0 && isNullText(y.Value) {
			return t.isNull(n)
		}
		if v.kind != scalar || t.str(n) != y.Value {
			return false
		}
		// Quotes may differ if the type does not.
		_, isString := t.value(n).(string)
		_, mustBe := resolve(y.Value).(string)
		return isString == (mustBe || y.Style&quoted != 0)
	}
	return false
}
