package manifest

import (
	"bytes"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// A resultsPosition says where the results of a ResourceList are, or belong.
type resultsPosition struct {
	key, end   int // of the field; 0 if there is none
	itemsKey   int // where the items' key starts, and where their value may
	itemsValue int
	itemsCol   int32
	root       yaml.Node
	docEnd     int  // in flow style, behind the closing brace
	loose      bool // in flow style, perhaps with a comment or a comma before the closing brace
}

// mayEndLoosely reports whether a text may have a comment, or ends with a
// comma.
func mayEndLoosely(text []byte) bool {
	if bytes.HasSuffix(bytes.TrimRight(text, " \t\r\n"), []byte(",")) {
		return true
	}
	for p := bytes.IndexByte(text, '#'); p > 0; {
		if yaml.IsBlank(text, p-1) {
			return true
		}
		next := bytes.IndexByte(text[p+1:], '#')
		if next < 0 {
			break
		}
		p += 1 + next
	}
	return false
}

func (s *Stream) noteResults(t *yaml.Tree, h yaml.Heading, end int) {
	root, items := &t.Nodes[1], &t.Nodes[h.Items]
	r := resultsPosition{itemsKey: int(items.Key), itemsValue: t.BehindColon(items), itemsCol: items.Col, root: *root, docEnd: end}
	if h.Results != 0 {
		v := &t.Nodes[h.Results]
		r.key, r.end = int(v.Key), max(int(v.End), t.BehindColon(v))
	}
	if root.Style == yaml.Flow {
		r.docEnd = int(root.End)
		r.loose = mayEndLoosely(s.in[root.Start : root.End-1])
	}
	s.results = r
}

// AddResults appends to the results of the ResourceList. Results that came in
// stay, and one that is among them is not added again, so that a second run
// returns the same list. It must be called on a ResourceList only, and once.
func (s *Stream) AddResults(results iter.Seq[field.Map]) error {
	if !s.isList {
		return &Error{File: s.name, Err: errors.New("results can be added to a ResourceList only")}
	}
	switch r := &s.results; {
	case s.endsInText && r.end == 0:
		return s.canGrow()
	case r.end != 0:
		return s.appendResults(results)
	case r.root.Style == yaml.Flow:
		return s.addFlowResults(results)
	default:
		return s.addBlockResults(results)
	}
}

// checkResults returns an error if the results in a text, which starts in a column, differ.
func (s *Stream) checkResults(text []byte, col int, want field.List) error {
	t := &s.check
	if !t.Parse(text, col) || !t.EqualValue(t.Get(1, "results"), want) {
		s.added = false
		return s.unplanned(nil, errors.New("the results differ"))
	}
	s.added = true
	return nil
}

// addFlowResults writes the results as the last field of the ResourceList, or
// as the first where a comment or a comma may come before its closing brace.
func (s *Stream) addFlowResults(results iter.Seq[field.Map]) error {
	r := &s.results
	list := field.List{}
	for m := range results {
		list = append(list, m)
	}
	if len(list) == 0 {
		return nil
	}
	l := layout{eol: s.eol(), colon: ": ", comma: ", ", json: true}
	if r.loose {
		b := l.flow([]byte(`"results": `), list, 0)
		s.insert(int(r.root.Start)+1, string(append(b, ", "...)))
		return s.checkResults([]byte("{"+string(b)+"}"), 0, list)
	}
	start := int(r.root.Start)
	at := r.docEnd - 1
	for at > start && yaml.IsBlank(s.in, at-1) {
		at--
	}
	sp := splicer{t: &yaml.Tree{Text: s.in, Col: 0}}
	sep := ", "
	if s.in[r.itemsValue] != ' ' {
		l.colon, l.comma, sep = ":", ",", ","
	}
	childCol := 0
	if bytes.IndexByte(s.in[at:r.docEnd], '\n') >= 0 {
		childCol = sp.indentOf(r.itemsKey)
		l.pretty, l.step = true, max(childCol-sp.indentOf(start), 0)
		sep = "," + l.eol + spaces(childCol)
	}
	b := l.flow([]byte(`"results"`+l.colon), list, childCol)
	s.insert(at, sep+string(b))
	return s.checkResults([]byte("{"+string(b)+"}"), 0, list)
}

func (s *Stream) insert(at int, text string) {
	s.changes = append(s.changes, change{splice: splice{at, at, text}})
}

// addBlockResults writes the results at the end of the document, where
// whatever the last item ends with is behind us.
func (s *Stream) addBlockResults(results iter.Seq[field.Map]) error {
	r := &s.results
	l := layout{eol: s.eol(), wide: r.itemsCol > r.root.Col, colon: ": ", comma: ", "}
	col := int(r.root.Col)
	if l.wide {
		col += 2
	}
	key := append(append(l.key(nil, "results", yaml.Absent, false), ':'), l.eol...)
	before := append(appendSpaces(nil, int(r.root.Col)), key...)
	var alone []byte // the text of one result under its key
	for m := range results {
		b := l.item(append(appendSpaces(before, col), "- "...), m, col)
		b = append(b, l.eol...)
		s.changes = append(s.changes, change{splice: splice{r.docEnd, r.docEnd, s.scratch.kept.keep(yaml.View(b))}, lines: true})
		alone = append(append(alone[:0], key...), b[len(before):]...)
		if err := s.checkResults(alone, int(r.root.Col), field.List{m}); err != nil {
			return err
		}
		before = b[:0]
	}
	return nil
}

var resultsPath = field.NewPath("results")

// appendResults edits the text of the field as if it were an object.
func (s *Stream) appendResults(results iter.Seq[field.Map]) error {
	o := s.resultsObject()
	t, err := o.load()
	if err != nil {
		return err
	}
	n := t.Get(1, "results")
	if n == 0 || t.Nodes[n].Kind != yaml.Sequence && !t.IsNull(n) {
		return o.Errorf(resultsPath, "must be a list")
	}
	old, seen := 0, make(map[string]bool)
	for c := t.Nodes[n].Child; c != 0; c = t.Nodes[c].Next {
		old++
		seen[fingerprint(t.Any(c))] = true
	}
	var edits []field.Edit
	for m := range results {
		if !seen[fingerprint(m)] {
			edits = append(edits, field.Edit{Op: field.Insert, Path: resultsPath.Index(old), Value: m})
		}
	}
	if len(edits) == 0 {
		return nil
	}
	start, end := o.start, o.end
	if err := o.Apply(edits); err != nil {
		return err
	}
	s.added = true
	text := o.source()
	if s.results.root.Style == yaml.Flow {
		text = bytes.TrimSpace(text[1 : len(text)-1]) // without the braces of resultsObject
	}
	s.changes = append(s.changes, change{splice: splice{start, end, string(text)}, lines: s.results.root.Style != yaml.Flow})
	return nil
}

// fingerprint returns the same text for results that are equal, in whatever order their
// fields are.
func fingerprint(v field.Value) string {
	return string(field.AppendJSON(nil, sorted(v)))
}

func sorted(v field.Value) field.Value {
	switch v := v.(type) {
	case field.Map:
		m := make(field.Map, len(v))
		for i, e := range v {
			m[i] = field.Entry{Key: e.Key, Value: sorted(e.Value)}
		}
		slices.SortFunc(m, func(a, b field.Entry) int { return strings.Compare(a.Key, b.Key) })
		return m
	case field.List:
		l := make(field.List, len(v))
		for i, e := range v {
			l[i] = sorted(e)
		}
		return l
	}
	return v
}

// resultsObject returns the field, alone in its mapping, as an object.
func (s *Stream) resultsObject() *Object {
	r := &s.results
	start, end := r.key, r.end
	o := &Object{stream: s, start: start, end: end, col: r.root.Col, objectExtra: noExtra}
	switch {
	case r.root.Style == yaml.Flow:
		o.mutableExtra().text, o.changed = []byte("{"+string(s.in[start:end])+" }"), true
	case s.in[end-1] != '\n':
		o.end = yaml.LineEnd(s.in, end) + 1
	}
	return o
}
