package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A Stream is a whole input: a ResourceList, a stream of documents or a List.
type Stream struct {
	name string
	in   []byte
	text Text // the input as YAML

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

	known knownObjects // in an output: those of its objects that were stepped over

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
func Read(name string, input []byte) (*Stream, error) { return read(name, input, knownObjects{}) }

// read is Read for an output in which the known objects are stepped over.
func read(name string, input []byte, known knownObjects) (s *Stream, err error) {
	s = &Stream{name: name, in: input, known: known}
	defer s.recovered(&err)
	if len(input) > maxSize {
		return nil, &Error{File: name, Err: errors.New("must be smaller than 2 GiB")}
	}
	s.endLastLine()
	if s.text, err = Check(s.in, known.texts); err != nil {
		return nil, s.placed(err)
	}
	return s, s.documents()
}

// documents goes through the documents of the input.
func (s *Stream) documents() error {
	found := false
	d := s.text.Documents(s.known.texts)
	for d.Next() {
		if s.isList {
			return s.errorAt(d.Start, errors.New("nothing may follow a ResourceList in its stream, and another document does"))
		}
		empty, err := d.Read()
		if err != nil {
			return s.placed(err)
		}
		s.endsInText = s.addedEnd > 0 && d.TextEnd == len(s.in)
		if empty {
			continue
		}
		first := len(s.objects)
		if err := s.addDocument(&d.Tree, d.End, found); err != nil {
			return err
		}
		s.noteShared(s.objects[first:], d.Aliases)
		found = true
	}
	if !found {
		return &Error{File: s.name, Err: ErrEmpty}
	}
	return nil
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

// placed returns an error of the text with its file and line.
func (s *Stream) placed(err error) error {
	if e := (*TextError)(nil); errors.As(err, &e) {
		return s.errorAt(e.At, e.Err)
	}
	return err
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
		for _, o := range []*Object{from, to} {
			if o != nil {
				o.mutableExtra().shared = a.name
			}
		}
	}
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
	if o := s.known.at(int(v.start)); o != nil {
		id.apiVersion, id.kind = o.apiVersion, o.kind
		return id, true, nil
	}
	from, h, at := t, id.heading, 0
	if special := t.nodes[h.kind].marks | t.nodes[h.apiVersion].marks; h.isHidden || v.marks&isAlias != 0 || special&(isAlias|hasProperties) != 0 {
		ok := false
		from = &s.check
		if at, ok = s.text.parse(from, int(v.start), end, s.text.columnOf(v)); !ok {
			return id, false, s.placed(invalid(at, from.refused))
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
		return s.errorAt(int(v.start), fmt.Errorf("%s: `items` must be written out, not the alias %s", list, s.text.Bytes[v.start:v.end]))
	case v.kind != sequence && !t.isNull(items):
		return s.errorAt(int(v.start), fmt.Errorf("%s: `items` must be a list", list))
	}
	if v.next != 0 {
		end = lineStart(s.text.Bytes, int(t.nodes[v.next].key))
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
	case s.text.Bytes[v.start] == '{' || v.keyEnd == v.key: // in a flow collection, or one itself
		return int(v.end)
	case v.next != 0:
		return lineStart(s.text.Bytes, int(t.nodes[v.next].key))
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
	o := Object{stream: s, start: int(v.start), end: end, col: int32(s.text.columnOf(v)), apiVersion: id.apiVersion, kind: id.kind, objectExtra: noExtra}
	if v.keyEnd > v.key {
		o.dash = v.key
	}
	s.slab = append(s.slab, o)
	s.objects = append(s.objects, &s.slab[len(s.slab)-1])
	return nil
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
