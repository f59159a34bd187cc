package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// verify reads an output again and compares it with what was planned: the
// number and order of objects; each untouched object and all text between
// objects byte for byte; each edited object with the text that Apply has read
// and found to be the edited value, as byte for byte as a digest tells; each
// added object, and the results, by value. from says where its parts are from.
func verify(text []byte, from origins, streams []*Stream) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = streams[0].unplanned(nil, fmt.Errorf("%v", p))
		}
	}()
	objects := 0
	for _, s := range streams {
		objects += len(s.objects) + len(s.changes)
	}
	again, err := readAgain(text, from, streams[0], objects)
	if err != nil {
		return unreadable(streams, err)
	}
	v := &verifier{again: again, between: matcher{text: text}}
	for i, s := range streams {
		if i > 0 {
			v.between.add(view(s.appendSeparator(nil)), nil)
		}
		if err := v.stream(s, i == 0); err != nil {
			return err
		}
	}
	return v.end(streams[len(streams)-1])
}

// readAgain reads an output. What was copied has been checked for characters
// that no YAML may have, and where the bytes of a whole object are in the same
// place of a list or stream, the scanner steps over them: those of an untouched
// one it has read before, and those of an edited one Apply has. objects is how
// many there may be.
func readAgain(text []byte, from origins, first *Stream, objects int) (s *Stream, err error) {
	s = &Stream{name: first.name, in: text, lineNo: 1, most: objects, found: make([]found, 0, objects)}
	defer s.recovered(&err)
	s.info.start, s.info.crlf = first.info.start, first.info.crlf
	at := 0
	for _, r := range from.copied {
		if err := s.checkPart(at, int(r.at)); err != nil {
			return nil, err
		}
		at = int(r.at) + r.length()
		odd := r.from.info.odd
		i, _ := slices.BinarySearch(odd, int(r.start))
		for ; i < len(odd) && odd[i] < int(r.end); i++ {
			s.info.odd = append(s.info.odd, odd[i]+int(r.at-r.start))
		}
	}
	if err := s.checkPart(at, len(text)); err != nil {
		return nil, err
	}
	k := knownObjects{text: text, origins: from}
	s.known = k.at
	return s, s.documents()
}

// checkPart checks the characters of a part of the text.
func (s *Stream) checkPart(start, end int) error {
	if start > 0 && s.in[start-1] == '\r' {
		start--
	}
	info, at, err := checkText(s.in[start:end])
	if err != nil {
		return s.errorAt(start+at, err)
	}
	for _, odd := range info.odd {
		s.info.odd = append(s.info.odd, start+odd)
	}
	return nil
}

// knownObjects finds objects of an output whose text has been read before.
type knownObjects struct {
	text    []byte
	origins     // what is behind the last object that was asked for
	next    int // the first object of the first run's stream that may be there
}

// at returns the object whose whole text, as it was read before, is at p; nil
// if there is none. Each p must lie behind the one before.
func (k *knownObjects) at(p int) *Object {
	for len(k.edited) > 0 && int(k.edited[0].at) < p {
		k.edited = k.edited[1:]
	}
	if len(k.edited) > 0 && int(k.edited[0].at) == p {
		o := k.edited[0].object
		if end := p + o.length(); end > len(k.text) || digestBytes(k.text[p:end]) != o.planned {
			return nil
		}
		return o
	}
	for len(k.copied) > 0 && int(k.copied[0].at)+k.copied[0].length() <= p {
		if len(k.copied) > 1 && k.copied[1].from != k.copied[0].from {
			k.next = 0
		}
		k.copied = k.copied[1:]
	}
	if len(k.copied) == 0 || int(k.copied[0].at) > p {
		return nil
	}
	r := &k.copied[0]
	start := p - int(r.at-r.start)
	objects := r.from.objects
	for k.next < len(objects) && objects[k.next].start < start {
		k.next++
	}
	if k.next == len(objects) {
		return nil
	}
	o := objects[k.next]
	if o.start != start || o.changed || !bytes.HasPrefix(k.text[p:], o.unchanged()) {
		return nil
	}
	return o
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

func (m *matcher) copy(s *Stream, start, end int) { m.add(view(s.in[start:end]), nil) }

func (m *matcher) add(part string, _ *string) {
	m.differs = m.differs || !strings.HasPrefix(view(m.text[m.n:]), part)
	if !m.differs {
		m.n += len(part)
	}
}

func (m *matcher) edit(*Object, int) {}

func (m *matcher) length() int { return m.n }

func (m *matcher) inLine() bool { return m.text[m.n-1] != '\n' }

// stream checks the stream's part of the output.
func (v *verifier) stream(s *Stream, first bool) error {
	var added, other []change
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
	if err := s.place(&v.between, start, end, slices.Values((*changes)[:n])); err != nil {
		return s.unplanned(nil, err)
	}
	*changes = (*changes)[n:]
	return nil
}

// take returns the next object of the output, which must be the wanted one of
// so many bytes, and checks the text before it. An edited object may have lost
// its first entry: blank and comment lines behind that entry are then before
// the object.
func (v *verifier) take(s *Stream, wanted fmt.Stringer, length int, edited bool) (got found, err error) {
	if v.next == len(v.again.found) {
		return got, s.unplanned(wanted, errors.New("it is missing"))
	}
	got = v.again.found[v.next]
	if got.start < v.at {
		return got, s.unplanned(wanted, errors.New("the object before it ends behind its start"))
	}
	start := v.at + v.between.n
	if v.between.differs || start > got.start || start < got.start && !(edited && isBlankText(v.again.in[start:got.start])) {
		return got, s.unplanned(wanted, errors.New("the text before it differs"))
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
	f, err := v.take(o.stream, o, o.length(), o.changed)
	if err != nil || f.same == o {
		return err
	}
	got := f.asRead(v.again)
	switch {
	case o.changed:
		return v.edited(o, got)
	case got.kind != o.kind || got.apiVersion != o.apiVersion: // as items of a PodList have their List's
		return o.stream.unplanned(o, fmt.Errorf("it has become %s %s", got.apiVersion, got))
	}
	if !bytes.Equal(got.unchanged(), o.unchanged()) {
		return o.stream.unplanned(o, errors.New("its text differs, and it was not to be touched"))
	}
	return nil
}

// asRead returns what was found as an object of the output.
func (f *found) asRead(again *Stream) *Object {
	if f.object != nil {
		return f.object
	}
	o := f.same
	return &Object{stream: again, start: f.start, end: f.start + o.length(), col: o.col, apiVersion: o.apiVersion, kind: o.kind, rare: usual}
}

// edited checks an edited object, which may have lost its first entry: its text
// then starts with blank or comment lines.
func (v *verifier) edited(o, got *Object) error {
	start := v.at - o.length()
	if got.end != v.at || digestBytes(v.again.in[start:v.at]) != o.planned {
		return o.stream.unplanned(o, errors.New("its text differs from the one that was read when it was edited"))
	}
	return nil
}

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
	got, err := v.take(s, a, a.length, false)
	if err != nil {
		return err
	}
	return v.value(s, a, got.asRead(v.again), a.digest)
}

// value checks an object of the output by its value.
func (v *verifier) value(s *Stream, wanted fmt.Stringer, got *Object, digest uint64) error {
	t, err := got.load()
	if err != nil {
		return s.unplanned(wanted, err)
	}
	if t.digest(1) != digest {
		return s.unplanned(wanted, errors.New("its value differs"))
	}
	return nil
}

// root checks what the root of a ResourceList has besides its items.
func (v *verifier) root(s *Stream) error {
	if v.again.isList != s.isList || (v.again.config == nil) != (s.config == nil) {
		return s.unplanned(nil, errors.New("the ResourceList or its functionConfig differs"))
	}
	if s.resultsDigest == 0 {
		return nil // as they were, with the text between objects
	}
	if v.again.results.entry.keyEnd == 0 {
		return s.unplanned(nil, errors.New("the results are missing"))
	}
	digest, err := v.again.digestResults()
	if err != nil {
		return s.unplanned(nil, err)
	}
	if digest != s.resultsDigest {
		return s.unplanned(nil, errors.New("the results differ"))
	}
	return nil
}

// end checks what comes behind the last object.
func (v *verifier) end(last *Stream) error {
	if v.next < len(v.again.found) {
		return last.unplanned(v.again.found[v.next].asRead(v.again), errors.New("nothing like it was planned"))
	}
	if v.between.differs || v.at+v.between.n != len(v.again.in) {
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
		o = &Object{stream: o.stream, start: o.start, end: o.end, col: o.col, kind: o.kind, rare: &rare{node: o.node}}
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
