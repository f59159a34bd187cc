package manifest

import "github.com/rewrite-probes/rewrite-probes/internal/yaml"

// A part is the part of a stream that an object is written in, and what has become of it.
type part struct {
	stream      *Stream
	start, end  int      // in the input
	col         int32    // the column in which it starts
	isPair      bool     // in brackets, without braces
	changed     bool     // by an edit
	endsPlainly bool     // the edited text does not end in a block scalar
	planned     uint64   // the hash of the edited text, which has been read again
	patch       []splice // the changes to its part of the input
}

// Stream returns the stream that has the object.
func (p *part) Stream() *Stream { return p.stream }

// Line returns the line of the input on which the object starts, counted from
// 1.
func (p *part) Line() int {
	return p.stream.line(p.start)
}

func (p *part) unchanged() []byte {
	return p.stream.in[p.start:p.end]
}

func (p *part) source() []byte {
	if !p.changed {
		return p.unchanged()
	}
	return applySplices(nil, p.unchanged(), p.patch)
}

// Changed reports whether an Apply has changed the object's text.
func (p *part) Changed() bool { return p.changed }

// replaceWith puts a text in the place of the object's part of the input. It is read again
// in the output.
func (p *part) replaceWith(text []byte) {
	p.patch = []splice{{0, p.end - p.start, yaml.View(text)}}
	p.changed = true
	p.endsPlainly = false
}

// length returns the length of the object's text as it is now.
func (p *part) length() int {
	n := p.end - p.start
	for _, s := range p.patch {
		n += len(s.text) - (s.end - s.start)
	}
	return n
}
