package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

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

// A Screen is what a text is written for.
type Screen struct {
	Verbose bool // everything is shown, also what needs no attention
	Color   Color
	Width   int // in columns; 0 if lines may be of any length
}

// An explanation is the text of explain as it is written.
type explanation struct {
	Screen
	b     strings.Builder
	fixes *fixes
}

// writeText writes the report for people: the verdict and its causes; what failed elsewhere; the pod templates
// that fail today, then those that may, each with a line for every probe; the rest, folded unless everything
// is shown; and what to do next.
func (r *Report) writeText(w io.Writer, on Screen) error {
	v := viewOf(r, on.Verbose)
	x := &explanation{Screen: on}
	x.collectFixes(v)
	x.line(bold, "", v.Verdict)
	x.causes(&v.Bad)
	x.messages(v.First)
	x.groups(&v.Bad)
	if len(v.Then) > 0 {
		x.b.WriteByte('\n')
	}
	x.messages(v.Then)
	x.rest(v)
	var shared strings.Builder
	x.fixes.printShared(&shared)
	x.lines(shared.String())
	x.line(dim, "", "next: "+r.next())
	_, err := io.WriteString(w, x.b.String())
	return err
}

func (x *explanation) collectFixes(v *view) {
	x.fixes = newFixes(append(folded(v.First, x.Verbose), folded(v.Then, x.Verbose)...))
	for _, s := range []*section{&v.Bad, &v.Rest} {
		for _, g := range s.Groups {
			for _, w := range g.Workloads {
				for i := range w.Found {
					x.fixes.add(&w.Found[i])
				}
			}
		}
	}
}

// rest writes what needs no attention: in full if everything is asked for, or if there is nothing else.
func (x *explanation) rest(v *view) {
	n := v.Rest.Tally.Sum()
	isFolded := !x.Verbose && v.Bad.Tally[failsToday]+v.Bad.Tally[mayFail] > 0
	if n > 0 {
		title := agree(n, "1 probe works or is not affected", fmt.Sprintf("%d probes work or are not affected", n))
		if isFolded {
			title += " (-v lists them)"
		}
		x.b.WriteByte('\n')
		x.line("", "", title)
		x.causes(&v.Rest)
	}
	if !isFolded {
		x.groups(&v.Rest)
	}
	for _, t := range v.Bare {
		if x.Verbose || n+len(v.Bad.Groups) == 0 {
			x.title(t.Object)
			x.line("", "", "  no probes and no hooks")
		}
	}
	x.messages(v.Infos)
}

func (x *explanation) messages(all []Message) {
	var b strings.Builder
	x.fixes.print(&b, folded(all, x.Verbose), x.Color)
	x.lines(b.String())
}

// causes writes what the probes of a section do, and why, each once.
func (x *explanation) causes(s *section) {
	for i, c := range s.Causes {
		number := ""
		if len(s.Causes) > 1 {
			number = fmt.Sprintf("(%d) ", i+1)
		}
		x.line("", "    ", fmt.Sprintf("  %s%d %s%s", number, c.Count, c.Today, field.Printable(c.Why)))
	}
}

func (x *explanation) groups(s *section) {
	x.notes(s.Notes)
	for _, g := range s.Groups {
		x.b.WriteByte('\n')
		x.notes(g.Notes)
		for _, w := range g.Workloads {
			x.workload(w)
		}
	}
}

func (x *explanation) notes(all []string) {
	if len(all) > 0 {
		x.line(dim, "    ", "  "+field.Printable(strings.Join(all, "; ")))
	}
}

func (x *explanation) workload(w *workload) {
	x.title(w.Object)
	x.notes(w.Notes)
	x.table(w)
	for i := range w.Found {
		m := &w.Found[i]
		x.line("", "    ", "  "+m.prefix()+m.headline())
		var b strings.Builder
		x.fixes.printBelow(&b, m, "    ")
		x.lines(b.String())
	}
}

// A cell is a text of a table, and how it is painted.
type cell struct{ text, color string }

// title names a workload and where it is, which stands below if it does not fit.
func (x *explanation) title(o *ObjectRef) {
	name, at := o.String(), place(o.File, o.Line)
	between := "  "
	if x.Width > 0 && utf8.RuneCountInString(name+between+at) > x.Width {
		between = "\n    "
	}
	fmt.Fprintln(&x.b, strings.TrimRight(x.Color.paint(bold, name)+between+at, " "))
}

// table writes the probes of a workload, a line for each. If lines are too long, they first lose the path of
// rewritten probes, which container and type tell, then what the list of causes says, and then who answers.
func (x *explanation) table(w *workload) {
	rows := make([][]cell, len(w.Rows))
	var all widths
	for _, shortened := range []int{0, 1, 2, 3} {
		for i, row := range w.Rows {
			rows[i] = cells(row, shortened)
		}
		if all = widthsOf(rows); x.Width <= 0 || all.line() <= x.Width {
			break
		}
	}
	for _, row := range rows {
		x.row(row, all)
	}
}

// cells returns the columns of a probe, shortened in as many steps.
func cells(r row, shortened int) []cell {
	does, after := r.Today, r.After
	if r.isListed && shortened > 1 {
		does = ""
	}
	isPath := r.State == transformer.WouldRewrite || r.State == transformer.Rewritten
	if at := strings.Index(after, "/app-"); at > 0 && isPath && shortened > 0 {
		after = after[:at]
	}
	if at := strings.Index(after, " :"); at > 0 && isPath && shortened > 2 {
		after = after[:3] + after[at+1:]
	}
	switch why := strings.TrimLeft(r.Why, ": "); {
	case why == "":
	case after == "":
		after = why
	default:
		after += " (" + why + ")"
	}
	does = strings.TrimSpace(does + r.Ref)
	return []cell{
		{field.Printable(r.Container), ""},
		{r.Probe, ""},
		{r.Class.Sign() + " " + does, classes[r.Class.rank()].color},
		{field.Printable(r.Before), ""},
		{field.Printable(after), stateColors[r.State]},
	}
}

type widths []int

func widthsOf(rows [][]cell) widths {
	var all widths
	for _, row := range rows {
		for i, c := range row {
			if len(all) <= i {
				all = append(all, 0)
			}
			all[i] = max(all[i], utf8.RuneCountInString(c.text))
		}
	}
	return all
}

// line returns how long the longest line of a table is.
func (w widths) line() (n int) {
	for _, width := range w {
		n += 2 + width
	}
	return n
}

// row writes a line of a table. Its last column stands below if it does not fit.
func (x *explanation) row(cells []cell, w widths) {
	var b strings.Builder
	last := len(cells) - 1
	for i, c := range cells[:last] {
		b.WriteString("  " + x.Color.paint(c.color, c.text))
		b.WriteString(strings.Repeat(" ", w[i]-utf8.RuneCountInString(c.text)))
	}
	const indent = "      "
	parts := []string{cells[last].text}
	if x.Width > 0 && w[:last].line()+2+utf8.RuneCountInString(parts[0]) > x.Width {
		fmt.Fprintln(&x.b, strings.TrimRight(b.String(), " "))
		b.Reset()
		b.WriteString(indent[2:])
		parts = wrapped(parts[0], x.Width-len(indent), x.Width-len(indent))
	}
	for i, part := range parts {
		if i > 0 {
			b.WriteString("\n" + indent[2:])
		}
		b.WriteString("  " + x.Color.paint(cells[last].color, part))
	}
	fmt.Fprintln(&x.b, strings.TrimRight(b.String(), " "))
}

// lines writes lines, each as line does. What continues is indented more.
func (x *explanation) lines(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		x.line("", indent+"  ", line)
	}
}

// line writes a line, of which what does not fit stands indented below.
func (x *explanation) line(color, indent, line string) {
	for i, part := range wrapped(line, x.Width, x.Width-len(indent)) {
		if i > 0 {
			part = indent + part
		}
		fmt.Fprintln(&x.b, x.Color.paint(color, part))
	}
}

// wrapped returns a text in lines of some columns, the first of which may have another width. A word that is
// longer has a line for itself. If the width is not positive, there is one line.
func wrapped(text string, first, others int) (lines []string) {
	if others <= 0 || utf8.RuneCountInString(text) <= first {
		return []string{text}
	}
	width := first
	line := text[:len(text)-len(strings.TrimLeft(text, " "))]
	between := ""
	for word := range strings.FieldsSeq(text) {
		if between != "" && utf8.RuneCountInString(line+between+word) > width {
			lines, line, between, width = append(lines, line), "", "", others
		}
		line += between + word
		between = " "
	}
	return append(lines, line)
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
			format := "unless it is on purpose, have the %s of %s rewritten; \"rewrite-probes reasons %s\" says how"
			if p.Reason == reason.ProbesMadeElsewhere {
				format = "leave the %s of %s to Istio's injector; \"rewrite-probes reasons %s\" says how"
			}
			return fmt.Sprintf(format, p.ProbeType.Field(), t.Object, p.Reason)
		}
	}
	for _, m := range r.Messages {
		if m.Severity == transformer.Warning {
			return "see the warning; \"rewrite-probes reasons " + m.Reason.String() + "\" explains it"
		}
	}
	return "nothing to do"
}

// notes returns what else a reader should know of who answers; and, if all is asked for, what is known of the mesh
// around a template, each fact by itself. What is not known is among the causes.
func (t *PlannedTemplate) notes(all bool) (notes []string) {
	if known, isKnown := strings.CutPrefix(t.Known, "known: "); isKnown && all {
		notes = strings.Split(known, "; ")
	}
	namesMesh := all && t.Answer.Mesh != "" && t.Known == ""
	if t.Answer.By != "" && (t.Answer.Because != "" || namesMesh) {
		notes = append(notes, t.who())
	}
	if t.Answer.AppWouldDo {
		notes = append(notes, appWouldDo)
	}
	return notes
}

const appWouldDo = "you may not need probe-proxy: no Service uses these ports. Set `answeredBy: app` (one annotation)"
