package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// A Stream is a whole input: a ResourceList, a stream of documents or a List.
type Stream struct {
	// FromCluster is set if a cluster has the objects, so that they have neither file nor lines.
	FromCluster bool
	// All is set by who reads a cluster. It reports whether the stream has all objects of a kind, of all namespaces.
	// Then what it lacks does not exist: "no webhook of Istio's selects this pod" follows from that, and from no
	// file. It is false of a kind that could not be read, or not in all namespaces. Nil is a file or a pipe.
	All func(group, kind string) bool

	name string
	in   []byte
	text yaml.Checked // the input as YAML
	eol  string       // what its lines end with, CRLF or LF: the first counts

	addedEnd   int  // how many bytes at the end were added: the line end that the input lacks
	endsInText bool // that line end would become text of a block scalar if anything came behind it

	objects []*Object
	slab    []Object // they are in memory of their own together: one by one takes 4 % more CPU
	config  *Object
	isList  bool // a ResourceList
	results resultsPosition
	added   bool     // results were added
	changes []splice // of the input, by results that are added, in its order

	// What has the tree that was used last, and what checks edits.
	parser yaml.Parser
	treeOf *Object
	treeAt int // where the text of the tree starts
	check  yaml.Parser

	scratch scratch // for its text

	// What few objects have: an anchor that they share with others, notices, and why their
	// metadata cannot be read.
	shared  map[*Object]string
	notices map[*Object][]Notice
	unread  map[*Object]error

	verified []yaml.Verified // in an output: those of its objects that were stepped over

	linesBefore []int // the line feeds before each block, as far as lines were asked for
}

// A splice is a text that replaces a part of another.
type splice struct {
	start, end int
	text       string
}

// maxSize is the most that an input or output may have: offsets are int32.
const maxSize = math.MaxInt32 - 16

var errTooLarge = errors.New("must be smaller than 2 GiB")

// Read splits the input into its objects. The name ("<stdin>" or a path)
// appears in messages. The input must never be changed afterwards: the stream
// and what is decoded from it refer to it. Input without any object is an
// error; an empty list is not.
//
// The end of the input ends its last line, as it does for kubectl.
func Read(name string, input []byte) (*Stream, error) {
	return read(name, input, nil)
}

// ReadCluster is Read for objects that a cluster has, and no file.
func ReadCluster(input []byte) (*Stream, error) {
	s, err := read("", input, nil)
	if err == nil {
		s.FromCluster = true
	}
	return s, err
}

// read is Read for an output in which the verified objects are stepped over.
func read(name string, input []byte, verified []yaml.Verified) (s *Stream, err error) {
	s = &Stream{
		name:     name,
		in:       input,
		verified: verified,
		objects:  make([]*Object, 0, len(verified)),
	}
	s.shared = map[*Object]string{}
	s.notices = map[*Object][]Notice{}
	s.unread = map[*Object]error{}
	defer func() {
		if p := recover(); p != nil {
			err = &Error{File: name, Err: fmt.Errorf("cannot be read: %v", p)}
		}
	}()
	if len(input) > maxSize {
		return nil, &Error{File: name, Err: errTooLarge}
	}
	s.endLastLine()
	if s.text, err = yaml.Check(s.in, verified); err != nil {
		return nil, s.placed(err)
	}
	return s, s.documents()
}

func (s *Stream) documents() error {
	found := false
	d := s.text.Documents(s.verified)
	for d.Next() {
		if s.isList {
			return s.errorAt(d.Start, errors.New("nothing may follow a ResourceList in its stream, and another document does"))
		}
		empty, err := d.Read()
		if err != nil {
			return s.placed(err)
		}
		s.endsInText = s.addedEnd > 0 && d.TextEnd() == len(s.in)
		if empty {
			continue
		}
		first := len(s.objects)
		if err := s.addDocument(d.Tree(), d.End, found); err != nil {
			return err
		}
		s.noteShared(s.objects[first:], d.Tree().Uses)
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
	s.eol = lineBreak(s.in, "\n")
	if n := len(s.in); !yaml.EndsLine(s.in) {
		s.in = append(s.in[:n:n], s.eol...)
		s.addedEnd = len(s.eol)
	}
}

func (s *Stream) errorAt(at int, err error) *Error {
	return &Error{File: s.name, Line: s.line(at), Err: err}
}

// placed returns an error of the text with its file and line.
func (s *Stream) placed(err error) error {
	e, ok := errors.AsType[*yaml.Refusal](err)
	if !ok {
		return err
	}
	if e.Open < 0 ||
		s.line(e.Open) == s.line(e.At) {
		return s.errorAt(e.At, e)
	}
	bracket := fmt.Sprintf("the %c of line %d is still open", s.in[e.Open], s.line(e.Open))
	return s.errorAt(e.At, fmt.Errorf("%w; %s", e, bracket))
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
		before := s.in[(n-1)*block : n*block]
		s.linesBefore = append(s.linesBefore, s.linesBefore[n-1]+bytes.Count(before, feed))
	}
	return 1 + s.linesBefore[at/block] + bytes.Count(s.in[at/block*block:at], feed)
}

// noteShared marks the objects of a document that share an anchor with another one or
// with another field of a list.
func (s *Stream) noteShared(objects []*Object, aliases []yaml.AliasUse) {
	find := func(at int) *Object {
		compare := func(o *Object, at int) int {
			return cmp.Compare(o.end, at+1)
		}
		i, _ := slices.BinarySearchFunc(objects, at, compare)
		if i == len(objects) || objects[i].start > at {
			return nil
		}
		return objects[i]
	}
	for _, a := range aliases {
		from := find(a.Anchor)
		to := find(a.At)
		if from == to {
			continue
		}
		for _, o := range []*Object{from, to} {
			if o != nil {
				s.shared[o] = a.Name
			}
		}
	}
}

// An identity is what a mapping says it is.
type identity struct{ apiVersion, kind string }

// identify returns what the node n says it is, which ends at an offset. A node that is no
// mapping is nothing.
func (s *Stream) identify(t *yaml.Tree, n int32, end int) (id identity, isMapping bool, err error) {
	for c := t.Nodes[n].Child; c != 0; c = t.Nodes[c].Next {
		switch key := t.KeyOf(c); key {
		case "apiVersion", "kind", "items", "functionConfig", "results":
			if t.Get(n, key) != c {
				return id, false, s.errorAt(
					int(t.Nodes[c].Key),
					fmt.Errorf("key %q must stand only once in its mapping, and is here again", key),
				)
			}
		}
	}
	v := &t.Nodes[n]
	at := 0
	if k := yaml.Find(s.verified, int(v.Start)); k != nil {
		return identity{k.APIVersion, k.Kind}, true, nil
	}
	if t.IsHidden(n) {
		ok := false
		col := s.text.ColumnOf(v)
		if at, ok = s.text.Parse(&s.check, int(v.Start), end, col); !ok {
			return id, false, s.placed(s.check.Refused.From(at))
		}
		t = &s.check.Tree
		n = 1
	}
	for _, e := range []struct {
		key string
		to  *string
	}{{"apiVersion", &id.apiVersion}, {"kind", &id.kind}} {
		switch c := t.Get(n, e.key); {
		case c == 0 || t.IsNull(c):
		case t.Nodes[c].Kind != yaml.Scalar:
			err := fmt.Errorf("`%s` must be a string, not %s", e.key, t.Describe(c))
			return id, false, s.errorAt(at+int(t.Nodes[c].Start), err)
		default:
			*e.to = t.Str(c)
		}
	}
	return id, t.Nodes[n].Kind == yaml.Mapping, nil
}

func (s *Stream) addDocument(t *yaml.Tree, end int, found bool) error {
	id, _, err := s.identify(t, 1, end)
	if err != nil {
		return err
	}
	if id.kind != "ResourceList" ||
		!strings.HasPrefix(id.apiVersion, "config.kubernetes.io/") && id.apiVersion != "" {
		return s.addObject(t, 1, end, id)
	}
	start := int(t.Nodes[1].Start)
	items := t.Get(1, "items")
	switch {
	case found:
		return s.errorAt(start, errors.New("a ResourceList must be alone in its stream, and other documents come before it"))
	case items == 0:
		return s.errorAt(start, fmt.Errorf("ResourceList: `items` must be there, if only as an empty list"))
	}
	s.isList = true
	s.results = resultsPosition{itemsCol: t.Nodes[items].Col, root: t.Nodes[1], docEnd: end}
	if n := t.Get(1, "results"); n != 0 {
		v := &t.Nodes[n]
		s.results.key = int(v.Key)
		s.results.end = max(int(v.End), t.BehindColon(v))
	}
	if c := t.Get(1, "functionConfig"); c != 0 && !t.IsNull(c) {
		if s.config, err = s.configObject(t, c); err != nil {
			return err
		}
	}
	return s.addItems(t, items, end, "ResourceList", identity{})
}

// addItems adds the items of a list that ends at an offset; each says by default that it is
// what byDefault says.
func (s *Stream) addItems(t *yaml.Tree, items int32, end int, list string, byDefault identity) error {
	v := &t.Nodes[items]
	switch {
	case v.Marks&yaml.IsAlias != 0:
		alias := s.text.Bytes[v.Start:v.End]
		return s.errorAt(int(v.Start), fmt.Errorf("%s: `items` must be written out, not the alias %s", list, alias))
	case v.Kind != yaml.Sequence && !t.IsNull(items):
		return s.errorAt(int(v.Start), fmt.Errorf("%s: `items` must be a list", list))
	}
	end = s.itemEnd(t, items, end)
	for i, c := 0, v.Child; c != 0; i, c = i+1, t.Nodes[c].Next {
		if err := s.addItem(t, c, i, s.itemEnd(t, c, end), list, byDefault); err != nil {
			return err
		}
	}
	return nil
}

// itemEnd returns the end of an item of a list, or an entry of a mapping, that ends at an offset
// unless it is in braces or brackets.
func (s *Stream) itemEnd(t *yaml.Tree, n int32, end int) int {
	v := &t.Nodes[n]
	switch {
	case v.Style == yaml.Flow || v.KeyEnd == v.Key: // one itself, or in one
		return int(v.End)
	case v.Next != 0:
		return yaml.LineStart(s.text.Bytes, int(t.Nodes[v.Next].Key))
	}
	return end
}

// addItem adds an item of a list, with its index.
func (s *Stream) addItem(t *yaml.Tree, n int32, i, end int, list string, byDefault identity) error {
	id, isMapping, err := s.identify(t, n, end)
	if err == nil && !isMapping {
		return s.errorAt(int(t.Nodes[n].Start), fmt.Errorf("%s: `items[%d]` must be a mapping", list, i))
	}
	if err == nil {
		id.kind, id.apiVersion = cmp.Or(id.kind, byDefault.kind), cmp.Or(id.apiVersion, byDefault.apiVersion)
		err = s.addObject(t, n, end, id)
	}
	if e := (*Error)(nil); errors.As(err, &e) && e.Path == nil && e.Object == "" {
		e.Err = fmt.Errorf("%s: `items[%d]`: %w", list, i, e.Err)
	}
	return err
}

// addObject adds an object or, if it is a List, its items.
func (s *Stream) addObject(t *yaml.Tree, n int32, end int, id identity) error {
	v := &t.Nodes[n]
	items := t.Get(n, "items")
	switch kind, isList := strings.CutSuffix(id.kind, "List"); {
	case !isList:
	case kind == "" && items == 0:
		return s.errorAt(int(v.Start), fmt.Errorf("%s: `items` must be there, if only as an empty list", id.kind))
	case kind == "":
		return s.addItems(t, items, end, id.kind, identity{})
	case t.IsListOfMappings(items): // else only its kind looks like that of one
		return s.addItems(t, items, end, id.kind, identity{apiVersion: id.apiVersion, kind: kind})
	}
	if len(s.slab) == cap(s.slab) {
		s.slab = make([]Object, 0, min(max(64, len(s.objects)), 4096))
	}
	s.slab = append(s.slab, s.newObject(v, end, id))
	s.objects = append(s.objects, &s.slab[len(s.slab)-1])
	return nil
}

func (s *Stream) newObject(v *yaml.Node, end int, id identity) Object {
	start := int(v.Start)
	isPair := v.Style == yaml.Flow
	if isPair {
		isPair = s.in[start+yaml.ContentStart(s.in[start:])] != '{'
	}
	at := part{stream: s, start: start, end: end, col: int32(s.text.ColumnOf(v)), isPair: isPair}
	return Object{part: at, identity: id}
}

func (s *Stream) configObject(t *yaml.Tree, n int32) (*Object, error) {
	v := &t.Nodes[n]
	id, isMapping, err := s.identify(t, n, int(v.End))
	if err == nil && !isMapping {
		err = s.errorAt(int(v.Start), errors.New("ResourceList: `functionConfig` must be a mapping"))
	}
	o := s.newObject(v, int(v.End), id)
	return &o, err
}

// Name returns the name that was passed to Read.
func (s *Stream) Name() string { return s.name }

// Input returns the text that was passed to Read.
func (s *Stream) Input() []byte {
	return s.in[:len(s.in)-s.addedEnd]
}

// Objects returns all objects in order, those of nested Lists too, without the
// functionConfig.
func (s *Stream) Objects() []*Object { return s.objects }

// IsResourceList reports whether the input is that of a KRM function.
func (s *Stream) IsResourceList() bool { return s.isList }

// FunctionConfig returns the functionConfig of the ResourceList; nil if it has none.
func (s *Stream) FunctionConfig() *Object { return s.config }

// Changed reports whether [Stream.Text] differs from the input.
func (s *Stream) Changed() bool {
	return len(s.changes) > 0 ||
		slices.ContainsFunc(s.objects, (*Object).Changed)
}
