package manifest

import (
	"bytes"
	"iter"
	"reflect"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A resultsText says where in a ResourceList its results are.
type resultsText struct {
	ent   entry
	items entry
	start int // of the ResourceList
	col   int
	end   int // behind its last content; its brace is the last byte in flow style
	flow  bool
}

func (s *Stream) noteResults(info *docInfo) {
	s.results = resultsText{ent: info.results, items: info.items, start: info.start, col: info.col, end: info.end, flow: info.flow}
}

// addResults writes the results behind those that are there, else as the
// last field of the ResourceList.
func (s *Stream) addResults(results iter.Seq[field.Map]) error {
	r := s.results
	if r.ent.keyEnd != 0 {
		return s.appendResults(results)
	}
	l := layout{eol: s.eol(), wide: r.items.col > r.col, colon: ": ", comma: ", ", json: true}
	if !r.flow {
		l.json = false
		s.addBlockResults(results, &l)
		return nil
	}
	var list field.List
	for m := range results {
		list = append(list, m)
	}
	if len(list) == 0 {
		return nil
	}
	at := r.end - 1
	for at > r.start && isBlank(s.in, at-1) {
		at--
	}
	sp := splicer{t: &tree{text: s.in, col: 0}}
	key := r.items.key
	sep := ", "
	if s.in[r.items.keyEnd] != ' ' {
		l.colon, l.comma, sep = ":", ",", ","
	}
	kidCol := 0
	if bytes.IndexByte(s.in[at:r.end], '\n') >= 0 {
		kidCol = sp.indentOf(key)
		l.pretty, l.step = true, max(kidCol-sp.indentOf(r.start), 0)
		sep = "," + l.eol + spaces(kidCol)
	}
	s.splices = append(s.splices, splice{at, at, string(l.flow([]byte(sep+`"results"`+l.colon), list, kidCol))})
	return nil
}

// addBlockResults writes the results one by one and in parts, since a large
// list has many.
func (s *Stream) addBlockResults(results iter.Seq[field.Map], l *layout) {
	const room, small, large = 2 << 10, 4 << 10, 64 << 10
	r := s.results
	at := r.end
	if s.in[at-1] != '\n' {
		at = min(lineEnd(s.in, at)+1, len(s.in))
	}
	col := r.col
	if l.wide {
		col += 2
	}
	var b []byte
	flush := func() {
		if len(b) > 0 {
			s.splices = append(s.splices, splice{at, at, view(b)})
		}
	}
	for m := range results {
		first := b == nil
		if cap(b)-len(b) < room {
			flush()
			b = make([]byte, 0, min(max(small, 2*cap(b)), large))
		}
		if first {
			if s.in[at-1] != '\n' {
				b = append(b, l.eol...)
			}
			b = append(l.key(appendSpaces(b, r.col), "results", false), ':')
			b = append(b, l.eol...)
		}
		b = l.item(append(appendSpaces(b, col), "- "...), m, col)
		b = append(b, l.eol...)
	}
	flush()
}

// appendResults edits the text of the field as if it were an object.
func (s *Stream) appendResults(results iter.Seq[field.Map]) error {
	r := s.results
	end := max(r.ent.end, r.ent.keyEnd)
	start := r.ent.key
	var o *Object
	if r.flow {
		o = &Object{stream: s, start: start, end: end, changed: true}
		o.text = []byte("{" + string(s.in[start:end]) + "}")
	} else {
		if end < len(s.in) && s.in[end-1] != '\n' {
			end = min(lineEnd(s.in, end)+1, len(s.in))
		}
		o = &Object{stream: s, start: start, end: end, col: r.col}
	}
	var old []any
	if _, err := o.Decode(field.NewPath("results"), &old); err != nil {
		return err
	}
	var edits []field.Edit
	for m := range results {
		if !slices.ContainsFunc(old, func(o any) bool { return reflect.DeepEqual(o, m) }) {
			edits = append(edits, field.Edit{Op: field.Insert, Path: field.NewPath("results").Index(len(old)), Value: m})
		}
	}
	if len(edits) == 0 {
		return nil
	}
	if err := o.Apply(edits); err != nil {
		return err
	}
	text := o.source()
	if r.flow {
		text = text[1 : len(text)-1]
	}
	s.splices = append(s.splices, splice{start, end, string(text)})
	return nil
}
