package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

var stateColors = map[transformer.State]string{
	transformer.WouldRewrite: "\x1b[32m", // green
	transformer.WouldRestore: "\x1b[32m",
	transformer.Rewritten:    "\x1b[36m", // cyan
	transformer.LeftAlone:    "\x1b[33m", // yellow
	transformer.Refused:      "\x1b[31m", // red
}

const (
	colorOff = "\x1b[0m"
	bold     = "\x1b[1m"
	dim      = "\x1b[2m"
)

// A Screen is what text is written for.
type Screen struct {
	Color bool
	Width int // in columns; 0 if lines may have any length
}

func (s Screen) paint(code, text string) string {
	if !s.Color || code == "" {
		return text
	}
	return code + text + colorOff
}

// Explain writes the report for people: the functionConfig; for every pod template a heading,
// who answers, an aligned line for each probe, and what was found; then what was found
// elsewhere (all that is alike only if verbose), a summary and what to do next.
func (r *Report) Explain(w io.Writer, verbose bool, screen Screen) error {
	var b strings.Builder
	if r.Config != "" {
		fmt.Fprintf(&b, "functionConfig: %s\n\n", Printable(r.Config))
	}
	for i := range r.Templates {
		explainTemplate(&b, &r.Templates[i], screen)
		b.WriteByte('\n')
	}
	printAll(&b, r.elsewhere(), verbose, screen)
	fmt.Fprintln(&b, r.Summary(false))
	if next := r.next(); next != "" {
		fmt.Fprintln(&b, screen.paint(dim, next))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// next says what to do after having read the report; "" if it asks for nothing.
func (r *Report) next() string {
	if i := slices.IndexFunc(r.Messages, r.fails); i >= 0 {
		return "next: fix what fails first; \"rewrite-probes reasons " + r.Messages[i].Reason + "\" explains it"
	}
	if r.Changed > 0 {
		return "next: \"rewrite-probes -d PATH\" shows the change, -w writes it"
	}
	return ""
}

func explainTemplate(w io.Writer, t *Template, screen Screen) {
	fmt.Fprintln(w, strings.TrimRight(screen.paint(bold, t.Object.String())+"  "+place(t.Object.File, t.Object.Line), " "))
	for _, note := range t.notes() {
		fmt.Fprintln(w, screen.paint(dim, "  "+note))
	}
	rows, widths := make([][4]string, len(t.Probes)), [4]int{}
	for j, p := range t.Probes {
		rows[j] = [4]string{Printable(p.Container), p.ProbeType.Name(), Printable(p.Before), Printable(explainAfter(p))}
		for k, cell := range rows[j] {
			widths[k] = max(widths[k], utf8.RuneCountInString(cell))
		}
	}
	for j, row := range rows {
		line := " "
		for k, cell := range row[:3] {
			line += fmt.Sprintf(" %-*s ", widths[k], cell)
		}
		if n := utf8.RuneCountInString(line) + 1 + utf8.RuneCountInString(row[3]); screen.Width > 0 && n > screen.Width {
			line = strings.TrimRight(line, " ") + "\n     "
		}
		fmt.Fprintln(w, line+" "+screen.paint(stateColors[t.Probes[j].State], row[3]))
	}
	if len(t.Probes) == 0 && len(t.Findings) == 0 {
		fmt.Fprintln(w, "  no probes and no hooks")
	}
	for _, f := range t.Findings {
		fmt.Fprintf(w, "  %s: %s [%s]\n", f.Severity, Printable(f.Message), f.Reason)
	}
}

// notes returns what is known of the mesh, and, if a probe is rewritten, who answers and what
// is added for it.
func (t *Template) notes() (notes []string) {
	if t.Known != "" {
		notes = append(notes, Printable(t.Known))
	}
	a := t.Answer
	if a.By == "" {
		return notes
	}
	s := a.By + " answers"
	if a.Port != 0 {
		s += fmt.Sprintf(" on port %d", a.Port)
	}
	if a.Mesh != "" {
		s += " in " + a.Mesh
	}
	var adds []string
	if a.AddsContainer != "" {
		adds = append(adds, "container "+a.AddsContainer)
	}
	for _, p := range a.AddsAnnotations {
		adds = append(adds, "annotation "+p.Key)
	}
	if len(adds) > 0 {
		s += "; added: " + join(adds)
	}
	if a.Because != "" {
		s += "; " + a.Because
	}
	if a.AppWouldDo {
		s += "; `answeredBy: app` would do with one annotation, since no Service here leads to the probes' ports"
	}
	return append(notes, Printable(s))
}

func explainAfter(p transformer.Verdict) string {
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

// shortReasons words the reasons that have no finding of their own.
var shortReasons = map[string]string{
	"no-network":      "the kubelet runs it in the container",
	"vm-probe-works":  "Istio's agent makes it as it is",
	"not-selected":    "the functionConfig's rewrite does not name it",
	"not-rewritten":   "it was not rewritten",
	"proxy-container": "the mesh's own proxy",
}

// inWords words a reason key. The key itself is in the finding below the table,
// or in brackets if there is no finding.
func inWords(key string) string {
	if words, ok := shortReasons[key]; ok {
		return words + " [" + key + "]"
	}
	return strings.ReplaceAll(key, "-", " ")
}

func mtls(p transformer.Verdict) string {
	if p.StrictTLS == transformer.Unaffected {
		return ""
	}
	words := string(p.StrictTLS) + " " + p.Where()
	if p.If != "" {
		words = "may be that it " + words
	}
	return " (" + words + ")"
}

// elsewhere returns the messages that are not findings of a pod template, which are shown with
// it.
func (r *Report) elsewhere() []Message {
	return slices.DeleteFunc(slices.Clone(r.Messages), func(m Message) bool {
		return slices.ContainsFunc(r.Templates, func(t Template) bool {
			return t.Object == m.Object && slices.ContainsFunc(t.Findings, func(f transformer.Finding) bool {
				return f.Reason == m.Reason && f.Message == m.Text && slices.Equal(f.Field, m.Field)
			})
		})
	})
}
