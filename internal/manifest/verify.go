package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// verify reads an output as an input is read, and compares it with what was planned:
// the number and order of objects; each untouched object and all text between objects
// byte for byte; each edited object with the text that Apply has read and found to be the
// edited value; each added object, and the results, by value. It steps over the known
// objects: their texts, which are compared, have been read before.
func verify(text []byte, known knownObjects, streams []*Stream) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = streams[0].unplanned(nil, fmt.Errorf("%v", p))
		}
	}()
	again, err := read(streams[0].name, text, known)
	if err != nil {
		return unreadable(streams, err)
	}
	v := &verifier{again: again, between: matcher{text: text}}
	for i, s := range streams {
		if i > 0 {
			v.between.add(yaml.View(s.appendSeparator(nil)), nil)
		}
		if err := v.stream(s, i == 0); err != nil {
			return err
		}
	}
	return v.end(streams[len(streams)-1])
}

// A verifier goes through an output and, side by side, through the streams
// that it was made from.
type verifier struct {
	again   *Stream // the output
	next    int     // the index of its next object
	at      int     // where the object before that ends
	between matcher // compares the text before the next object
}

// A matcher compares the parts of an output with those that it is given.
type matcher struct {
	text    []byte // from the first part on
	n       int    // the length of the parts so far
	differs bool
}

func (m *matcher) copy(s *Stream, start, end int) { m.add(yaml.View(s.in[start:end]), nil) }

func (m *matcher) add(part string, _ *string) {
	m.differs = m.differs || !strings.HasPrefix(yaml.View(m.text[m.n:]), part)
	if !m.differs {
		m.n += len(part)
	}
}

func (m *matcher) length() int { return m.n }

func (m *matcher) inLine() bool { return m.text[m.n-1] != '\n' }

// stream checks the stream's part of the output.
func (v *verifier) stream(s *Stream, first bool) error {
	var added []change
	other := make([]change, 0, len(s.changes))
	for _, c := range s.changes {
		if c.adds != nil {
			added = append(added, c)
		} else {
			other = append(other, c)
		}
	}
	sortChanges(added)
	sortChanges(other)
	at := s.start(first)
	// planTo plans for what comes before an offset.
	planTo := func(end int) error {
		for len(added) > 0 && added[0].start <= end {
			end := added[0].start
			if err := v.plan(s, at, end, &other, func(c change) bool { return c.start < end }); err != nil {
				return err
			}
			if err := v.addition(s, added[0].adds); err != nil {
				return err
			}
			at, added = added[0].start, added[1:]
		}
		return v.plan(s, at, end, &other, func(c change) bool { return c.end <= end })
	}
	for _, o := range s.objects {
		if o.removed {
			continue // the text between two others
		}
		if err := planTo(o.start); err != nil {
			return err
		}
		if err := v.object(o); err != nil {
			return err
		}
		at = o.end
	}
	if err := planTo(len(s.in)); err != nil {
		return err
	}
	return v.root(s)
}

// plan compares a part of the input between two objects, with the changes that
// are made there: the first ones.
func (v *verifier) plan(s *Stream, start, end int, changes *[]change, there func(change) bool) error {
	n := 0
	for n < len(*changes) && there((*changes)[n]) {
		n++
	}
	if n == 0 && start <= end { // nearly always
		v.between.copy(s, start, end)
		return nil
	}
	if err := s.assemble(&v.between, start, end, slices.Values((*changes)[:n])); err != nil {
		return s.unplanned(nil, err)
	}
	*changes = (*changes)[n:]
	return nil
}

// nextObject returns the next object of the output, which must be the wanted one of
// so many bytes, and checks the text before it. An edited object may have lost
// its first entry: blank and comment lines behind that entry are then before
// the object.
func (v *verifier) nextObject(s *Stream, wanted fmt.Stringer, length int, edited bool) (*Object, error) {
	if v.next == len(v.again.objects) {
		return nil, s.unplanned(wanted, errors.New("it is missing"))
	}
	got := v.again.objects[v.next]
	start := v.at + v.between.n
	if v.between.differs || start > got.start || start < got.start && !(edited && isBlankText(v.again.in[start:got.start])) {
		return nil, s.unplanned(wanted, errors.New("the text before it differs"))
	}
	v.next++
	v.at = start + length
	v.between = matcher{text: v.again.in[min(v.at, len(v.again.in)):]}
	return got, nil
}

// isBlankText reports whether a text consists of white space and comments.
func isBlankText(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// object checks an object of the input.
func (v *verifier) object(o *Object) error {
	got, err := v.nextObject(o.stream, o, o.length(), o.changed)
	switch {
	case err != nil:
		return err
	case o.changed:
		if start := v.at - o.length(); got.end != v.at || maphash.Bytes(textSeed, v.again.in[start:v.at]) != o.planned {
			return o.stream.unplanned(o, errors.New("its text differs from the one that was read when it was edited"))
		}
	case got.kind != o.kind || got.apiVersion != o.apiVersion: // as items of a PodList have their List's
		return o.stream.unplanned(o, fmt.Errorf("it has become %s %s", got.apiVersion, got))
	case !bytes.Equal(got.unchanged(), o.unchanged()):
		return o.stream.unplanned(o, errors.New("its text differs, and it was not to be touched"))
	}
	return nil
}

// textSeed is the seed of the hashes of edited texts.
var textSeed = maphash.MakeSeed()

// length returns the length of the object's text as it is now.
func (o *Object) length() int {
	if o.changed && o.patch == nil {
		return len(o.text)
	}
	n := o.end - o.start
	for _, p := range o.patch {
		n += len(p.text) - (p.end - p.start)
	}
	return n
}

// addition checks an object that was added.
func (v *verifier) addition(s *Stream, a *addition) error {
	v.between.add(a.before, nil)
	got, err := v.nextObject(s, a, a.length, false)
	if err != nil {
		return err
	}
	t, err := got.load()
	if err != nil {
		return s.unplanned(a, err)
	}
	if !t.EqualValue(1, a.value) {
		return s.unplanned(a, errors.New("its value differs"))
	}
	return nil
}

// root checks what the root of a ResourceList has besides its items.
func (v *verifier) root(s *Stream) error {
	if v.again.isList != s.isList || (v.again.config == nil) != (s.config == nil) {
		return s.unplanned(nil, errors.New("the ResourceList or its functionConfig differs"))
	}
	// Their text is compared with that between objects; it has the value that was to be added.
	if s.added && v.again.results.end == 0 {
		return s.unplanned(nil, errors.New("the results are missing"))
	}
	return nil
}

// end checks what comes behind the last object.
func (v *verifier) end(last *Stream) error {
	if v.next < len(v.again.objects) {
		return last.unplanned(v.again.objects[v.next], errors.New("nothing like it was planned"))
	}
	if v.between.differs || v.at+v.between.n != len(v.again.in) || v.again.addedEnd > 0 {
		return last.unplanned(nil, errors.New("the text behind the last object differs"))
	}
	return nil
}

// ErrUnplanned is part of the error of an output that is not what was planned.
var ErrUnplanned = errors.New("internal error: the output is not what was planned")

// unplanned returns the error of an output that differs from the plan.
func (s *Stream) unplanned(object fmt.Stringer, err error) error {
	e := &Error{File: s.name, Err: fmt.Errorf("%w (%w); nothing was written, please report this with the input", ErrUnplanned, err)}
	switch o := object.(type) {
	case nil:
	case *Object: // by the name it came with: its text may be broken now
		o = &Object{stream: o.stream, start: o.start, end: o.end, col: o.col, kind: o.kind, objectExtra: noExtra}
		e.Object = o.String()
	default:
		e.Object = o.String()
	}
	return e
}

// unreadable returns the error of an output that cannot be read, with the
// edited object that is the reason, if it is one.
func unreadable(streams []*Stream, err error) error {
	if e := (*Error)(nil); errors.As(err, &e) {
		err = e.Err
	}
	for _, s := range streams {
		for _, o := range s.objects {
			if o.changed && !o.isReadable() {
				return s.unplanned(o, err)
			}
		}
	}
	return streams[0].unplanned(nil, err)
}

// isReadable reports whether the object's text can be read.
func (o *Object) isReadable() (ok bool) {
	defer func() { ok = recover() == nil && ok }()
	_, err := Read("", append(appendSpaces(nil, int(o.col)), o.source()...))
	return err == nil
}
