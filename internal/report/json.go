package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

type jsonProbe struct {
	Container     string `json:"container"`
	InitContainer bool   `json:"initContainer,omitempty"`
	Probe         string `json:"probe"`
	Field         string `json:"field"`
	Before        string `json:"before"`
	After         string `json:"after,omitempty"`
	State         string `json:"state"`
	Reason        string `json:"reason,omitempty"`
	Today         string `json:"today"`         // what becomes of it if nothing is rewritten
	Why           string `json:"why,omitempty"` // if it is not unaffected
	If            string `json:"if,omitempty"`  // what it depends on, if that is not known
	Line          int    `json:"line,omitempty"`
}

type jsonAnswer struct {
	By              string            `json:"by"`
	Mesh            string            `json:"mesh,omitempty"`
	Port            int               `json:"port,omitempty"`
	Because         string            `json:"because,omitempty"` // why it is not Istio's sidecar in an injected pod
	AddsContainer   string            `json:"addsContainer,omitempty"`
	AddsAnnotations map[string]string `json:"addsAnnotations,omitempty"`
}

type jsonTemplate struct {
	*ObjectRef
	Path   string      `json:"path,omitempty"`
	Known  string      `json:"known,omitempty"`  // of the mesh, and from where
	Answer *jsonAnswer `json:"answer,omitempty"` // nil if no probe is rewritten
	Probes []jsonProbe `json:"probes"`
}

type jsonMessage struct {
	Severity string     `json:"severity"`
	Reason   string     `json:"reason,omitempty"`
	Message  string     `json:"message"`
	Why      string     `json:"why,omitempty"`
	Fix      string     `json:"fix,omitempty"`
	Object   *ObjectRef `json:"object,omitempty"` // nil if it is about the whole run
	Line     int        `json:"line,omitempty"`
	Field    string     `json:"field,omitempty"`
}

// writeJSON writes the report for machines: the templates with their probes, the
// messages, and a summary in one line.
func (r *Report) writeJSON(w io.Writer, summary string) error {
	out := newJSONStream(w)
	out.begin("", '{')
	if r.Config != "" {
		out.put("config", r.Config) // which functionConfig the run has
	}
	out.begin("templates", '[')
	for _, t := range r.Templates {
		out.put("", asJSON(t))
	}
	out.end(']')
	out.begin("messages", '[')
	for _, m := range r.Messages {
		out.put("", jsonMessage{
			Severity: string(m.Severity),
			Reason:   m.Reason.String(),
			Message:  m.What(),
			Why:      field.Printable(m.Text.Why),
			Fix:      field.Printable(m.Fix()),
			Object:   m.Object,
			Line:     m.Line,
			Field:    m.Field.String(),
		})
	}
	out.end(']')
	out.put("summary", summary)
	out.end('}')
	return out.flush()
}

// asJSON returns what JSON has of a template.
func asJSON(t PlannedTemplate) jsonTemplate {
	row := jsonTemplate{
		ObjectRef: t.Object,
		Path:      t.Path.String(),
		Known:     t.Known,
		Probes:    []jsonProbe{},
	}
	if a := t.Answer; a.By != "" {
		row.Answer = &jsonAnswer{
			By:              a.By,
			Mesh:            a.Mesh,
			Port:            a.Port,
			Because:         a.Because,
			AddsContainer:   a.AddsContainer,
			AddsAnnotations: make(map[string]string),
		}
		for _, p := range a.AddsAnnotations {
			row.Answer.AddsAnnotations[p.Key] = p.Value
		}
	}
	for i, p := range t.Probes {
		row.Probes = append(row.Probes, jsonProbe{
			Container:     p.Container,
			InitContainer: p.Init,
			Probe:         p.ProbeType.Name(),
			Field:         p.Field.String(),
			Before:        p.Before,
			After:         p.After,
			State:         string(p.State),
			Reason:        p.Reason.String(),
			Today:         string(p.StrictTLS),
			Why:           p.Why,
			If:            p.If,
			Line:          t.Line(i),
		})
	}
	return row
}

// A jsonStream writes an indented value of which it holds an element of a list at a time.
type jsonStream struct {
	w       *bufio.Writer
	depth   int
	inside  bool // an element was written at this depth
	element bytes.Buffer
}

func newJSONStream(w io.Writer) *jsonStream {
	return &jsonStream{w: bufio.NewWriter(w)}
}

// begin begins an object or a list: the value of a key, or, without one, an element.
func (s *jsonStream) begin(key string, bracket byte) {
	s.next(key)
	s.w.WriteByte(bracket)
	s.depth++
	s.inside = false
}

// end ends what was begun last.
func (s *jsonStream) end(bracket byte) {
	s.depth--
	if s.inside {
		s.w.WriteByte('\n')
		s.w.WriteString(s.indent())
	}
	s.w.WriteByte(bracket)
	s.inside = true
}

// put writes a value: that of a key, or, without one, an element. It must be one that can be
// encoded.
func (s *jsonStream) put(key string, v any) {
	s.next(key)
	s.element.Reset()
	e := json.NewEncoder(&s.element)
	e.SetEscapeHTML(false)
	e.SetIndent(s.indent(), "  ")
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	s.w.Write(bytes.TrimSuffix(s.element.Bytes(), []byte("\n")))
	s.inside = true
}

// jsonSign escapes a sign in a string of JSON.
func jsonSign(sign byte) string { return fmt.Sprintf(`\u%04x`, sign) }

// next writes what comes before a value.
func (s *jsonStream) next(key string) {
	if s.inside {
		s.w.WriteByte(',')
	}
	if s.depth > 0 {
		s.w.WriteByte('\n')
		s.w.WriteString(s.indent())
	}
	if key != "" {
		fmt.Fprintf(s.w, "%q: ", key)
	}
}

func (s *jsonStream) indent() string { return strings.Repeat("  ", s.depth) }

// flush ends the text, and returns the first error of writing it.
func (s *jsonStream) flush() error {
	s.w.WriteByte('\n')
	return s.w.Flush()
}
