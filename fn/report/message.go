// Package report words what a run found: lines for people on stderr, results
// of a ResourceList, the table of explain, and JSON for machines. The same
// message reads the same everywhere.
package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/field"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// An Object names the object of a message and where it was read.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	File       string `json:"file,omitempty"` // "" where it is not known
	Index      int    `json:"index"`          // of the object in its file
	Line       int    `json:"line,omitempty"` // in the file, from 1; 0 where unknown
}

// String names the object as people do: Deployment default/web.
func (o Object) String() string {
	switch {
	case o.Kind == "":
		return ""
	case o.Namespace == "":
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// A Message is one thing to say.
type Message struct {
	Severity          transformer.Severity
	Reason            string // a key of docs/reasons.md
	Text              string // one line; names the field, not the object
	Object            Object
	Line              int    // of the field; 0 where unknown
	Field             string // its path; "" where no field is at fault
	Current, Proposed field.Value
}

// String gives the message in one line: severity, file and line, object,
// text, and the reason key in brackets.
func (m Message) String() string {
	s := string(m.Severity) + ": "
	if m.Object.File != "" {
		s += m.Object.File
		if m.Line > 0 {
			s += ":" + strconv.Itoa(m.Line)
		}
		s += ": "
	}
	return s + m.Sentence()
}

// Sentence gives the message without severity and place.
func (m Message) Sentence() string {
	s := m.Text
	if o := m.Object.String(); o != "" {
		s = o + ": " + s
	}
	if m.Reason != "" {
		s += " [" + m.Reason + "]"
	}
	return s
}

// Result gives the message as a result of the KRM functions specification.
func (m Message) Result() field.Map {
	r := make(field.Map, 0, 6)
	r = append(r, field.Entry{Key: "message", Value: m.Sentence()}, field.Entry{Key: "severity", Value: string(m.Severity)})
	if m.Object.Kind != "" {
		ref := make(field.Map, 0, 4)
		ref = append(ref, field.Entry{Key: "apiVersion", Value: m.Object.APIVersion}, field.Entry{Key: "kind", Value: m.Object.Kind})
		if m.Object.Namespace != "" {
			ref = append(ref, field.Entry{Key: "namespace", Value: m.Object.Namespace})
		}
		r = append(r, field.Entry{Key: "resourceRef", Value: append(ref, field.Entry{Key: "name", Value: m.Object.Name})})
		if m.Field != "" { // a field needs a resourceRef
			f := make(field.Map, 0, 3)
			f = append(f, field.Entry{Key: "path", Value: m.Field})
			if m.Current != nil {
				f = append(f, field.Entry{Key: "currentValue", Value: m.Current})
			}
			if m.Proposed != nil {
				f = append(f, field.Entry{Key: "proposedValue", Value: m.Proposed})
			}
			r = append(r, field.Entry{Key: "field", Value: f})
		}
	}
	if m.Object.File != "" {
		r = append(r, field.Entry{Key: "file", Value: field.Map{{Key: "path", Value: m.Object.File}, {Key: "index", Value: m.Object.Index}}})
	}
	if m.Reason != "" {
		r = append(r, field.Entry{Key: "tags", Value: field.Map{{Key: "reason", Value: m.Reason}}})
	}
	return r
}

var order = map[transformer.Severity]int{transformer.Error: 0, transformer.Warning: 1, transformer.Info: 2}

// Sort puts errors first, then warnings, then infos, each in input order:
// kpt shows only the first four.
func Sort(messages []Message) {
	slices.SortStableFunc(messages, func(a, b Message) int { return cmp.Compare(order[a.Severity], order[b.Severity]) })
}

// Count gives how many messages have the severity.
func Count(messages []Message, s transformer.Severity) int {
	n := 0
	for _, m := range messages {
		if m.Severity == s {
			n++
		}
	}
	return n
}

// Print writes the messages, one a line; infos only if verbose.
func Print(w io.Writer, messages []Message, verbose bool) {
	for _, m := range messages {
		if m.Severity != transformer.Info || verbose {
			fmt.Fprintln(w, m)
		}
	}
}

// plural gives "1 probe", "2 probes".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// join lists the parts that are not empty: "a, b and c".
func join(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}
