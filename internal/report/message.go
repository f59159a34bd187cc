// Package report writes what a run found: lines on stderr, results of a
// ResourceList, the table and the page of explain, JSON, SARIF and JUnit. A
// message has the same words everywhere.
package report

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// An ObjectRef names the object of a message and where it was read. Of what no object
// could be read from, it has only the place.
type ObjectRef struct {
	Source     string `json:"-"` // the stream in which it was read
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	File       string `json:"file,omitempty"` // "" if unknown
	Index      int    `json:"index"`          // of the object in its file
	Line       int    `json:"line,omitempty"` // in the file, from 1; 0 if unknown
}

// String returns the object's kind and name, such as Deployment default/web.
func (o ObjectRef) String() string {
	return field.Printable(string(o.appendTo(nil)))
}

func (o *ObjectRef) appendTo(b []byte) []byte {
	return field.AppendName(b, o.Kind, o.Namespace, o.Name)
}

// NewMessage returns a message about a reason, with the reason's severity.
func NewMessage(key reason.Key, text reason.Text) Message {
	return Message{Severity: key.Severity(), Reason: key, Text: text}
}

// A Message is one thing to say. There can be very many, so what few of them have is behind a pointer.
type Message struct {
	Severity          transformer.Severity
	Text              reason.Text // if it says nothing, it is "Proposed, was Current"
	Object            *ObjectRef  // shared by all messages about it; nil if it is about the whole run
	Field             field.Path  // empty if no field is at fault
	Container         string      // that the field is in; "" if it is in none
	Doubt             *Doubt      // what decides whether it holds; nil if it does
	Current, Proposed field.Value
	parts             *[]Message // that it folds, each about a probe; nil if it folds none. See [Report.FoldInjector]
	Line              int        // of the field; 0 if unknown
	Reason            reason.Key
	InPlan            bool // it is a finding of the plan for a pod template
	more              bool // it says how many messages are like the one before, which has the fix
}

// A Doubt is what decides whether messages hold, which share it. Each text is "" if there is none.
type Doubt struct {
	If        string // the open fact
	Elsewhere string // see [transformer.Verdict.RewrittenElsewhere]
	Disputed  string // see [transformer.Verdict.RewritesDisputed]
}

// doubt returns what decides whether the message holds; the zero Doubt if it does.
func (m *Message) doubt() Doubt {
	if m.Doubt == nil {
		return Doubt{}
	}
	return *m.Doubt
}

// folded returns the messages that the message folds.
func (m *Message) folded() []Message {
	if m.parts == nil {
		return nil
	}
	return *m.parts
}

// String returns the message in one line: severity, file and line, object, the probe or
// field, what, why and fix, and the reason key in brackets.
func (m Message) String() string {
	return m.prefix() + m.Sentence()
}

// prefix returns the severity, and the file and line as far as they are known.
func (m *Message) prefix() string {
	s := string(m.Severity) + ": "
	if file := m.about().File; file != "" {
		s += place(file, m.Line) + ": "
	}
	return s
}

// about returns the object; the zero Object if the message is about the whole run.
func (m *Message) about() ObjectRef {
	if m.Object == nil {
		return ObjectRef{}
	}
	return *m.Object
}

// place returns a file with the line, as far as they are known.
func place(file string, line int) string {
	if file == "" || line == 0 {
		return field.Printable(file)
	}
	return field.Printable(file) + ":" + strconv.Itoa(line)
}

// Sentence returns the message without severity and place, in one line.
func (m *Message) Sentence() string {
	b := m.appendSubject(make([]byte, 0, 256))
	text := m.text()
	text.Fix = m.Fix()
	return m.appendKey(text.AppendTo(b))
}

// headline returns what Sentence does without why and fix.
func (m *Message) headline() string {
	b := m.appendSubject(nil)
	return m.appendKey(append(b, m.text().What...))
}

// appendSubject appends the object, and the probe or field that the message is about.
func (m *Message) appendSubject(b []byte) []byte {
	if m.Object != nil && m.Object.Kind != "" {
		b = append(m.Object.appendTo(b), ": "...)
	}
	if s := Subject(m.Field, m.Container); s != "" {
		b = append(append(b, s...), ": "...)
	}
	return b
}

func (m *Message) appendKey(b []byte) string {
	if m.Reason.String() != "" {
		b = append(append(append(b, " ["...), m.Reason.String()...), ']')
	}
	return field.Printable(string(b))
}

// text returns the message's text, made if it has none of its own. That of a change is made
// only when it is shown, since there can be very many.
func (m *Message) text() reason.Text {
	if m.Text.What != "" {
		return m.Text
	}
	return reason.NewText("%v, was %v", m.Proposed, m.Current)
}

// What returns the first part of the message's text.
func (m *Message) What() string {
	return field.Printable(m.text().What)
}

// Fix returns what to do: the fix that the message names, or that of its reason; "" if
// there is nothing to do.
func (m *Message) Fix() string {
	if m.more {
		return ""
	}
	return m.Reason.Complete(m.Text).Fix
}

// results makes results of the KRM functions specification. Messages about the
// same object share parts of theirs, and so do those with the same reason: otherwise a list of
// 50,000 Deployments takes 10 MB more.
type results struct {
	object    *ObjectRef
	ref, file field.Value
	reasons   map[reason.Key]field.Value // the tags
}

func (r *results) of(m *Message) field.Map {
	if m.Object != r.object {
		r.refer(m.Object)
	}
	result := with(make(field.Map, 0, 6), "message", m.Sentence())
	result = with(result, "severity", string(m.Severity))
	result = with(result, "resourceRef", r.ref)
	if r.ref != nil && len(m.Field) > 0 { // a field needs a resourceRef
		at := with(make(field.Map, 0, 3), "path", m.Field.String())
		at = with(at, "currentValue", m.Current)
		result = with(result, "field", with(at, "proposedValue", m.Proposed))
	}
	result = with(result, "file", r.file)
	if key := m.Reason.String(); r.reasons[m.Reason] == nil && key != "" {
		r.reasons[m.Reason] = field.Map{{Key: "reason", Value: key}}
	}
	return with(result, "tags", r.reasons[m.Reason])
}

// with returns the map with one more entry, if there is a value for it.
func with(m field.Map, key string, value field.Value) field.Map {
	if value == nil {
		return m
	}
	return append(m, field.Entry{Key: key, Value: value})
}

func (r *results) refer(o *ObjectRef) {
	r.object = o
	r.ref = nil
	r.file = nil
	if o == nil {
		return
	}
	if o.Kind != "" {
		ref := make(field.Map, 0, 4)
		ref = append(ref, field.Entry{Key: "apiVersion", Value: o.APIVersion})
		ref = append(ref, field.Entry{Key: "kind", Value: o.Kind})
		if o.Namespace != "" {
			ref = append(ref, field.Entry{Key: "namespace", Value: o.Namespace})
		}
		r.ref = append(ref, field.Entry{Key: "name", Value: o.Name})
	}
	if o.File != "" {
		r.file = field.Map{{Key: "path", Value: o.File}, {Key: "index", Value: o.Index}}
	}
}

// Sort puts errors first, then warnings, then infos, each in input order:
// kpt shows only the first four.
func Sort(messages []Message) {
	slices.SortStableFunc(messages, func(a, b Message) int {
		return cmp.Compare(a.Severity.Rank(), b.Severity.Rank())
	})
}

// SortByNamespace puts first what is about the namespace with the most errors, then warnings. Namespaces
// that are alike keep their order.
func (r *Report) SortByNamespace() {
	type badness struct{ errors, warnings int }
	bad := make(map[string]badness)
	for _, m := range r.Messages {
		b := bad[m.about().Namespace]
		switch m.Severity {
		case transformer.Error:
			b.errors++
		case transformer.Warning:
			b.warnings++
		}
		bad[m.about().Namespace] = b
	}
	slices.SortStableFunc(r.Messages, func(a, b Message) int {
		x, y := a.about().Namespace, b.about().Namespace
		return cmp.Or(
			cmp.Compare(bad[y].errors, bad[x].errors),
			cmp.Compare(bad[y].warnings, bad[x].warnings),
			cmp.Compare(x, y),
		)
	})
}

// Count returns how many messages have the severity.
func Count(messages []Message, s transformer.Severity) int {
	n := 0
	for i := range messages {
		if messages[i].Severity == s {
			n++
		}
	}
	return n
}

// Plural returns "1 probe" or "2 probes".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// messageOf returns the message for a finding, which lacks the object.
func messageOf(f transformer.Finding) Message {
	m := NewMessage(f.Reason, f.Text)
	m.Field, m.Container, m.Current, m.Proposed = f.Field, f.Container, f.Current, f.Proposed
	return m
}
