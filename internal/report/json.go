package report

import (
	"encoding/json"
	"io"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// JSON writes the report for machines: the templates with their probes, the
// messages, and a summary in one line.
func (r *Report) JSON(w io.Writer, summary string) error {
	type probe struct {
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
	type answer struct {
		By              string            `json:"by"`
		Mesh            string            `json:"mesh,omitempty"`
		Port            int               `json:"port,omitempty"`
		Because         string            `json:"because,omitempty"` // why it is not Istio's sidecar in an injected pod
		AddsContainer   string            `json:"addsContainer,omitempty"`
		AddsAnnotations map[string]string `json:"addsAnnotations,omitempty"`
	}
	type template struct {
		*Object
		Path   string  `json:"path,omitempty"`
		Known  string  `json:"known,omitempty"`  // of the mesh, and from where
		Answer *answer `json:"answer,omitempty"` // nil if no probe is rewritten
		Probes []probe `json:"probes"`
	}
	type message struct {
		Severity string  `json:"severity"`
		Reason   string  `json:"reason,omitempty"`
		Message  string  `json:"message"`
		Why      string  `json:"why,omitempty"`
		Fix      string  `json:"fix,omitempty"`
		Object   *Object `json:"object,omitempty"` // nil if it is about the whole run
		Line     int     `json:"line,omitempty"`
		Field    string  `json:"field,omitempty"`
	}
	out := struct {
		Config    string     `json:"config,omitempty"` // which functionConfig the run has
		Templates []template `json:"templates"`
		Messages  []message  `json:"messages"`
		Summary   string     `json:"summary"`
	}{Config: r.Config, Templates: []template{}, Messages: []message{}, Summary: summary}
	for _, t := range r.Templates {
		row := template{
			Object: t.Object,
			Path:   t.Path.String(),
			Known:  t.Known,
			Probes: []probe{},
		}
		if a := t.Answer; a.By != "" {
			row.Answer = &answer{
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
			row.Probes = append(row.Probes, probe{
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
		out.Templates = append(out.Templates, row)
	}
	for _, m := range r.Messages {
		out.Messages = append(out.Messages, message{
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
	return writeJSON(w, out)
}

func writeJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(value)
}
