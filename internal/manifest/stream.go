package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Stream is a whole input: a ResourceList, a stream of documents or a List.
type Stream struct {
	name string
	in   []byte
	info textInfo

	addedEnd int // how many bytes at the end were added: the line end that the input lacks

	objects []*Object
	slab    []Object
	config  *Object
	isList  bool // a ResourceList
	results resultsPlace
	changes []change // to the input, besides the edits of its objects

	// When an output is read:
	known func(p int) *Object // the object at an offset, if its text has been read before
	found []found
	most  int // how many objects there may be

	resultsDigest uint64 // of the results with those that were added; 0 if there were none to add

	// The tree that was used last, and the one that checks edits.
	tree   tree
	treeOf *Object
	parsed *yaml.Node // treeOf as the full parser reads it, if the scanner refuses its text: for line numbers
	shown  *outline   // of treeOf, if the scanner refuses its text and the outline has been needed
	check  tree

	arena   editArena // of the object being edited
	scratch scratch   // for its text

	// How many documents, Lists and items the scanner refused, for tests.
	parsedDocs, parsedItems int

	lineAt, lineNo int // the last place asked for: lines are counted from there
}

// found is an object of an output.
type found struct {
	start  int
	object *Object // as the output was read; nil if the text is that of a known object,
	same   *Object // this one
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
	of    *Object // the object of which it is the first edit
	kept  *string // where the text is kept, for the composer: only as a copy in the output when that is made
}

// An addition is an object that was added.
type addition struct {
	name   string
	before string // the text that sets it off from the object before it
	length int    // of its text
	digest uint64 // of its value
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
func Read(name string, input []byte) (s *Stream, err error) {
	s = &Stream{name: name, in: input, lineNo: 1}
	defer s.recovered(&err)
	if len(input) > maxSize {
		return nil, &Error{File: name, Err: errors.New("must be smaller than 2 GiB")}
	}
	s.endLastLine()
	var at int
	if s.info, at, err = checkText(s.in); err != nil {
		return nil, s.errorAt(at, err)
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

// line returns the number of the line that contains the offset.
func (s *Stream) line(at int) int {
	at = min(at, len(s.in))
	feed := []byte("\n")
	if at < s.lineAt {
		s.lineNo -= bytes.Count(s.in[at:s.lineAt], feed)
	} else {
		s.lineNo += bytes.Count(s.in[s.lineAt:at], feed)
	}
	s.lineAt = at
	return s.lineNo
}

// documents goes through the documents of the input.
func (s *Stream) documents() error {
	p := s.info.start
	sc := scanner{in: s.in, stack: make([]frame, 0, 32), known: s.known, items: s.most}
	info := newDocInfo()
	found := false
	for {
		start, ok := s.nextDocument(p)
		if !ok {
			break
		}
		if s.isList {
			return s.errorAt(start, errors.New("nothing may follow a ResourceList in its stream, and another document does"))
		}
		info.reset()
		end, ok := s.step(start, &info)
		if !ok {
			end, ok = s.index(&sc, start, &info)
		}
		if !ok {
			end = s.documentEnd(start)
			info.reset()
			empty, err := s.parsedDocument(start, end, &info)
			if err != nil {
				return err
			}
			if empty {
				p = end
				continue
			}
			s.parsedDocs++
		}
		if err := s.addDocument(&info, end, found); err != nil {
			return err
		}
		found = true
		p = end
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
	in := s.in
	for p < len(in) {
		q := skipBlanks(in, p)
		switch {
		case atBreak(in, q) || in[q] == '#':
		case q == p && isMarker(in, p):
			r := skipSpaces(in, p+3)
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

// step steps over a document that is known.
func (s *Stream) step(start int, info *docInfo) (end int, ok bool) {
	if s.known == nil {
		return 0, false
	}
	o := s.known(start)
	if o == nil {
		return 0, false
	}
	end = start + o.length()
	info.start, info.same = start, o
	return end, end == len(s.in) || isMarker(s.in, end)
}

// index has the scanner note what is in the document that starts at p.
func (s *Stream) index(sc *scanner, p int, info *docInfo) (end int, ok bool) {
	sc.info, sc.why = info, ""
	in := s.in
	q := skipSpaces(in, p)
	if in[q] == '{' {
		if end, ok = sc.flow(q, 0, 0, info); ok {
			end, ok = endOfFlow(in, end)
		}
		return end, ok && s.oddFrom(p) >= end
	}
	if in[p] == '%' || isMarker(in, p) {
		return p, false
	}
	return s.indexBlock(sc, q, q-p)
}

// indexBlock notes what is in a block mapping. An item of its list that the scanner
// refuses is stepped over with the full parser's help.
func (s *Stream) indexBlock(sc *scanner, p, col int) (end int, ok bool) {
	sc.odd = s.oddFrom(p)
	for end, ok = sc.scan(p, col); !ok; end, ok = sc.run(p, col, true) {
		if p, ok = s.stepOver(sc.in, sc.info); !ok {
			return p, false
		}
		s.parsedItems++
		sc.odd = s.oddFrom(p)
	}
	return end, ok
}

// oddFrom returns the first odd line break from p on.
func (s *Stream) oddFrom(p int) int {
	if i, _ := slices.BinarySearch(s.info.odd, p); i < len(s.info.odd) {
		return s.info.odd[i]
	}
	return math.MaxInt
}

// stepOver finds the end of the last item of a block list. A line that starts
// no deeper than the item's dash ends it, if the lines up to there are an item
// in the eyes of the full parser: only a quoted scalar or a flow collection
// may have such lines, and would then not be closed.
func (s *Stream) stepOver(in []byte, info *docInfo) (end int, ok bool) {
	if len(info.list) == 0 || info.items.col < 0 {
		return 0, false
	}
	it := &info.list[len(info.list)-1]
	if it.end >= 0 {
		return 0, false
	}
	start := it.dash - info.items.col
	p := start
	key := spaces(info.col) + "items:\n"
	for range 8 {
		p = itemEnd(in, p, info.items.col)
		root, err := s.parseYAML(append([]byte(key), in[start:p]...), start)
		if err != nil || root == nil {
			continue
		}
		if len(root.Content) != 2 {
			return 0, false
		}
		seq := root.Content[1]
		if seq.Kind != yaml.SequenceNode || len(seq.Content) != 1 || seq.Style != 0 || seq.Anchor != "" {
			return 0, false
		}
		at := newPlacer(in[:p], start, 0)
		at.lines = append([]int{start}, at.lines...) // the key's
		n := seq.Content[0]
		*it = docInfo{dash: it.dash, start: at.offset(n), col: n.Column - 1, end: p, notMapping: n.Kind != yaml.MappingNode}
		if it.flow = n.Style&yaml.FlowStyle != 0; it.flow {
			it.end = looseFlowEnd(in[:p], it.start)
		}
		return p, it.notMapping || s.noteKind(n, at, it) == nil
	}
	return 0, false
}

// itemEnd returns the start of the next line that is no deeper than the dash
// of an item which starts in the line at p.
func itemEnd(in []byte, p, col int) int {
	for {
		p = lineEnd(in, p) + 1
		if p >= len(in) {
			return len(in)
		}
		q := skipSpaces(in, p)
		if q-p <= col && !atBreak(in, q) && in[q] != '#' {
			return p
		}
	}
}

// endOfFlow skips what may follow a root in flow style, white space and
// comments, up to the end, the next document marker or, since tools concatenate
// JSON, the next brace; ok is false at anything else.
func endOfFlow(in []byte, p int) (end int, ok bool) {
	sol := false // at the start of a line
	for p < len(in) {
		if sol && isMarker(in, p) {
			return p, true
		}
		q := skipBlanks(in, p)
		switch {
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

// documentEnd returns the offset of the marker that ends the document which
// starts at p, or the end of the input.
func (s *Stream) documentEnd(p int) int {
	in := s.in
	directives := in[p] == '%'
	for first := true; p < len(in); first = false {
		if !first && isMarker(in, p) {
			if !directives || in[p] == '.' {
				return p
			}
			directives = false // this one ends the directives
		}
		p = lineEnd(in, p) + 1
	}
	return len(in)
}

// addDocument adds the objects of a document.
func (s *Stream) addDocument(info *docInfo, end int, found bool) error {
	kind, api := s.kindOf(info), s.apiOf(info)
	if kind == "ResourceList" && (strings.HasPrefix(api, "config.kubernetes.io/") || api == "") {
		if found {
			return s.errorAt(info.start, errors.New("a ResourceList must be alone in its stream, and other documents come before it"))
		}
		return s.addResourceList(info, end)
	}
	return s.addObject(info, end, "", "")
}

func (s *Stream) addResourceList(info *docInfo, end int) error {
	s.isList = true
	if info.items.keyEnd == 0 {
		return s.errorAt(info.start, fmt.Errorf("ResourceList: `items` must be there, if only as an empty list"))
	}
	s.noteResults(info, end)
	if c := info.functionConfig; c.keyEnd != 0 && c.start != 0 {
		o, err := s.configObject(c)
		if err != nil {
			return err
		}
		s.config = o
	}
	return s.addItems(info, "ResourceList", "", "")
}

// addItems adds the items of a list.
func (s *Stream) addItems(info *docInfo, list, itemAPI, itemKind string) error {
	if info.items.start != 0 && len(info.list) == 0 && !s.isEmptyList(info.items) {
		return s.errorAt(info.items.start, fmt.Errorf("%s: `items` must be a list", list))
	}
	items := info.list
	for i := range items {
		it := &items[i]
		if it.notMapping {
			return s.errorAt(it.start, fmt.Errorf("%s: `items[%d]` must be a mapping", list, i))
		}
		if err := s.addObject(it, it.end, itemAPI, itemKind); err != nil {
			return inItem(i, list+": ", err)
		}
	}
	return nil
}

// isEmptyList reports whether the value is [] or null.
func (s *Stream) isEmptyList(e entry) bool {
	v := s.in[e.start:max(e.start, e.end)]
	return len(bytes.Trim(v, "[] \t\r\n")) == 0 && len(v) > 0 && v[0] == '[' || isNullText(string(bytes.TrimSpace(v)))
}

// addObject adds an object or, where it is a List, its items.
func (s *Stream) addObject(info *docInfo, end int, api, kind string) error {
	if info.same != nil {
		s.found = append(s.found, found{info.start, nil, info.same})
		return nil
	}
	if info.hasKind {
		kind = s.kindOf(info)
	}
	if info.hasAPI {
		api = s.apiOf(info)
	}
	if strings.HasSuffix(kind, "List") {
		done, err := s.addList(info, end, api, kind)
		if done || err != nil {
			return err
		}
	}
	if len(s.slab) == cap(s.slab) {
		s.slab = make([]Object, 0, min(max(64, len(s.objects)), 4096))
	}
	s.slab = append(s.slab, Object{
		stream: s, start: info.start, end: end, col: int32(info.col), dash: int32(info.dash),
		apiVersion: api, kind: kind, rare: usual,
	})
	o := &s.slab[len(s.slab)-1]
	if parsed := info.parsed; parsed != nil && parsed.node != nil {
		own := o.own()
		own.shared, own.node = parsed.shared, parsed.node
	}
	if s.known != nil {
		s.found = append(s.found, found{info.start, o, nil})
		return nil
	}
	s.objects = append(s.objects, o)
	return nil
}

// addList adds the items of a List (done), unless it is an object whose kind
// only looks like one.
func (s *Stream) addList(info *docInfo, end int, api, kind string) (done bool, err error) {
	list := info
	if list.rootInfo == nil {
		if list, err = s.indexItem(info, end); err != nil {
			return false, err
		}
	}
	exact := kind == "List"
	if !exact && (list.items.keyEnd == 0 || len(list.list) == 0 || slices.ContainsFunc(list.list, func(d docInfo) bool { return d.notMapping })) {
		return false, nil
	}
	if list.items.keyEnd == 0 {
		return false, s.errorAt(info.start, fmt.Errorf("%s: `items` must be there, if only as an empty list", kind))
	}
	itemAPI, itemKind := "", ""
	if !exact {
		itemAPI, itemKind = api, strings.TrimSuffix(kind, "List")
	}
	return true, s.addItems(list, kind, itemAPI, itemKind)
}

// indexItem notes what is in an item whose own items are not known.
func (s *Stream) indexItem(item *docInfo, end int) (*docInfo, error) {
	list := newDocInfo()
	sc := scanner{in: s.in[:end], stack: make([]frame, 0, 32), info: &list}
	ok := false
	if item.flow {
		_, ok = sc.flow(item.start, 0, 0, &list)
		ok = ok && !s.hasOdd(item.start, end)
	} else {
		_, ok = s.indexBlock(&sc, item.start, item.col)
	}
	if ok {
		return &list, nil
	}
	list.reset()
	s.parsedDocs++
	return &list, s.indexParsed(item.start, end, item.col, &list)
}

func (s *Stream) hasOdd(start, end int) bool {
	return s.oddFrom(start) < end
}

func (s *Stream) kindOf(d *docInfo) string {
	if d.parsed != nil && d.parsed.kind != "" {
		return d.parsed.kind
	}
	return s.text(d.kind)
}

func (s *Stream) apiOf(d *docInfo) string {
	if d.parsed != nil && d.parsed.apiVersion != "" {
		return d.parsed.apiVersion
	}
	return s.text(d.apiVersion)
}

func (s *Stream) text(sp span) string {
	t := view(s.in[sp.start:sp.end])
	if isNullText(t) {
		return ""
	}
	return t
}

// configObject makes an object of the functionConfig.
func (s *Stream) configObject(e entry) (*Object, error) {
	v := s.in[e.start:e.end]
	if isNullText(string(v)) {
		return nil, nil
	}
	o := &Object{stream: s, start: e.start, end: e.end, col: int32(max(e.col, 0)), rare: usual}
	if e.col >= 0 && v[len(v)-1] != '\n' {
		o.end = min(lineEnd(s.in, e.end)+1, len(s.in))
	}
	if e.col < 0 && v[0] != '{' || v[0] == '-' && isBlank(v, 1) {
		return nil, s.errorAt(e.start, errors.New("ResourceList: `functionConfig` must be a mapping"))
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
