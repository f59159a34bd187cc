package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A Stream is a whole input: a ResourceList, a stream of documents or a List.
type Stream struct {
	name string
	in   []byte
	text []byte // the input, with line feeds for the line breaks that are neither LF nor CRLF
	info textInfo

	addedEnd   int  // how many bytes at the end were added: the line end that the input lacks
	endsInText bool // that line end would become text of a block scalar if anything came behind it

	objects []*Object
	slab    []Object
	config  *Object
	isList  bool // a ResourceList
	results resultsPosition
	added   bool     // results were added
	changes []change // to the input, besides the edits of its objects

	// The tree that was used last, and the one that checks edits.
	tree   tree
	treeOf *Object
	treeAt int // where the text of the tree starts
	check  tree

	arena   editArena // of the object being edited
	scratch scratch   // for its text

	known []knownObject // in an output: those of its objects that were stepped over

	linesBefore []int // the line feeds before each block, as far as lines were asked for
}

// A splice is a text that replaces a part of another.
type splice struct {
	start, end int
	text       string
}

// A change is a splice of the whole input: results, or an object that was
// added or removed.
type change struct {
	splice
	lines bool // the text consists of whole lines: it starts and ends one, whatever is around it
	adds  *addition
	kept  *string // where the text is kept: only as a part of the output when that is made
}

// An addition is an object that was added.
type addition struct {
	name   string
	before string // the text that sets it off from the object before it
	length int    // of its text
	value  field.Map
}

func (a *addition) String() string { return a.name }

// maxSize is the most that an input or output may have: offsets are int32.
const maxSize = math.MaxInt32 - 16

// Read splits the input into its objects. The name ("<stdin>" or a path)
// appears in messages. The input must never be changed afterwards: the stream
// and what is decoded from it refer to it. Input without any object is an
// error; an empty list is not.
//
// The end of the input ends its last line, as it does for kubectl.
func Read(name string, input []byte) (*Stream, error) { return read(name, input, nil) }

// read is Read for an output in which the known objects are stepped over.
func read(name string, input []byte, known []knownObject) (s *Stream, err error) {
	s = &Stream{name: name, in: input, known: known}
	defer s.recovered(&err)
	if len(input) > maxSize {
		return nil, &Error{File: name, Err: errors.New("must be smaller than 2 GiB")}
	}
	s.endLastLine()
	var at int
	if s.info, at, err = checkText(s.in, known); err != nil {
		return nil, s.errorAt(at, err)
	}
	s.text = s.in
	if len(s.info.odd) > 0 {
		s.text = withLineFeeds(s.in, s.info.odd)
	}
	return s, s.documents()
}

// endLastLine adds the line end that the last line lacks, so that text may be
// put behind any line.
func (s *Stream) endLastLine() {
	n := len(s.in)
	if n == 0 || s.in[n-1] == '\n' {
		return
	}
	eol := "\n"
	if i := bytes.IndexByte(s.in, '\n'); i > 0 && s.in[i-1] == '\r' {
		eol = "\r\n"
	}
	s.in = append(s.in[:n:n], eol...)
	s.addedEnd = len(eol)
}

// recovered makes an error of a panic.
func (s *Stream) recovered(err *error) {
	if p := recover(); p != nil {
		*err = &Error{File: s.name, Err: fmt.Errorf("cannot be read: %v", p)}
	}
}

func (s *Stream) errorAt(at int, err error) *Error {
	return &Error{File: s.name, Line: s.line(at), Err: err}
}

// invalid returns the error of a text that starts at an offset and is refused.
func (s *Stream) invalid(start int, r refusal) *Error {
	return s.errorAt(start+r.at, errors.New(r.why))
}

// withLineFeeds returns a text with line feeds, behind spaces, in the place of other line
// breaks. Its offsets are those of the text.
func withLineFeeds(text []byte, breaks []int) []byte {
	text = bytes.Clone(text)
	for _, p := range breaks {
		_, n := utf8.DecodeRune(text[p:])
		copy(text[p:], "   "[:n-1]+"\n")
	}
	return text
}

// line returns the number of the line that contains the offset. Line feeds are counted once
// for each block of the input, because objects are asked for in any order.
func (s *Stream) line(at int) int {
	const block = 1 << 15
	at, feed := min(at, len(s.in)), []byte("\n")
	if s.linesBefore == nil {
		s.linesBefore = []int{0}
	}
	for n := len(s.linesBefore); n <= at/block; n++ {
		s.linesBefore = append(s.linesBefore, s.linesBefore[n-1]+bytes.Count(s.in[(n-1)*block:n*block], feed))
	}
	return 1 + s.linesBefore[at/block] + bytes.Count(s.in[at/block*block:at], feed)
}

// documents goes through the documents of the input.
func (s *Stream) documents() error {
	// The tree of each document, of which only what tells objects apart is kept.
	// An output that is read back has three for most objects: to grow would leave garbage where memory peaks.
	t := tree{text: s.text, nodes: make([]node, 0, max(512, 3*len(s.known)))}
	stack := make([]frame, 0, 64)
	found, known := false, s.known
	for p := s.info.start; ; {
		start, ok := s.nextDocument(p)
		if !ok {
			break
		}
		if s.isList {
			return s.errorAt(start, errors.New("nothing may follow a ResourceList in its stream, and another document does"))
		}
		sc := scanner{in: s.text, prunes: true, nodes: append(t.nodes[:0], node{}), stack: stack, known: known}
		end, empty, err := s.index(&sc, start)
		if err != nil {
			return err
		}
		t.nodes, known = sc.nodes, sc.known
		s.endsInText = s.addedEnd > 0 && sc.textEnd == len(s.in)
		if p = end; empty {
			continue
		}
		first := len(s.objects)
		if err := s.addDocument(&t, end, found); err != nil {
			return err
		}
		s.noteShared(s.objects[first:], sc.shared)
		found = true
	}
	if !found {
		return &Error{File: s.name, Err: ErrEmpty}
	}
	return nil
}

// nextDocument returns the offset of the line with the first content from p on
// (which is at the start of a line or behind a document); ok is false if
// there is none. A document that starts on the line of its marker, or with
// directives, starts there.
func (s *Stream) nextDocument(p int) (int, bool) {
	in := s.text
	for p < len(in) {
		q := skipBlanks(in, p)
		switch {
		case hasTab(in[p:q]): // which rootStart refuses
			return p, true
		case atBreak(in, q) || in[q] == '#':
		case q == p && isMarker(in, p):
			r := skipBlanks(in, p+3)
			if !atBreak(in, r) && in[r] != '#' {
				return p, true
			}
		default:
			return p, true
		}
		p = lineEnd(in, q) + 1
	}
	return p, false
}

func hasTab(b []byte) bool { return bytes.IndexByte(b, '\t') >= 0 }

// A rootStart says where the root of a document starts.
type rootStart struct {
	at, line int  // its first character, and the start of the line of that
	isMarked bool // the document's marker, or the root's anchor or tag, is on the line
	anchor   bool // it has one
	tag      string
}

// rootStart returns where the root of the document starts that starts at p: behind its
// directives, its marker, and the root's own anchor and tag.
func (s *Stream) rootStart(p int) (rootStart, error) {
	var r rootStart
	in := s.text
	r.line = p
	if in[p] == '%' {
		if p = s.directivesEnd(p); p == len(in) {
			return r, s.errorAt(r.line, errors.New("invalid YAML: a directive (%) must be followed by the marker of its document (---)"))
		}
		r.line = p
	}
	if isMarker(in, p) {
		r.isMarked = in[p] == '-'
		if !r.isMarked {
			return r, s.errorAt(p, errors.New("invalid YAML: nothing must come behind the end of a document (...)"))
		}
		p += 3
	}
	for p < len(in) {
		start := p
		p = skipBlanks(in, p)
		if start == r.line && hasTab(in[start:p]) {
			return r, s.errorAt(p, errors.New("invalid YAML: a tab must not be indentation"))
		}
		if atBreak(in, p) || in[p] == '#' {
			p = lineEnd(in, p) + 1
			if r.line, r.isMarked = p, false; isMarker(in, p) {
				break
			}
			continue
		}
		end, err := s.rootProperties(p, &r)
		if err != nil {
			return r, err
		}
		if end == p {
			break
		}
		p = end
	}
	r.at = p
	return r, nil
}

// directivesEnd returns the offset of the marker behind the directives at p; the end of the
// input if there is none.
func (s *Stream) directivesEnd(p int) int {
	for p < len(s.text) && !isMarker(s.text, p) {
		p = lineEnd(s.text, p) + 1
	}
	if p < len(s.text) && s.text[p] == '-' {
		return p
	}
	return len(s.text)
}

// rootProperties returns the offset behind the root's own anchor and tag at p; p if there
// are none, or if they are those of a key.
func (s *Stream) rootProperties(p int, r *rootStart) (int, error) {
	in := s.text
	if in[p] != '&' && in[p] != '!' {
		return p, nil
	}
	sc := scanner{in: in}
	end, ok := sc.properties(p)
	if !ok {
		return p, s.invalid(0, sc.refused)
	}
	if _, _, isKey, _ := scanKey(in, min(end, len(in)-1)); isKey && !r.isMarked {
		return p, nil
	}
	i := bytes.IndexByte(in[p:end], '!')
	hasAnchor := in[p] == '&' || bytes.Contains(in[p:end], []byte(" &"))
	if i >= 0 && r.tag != "" || hasAnchor && r.anchor {
		return p, s.errorAt(p, errors.New("invalid YAML: a document must not have two anchors or two tags"))
	}
	r.isMarked = true
	if r.anchor = r.anchor || hasAnchor; i >= 0 {
		r.tag = string(in[p+i : tagEnd(in, p+i)])
	}
	return end, nil
}

// index reads the document that starts at an offset; empty is true if it holds nothing.
func (s *Stream) index(sc *scanner, start int) (end int, empty bool, err error) {
	in := s.text
	root, err := s.rootStart(start)
	if err != nil {
		return 0, false, err
	}
	p := root.at
	if p >= len(in) || isMarker(in, p) && p == root.line {
		return p, true, nil
	}
	ok := false
	switch c := in[p]; {
	case c == '{':
		sc.nodes = append(sc.nodes, node{key: int32(p), keyEnd: int32(p)})
		end, ok = sc.flowRoot(p)
	case c == '[' || c == '-' && isBlank(in, p+1):
		return 0, false, s.errorAt(p, fmt.Errorf("%w, not a list", ErrNotObject))
	case !s.startsWithKey(p):
		return s.scalarDocument(p, root.tag)
	case root.isMarked:
		return 0, false, s.errorAt(p, errors.New("invalid YAML: a key must not be on the line of its document's marker, anchor or tag"))
	default:
		end, ok = sc.document(p, p-root.line)
	}
	switch {
	case !ok:
		return 0, false, s.invalid(0, sc.refused)
	case root.tag != "" && root.tag != "!!map":
		return 0, false, s.errorAt(p, fmt.Errorf("a Kubernetes object must not have the tag %s", root.tag))
	}
	return end, false, nil
}

// startsWithKey reports whether a key, with its anchor and tag, or an indicator is at p.
func (s *Stream) startsWithKey(p int) bool {
	in := s.text
	q := contentStart(in[p:min(p+2*maxKey, len(in))]) + p
	_, _, isKey, _ := scanKey(in, min(q, len(in)-1))
	return isKey || isIndicator(in, p)
}

// document reads a document in block style that starts at p, in column col. A known
// object is stepped over.
func (s *scanner) document(p, col int) (end int, ok bool) {
	if len(s.known) > 0 {
		s.nodes = append(s.nodes, node{key: int32(p), keyEnd: int32(p)})
		end, ok = s.stepOver(p, 1, col)
		if ok && (end == len(s.in) || isMarker(s.in, end)) {
			return end, true
		}
		s.nodes = s.nodes[:1]
	}
	return s.scan(p, col)
}

// scalarDocument reads a document that is a single value: it must be null, and the document
// is empty then.
func (s *Stream) scalarDocument(p int, tag string) (end int, empty bool, err error) {
	in := s.text
	end = s.documentEnd(p)
	text := append([]byte("- "), bytes.ReplaceAll(in[p:end], []byte("\n"), []byte("\n  "))...)
	sc := scanner{in: append([]byte("k:\n"), append(text, '\n')...), nodes: []node{{}}}
	if _, ok := sc.scan(0, 0); !ok {
		return 0, false, s.invalid(p-len("k:\n- "), refusal{max(sc.refused.at, len("k:\n- ")), sc.refused.why})
	}
	t := tree{text: sc.in, nodes: sc.nodes}
	n := t.nodes[t.nodes[1].child].child
	if t.isNull(n) && (tag == "" || tag == "!!null") {
		return end, true, nil
	}
	return 0, false, s.errorAt(p, fmt.Errorf("%w, not %q", ErrNotObject, t.str(n)))
}

// canGrow returns an error if text behind the input would change the value of its last scalar.
func (s *Stream) canGrow() error {
	if !s.endsInText {
		return nil
	}
	return s.errorAt(len(s.in)-1, errors.New("must end with a line end: this line is in a block scalar (| or >), whose value would be another with text behind it"))
}

// noteShared marks the objects of a document that share an anchor with another one or
// with another field of a list.
func (s *Stream) noteShared(objects []*Object, aliases []aliasUse) {
	find := func(at int) *Object {
		i, found := slices.BinarySearchFunc(objects, at, func(o *Object, at int) int { return cmp.Compare(o.start, at) })
		if !found {
			i--
		}
		if i < 0 || at >= objects[i].end {
			return nil
		}
		return objects[i]
	}
	for _, a := range aliases {
		from, to := find(a.anchor), find(a.at)
		if from == to {
			continue
		}
		name := string(s.text[a.at+1 : nameEnd(s.text, a.at+1)])
		for _, o := range []*Object{from, to} {
			if o != nil {
				o.mutableExtra().shared = name
			}
		}
	}
}

// oddFrom returns the first line break from p on that is neither LF nor CRLF.
func (s *Stream) oddFrom(p int) int {
	if i, _ := slices.BinarySearch(s.info.odd, p); i < len(s.info.odd) {
		return s.info.odd[i]
	}
	return math.MaxInt
}

// parse parses a part of the input, which starts in column col, into the tree, whose text
// then starts at the offset at. If it has an alias of an anchor that is elsewhere, all of
// its document is read.
func (s *Stream) parse(t *tree, start, end, col int) (at int, ok bool) {
	if t.parse(s.text[start:end], col) {
		return start, true
	}
	refused := t.refused
	at, end = s.documentAround(start)
	if root, err := s.rootStart(at); err == nil {
		at = root.at
		if at < end && t.parse(s.text[at:end], at-root.line) {
			for n := range t.nodes {
				if v := &t.nodes[n]; n > 1 && at+int(v.start) == start && v.marks&isMerged == 0 {
					t.nodes[1] = *v
					return at, true
				}
			}
		}
	}
	t.refused = refused
	return start, false
}

// documentAround returns where the document starts and ends that has the offset.
func (s *Stream) documentAround(at int) (start, end int) {
	start = s.info.start
	for p := bytes.LastIndexByte(s.text[:at], '\n') + 1; p > start; p = bytes.LastIndexByte(s.text[:p-1], '\n') + 1 {
		if isMarker(s.text, p) {
			start = p
			break
		}
	}
	return start, s.documentEnd(at)
}

// endOfFlow skips what may follow a root in flow style, white space and
// comments, up to the end, the next document marker or, since tools concatenate
// JSON, the next brace; ok is false at anything else, and at a line that starts with a tab.
func endOfFlow(in []byte, p int) (end int, ok bool) {
	sol := false // at the start of a line
	for p < len(in) {
		if sol && isMarker(in, p) {
			return p, true
		}
		q := skipBlanks(in, p)
		switch {
		case sol && hasTab(in[p:q]):
			return p, false
		case atBreak(in, q):
		case in[q] == '#' && (sol || q > p):
			q = lineEnd(in, q)
		case in[q] == '{':
			return q, true
		default:
			return q, false
		}
		if q >= len(in) {
			return q, true
		}
		p, sol = lineEnd(in, q)+1, true
	}
	return p, true
}

// documentEnd returns the offset of the marker that ends the document in which p is, or
// the end of the input.
func (s *Stream) documentEnd(p int) int {
	for p = lineEnd(s.text, p) + 1; p < len(s.text); p = lineEnd(s.text, p) + 1 {
		if isMarker(s.text, p) {
			return p
		}
	}
	return len(s.text)
}

// A heading has the nodes of the entries of a mapping that say what it is; 0 is none.
type heading struct {
	apiVersion, kind, items, functionConfig, results int32

	twice    int32 // one that is there already
	isHidden bool  // there may be others: some keys are not what their text says
}

// heading returns that of a document or an item.
func (t *tree) heading(n int32) (h heading) {
	const hides = isMergeKey | isExplicit | specialKey
	for c := t.nodes[n].child; c != 0; c = t.nodes[c].next {
		h.isHidden = h.isHidden || t.nodes[c].marks&hides != 0
		to := (*int32)(nil)
		switch string(t.keyBytes(c)) {
		case "apiVersion":
			to = &h.apiVersion
		case "kind":
			to = &h.kind
		case "items":
			to = &h.items
		case "functionConfig":
			to = &h.functionConfig
		case "results":
			to = &h.results
		default:
			continue
		}
		if *to != 0 {
			h.twice = c
		}
		*to = c
	}
	return h
}

// An identity is what a mapping says it is.
type identity struct {
	heading
	apiVersion, kind string
}

// identify returns what the node n says it is, which ends at an offset. A node that is no
// mapping is nothing.
func (s *Stream) identify(t *tree, n int32, end int) (id identity, isMapping bool, err error) {
	v := &t.nodes[n]
	id.heading = t.heading(n)
	if c := id.twice; c != 0 {
		return id, false, s.errorAt(int(t.nodes[c].key), fmt.Errorf("key %q must stand only once in its mapping, and is here again", t.keyBytes(c)))
	}
	if i, found := slices.BinarySearchFunc(s.known, int(v.start), func(u knownObject, at int) int { return u.at - at }); found {
		id.apiVersion, id.kind = s.known[i].object.apiVersion, s.known[i].object.kind
		return id, true, nil
	}
	from, h, at := t, id.heading, 0
	if special := t.nodes[h.kind].marks | t.nodes[h.apiVersion].marks; h.isHidden || v.marks&isAlias != 0 || special&(isAlias|hasProperties) != 0 {
		ok := false
		from = &s.check
		if at, ok = s.parse(from, int(v.start), end, s.columnOf(v)); !ok {
			return id, false, s.invalid(at, from.refused)
		}
		h, v = from.heading(1), &from.nodes[1]
	}
	for _, e := range []struct {
		n  int32
		to *string
	}{{h.apiVersion, &id.apiVersion}, {h.kind, &id.kind}} {
		switch {
		case e.n == 0 || from.isNull(e.n):
		case from.nodes[e.n].kind != scalar:
			return id, false, s.errorAt(at+int(from.nodes[e.n].start), fmt.Errorf("`%s` must be a string, not %s", from.keyBytes(e.n), from.describe(e.n)))
		default:
			*e.to = from.str(e.n)
		}
	}
	return id, v.kind == mapping, nil
}

// columnOf returns the column in which the text of a value starts, 0 in braces.
func (s *Stream) columnOf(v *node) int {
	if s.text[v.start] == '{' {
		return 0
	}
	return int(v.start) - max(lineStart(s.text, int(v.start)), s.info.start)
}

// addDocument adds the objects of a document.
func (s *Stream) addDocument(t *tree, end int, found bool) error {
	id, _, err := s.identify(t, 1, end)
	if err != nil {
		return err
	}
	if id.kind != "ResourceList" || !strings.HasPrefix(id.apiVersion, "config.kubernetes.io/") && id.apiVersion != "" {
		return s.addObject(t, 1, end, id)
	}
	start := int(t.nodes[1].start)
	switch {
	case found:
		return s.errorAt(start, errors.New("a ResourceList must be alone in its stream, and other documents come before it"))
	case id.items == 0:
		return s.errorAt(start, fmt.Errorf("ResourceList: `items` must be there, if only as an empty list"))
	}
	s.isList = true
	s.noteResults(t, id.heading, end)
	if c := id.functionConfig; c != 0 && !t.isNull(c) {
		if s.config, err = s.configObject(t, c); err != nil {
			return err
		}
	}
	return s.addItems(t, id.items, end, "ResourceList", identity{})
}

// addItems adds the items of a list that ends at an offset; each says by default that it is
// what byDefault says.
func (s *Stream) addItems(t *tree, items int32, end int, list string, byDefault identity) error {
	v := &t.nodes[items]
	switch {
	case v.marks&isAlias != 0:
		return s.errorAt(int(v.start), fmt.Errorf("%s: `items` must be written out, not the alias %s", list, s.text[v.start:v.end]))
	case v.kind != sequence && !t.isNull(items):
		return s.errorAt(int(v.start), fmt.Errorf("%s: `items` must be a list", list))
	}
	if v.next != 0 {
		end = lineStart(s.text, int(t.nodes[v.next].key))
	}
	for i, c := 0, v.child; c != 0; i, c = i+1, t.nodes[c].next {
		if err := s.addItem(t, c, i, s.itemEnd(t, c, end), list, byDefault); err != nil {
			return err
		}
	}
	return nil
}

// itemEnd returns the end of an item of a list that ends at an offset.
func (s *Stream) itemEnd(t *tree, n int32, end int) int {
	v := &t.nodes[n]
	switch {
	case s.text[v.start] == '{' || v.keyEnd == v.key: // in a flow collection, or one itself
		return int(v.end)
	case v.next != 0:
		return lineStart(s.text, int(t.nodes[v.next].key))
	}
	return end
}

// addItem adds an item of a list, with its index.
func (s *Stream) addItem(t *tree, n int32, i, end int, list string, byDefault identity) error {
	id, isMapping, err := s.identify(t, n, end)
	if err == nil && !isMapping {
		return s.errorAt(int(t.nodes[n].start), fmt.Errorf("%s: `items[%d]` must be a mapping", list, i))
	}
	if err == nil {
		id.kind, id.apiVersion = cmp.Or(id.kind, byDefault.kind), cmp.Or(id.apiVersion, byDefault.apiVersion)
		err = s.addObject(t, n, end, id)
	}
	return inItem(i, list+": ", err)
}

// addObject adds an object or, if it is a List, its items.
func (s *Stream) addObject(t *tree, n int32, end int, id identity) error {
	v := &t.nodes[n]
	switch kind, isList := strings.CutSuffix(id.kind, "List"); {
	case !isList:
	case kind == "" && id.items == 0:
		return s.errorAt(int(v.start), fmt.Errorf("%s: `items` must be there, if only as an empty list", id.kind))
	case kind == "":
		return s.addItems(t, id.items, end, id.kind, identity{})
	case t.isListOfMappings(id.items): // else only its kind looks like that of one
		return s.addItems(t, id.items, end, id.kind, identity{apiVersion: id.apiVersion, kind: kind})
	}
	if len(s.slab) == cap(s.slab) {
		s.slab = make([]Object, 0, min(max(64, len(s.objects)), 4096))
	}
	o := Object{stream: s, start: int(v.start), end: end, col: int32(s.columnOf(v)), apiVersion: id.apiVersion, kind: id.kind, objectExtra: noExtra}
	if v.keyEnd > v.key {
		o.dash = v.key
	}
	s.slab = append(s.slab, o)
	s.objects = append(s.objects, &s.slab[len(s.slab)-1])
	return nil
}

// isListOfMappings reports whether a node is a list that has items, and only mappings.
func (t *tree) isListOfMappings(n int32) bool {
	c := t.nodes[n].child
	for ; c != 0 && t.nodes[c].kind == mapping; c = t.nodes[c].next {
	}
	return n != 0 && t.nodes[n].kind == sequence && t.nodes[n].child != 0 && c == 0
}

// configObject makes an object of the functionConfig.
func (s *Stream) configObject(t *tree, n int32) (*Object, error) {
	v := &t.nodes[n]
	if v.kind != mapping && v.marks&isAlias == 0 {
		return nil, s.errorAt(int(v.start), errors.New("ResourceList: `functionConfig` must be a mapping"))
	}
	o := &Object{stream: s, start: int(v.start), end: int(v.end), objectExtra: noExtra}
	if v.style == block {
		o.col = v.col
		if s.in[o.end-1] != '\n' {
			o.end = min(lineEnd(s.in, o.end)+1, len(s.in))
		}
	}
	var m struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if _, err := o.Decode(nil, &m); err != nil {
		return nil, err
	}
	o.apiVersion, o.kind = m.APIVersion, m.Kind
	return o, nil
}

// Name returns the name that was passed to Read.
func (s *Stream) Name() string { return s.name }

// Objects returns all objects in order, those of nested Lists too, without the
// functionConfig.
func (s *Stream) Objects() []*Object { return s.objects }

// IsResourceList reports whether the input is that of a KRM function.
func (s *Stream) IsResourceList() bool { return s.isList }

// FunctionConfig returns the functionConfig of the ResourceList; nil if it has none.
func (s *Stream) FunctionConfig() *Object { return s.config }

// Changed reports whether [Stream.Text] differs from the input.
func (s *Stream) Changed() bool {
	return len(s.changes) > 0 || slices.ContainsFunc(s.objects, (*Object).Changed)
}

// inItem adds the index of the item to its error, unless that names an object
// already.
func inItem(i int, list string, err error) error {
	if e := (*Error)(nil); errors.As(err, &e) && e.Path == nil && e.Object == "" {
		e.Err = fmt.Errorf("%s`items[%d]`: %w", list, i, e.Err)
	}
	return err
}
