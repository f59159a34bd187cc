package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A Notice names lines that [Object.Apply] has changed although no edit named
// them.
type Notice struct {
	Line, End int    // the first and the last one, counted from 1 in the object
	Text      string // what happened to them
}

// Notices returns what Apply changed besides the edits. No value is different.
func (o *Object) Notices() []Notice { return o.notices }

// Changed reports whether an Apply has changed the object's text.
func (o *Object) Changed() bool { return o.changed }

// Apply makes the edits. After an error the object is as it was before.
//
// Lines that no edit names keep every byte. Where that is impossible, Notices
// says which lines have changed.
func (o *Object) Apply(edits []field.Edit) error {
	if len(edits) == 0 {
		return nil
	}
	t, err := o.load()
	if err != nil {
		return err
	}
	s := o.stream
	root, err := overlay(t, edits, &s.arena)
	if err != nil {
		return o.error(nil, o.Line(), err)
	}
	if !root.differs() {
		return nil
	}
	if o.shared != "" {
		return o.error(nil, o.Line(), fmt.Errorf("must be edited, and shares the anchor %q with another object of its list: write it out in both", o.shared))
	}
	changes, notices, ok := o.rewrite(root)
	// As their author once wrote them, some entries may mean something else now, above
	// all an alias.
	for _, drop := range []func(text field.KeyValue) bool{needsFullParser, anyText} {
		if ok || !root.hasTexts() {
			break
		}
		edits = withoutTexts(edits, drop)
		if root, err = overlay(t, edits, &s.arena); err != nil {
			return o.error(nil, o.Line(), err)
		}
		changes, notices, ok = o.rewrite(root)
	}
	if ok {
		o.planned = digestBytes(s.scratch.text)
		o.patchWith(changes)
	} else {
		before := o.source()
		text, err := o.encodeAnew(edits)
		s.forget()
		if err != nil {
			return err
		}
		notices = []Notice{differingLines(before, text)}
		o.own().text, o.patch, o.planned = text, nil, digestBytes(text)
	}
	if len(notices) > 0 {
		o.own().notices = append(o.notices, notices...)
	}
	o.changed = true
	o.meta = nil
	if o.metaErr != nil { // else rare is shared
		o.metaErr = nil
	}
	s.forget()
	return nil
}

// rewrite returns the changes to the object's text, and what they do besides the edits;
// ok is false if the text is too unusual.
func (o *Object) rewrite(root *editNode) (changes []splice, notices []Notice, ok bool) {
	s := o.stream
	if s.parsed != nil {
		return o.rewriteOutline(root)
	}
	changes, ok = newSplicer(&s.tree, o.crlf(), &s.scratch).rewrite(root, &s.check)
	if isJSON := s.tree.nodes[1].style == flow; !ok && changes != nil && root.hasTexts() && !isJSON {
		// It may be written in a way that only the full parser reads.
		ok = o.readsAs(s.scratch.text, root.value(&s.tree))
	}
	return changes, nil, ok
}

// crlf reports whether the object's lines end with CRLF.
func (o *Object) crlf() bool {
	text := o.source()
	if i := bytes.IndexByte(text, '\n'); i > 0 {
		return text[i-1] == '\r'
	}
	return o.stream.info.crlf
}

// patchWith makes changes to the object's text.
func (o *Object) patchWith(changes []splice) {
	if o.changed {
		o.own().text, o.patch = applySplices(nil, o.source(), 0, changes), nil
	} else {
		o.patch = slices.Clone(changes)
	}
}

// rewriteOutline returns the changes to an object that only the full parser
// reads; ok is false if its text is too unusual, or the result would not
// read as the edited tree.
func (o *Object) rewriteOutline(root *editNode) (changes []splice, notices []Notice, ok bool) {
	plain, text := &o.stream.tree, o.source()
	out := o.outline()
	if out == nil {
		return nil, nil, false
	}
	edited, x := out.transfer(plain, root)
	s := newSplicer(&out.tree, o.crlf(), &o.stream.scratch)
	if !s.splice(edited) {
		return nil, nil, false
	}
	for n, why := range x.writes {
		v := &out.tree.nodes[n]
		notices = append(notices, Notice{lineIn(text, int(v.start)), lineIn(text, int(v.end)), why})
	}
	slices.SortFunc(notices, func(a, b Notice) int { return a.Line - b.Line })
	edits := applySplices(s.mem.text[:0], text, 0, s.out)
	s.mem.text = edits
	return s.out, notices, o.readsAs(edits, root.value(plain))
}

// lineIn returns the number of the line in which the offset is.
func lineIn(text []byte, at int) int { return 1 + bytes.Count(text[:at], []byte("\n")) }

// parseText returns the object's text as the full parser reads it: a mapping.
func (o *Object) parseText(text []byte) (*yaml.Node, error) {
	padded := append(appendSpaces(nil, int(o.col)), text...)
	root, err := o.stream.parseYAML(padded, o.start)
	if err == nil && (root == nil || root.Kind != yaml.MappingNode) {
		err = o.stream.errorAt(o.start, errors.New("an object must be a mapping"))
	}
	return root, err
}

// readsAs reports whether the full parser reads the value from a text in the
// object's place.
func (o *Object) readsAs(text []byte, want field.Value) bool {
	root, err := o.parseText(text)
	if err != nil {
		return false
	}
	full, err := o.expanded(root)
	return err == nil && sameValue(valueOf(full), want)
}

// encodeAnew writes the whole edited object in plain YAML: with its comments
// if the encoder can place them, else from its values alone.
func (o *Object) encodeAnew(edits []field.Edit) ([]byte, error) {
	s := o.stream
	crlf := o.crlf()
	if _, err := o.normalize(&s.tree); err != nil {
		return nil, err
	}
	root, err := overlay(&s.tree, edits, &s.arena)
	if err != nil {
		return nil, o.error(nil, o.Line(), err)
	}
	want := root.value(&s.tree)
	if changes, ok := newSplicer(&s.tree, crlf, &s.scratch).rewrite(root, &s.check); ok {
		if text := applySplices(nil, s.tree.text, 0, changes); o.readsAs(text, want) {
			return text, nil
		}
	}
	if text, ok := encodeEdited(&s.tree, root, crlf, &s.check); ok && o.readsAs(text, want) {
		return text, nil
	}
	return nil, o.error(nil, o.Line(), errors.New("cannot be edited: its form of YAML is too unusual"))
}

// differingLines returns the notice for a text that has been replaced as a
// whole: from the first line that differs to the last.
func differingLines(before, after []byte) Notice {
	a, b := bytes.SplitAfter(before, []byte("\n")), bytes.SplitAfter(after, []byte("\n"))
	first := 0
	for first < len(a) && first < len(b) && bytes.Equal(a[first], b[first]) {
		first++
	}
	end := len(a)
	for n := len(b); end > first+1 && n > first && bytes.Equal(a[end-1], b[n-1]); n-- {
		end--
	}
	return Notice{first + 1, end, "the lines were written anew, because their form of YAML is too unusual to be edited; comments, quotes and flow style may be lost"}
}
