// Package report writes what a run found: lines on stderr, results of a
// ResourceList, the table and the page of explain, JSON, SARIF and JUnit. A
// message has the same words everywhere.
package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// An Object names the object of a message and where it was read. Of what no object
// could be read from, it has only the place.
type Object struct {
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
func (o Object) String() string { return Printable(string(o.appendTo(nil))) }

func (o *Object) appendTo(b []byte) []byte {
	return field.AppendName(b, o.Kind, o.Namespace, o.Name)
}

// NewMessage returns a message about a reason, with the reason's severity.
func NewMessage(key, text string) Message {
	return Message{Severity: reason.SeverityOf(key), Reason: key, Text: text}
}

// A Message is one thing to say.
type Message struct {
	Severity          transformer.Severity
	Reason            string     // a key of docs/reasons.md
	Text              string     // one line; names the field, not the object; "" stands for "Field was Current and is Proposed"
	Object            *Object    // shared by all messages about it; nil if it is about the whole run
	Line              int        // of the field; 0 if unknown
	Field             field.Path // empty if no field is at fault
	If                string     // what decides whether it holds; "" if it does
	Current, Proposed field.Value
	InPlan            bool // it is a finding of the plan for a pod template
}

// String returns the message in one line: severity, file and line, object,
// text, and the reason key in brackets.
func (m Message) String() string {
	s := string(m.Severity) + ": "
	if file := m.about().File; file != "" {
		s += place(file, m.Line) + ": "
	}
	return s + m.Sentence()
}

// about returns the object; the zero Object if the message is about the whole run.
func (m *Message) about() Object {
	if m.Object == nil {
		return Object{}
	}
	return *m.Object
}

// place returns a file with the line, as far as they are known.
func place(file string, line int) string {
	if file == "" || line == 0 {
		return Printable(file)
	}
	return Printable(file) + ":" + strconv.Itoa(line)
}

// Sentence returns the message without severity and place, in one line.
func (m *Message) Sentence() string { return m.sentence(m.Field.String()) }

// sentence is Sentence for a message whose field is written as given.
func (m *Message) sentence(at string) string {
	b := make([]byte, 0, 256)
	if m.Object != nil && m.Object.Kind != "" {
		b = append(m.Object.appendTo(b), ": "...)
	}
	b = m.appendText(b, at)
	if m.Reason != "" {
		b = append(append(append(b, " ["...), m.Reason...), ']')
	}
	return Printable(string(b))
}

// Words returns the message's text, made if it has none of its own.
func (m *Message) Words() string { return Printable(string(m.appendText(nil, m.Field.String()))) }

// appendText appends the message's text. That of a change is made only when it is
// shown, since there can be very many.
func (m *Message) appendText(b []byte, at string) []byte {
	if m.Text != "" {
		return append(b, m.Text...)
	}
	return fmt.Appendf(b, "`%s`: %v, was %v", at, m.Proposed, m.Current)
}

// results makes results of the KRM functions specification. Messages about the
// same object share parts of theirs, and so do those with the same reason: otherwise a list of
// 50,000 Deployments takes 10 MB more.
type results struct {
	object    *Object
	ref, file field.Value
	reasons   map[string]field.Value // the tags
}

func (r *results) of(m *Message) field.Map {
	if m.Object != r.object {
		r.refer(m.Object)
	}
	path := m.Field.String()
	result := with(make(field.Map, 0, 6), "message", m.sentence(path))
	result = with(result, "severity", string(m.Severity))
	result = with(result, "resourceRef", r.ref)
	if r.ref != nil && len(m.Field) > 0 { // a field needs a resourceRef
		at := with(make(field.Map, 0, 3), "path", path)
		at = with(at, "currentValue", m.Current)
		result = with(result, "field", with(at, "proposedValue", m.Proposed))
	}
	result = with(result, "file", r.file)
	if r.reasons[m.Reason] == nil && m.Reason != "" {
		r.reasons[m.Reason] = field.Map{{Key: "reason", Value: m.Reason}}
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

func (r *results) refer(o *Object) {
	r.object, r.ref, r.file = o, nil, nil
	if o == nil {
		return
	}
	if o.Kind != "" {
		ref := make(field.Map, 0, 4)
		ref = append(ref, field.Entry{Key: "apiVersion", Value: o.APIVersion}, field.Entry{Key: "kind", Value: o.Kind})
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
	slices.SortStableFunc(messages, func(a, b Message) int { return cmp.Compare(a.Severity.Rank(), b.Severity.Rank()) })
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

// Print writes the messages, one a line. Unless it is verbose, it leaves out infos, and of
// messages that are alike, of which a repository has one or very many, it writes the first and
// how many more there are.
func Print(w io.Writer, messages []Message, verbose bool, color Color) {
	if !verbose {
		messages = slices.DeleteFunc(slices.Clone(messages), func(m Message) bool { return m.Severity == transformer.Info })
	}
	line := func(m *Message) {
		severity := string(m.Severity)
		fmt.Fprintln(w, color.paint(severityColors[m.Severity], severity)+strings.TrimPrefix(m.String(), severity))
	}
	alike := make(map[string]int)
	for i := range messages {
		if key := messages[i].alike(); key != "" && !verbose {
			alike[key]++
		}
	}
	for i := range messages {
		m := &messages[i]
		key := m.alike()
		switch n := alike[key]; {
		case n < 0:
		case n > 2:
			line(m)
			line(&Message{Severity: m.Severity, Reason: m.Reason, Text: fmt.Sprintf("%d more like this; -v lists them", n-1)})
			alike[key] = -n
		default:
			line(m)
		}
	}
}

// notRead are the reasons of messages with one cure for all of them.
var notRead = []string{"helm-template", "no-manifest", "not-built", "not-rendered", "patch"}

// alike returns the same for messages with the same cause and cure, of which there can be
// very many; "" for others.
func (m *Message) alike() string {
	switch {
	case slices.Contains(notRead, m.Reason):
		return m.Reason
	case m.Reason == "unknown-kind": // the cure names the field, without indexes
		return strings.Join([]string{m.Reason, m.Object.APIVersion, m.Object.Kind, m.Field.Pattern().String()}, " ")
	case m.If != "":
		return m.Reason + " " + m.If
	}
	return ""
}

var severityColors = map[transformer.Severity]string{
	transformer.Error:   "\x1b[31m", // red
	transformer.Warning: "\x1b[33m", // yellow
}

// PrintCures writes the cures of the reasons among the messages that Print writes,
// each once, except one that its messages have.
func PrintCures(w io.Writer, messages []Message, verbose bool) {
	shown := make(map[string]bool)
	for _, m := range messages {
		shown[m.Reason] = shown[m.Reason] || m.Severity != transformer.Info || verbose
	}
	shown["patch"] = false // the message has all of its cure
	docs := slices.DeleteFunc(reason.All(), func(d reason.Doc) bool { return !shown[d.Key] })
	keys := make(map[string]string) // by the cure
	for _, d := range docs {
		keys[d.Cure] = strings.TrimPrefix(keys[d.Cure]+", "+d.Key, ", ")
	}
	for _, d := range docs {
		if key, left := keys[d.Cure]; left {
			fmt.Fprintf(w, "cure [%s]: %s\n", key, d.Cure)
			delete(keys, d.Cure)
		}
	}
}

// Plural returns "1 probe" or "2 probes".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
