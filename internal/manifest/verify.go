package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// verify reads an output as an input is read, and compares it with what was planned:
// the number and order of objects; each untouched object and all text between objects
// byte for byte; each edited object with the text that Apply has read and found to be the
// edited value, and results with the text that AddResults has. It steps over the verified
// objects: their texts, which are compared, have been read before.
func verify(text []byte, verified []yaml.Verified, streams []*Stream) error {
	again, err := read(streams[0].name, text, verified)
	if err != nil {
		return streams[0].unplanned("", err)
	}
	v := &verifier{again: again, text: text}
	if err := send(v, streams); err != nil {
		return err
	}
	return v.end(streams)
}

// A verifier goes through an output and, side by side, through the streams
// that it was made from.
type verifier struct {
	again   *Stream // the output
	text    []byte  // its text
	at      int     // how much of it has been compared
	differs bool    // the text behind that differs
	next    int     // the index of the next object
}

func (v *verifier) between(_ *Stream, text string, _ *string) {
	rest := yaml.View(v.text[v.at:])
	v.differs = v.differs || !strings.HasPrefix(rest, text)
	if !v.differs {
		v.at += len(text)
	}
}

// nextObject returns the next object of the output, which must be one of so many
// bytes. An edited object may have lost its first entry: blank and comment lines
// behind that entry are then before the object.
func (v *verifier) nextObject(length int, edited bool) (*Object, error) {
	if v.next == len(v.again.objects) {
		return nil, errors.New("it is missing")
	}
	got := v.again.objects[v.next]
	isNext := !v.differs && v.at == got.start
	if !v.differs && v.at < got.start && edited {
		isNext = isBlankText(v.again.in[v.at:got.start])
	}
	if !isNext {
		return nil, errors.New("the text before it differs")
	}
	v.next++
	v.at = min(v.at+length, len(v.text))
	return got, nil
}

func isBlankText(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

func (v *verifier) object(o *Object) error {
	start := v.at
	got, err := v.nextObject(o.length(), o.changed)
	switch {
	case err != nil:
	case o.changed:
		if got.end != v.at ||
			maphash.Bytes(textSeed, v.text[start:v.at]) != o.planned {
			err = errors.New("its text differs from the one that was read when it was edited")
		}
	case got.kind != o.kind || got.apiVersion != o.apiVersion: // as items of a PodList have their List's
		err = fmt.Errorf("it has become %s %s", got.apiVersion, got)
	case !bytes.Equal(got.unchanged(), o.unchanged()):
		err = errors.New("its text differs, and it was not to be touched")
	}
	if err != nil {
		return o.stream.unplanned(nameAsRead(o), err)
	}
	return nil
}

// nameAsRead returns the name that the object came with: its text may be broken now.
func nameAsRead(o *Object) string {
	at := part{stream: o.stream, start: o.start, end: o.end, col: o.col}
	as := Object{part: at, identity: identity{kind: o.kind}}
	return as.String()
}

// textSeed is the seed of the hashes of edited texts.
var textSeed = maphash.MakeSeed()

// end checks what comes behind the last object, and what roots of ResourceLists have
// besides their items: its text is compared, and has the value that was to be added.
func (v *verifier) end(streams []*Stream) error {
	last := streams[len(streams)-1]
	switch {
	case v.again.isList != last.isList ||
		(v.again.config == nil) != (last.config == nil):
		return last.unplanned("", errors.New("the ResourceList or its functionConfig differs"))
	case last.added && v.again.results.end == 0:
		return last.unplanned("", errors.New("the results are missing"))
	case v.next < len(v.again.objects):
		return last.unplanned(nameAsRead(v.again.objects[v.next]), errors.New("nothing like it was planned"))
	case v.differs ||
		v.at != len(v.text) ||
		v.again.addedEnd > 0:
		return last.unplanned("", errors.New("the text behind the last object differs"))
	}
	return nil
}

// ErrUnplanned is part of the error of an output that is not what was planned.
var ErrUnplanned = errors.New("internal error: the output is not what was planned")

// unplanned returns the error of an output that differs from the plan, in an object or elsewhere ("").
func (s *Stream) unplanned(object string, err error) error {
	err = fmt.Errorf("%w (%w); nothing was written, please report this with the input", ErrUnplanned, err)
	return &Error{File: s.name, Object: object, Err: err}
}
