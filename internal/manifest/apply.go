package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// A Notice names lines that [Object.Apply] has changed although no edit named
// them.
type Notice struct {
	Line, End int    // the first and the last one, counted from 1 in the object
	Text      string // what happened to them
}

// Notices returns what Apply changed besides the edits. No value is different.
func (o *Object) Notices() []Notice {
	return o.stream.notices[o]
}

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
	root, err := s.scratch.original.overlay(t, edits)
	if err != nil {
		return o.error(nil, o.Line(), err)
	}
	if !root.differs() {
		return nil
	}
	changes, notices, err := rewrite(o, t, edits)
	if err != nil {
		return err
	}
	o.planned = maphash.Bytes(textSeed, s.scratch.text)
	last := s.check.Nodes[len(s.check.Nodes)-1].Style
	o.endsPlainly = last != yaml.Literal && last != yaml.Folded
	if o.changed {
		o.replaceWith(bytes.Clone(s.scratch.text))
	} else {
		o.patch = slices.Clone(changes)
		for i, p := range o.patch {
			o.patch[i].text = s.scratch.kept.keep(p.text)
		}
	}
	if len(notices) > 0 {
		s.notices[o] = append(s.notices[o], notices...)
	}
	o.changed = true
	o.meta = nil
	delete(s.unread, o)
	s.treeOf = nil
	return nil
}

// rewrite makes edits in the text of the object with a tree. The whole edited text is in the stream's scratch.
func rewrite(o *Object, t *yaml.Tree, edits []field.Edit) ([]splice, []Notice, error) {
	if err := canBeEdited(o, t); err != nil {
		return nil, nil, err
	}
	s := o.stream
	eol := lineBreak(o.source(), s.eol)
	a := attempt{tree: t, edits: edits, eol: eol, mem: &s.scratch, check: &s.check}
	changes, notices, ok := a.rewrite()
	if !ok {
		return nil, nil, tooUnusual(o, t)
	}
	return changes, notices, nil
}

// PreviewText returns the object's text, and the text that it would have with the edits. The object stays
// as it is.
func PreviewText(o *Object, edits []field.Edit) (before, after []byte, err error) {
	t, err := o.load()
	if err != nil {
		return nil, nil, err
	}
	if _, _, err := rewrite(o, t, edits); err != nil {
		return nil, nil, err
	}
	return o.source(), bytes.Clone(o.stream.scratch.text), nil
}

// Preview returns the value that the object would have with the edits. The object stays as it is.
func (o *Object) Preview(edits []field.Edit) (field.Value, error) {
	t, err := o.load()
	if err != nil {
		return nil, err
	}
	if t.ReadOnly.Why == yaml.FoldedByYAML && len(edits) > 0 {
		return nil, tooUnusual(o, t)
	}
	root, err := o.stream.scratch.original.overlay(t, edits)
	if err != nil {
		return nil, o.error(nil, o.Line(), err)
	}
	return root.valueWith(t, t.Any), nil
}

// An attempt makes edits with as many of their texts as fit: what somebody once wrote may mean
// something else now, above all an alias.
type attempt struct {
	tree  *yaml.Tree
	edits []field.Edit
	eol   string
	mem   *scratch
	check *yaml.Parser
	kept  []*field.KeyValue // the texts that fit
}

// rewrite returns what [splicer.rewrite] does.
func (a *attempt) rewrite() (changes []splice, notices []Notice, ok bool) {
	texts := a.texts()
	if changes, notices, ok = a.with(texts); ok || len(texts) == 0 {
		return changes, notices, ok
	}
	a.keep(texts)
	return a.with(a.kept)
}

// texts returns all texts of the edits, each once: edits may share them.
func (a *attempt) texts() (all []*field.KeyValue) {
	for i := range a.edits {
		for j := range a.edits[i].Texts {
			if text := &a.edits[i].Texts[j]; !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	return all
}

// keep keeps those of the texts that fit, beside the ones that it has kept before.
func (a *attempt) keep(texts []*field.KeyValue) {
	if _, _, ok := a.with(slices.Concat(a.kept, texts)); ok {
		a.kept = append(a.kept, texts...)
		return
	}
	if half := len(texts) / 2; half > 0 {
		a.keep(texts[:half])
		a.keep(texts[half:])
	}
}

// with makes the edits with some of their texts.
func (a *attempt) with(texts []*field.KeyValue) (changes []splice, notices []Notice, ok bool) {
	edits := slices.Clone(a.edits)
	for i := range edits {
		edits[i].Texts = nil
		for j := range a.edits[i].Texts {
			if text := &a.edits[i].Texts[j]; slices.Contains(texts, text) {
				edits[i].Texts = append(edits[i].Texts, *text)
			}
		}
	}
	root, err := a.mem.original.overlay(a.tree, edits)
	if err != nil {
		return nil, nil, false
	}
	return newSplicer(a.tree, a.eol, a.mem).rewrite(root, a.check)
}

// tooUnusual returns the error of an object that cannot be edited because of its form.
func tooUnusual(o *Object, t *yaml.Tree) error {
	if t.ReadOnly.Why == "" || o.changed {
		return o.error(nil, o.Line(), errors.New("cannot be edited: its form of YAML is too unusual; write it in block style, without anchors and merge keys"))
	}
	line := o.stream.line(o.stream.treeAt + t.ReadOnly.At)
	return o.error(nil, line, fmt.Errorf("cannot be edited: it has %s here; write it in another way", t.ReadOnly.Why))
}

// canBeEdited returns an error if the object is written in a form that is only read.
func canBeEdited(o *Object, t *yaml.Tree) error {
	switch s := o.stream; {
	case s.shared[o] != "":
		return o.error(
			nil,
			o.Line(),
			fmt.Errorf("must be edited, and shares the anchor %q with another object of its list: write it out in both", s.shared[o]),
		)
	case o.isPair:
		return o.error(nil, o.Line(), errors.New("cannot be edited: an item without braces in a list in brackets is only read; put it in braces"))
	case t.ReadOnly.Why == yaml.FoldedByYAML:
		return tooUnusual(o, t)
	}
	return nil
}

// lineBreak returns what the first line of a text ends with, CRLF or LF. If that is empty, or there
// is none, the other lines around the text count.
func lineBreak(text []byte, around string) string {
	switch i := bytes.IndexByte(text, '\n'); {
	case i <= 0:
		return around
	case text[i-1] == '\r':
		return "\r\n"
	}
	return "\n"
}
