package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

// WriteTo writes what [Stream.Text] returns.
func (s *Stream) WriteTo(w io.Writer) (int64, error) {
	text, err := s.Text()
	if err != nil {
		return 0, err
	}
	n, err := WriteOutput(w, text)
	return int64(n), err
}

// WriteOutput writes the output of a process. A pipe is made wider first.
func WriteOutput(w io.Writer, text []byte) (int, error) {
	if len(text) > usualPipe {
		widenPipe(w)
	}
	return w.Write(text)
}

// Text returns the stream with its changes made, in the shape in which it
// came. The text has been read again and compared with what was planned: an
// error means that they differ.
func (s *Stream) Text() ([]byte, error) {
	if !s.Changed() {
		return s.in[:len(s.in)-s.addedEnd], nil
	}
	return join([]*Stream{s})
}

// Join returns the texts of the streams, with their changes made, as one
// stream of documents. Like that of [Stream.Text], the text has been read
// again.
func Join(streams []*Stream) ([]byte, error) {
	if len(streams) == 1 {
		return streams[0].Text()
	}
	for _, s := range streams {
		if s.isList {
			return nil, &Error{File: s.name, Err: errors.New("a ResourceList must be alone in its stream, and the text of other files would come with it")}
		}
	}
	return join(streams)
}

func join(streams []*Stream) ([]byte, error) {
	if len(streams) == 0 {
		return nil, nil
	}
	size, changes, edited := 0, 0, 0
	for _, s := range streams {
		n, ofAll, ofObjects := s.composedSize()
		size, changes, edited = size+n, changes+ofAll, edited+ofObjects
	}
	if size > maxSize {
		return nil, &Error{Err: errors.New("the output must be smaller than 2 GiB")}
	}
	shed(size, 12<<20)
	c := composer{text: outputMemory(size)}
	c.copied, c.edited = make([]run, 0, changes+len(streams)), make([]placed, 0, edited)
	for i, s := range streams {
		if i > 0 {
			c.text = s.appendSeparator(c.text)
		}
		if err := c.stream(s, i == 0); err != nil {
			return nil, s.unplanned(nil, err)
		}
	}
	if err := verify(c.text, c.origins, streams); err != nil {
		return nil, err
	}
	return streams[len(streams)-1].withoutAddedEnd(c.text), nil
}

// withoutAddedEnd takes the line end away that the input lacked. That of a
// blank line stays: it may be text of a block scalar.
func (s *Stream) withoutAddedEnd(text []byte) []byte {
	shorter := bytes.TrimSuffix(text, s.in[len(s.in)-s.addedEnd:])
	if bytes.HasSuffix(shorter, []byte("\n")) {
		return text
	}
	return shorter
}

// A composer puts an output together.
type composer struct {
	text []byte
	origins
	scratch *scratch // of the stream at hand
}

// origins say where parts of an output are from, in order.
type origins struct {
	copied []run
	edited []placed
}

// A placed object is an edited one and where its text starts in the output.
type placed struct {
	object *Object
	at     int32
}

// A run is a part of the output that was copied from an input.
type run struct {
	from       *Stream
	start, end int32 // in the input
	at         int32 // in the output
}

// length returns how long the run is.
func (r *run) length() int { return int(r.end - r.start) }

// shortRun is the length of runs that are not worth noting.
const shortRun = 128

// appendSeparator ends the document before the stream.
func (s *Stream) appendSeparator(b []byte) []byte {
	switch start, ok := s.nextDocument(s.info.start); {
	case isMarker(s.in, s.info.start):
		return b
	case ok && s.in[start] == '%':
		b = append(b, "..."...) // or the directive would be text of that document
	default:
		b = append(b, "---"...)
	}
	return append(b, s.eol()...)
}

// composedSize returns an upper bound of the size of the stream with its
// changes made, and how many changes and edited objects there are.
func (s *Stream) composedSize() (size, changes, edited int) {
	const aroundLines = 2 * len("\r\n")
	size = len(s.in) + len("\r\n---\r\n")
	for c := range s.allChanges() {
		size += len(c.text) + aroundLines
		changes++
		if c.of != nil {
			edited++
		}
	}
	return size, changes, edited
}

// allChanges returns the edits of objects and the other changes, in order.
func (s *Stream) allChanges() iter.Seq[change] {
	return func(yield func(change) bool) {
		rest := slices.Clone(s.changes)
		for i := range rest {
			rest[i].kept = &s.changes[i].text
		}
		sortChanges(rest)
		first := func() (c change) {
			c, rest[0] = rest[0], change{} // its text may be memory to return
			rest = rest[1:]
			return c
		}
		// What is put behind an object comes behind its edits at that place.
		put := func(edit change) bool {
			for len(rest) > 0 && compareChanges(rest[0], edit) < 0 {
				if !yield(first()) {
					return false
				}
			}
			return yield(edit)
		}
		for _, o := range s.objects {
			of := o // noted with the first change
			for i := range o.patch {
				p := &o.patch[i]
				if !put(change{splice: splice{o.start + p.start, o.start + p.end, p.text}, kept: &p.text, of: of}) {
					return
				}
				of = nil
			}
			if o.changed && o.patch == nil && !put(change{splice: splice{o.start, o.end, view(o.text)}, of: o}) {
				return
			}
		}
		for len(rest) > 0 {
			if !yield(first()) {
				return
			}
		}
	}
}

// compareChanges orders changes by place. What is put in at a place comes
// before what replaces the text from there on.
func compareChanges(a, b change) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
}

func sortChanges(all []change) { slices.SortStableFunc(all, compareChanges) }

// stream appends a stream with all changes made. A byte order mark is kept
// only at the start of the output.
func (c *composer) stream(s *Stream, first bool) error {
	c.scratch = &s.scratch
	return s.place(c, s.start(first), len(s.in), s.allChanges())
}

// start returns where the stream's text starts in an output.
func (s *Stream) start(first bool) int {
	if first {
		return 0
	}
	return s.info.start
}

// An assembly takes the parts of an output in order.
type assembly interface {
	copy(s *Stream, start, end int) // a part of an input
	add(text string, kept *string)  // the text of a change
	edit(o *Object, start int)      // o is edited first at an offset of the input, which is next
	length() int                    // of all parts so far
	inLine() bool                   // whether they end within a line
}

// place passes a part of the stream's input, with its changes, to an assembly.
func (s *Stream) place(to assembly, start, end int, changes iter.Seq[change]) error {
	from := to.length()
	newLine := func() {
		if to.length() > from && to.inLine() {
			to.add(s.eol(), nil)
		}
	}
	for ch := range changes {
		if ch.start < start || ch.end < ch.start || ch.end > end {
			return fmt.Errorf("the change of the bytes %d to %d lies outside of %d to %d", ch.start, ch.end, start, end)
		}
		to.copy(s, start, ch.start)
		start = ch.end
		if ch.of != nil {
			to.edit(ch.of, ch.start)
		}
		if ch.lines {
			newLine()
		}
		to.add(ch.text, ch.kept)
		if ch.lines && start < len(s.in) {
			newLine()
		}
	}
	to.copy(s, start, end)
	return nil
}

func (c *composer) copy(s *Stream, start, end int) {
	if end-start >= shortRun {
		c.copied = append(c.copied, run{s, int32(start), int32(end), int32(len(c.text))})
	}
	c.text = append(c.text, s.in[start:end]...)
}

// add appends the text of a change, which is then kept in the output only.
func (c *composer) add(text string, kept *string) {
	at := len(c.text)
	c.text = append(c.text, text...)
	if kept != nil {
		*kept = view(c.text[at:])
		c.scratch.drop(text)
	}
}

func (c *composer) edit(o *Object, start int) {
	c.edited = append(c.edited, placed{o, int32(len(c.text) - (start - o.start))})
}

func (c *composer) length() int { return len(c.text) }

func (c *composer) inLine() bool { return c.text[len(c.text)-1] != '\n' }
