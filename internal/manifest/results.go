package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"runtime/debug"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// A resultsPosition says where the results of a ResourceList are, or belong.
type resultsPosition struct {
	key, end int   // of the field; 0 if there is none
	itemsCol int32 // of the items' dashes
	root     yaml.Node
	docEnd   int
}

// AddResults appends to the results of the ResourceList. Results that came in
// stay, and one that is among them is not added again, so that a second run
// returns the same list. It must be called on a ResourceList only, and once.
func (s *Stream) AddResults(results iter.Seq[field.Map]) error {
	if !s.isList {
		return &Error{File: s.name, Err: errors.New("results can be added to a ResourceList only")}
	}
	switch r := &s.results; {
	case r.end != 0 || r.root.Style == yaml.Flow:
		return s.appendResults(results)
	case s.endsInText:
		return s.errorAt(len(s.in)-s.addedEnd, errors.New("must end with a line end: this line is in a block scalar (| or >), whose value would be another with text behind it"))
	default:
		return s.addBlockResults(results)
	}
}

// addBlockResults writes the results at the end of the document, where
// whatever the last item ends with is behind us.
func (s *Stream) addBlockResults(results iter.Seq[field.Map]) error {
	r := &s.results
	l := layout{eol: s.eol, wide: r.itemsCol > r.root.Col, colon: ": ", comma: ", "}
	col := int(r.root.Col)
	if l.wide {
		col += 2
	}
	key := append(append(l.key(nil, "results", yaml.Absent, false), ':'), l.eol...)
	before := append([]byte(spaces(int(r.root.Col))), key...)
	var alone []byte // the text of one result under its key
	if ownsProcess && len(s.in) > largeOutput {
		debug.SetGCPercent(60) // the texts of results take the place of garbage
	}
	for m := range results {
		b := l.item(append(append(before, spaces(col)...), "- "...), m, col)
		b = append(b, l.eol...)
		insertResult(s, yaml.View(b))
		alone = append(append(alone[:0], key...), b[len(before):]...)
		t := &s.check.Tree
		ok := s.check.Parse(alone, int(r.root.Col))
		if !ok ||
			!t.EqualValue(t.Get(1, "results"), field.List{m}) {
			return s.unplanned("", errors.New("the results differ"))
		}
		s.added = true
		before = b[:0]
	}
	return nil
}

// insertResult adds a text to the changes. It is one with the result before, if that has room behind it: a large
// list has very many.
func insertResult(s *Stream, text string) {
	kept, at := &s.scratch.kept, s.results.docEnd
	if n := len(s.changes); n > 0 && s.changes[n-1].start == at {
		if both, ok := kept.extend(s.changes[n-1].text, text); ok {
			s.changes[n-1].text = both
			return
		}
	}
	s.changes = append(s.changes, splice{at, at, kept.keep(text)})
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
	if n == 0 ||
		t.Nodes[n].Kind != yaml.Sequence && !t.IsNull(n) {
		return o.Errorf(resultsPath, "must be a list")
	}
	old := t.Length(n)
	seen := make(map[string]bool)
	for c := t.Nodes[n].Child; c != 0; c = t.Nodes[c].Next {
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
	if s.results.root.Style != yaml.Flow {
		s.changes = append(s.changes, splice{start, end, string(text)})
		return nil
	}
	text = bytes.TrimSpace(text[1 : len(text)-1]) // without the braces of resultsObject
	if s.results.end == 0 {
		text = append(text, ',')
		if s.in[start] != '"' && !yaml.IsBlank(s.in, start) {
			text = append(text, ' ')
		}
	}
	s.changes = append(s.changes, splice{start, end, string(text)})
	return nil
}

// fingerprint returns the same text for results that are equal, in whatever order their
// fields are.
func fingerprint(v field.Value) string {
	var m any // package json sorts the keys of its mappings
	_ = json.Unmarshal(field.AppendJSON(nil, v), &m)
	text, _ := json.Marshal(m)
	return string(text)
}

// resultsObject returns the field, alone in its mapping, as an object. A field that a mapping
// in braces lacks becomes its first one: before its closing brace there may be a comment or a comma.
func (s *Stream) resultsObject() *Object {
	r := &s.results
	o := &Object{part: part{stream: s, start: r.key, end: r.end, col: r.root.Col}}
	switch {
	case r.end == 0:
		o.start = int(r.root.Start) + yaml.ContentStart(s.in[r.root.Start:]) + 1
		o.end = o.start
		text := `{"results": []}`
		if s.in[o.start] == '"' { // compact JSON
			text = `{"results":[]}`
		}
		o.replaceWith([]byte(text))
	case r.root.Style == yaml.Flow:
		o.replaceWith([]byte("{" + string(s.in[r.key:r.end]) + " }"))
	case s.text.Bytes[r.end-1] != '\n':
		o.end = yaml.LineEnd(s.text.Bytes, r.end) + 1
	}
	return o
}
