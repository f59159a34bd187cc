package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// slotWords are the names by which people know the slots.
var slotWords = map[string]string{
	"readyz": "readiness", "livez": "liveness", "startupz": "startup", "prestopz": "preStop", "poststartz": "postStart",
}

var stateColors = map[transformer.State]string{
	transformer.WouldRewrite: "\x1b[32m", // green
	transformer.WouldRestore: "\x1b[32m",
	transformer.Rewritten:    "\x1b[36m", // cyan
	transformer.LeftAlone:    "\x1b[33m", // yellow
	transformer.Refused:      "\x1b[31m", // red
}

const colorOff, bold = "\x1b[0m", "\x1b[1m"

// Explain writes the picture a person looks at: for every pod template a
// heading and an aligned line a probe, then what was said about it.
func (r *Report) Explain(w io.Writer, color bool) {
	paint := func(code, s string) string {
		if !color {
			return s
		}
		return code + s + colorOff
	}
	for i, t := range r.Templates {
		if i > 0 {
			fmt.Fprintln(w)
		}
		heading := paint(bold, t.Object.String())
		if t.Object.File != "" {
			heading += "  " + t.Object.File
			if t.Object.Line > 0 {
				heading += fmt.Sprintf(":%d", t.Object.Line)
			}
		}
		fmt.Fprintln(w, heading)
		rows := make([][]string, len(t.Probes))
		for j, p := range t.Probes {
			rows[j] = []string{p.Container, slotWords[string(p.Slot)], p.Before, explainAfter(p)}
		}
		widths := columnWidths(rows)
		for j, row := range rows {
			line := " "
			for k, cell := range row[:3] {
				line += " " + cell + strings.Repeat(" ", widths[k]-utf8.RuneCountInString(cell)+1)
			}
			fmt.Fprintln(w, line+" "+paint(stateColors[t.Probes[j].State], row[3]))
		}
		if len(t.Probes) == 0 && len(t.Findings) == 0 {
			fmt.Fprintln(w, "  no probes and no hooks")
		}
		for _, f := range t.Findings {
			fmt.Fprintf(w, "  %s: %s [%s]\n", f.Severity, f.Message, f.Reason)
		}
	}
	for _, m := range r.Messages {
		if !r.hasTemplate(m.Object) {
			fmt.Fprintln(w, m)
		}
	}
}

func explainAfter(p Probe) string {
	switch p.State {
	case transformer.Rewritten:
		return "=  " + p.After
	case transformer.WouldRewrite, transformer.WouldRestore:
		return "-> " + p.After
	case transformer.Refused:
		return "refused: " + inWords(p.Reason) + mtls(p)
	default:
		return "left alone: " + inWords(p.Reason) + mtls(p)
	}
}

// wordless are the reasons of which no finding under the table tells more.
var wordless = map[string]string{
	"no-network":      "the mesh does not see it",
	"not-selected":    "the functionConfig's rewrite does not name it",
	"not-rewritten":   "it was not rewritten",
	"proxy-container": "the mesh's own proxy",
}

// inWords gives a reason key as people say it; the key itself stands with the
// finding, or in brackets where there is none.
func inWords(key string) string {
	if words, ok := wordless[key]; ok {
		return words + " [" + key + "]"
	}
	return strings.ReplaceAll(key, "-", " ")
}

func mtls(p Probe) string {
	if p.StrictTLS == transformer.Unaffected {
		return ""
	}
	return " (" + string(p.StrictTLS) + " under strict mTLS)"
}

func columnWidths(rows [][]string) []int {
	widths := make([]int, 4)
	for _, row := range rows {
		for k, cell := range row {
			widths[k] = max(widths[k], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

func (r *Report) hasTemplate(o Object) bool {
	for _, t := range r.Templates {
		if t.Object == o {
			return true
		}
	}
	return false
}

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
		StrictMTLS    string `json:"strictMTLS"`
		Line          int    `json:"line,omitempty"`
	}
	type template struct {
		Object
		Path   string  `json:"path,omitempty"`
		Probes []probe `json:"probes"`
	}
	type message struct {
		Severity string  `json:"severity"`
		Reason   string  `json:"reason,omitempty"`
		Message  string  `json:"message"`
		Object   *Object `json:"object,omitempty"` // nil if it is about the whole run
		Line     int     `json:"line,omitempty"`
		Field    string  `json:"field,omitempty"`
	}
	out := struct {
		Templates []template `json:"templates"`
		Messages  []message  `json:"messages"`
		Summary   string     `json:"summary"`
	}{Templates: []template{}, Messages: []message{}, Summary: summary}
	for _, t := range r.Templates {
		row := template{Object: t.Object, Path: t.Path.String(), Probes: []probe{}}
		for _, p := range t.Probes {
			row.Probes = append(row.Probes, probe{p.Container, p.Init, slotWords[string(p.Slot)], p.Field.String(),
				p.Before, p.After, string(p.State), p.Reason, string(p.StrictTLS), p.Line})
		}
		out.Templates = append(out.Templates, row)
	}
	for _, m := range r.Messages {
		about := &m.Object
		if *about == (Object{}) {
			about = nil
		}
		out.Messages = append(out.Messages, message{string(m.Severity), m.Reason, m.Text, about, m.Line, m.Field})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}
