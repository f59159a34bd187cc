package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime/debug"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
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

// largeOutput is a size from which giving memory back to the system is worth its time.
const largeOutput = 8 << 20

func join(streams []*Stream) ([]byte, error) {
	if len(streams) == 0 {
		return nil, nil
	}
	size := 0
	for _, s := range streams {
		size += s.composedSize()
	}
	if size > maxSize {
		return nil, &Error{Err: errors.New("the output must be smaller than 2 GiB")}
	}
	if ownsProcess && size > largeOutput {
		// What the plans needed goes back to the system before the output takes its
		// place, and reading the output again is not to need as much.
		debug.FreeOSMemory()
		debug.SetGCPercent(20)
	}
	c := composer{text: outputMemory(size)}
	for i, s := range streams {
		if c.next, c.kept = 0, &s.scratch.kept; i > 0 {
			c.text = s.appendSeparator(c.text)
		}
		if err := s.assemble(&c, s.start(i == 0), len(s.in), s.allChanges()); err != nil {
			return nil, s.unplanned(nil, err)
		}
	}
	if err := verify(c.text, c.known, streams); err != nil {
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

// A composer puts an output together, and notes the known objects in it: those that no
// edit touches, and those of which Apply has read all that makes them up. To the edited
// text that ends in a block scalar belongs what is indented more below it, a comment too.
type composer struct {
	text  []byte
	known knownObjects
	next  int         // the first object of the stream at hand that may be copied next
	kept  *textMemory // of the stream at hand
}

// The knownObjects of an output are where texts are that have been read before.
type knownObjects struct {
	texts   []yaml.Known
	objects []*Object
}

// at returns the object at an offset; nil if it is not known.
func (k *knownObjects) at(at int) *Object {
	i, found := slices.BinarySearchFunc(k.texts, at, func(k yaml.Known, at int) int { return k.At - at })
	if !found {
		return nil
	}
	return k.objects[i]
}

// appendSeparator ends the document before the stream.
func (s *Stream) appendSeparator(b []byte) []byte {
	switch start, ok := s.text.NextDocument(s.text.Start); {
	case yaml.IsMarker(s.in, s.text.Start):
		return b
	case ok && s.in[start] == '%':
		b = append(b, "..."...) // or the directive would be text of that document
	default:
		b = append(b, "---"...)
	}
	return append(b, s.eol()...)
}

// composedSize returns an upper bound of the size of the stream with its
// changes made.
func (s *Stream) composedSize() int {
	const aroundLines = 2 * len("\r\n")
	size := len(s.in) + len("\r\n---\r\n")
	for c := range s.allChanges() {
		size += len(c.text) + aroundLines
	}
	return size
}

// allChanges returns the edits of objects and the other changes, in order.
func (s *Stream) allChanges() iter.Seq[change] {
	return func(yield func(change) bool) {
		sortChanges(s.changes)
		rest := s.changes
		next := func() bool {
			c := rest[0]
			c.kept, rest = &rest[0].text, rest[1:]
			return yield(c)
		}
		// What is put behind an object comes behind its edits at that place.
		put := func(edit splice, kept *string) bool {
			for len(rest) > 0 && compareChanges(rest[0], change{splice: edit}) < 0 {
				if !next() {
					return false
				}
			}
			return yield(change{splice: edit, kept: kept})
		}
		for _, o := range s.objects {
			for i, p := range o.patch {
				if !put(splice{o.start + p.start, o.start + p.end, p.text}, &o.patch[i].text) {
					return
				}
			}
			if o.changed && o.patch == nil && !put(splice{o.start, o.end, yaml.View(o.text)}, nil) {
				return
			}
		}
		for len(rest) > 0 && next() {
		}
	}
}

// compareChanges orders changes by place. What is put in at a place comes
// before what replaces the text from there on.
func compareChanges(a, b change) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
}

func sortChanges(all []change) { slices.SortStableFunc(all, compareChanges) }

// start returns where the stream's text starts in an output.
func (s *Stream) start(first bool) int {
	if first {
		return 0
	}
	return s.text.Start
}

// An assembly takes the parts of an output in order.
type assembly interface {
	copy(s *Stream, start, end int) // a part of an input
	add(text string, kept *string)  // the text of a change
	length() int                    // of all parts so far
	inLine() bool                   // whether they end within a line
}

// assemble passes a part of the stream's input, with its changes, to an assembly. A byte
// order mark is kept only at the start of the output.
func (s *Stream) assemble(to assembly, start, end int, changes iter.Seq[change]) error {
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
	for ; c.next < len(s.objects) && s.objects[c.next].start < end; c.next++ {
		if o := s.objects[c.next]; o.start >= start && (!o.changed || o.endsPlainly && o.patch != nil) && o.shared == "" {
			at := len(c.text) + o.start - start
			c.known.texts = append(c.known.texts, yaml.Known{At: at, End: at + o.length(), Col: int(o.col), Checked: !o.changed && len(s.text.Odd) == 0})
			c.known.objects = append(c.known.objects, o)
		}
	}
	c.text = append(c.text, s.in[start:end]...)
}

// add appends the text of a change, which is then kept in the output only.
func (c *composer) add(text string, kept *string) {
	at := len(c.text)
	if c.text = append(c.text, text...); kept != nil {
		*kept = yaml.View(c.text[at:])
		c.kept.release(text)
	}
}

func (c *composer) length() int { return len(c.text) }

func (c *composer) inLine() bool { return c.text[len(c.text)-1] != '\n' }

// eol returns the end of the stream's lines.
func (s *Stream) eol() string {
	if s.text.CRLF {
		return "\r\n"
	}
	return "\n"
}
