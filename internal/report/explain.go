package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
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

// Color is whether text is written in colour.
type Color bool

func (c Color) paint(code, text string) string {
	if !c || code == "" {
		return text
	}
	return code + text + colorOff
}

// Explain writes the report for people: the functionConfig; for every pod template a heading,
// who answers, an aligned line for each probe (what it does today, what it becomes, why), and
// what was found; then what was found elsewhere, as Print does, a summary and what to do next.
func (r *Report) Explain(w io.Writer, verbose bool, color Color) error {
	var b strings.Builder
	if r.Config != "" {
		fmt.Fprintf(&b, "functionConfig: %s\n\n", field.Printable(r.Config))
	}
	elsewhere := folded(r.elsewhere(), verbose)
	fixes := newFixes(elsewhere)
	for i := range r.Templates {
		for _, f := range r.Templates[i].Findings {
			fixes.add(new(messageOf(f)))
		}
	}
	for i := range r.Templates {
		explainTemplate(&b, &r.Templates[i], fixes, color)
		b.WriteByte('\n')
	}
	fixes.print(&b, elsewhere, color)
	fixes.printShared(&b)
	fmt.Fprintln(&b, r.Summary(false))
	fmt.Fprintln(&b, color.paint(dim, "next: "+r.next()))
	_, err := io.WriteString(w, field.WithoutCommands(b.String(), field.EscapedSign))
	return err
}

// next says what to do after having read the report.
func (r *Report) next() string {
	for _, m := range r.Messages {
		if r.fails(m) {
			return "fix what fails first; \"rewrite-probes reasons " + m.Reason.String() + "\" explains it"
		}
	}
	if r.Changed > 0 {
		return "\"rewrite-probes -d PATH\" shows the change, -w writes it"
	}
	for _, t := range r.Templates {
		for _, p := range t.Probes {
			if p.State != transformer.LeftAlone || p.StrictTLS == world.Unaffected {
				continue
			}
			if p.Reason == reason.ProbesMadeElsewhere {
				return fmt.Sprintf("leave the %s of %s to Istio's injector; \"rewrite-probes reasons %s\" says how", p.ProbeType.Field(), t.Object, p.Reason)
			}
			now := "now"
			if p.If != "" {
				now = "perhaps"
			}
			return fmt.Sprintf(
				"unless it is on purpose, have the %s of %s rewritten, which %s %s; \"rewrite-probes reasons %s\" says how",
				p.ProbeType.Field(),
				t.Object,
				now,
				p.StrictTLS,
				p.Reason,
			)
		}
	}
	for _, m := range r.Messages {
		if m.Severity == transformer.Warning {
			return "what is warned of; \"rewrite-probes reasons " + m.Reason.String() + "\" explains it"
		}
	}
	return "nothing to do"
}

func explainTemplate(w io.Writer, t *Template, fixes *fixes, color Color) {
	title := color.paint(bold, t.Object.String()) + "  " + place(t.Object.File, t.Object.Line)
	fmt.Fprintln(w, strings.TrimRight(title, " "))
	for _, note := range t.notes() {
		fmt.Fprintln(w, color.paint(dim, "  "+note))
	}
	explainProbes(w, t.Probes, color)
	if len(t.Probes) == 0 && len(t.Findings) == 0 {
		fmt.Fprintln(w, "  no probes and no hooks")
	}
	for _, f := range t.Findings {
		m := messageOf(f)
		fmt.Fprintln(w, "  "+m.prefix()+m.headline())
		fixes.printBelow(w, &m, "    ")
	}
}

// notes returns what is known of the mesh, and, if a probe is rewritten, who answers and what
// is added for it.
func (t *Template) notes() (notes []string) {
	if t.Known != "" {
		notes = append(notes, field.Printable(t.Known))
	}
	if s := t.answers(); s != "" {
		notes = append(notes, field.Printable(s))
	}
	return notes
}

// answers says who answers the rewritten probes, and what is added for it; "" if none is rewritten.
func (t *Template) answers() string {
	a := t.Answer
	if a.By == "" {
		return ""
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
		s += "; added: " + field.Enumerate(adds, "and")
	}
	if a.Because != "" {
		s += "; " + a.Because
	}
	if a.AppWouldDo {
		s += "; `answeredBy: app` would do with one annotation, since no Service here leads to the probes' ports"
	}
	return s
}

// explainProbes writes the table of a template. Why comes last, since it is longer than all the rest.
func explainProbes(w io.Writer, probes []transformer.Verdict, color Color) {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i := range probes {
		v := viewOf(&probes[i])
		sign, paint := v.Class.sign()
		columns := []string{
			field.Printable(v.Container),
			v.Probe,
			field.Printable(v.Before),
			color.paint(paint, sign+" "+v.Today),
			color.paint(stateColors[v.State], field.Printable(v.After)),
			field.Printable(v.Why),
		}
		fmt.Fprintln(table, "  "+strings.Join(columns, "\t"))
	}
	table.Flush()
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
}

func explainAfter(p *transformer.Verdict) string {
	switch p.State {
	case transformer.Rewritten:
		return "=  " + p.After
	case transformer.WouldRewrite, transformer.WouldRestore:
		return "-> " + p.After
	case transformer.Refused:
		return "refused: " + inWords(p.Reason)
	default:
		return "left alone: " + inWords(p.Reason)
	}
}

// inWords words a reason. Its key is in the finding below the table, or in brackets if there
// is no finding.
func inWords(key reason.Key) string {
	if words := key.Doc().Words; words != "" {
		return words + " [" + key.String() + "]"
	}
	return strings.ReplaceAll(key.String(), "-", " ")
}

// elsewhere returns the messages that are not shown with a pod template.
func (r *Report) elsewhere() []Message {
	return slices.DeleteFunc(slices.Clone(r.Messages), func(m Message) bool { return m.InPlan })
}
