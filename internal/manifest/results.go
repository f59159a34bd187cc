package manifest

import (
	"bytes"
	"errors"
	"iter"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A resultsPlace says where the results of a ResourceList are, or belong.
type resultsPlace struct {
	entry entry // the field; its keyEnd is 0 if there is none
	items entry
	start int // of the ResourceList
	col   int
	end   int // of its document; in flow style, behind its closing brace
	flow  bool
	loose bool // in flow style, perhaps with a comment or a comma before the closing brace
}

// mayEndLoosely reports whether a text may have a comment, or ends with a
// comma.
func mayEndLoosely(text []byte) bool {
	if bytes.HasSuffix(bytes.TrimRight(text, " \t\r\n"), []byte(",")) {
		return true
	}
	for p := bytes.IndexByte(text, '#'); p > 0; {
		if isBlank(text, p-1) {
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

func (s *Stream) noteResults(info *docInfo, end int) {
	s.results = resultsPlace{
		entry: info.results, items: info.items, start: info.start, col: info.col, end: end,
		flow: info.flow, loose: info.parsed != nil,
	}
	if info.flow && info.parsed == nil {
		s.results.end = info.end
		s.results.loose = mayEndLoosely(s.in[info.start : info.end-1])
	}
}

// AddResults appends to the results of the ResourceList. Results that came in
// stay, and one that is among them is not added again, so that a second run
// returns the same list. It must be called on a ResourceList only, and once.
func (s *Stream) AddResults(results iter.Seq[field.Map]) error {
	switch r := &s.results; {
	case !s.isList:
		return &Error{File: s.name, Err: errors.New("results can be added to a ResourceList only")}
	case r.entry.keyEnd != 0:
		return s.appendResults(results)
	case r.flow:
		s.addFlowResults(results)
	default:
		s.addBlockResults(results)
	}
	return nil
}

// addFlowResults writes the results as the last field of the ResourceList, or
// as the first where a comment or a comma may come before its closing brace.
func (s *Stream) addFlowResults(results iter.Seq[field.Map]) {
	r := &s.results
	var list field.List
	for m := range results {
		list = append(list, m)
	}
	if len(list) == 0 {
		return
	}
	s.resultsDigest = digestValue(list)
	l := layout{eol: s.eol(), colon: ": ", comma: ", ", json: true}
	if r.loose {
		b := l.flow([]byte(`"results": `), list, 0)
		s.insert(r.start+1, string(append(b, ", "...)))
		return
	}
	at := r.end - 1
	for at > r.start && isBlank(s.in, at-1) {
		at--
	}
	sp := splicer{t: &tree{text: s.in, col: 0}}
	sep := ", "
	if s.in[r.items.keyEnd] != ' ' {
		l.colon, l.comma, sep = ":", ",", ","
	}
	childCol := 0
	if bytes.IndexByte(s.in[at:r.end], '\n') >= 0 {
		childCol = sp.indentOf(r.items.key)
		l.pretty, l.step = true, max(childCol-sp.indentOf(r.start), 0)
		sep = "," + l.eol + spaces(childCol)
	}
	s.insert(at, string(l.flow([]byte(sep+`"results"`+l.colon), list, childCol)))
}

func (s *Stream) insert(at int, text string) {
	s.changes = append(s.changes, change{splice: splice{at, at, text}})
}

// addBlockResults writes the results at the end of the document, where
// whatever the last item ends with is behind us. It writes them one by one
// and in parts, since a large list has many.
func (s *Stream) addBlockResults(results iter.Seq[field.Map]) {
	const room = 2 << 10
	r := &s.results
	l := layout{eol: s.eol(), wide: r.items.col > r.col, colon: ": ", comma: ", "}
	col := r.col
	if l.wide {
		col += 2
	}
	var b []byte
	flush := func() {
		if len(b) > 0 {
			s.changes = append(s.changes, change{splice: splice{r.end, r.end, s.scratch.keep(b)}, lines: true})
			if len(b) > hugePage/2 {
				shed(len(s.in)+len(s.scratch.chunks)*hugePage, 22<<20)
			}
		}
	}
	digest := uint64(digestSequence)
	for m := range results {
		digest = mix(digest, digestValue(m))
		s.resultsDigest = digest
		first := b == nil
		if cap(b)-len(b) < room {
			flush()
			b = s.scratch.part()
		}
		if first {
			b = append(l.key(appendSpaces(b, r.col), "results", absent, false), ':')
			b = append(b, l.eol...)
		}
		b = l.item(append(appendSpaces(b, col), "- "...), m, col)
		b = append(b, l.eol...)
	}
	flush()
}

var resultsPath = field.NewPath("results")

// appendResults edits the text of the field as if it were an object.
func (s *Stream) appendResults(results iter.Seq[field.Map]) error {
	o := s.resultsObject()
	t, err := o.load()
	if err != nil {
		return err
	}
	n := t.get(1, "results")
	if n == 0 || t.nodes[n].kind != sequence && !t.isNull(n) {
		return o.Errorf(resultsPath, "must be a list")
	}
	digest, old := uint64(digestSequence), 0
	seen := make(map[uint64]bool)
	for c := t.nodes[n].child; c != 0; c = t.nodes[c].next {
		d := t.digest(c)
		digest, old, seen[d] = mix(digest, d), old+1, true
	}
	var edits []field.Edit
	for m := range results {
		if d := digestValue(m); !seen[d] {
			digest = mix(digest, d)
			edits = append(edits, field.Edit{Op: field.Insert, Path: resultsPath.Index(old), Value: m})
		}
	}
	if len(edits) == 0 {
		return nil
	}
	s.resultsDigest = digest
	start, end := o.start, o.end
	if err := o.Apply(edits); err != nil {
		return err
	}
	text := o.source()
	if s.results.flow {
		text = bytes.TrimSpace(text[1 : len(text)-1]) // without the braces of resultsObject
	}
	s.changes = append(s.changes, change{splice: splice{start, end, string(text)}, lines: !s.results.flow})
	return nil
}

// resultsObject returns the field, alone in its mapping, as an object.
func (s *Stream) resultsObject() *Object {
	r := &s.results
	start, end := r.entry.key, max(r.entry.end, r.entry.keyEnd)
	o := &Object{stream: s, start: start, end: end, col: int32(r.col), rare: usual}
	switch {
	case r.flow:
		o.own().text, o.changed = []byte("{"+string(s.in[start:end])+" }"), true
	case s.in[end-1] != '\n':
		o.end = lineEnd(s.in, end) + 1
	}
	return o
}

// digestResults returns the digest of the results. It reads a long list piece
// by piece: to hold all of it as a tree would take more memory than its text.
func (s *Stream) digestResults() (uint64, error) {
	o := s.resultsObject()
	if digest, ok := s.digestPieces(o); ok {
		return digest, nil
	}
	t, err := o.load()
	if err != nil {
		return 0, err
	}
	n := t.get(1, "results")
	if n == 0 || t.nodes[n].kind != sequence {
		return 0, errors.New("the results must be a list")
	}
	return t.digest(n), nil
}

// digestPieces returns the digest of results in block style; ok is false if
// they are not, or where a piece is nothing that the scanner reads. A piece
// ends before the dash of an item. Since the scanner reads all of it, that
// dash is not inside of a value, and what it reads is what it would read there
// in the whole list.
func (s *Stream) digestPieces(o *Object) (digest uint64, ok bool) {
	const size = 64 << 10
	text := o.source()
	head := min(lineEnd(text, 0)+1, len(text))
	dash := skipSpaces(text, head)
	if s.results.flow || s.hasOdd(o.start, o.end) || !bytes.HasPrefix(text[dash:], []byte("- ")) {
		return 0, false
	}
	next := []byte("\n" + string(text[head:dash]) + "- ")
	digest = digestSequence
	s.forget()
	piece := make([]byte, 0, 2*size)
	for rest := text[head:]; len(rest) > 0; {
		end := len(rest)
		if end > size {
			if i := bytes.Index(rest[size:], next); i >= 0 {
				end = size + i + 1
			}
		}
		piece = append(append(piece[:0], text[:head]...), rest[:end]...)
		rest = rest[end:]
		if !s.tree.parse(piece, int(o.col)) {
			return 0, false
		}
		n := s.tree.get(1, "results")
		if n == 0 || s.tree.nodes[n].kind != sequence {
			return 0, false
		}
		for c := s.tree.nodes[n].child; c != 0; c = s.tree.nodes[c].next {
			digest = mix(digest, s.tree.digest(c))
		}
	}
	return digest, true
}
