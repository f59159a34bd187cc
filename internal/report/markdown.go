package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// writeMarkdown writes the report for the comment on a pull request: the verdict and its causes, a table of what fails
// or may, what was found, and the rest folded. Whatever manifests say is escaped: it makes no link, no heading, and
// mentions nobody.
func (r *Report) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	v := viewOf(r, true)
	fmt.Fprintf(&b, "### %s\n", prose(v.Verdict))
	if r.Config != "" {
		fmt.Fprintf(&b, "\nfunctionConfig: %s\n", code(r.Config))
	}
	markdownMessages(&b, v.First)
	markdownSection(&b, &v.Bad)
	markdownMessages(&b, append(v.Bad.found(), v.Then...))
	if n := v.Rest.Tally.Sum(); n > 0 {
		fmt.Fprintf(&b, "\n<details><summary>%d work or are not affected</summary>\n", n)
		markdownSection(&b, &v.Rest)
		b.WriteString("\n</details>\n")
	}
	if len(v.Infos) > 0 {
		fmt.Fprintf(&b, "\n<details><summary>%s</summary>\n", Plural(len(v.Infos), "note"))
		markdownMessages(&b, v.Infos)
		b.WriteString("\n</details>\n")
	}
	if len(v.Bare) > 0 {
		fmt.Fprintf(&b, "\n%s without probes or hooks.\n", Plural(len(v.Bare), "pod template"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// found returns the errors and warnings of the section's plans, each with its object.
func (s *section) found() (all []Message) {
	for _, g := range s.Groups {
		for _, w := range g.Workloads {
			for _, m := range w.Found {
				m.Object = w.Object
				all = append(all, m)
			}
		}
	}
	return all
}

func markdownSection(b *strings.Builder, s *section) {
	markdownList(b, s.causes())
	markdownNotes(b, s.Notes)
	for _, g := range s.Groups {
		if g.Name != "" {
			b.WriteString("\n#### Namespace " + code(g.Name) + "\n")
		}
		markdownNotes(b, g.Notes)
		b.WriteString("\n| workload | probe | today | after |\n|---|---|---|---|\n")
		for _, w := range g.Workloads {
			for _, row := range w.Rows {
				markdownRow(b, w.Object, row)
			}
		}
	}
}

func markdownRow(b *strings.Builder, o *ObjectRef, r row) {
	does := r.Class.Sign() + " " + r.Today + r.Ref + prose(r.Why)
	cells := []string{
		code(o.Kind + " " + o.Name),
		r.Probe + " " + code(r.Container),
		code(r.Before) + " " + does,
		prose(strings.Replace(r.After, "-> ", "→ ", 1)),
	}
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// causes returns the causes of a section, each in words.
func (s *section) causes() (all []string) {
	for _, c := range s.Causes {
		all = append(all, fmt.Sprintf("%d %s%s", c.Count, c.Today, c.Why))
	}
	return all
}

func markdownList(b *strings.Builder, all []string) {
	for i, words := range all {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "%d. %s\n", i+1, prose(words))
	}
}

func markdownNotes(b *strings.Builder, notes []string) {
	if len(notes) > 0 {
		b.WriteString("\n" + prose(strings.Join(notes, "; ")) + "\n")
	}
}

func markdownMessages(b *strings.Builder, messages []Message) {
	for i, m := range alikeOnce(folded(messages, true)) {
		if i == 0 {
			b.WriteByte('\n')
		}
		at := place(m.about().File, m.Line)
		if at != "" {
			at = code(at) + ": "
		}
		fmt.Fprintf(b, "- **%s** %s%s\n", m.Severity, at, prose(m.Sentence()))
	}
}

// code returns a text as a code span of a table's cell.
func code(s string) string {
	s = field.Printable(s)
	switch {
	case s == "":
		return ""
	case strings.Contains(s, "`"):
		return "<code>" + strings.ReplaceAll(markdownEscapes.Replace(s), "`", "&#96;") + "</code>"
	}
	return "`" + strings.ReplaceAll(s, "|", `\|`) + "`"
}

// markdownEscapes take from a text all that Markdown or HTML would read in it.
var markdownEscapes = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "&#64;", "|", `\|`, `\`, `\\`,
	"*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`, "!", `\!`, ":/", ":&#47;",
)

// prose returns a sentence escaped; what is in back-quotes is a code span.
func prose(s string) string {
	parts := strings.Split(field.Printable(s), "`")
	for i, part := range parts {
		if i%2 == 1 && i < len(parts)-1 {
			parts[i] = code(part)
		} else {
			parts[i] = markdownEscapes.Replace(part)
		}
	}
	return strings.Join(parts, "")
}
