package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

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
	return Join([]*Stream{s})
}

// Join returns the texts of the streams, with their changes made, as one
// stream of documents. Like that of [Stream.Text], the text has been read
// again.
func Join(streams []*Stream) (text []byte, err error) {
	switch {
	case len(streams) == 0:
		return nil, nil
	case len(streams) == 1 && !streams[0].Changed():
		return streams[0].Input(), nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = streams[0].unplanned("", fmt.Errorf("%v", p))
		}
	}()
	size := 0
	objects := 0
	for _, s := range streams {
		if s.isList && len(streams) > 1 {
			return nil, &Error{
				File: s.name,
				Err:  errors.New("a ResourceList must be alone in its stream, and the text of other files would come with it"),
			}
		}
		size += s.composedSize()
		objects += len(s.objects)
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
	c := composer{text: outputMemory(size), verified: make([]yaml.Verified, 0, objects)}
	if err := send(&c, streams); err != nil {
		return nil, err
	}
	if err := verify(c.text, c.verified, streams); err != nil {
		return nil, err
	}
	return withoutAddedEnd(streams[len(streams)-1], c.text), nil
}

// largeOutput is a size from which giving memory back to the system is worth its time.
const largeOutput = 8 << 20

// withoutAddedEnd takes the line end away that the input lacked. That of a
// blank line stays: it may be text of a block scalar.
func withoutAddedEnd(s *Stream, text []byte) []byte {
	shorter := bytes.TrimSuffix(text, s.in[len(s.in)-s.addedEnd:])
	if bytes.HasSuffix(shorter, []byte("\n")) {
		return text
	}
	return shorter
}

// lastFeed returns the line feed that the stream needs behind its last line so that all tools see the document behind it:
// kubectl takes documents apart at no other line break.
func lastFeed(s *Stream) string {
	if bytes.HasSuffix(s.in, []byte("\n")) {
		return ""
	}
	return s.eol
}

// separator returns what ends the document before the stream.
func (s *Stream) separator() string {
	switch start, ok := s.text.NextDocument(s.text.Start); {
	case yaml.IsMarker(s.text.Bytes, s.text.Start):
		return ""
	case ok && s.in[start] == '%':
		return "..." + s.eol // or the directive would be text of that document
	}
	return "---" + s.eol
}

// composedSize returns an upper bound of the size of the stream with its
// changes made.
func (s *Stream) composedSize() int {
	size := len(s.in) + len("\r\n---\r\n")
	for _, c := range s.changes {
		size += len(c.text)
	}
	for _, o := range s.objects {
		size += max(o.length()-(o.end-o.start), 0)
	}
	return size
}

// A sink takes the parts of an output in order: a composer puts them together, a verifier
// compares them.
type sink interface {
	between(s *Stream, text string, kept *string) // objects; kept is where the text of a change is
	object(o *Object) error
}

// send passes the parts of an output to a sink.
func send(to sink, streams []*Stream) error {
	for i, s := range streams {
		start := 0
		if i > 0 {
			start = s.text.Start
			to.between(s, lastFeed(streams[i-1])+s.separator(), nil)
		}
		if err := s.send(to, start); err != nil {
			return err
		}
	}
	return nil
}

// send passes the stream to a sink, from an offset on: its objects, and the text between
// them with its changes.
func (s *Stream) send(to sink, at int) error {
	rest := s.changes
	for _, o := range s.objects {
		n := 0
		for n < len(rest) && rest[n].end <= o.start {
			n++
		}
		if err := s.sendBetween(to, at, o.start, rest[:n]); err != nil {
			return err
		}
		if err := to.object(o); err != nil {
			return err
		}
		at, rest = o.end, rest[n:]
	}
	return s.sendBetween(to, at, len(s.in), rest)
}

// sendBetween passes a part of the input between two objects, with its changes, to a sink.
func (s *Stream) sendBetween(to sink, start, end int, changes []splice) error {
	for i := range changes {
		c := &changes[i]
		if c.start < start ||
			c.end < c.start ||
			c.end > end {
			return s.unplanned(
				"",
				fmt.Errorf("the change of the bytes %d to %d lies outside of %d to %d", c.start, c.end, start, end),
			)
		}
		to.between(s, yaml.View(s.in[start:c.start]), nil)
		start = c.end
		to.between(s, c.text, &c.text)
	}
	to.between(s, yaml.View(s.in[start:end]), nil)
	return nil
}

// A composer puts an output together, and notes the verified objects in it: those that no
// edit touches, and those of which Apply has read all that makes them up. To the edited
// text that ends in a block scalar belongs what is indented more below it, a comment too.
type composer struct {
	text     []byte
	verified []yaml.Verified
}

// between appends a text. That of a change is then kept in the output only.
func (c *composer) between(s *Stream, text string, kept *string) {
	at := len(c.text)
	if c.text = append(c.text, text...); kept != nil {
		*kept = yaml.View(c.text[at:])
		s.scratch.kept.release(text)
	}
}

func (c *composer) object(o *Object) error {
	s := o.stream
	at := len(c.text)
	if s.shared[o] == "" && (!o.changed || o.endsPlainly) {
		v := yaml.Verified{At: at, End: at + o.length(), Col: int(o.col)}
		v.APIVersion = o.apiVersion
		v.Kind = o.kind
		v.Checked = !o.changed && s.text.OddBreak(o.start, o.end) < 0
		c.verified = append(c.verified, v)
	}
	at = o.start
	for i, p := range o.patch {
		c.text = append(c.text, s.in[at:o.start+p.start]...)
		c.between(s, p.text, &o.patch[i].text)
		at = o.start + p.end
	}
	c.text = append(c.text, s.in[at:o.end]...)
	return nil
}
