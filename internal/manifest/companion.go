package manifest

import (
	"bytes"
	"errors"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// AddAfter puts a new object behind o: as a document where o is one, as an
// item where o is one, in the style of its surroundings. The new object is
// not among the [Stream.Objects]. After an error nothing is changed.
func (o *Object) AddAfter(value field.Map) error {
	s := o.stream
	at, err := o.siblings()
	if err != nil {
		return err
	}
	if at.end == len(s.in) && !at.flow {
		if err := s.canGrow(); err != nil {
			return err
		}
	}
	l := &layout{eol: s.eol, json: at.flow, colon: ":", comma: ","}
	before, col := "---"+l.eol, 0
	switch {
	case at.flow && at.item:
		before = ","
	case at.item:
		before, col = spaces(at.col)+"- ", at.col+2
	}
	var b []byte
	if at.flow {
		b = l.flow([]byte(before), value, yaml.Absent, 0)
	} else {
		b = l.block([]byte(before), value, col)
	}
	if !at.flow || !at.item {
		b = append(b, l.eol...)
	}
	s.changes = append(s.changes, change{
		splice: splice{at.end, at.end, yaml.View(b)},
		adds:   &addition{name: nameOf(value), before: before, length: len(b) - len(before), value: value},
	})
	return nil
}

// nameOf names an object that is to be added, as [Object.String] does.
func nameOf(value field.Map) string {
	meta := field.As[field.Map](value, "metadata")
	return fullName(field.As[string](value, "kind"), field.As[string](meta, "namespace"), field.As[string](meta, "name"))
}

// Remove takes the object out of its stream, with what separated it from the
// one before. It must not have been changed.
func (o *Object) Remove() error {
	s := o.stream
	at, err := o.siblings()
	if err != nil {
		return err
	}
	if o.changed {
		return o.error(nil, o.Line(), errors.New("cannot be removed: it has been changed"))
	}
	start, end := o.start, at.end
	switch {
	case at.flow && at.item:
		if before, found := bytes.CutSuffix(bytes.TrimRight(s.in[:start], " \t\r\n"), []byte(",")); found {
			start = len(before)
		} else if after := bytes.TrimLeft(s.in[end:], " \t\r\n"); bytes.HasPrefix(after, []byte(",")) {
			end = len(s.in) - len(after) + 1
		}
	case at.item:
		start = yaml.LineStart(s.in, int(o.dash))
	default:
		for _, mark := range []string{"---\n", "---\r\n"} {
			if bytes.HasSuffix(s.in[:start], []byte(mark)) {
				start -= len(mark)
				break
			}
		}
	}
	o.removed = true
	s.changes = append(s.changes, change{splice: splice{start, end, ""}})
	return nil
}

// A siblingLayout says where an object is among others.
type siblingLayout struct {
	flow bool // in braces
	item bool // of a list, not a document of its own
	col  int  // of its dash, where it is a block item
	end  int  // behind the object and the rest of its line
}

func (o *Object) siblings() (siblingLayout, error) {
	in := o.stream.in
	switch {
	case o.stream.shared[o] != "" || o.end <= o.start || o.stream.text.OddBreak(0, len(o.stream.in)) >= 0: // below, lines end with LF
	case o.dash > 0:
		col := int(o.dash) - yaml.LineStart(in, int(o.dash))
		end := o.end
		if in[end-1] != '\n' { // in braces
			end = yaml.LineEnd(in, end) + 1
		}
		return siblingLayout{item: true, col: col, end: end}, nil
	case in[o.start] == '{' && o.isFlowItem():
		return siblingLayout{flow: true, item: true, end: o.end}, nil
	case in[o.start] == '{' && o.hasDocumentAlone():
		return siblingLayout{flow: true, end: o.end}, nil
	case in[o.start] != '{' && o.col == 0 && (o.start == o.stream.text.Start || in[o.start-1] == '\n') && in[o.end-1] == '\n':
		return siblingLayout{end: o.end}, nil
	}
	return siblingLayout{}, o.error(nil, o.Line(), errors.New("another object cannot be put behind it: its form of YAML is too unusual"))
}

// isFlowItem reports whether an object in braces is an item of a list in
// brackets: there are commas or brackets on both sides.
func (o *Object) isFlowItem() bool {
	const blank = " \t\r\n"
	before, after := bytes.TrimRight(o.stream.in[:o.start], blank), bytes.TrimLeft(o.stream.in[o.end:], blank)
	return (bytes.HasSuffix(before, []byte("[")) || bytes.HasSuffix(before, []byte(","))) &&
		(bytes.HasPrefix(after, []byte("]")) || bytes.HasPrefix(after, []byte(",")))
}

// hasDocumentAlone reports whether an object in braces starts a line, or stands
// behind the marker of its document, which ends with it: a document in braces
// ends at the next marker or, since tools concatenate JSON, at the next brace.
func (o *Object) hasDocumentAlone() bool {
	in := o.stream.in
	start := yaml.LineStart(in, o.start)
	before := string(bytes.TrimRight(in[max(start, o.stream.text.Start):o.start], " \t"))
	return (before == "" || before == "---") && (o.end == len(in) || yaml.IsMarker(in, o.end))
}
