package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// Markdown writes the report for the comment on a pull request: what the classes of probes
// amount to, a table for each namespace, and what was found. Whatever manifests say is escaped:
// it makes no link, no heading, and mentions nobody.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	spaces, bare := r.spaces()
	fmt.Fprintf(&b, "### rewrite-probes explain\n\n%s\n", prose(r.Summary(false)))
	if len(spaces) > 0 {
		b.WriteString("\n" + tallyWords(total(spaces)) + "\n")
	}
	for _, s := range spaces {
		markdownSpace(&b, s)
	}
	messages := r.elsewhere()
	for _, s := range spaces {
		for _, t := range s.Templates {
			for _, f := range t.Findings {
				m := messageOf(f)
				m.Object = t.Object
				messages = append(messages, m)
			}
		}
	}
	Sort(messages)
	markdownMessages(&b, messages)
	if len(bare) > 0 {
		fmt.Fprintf(&b, "\n%s without probes or hooks.\n", Plural(len(bare), "pod template"))
	}
	_, err := io.WriteString(w, field.WithoutCommands(b.String(), field.EscapedSign))
	return err
}

// tallyWords words how many probes are in each class.
func tallyWords(t tally) string {
	var parts []string
	for _, row := range classes {
		words := string(row.class)
		if row.class == failsToday {
			words += " today"
		}
		parts = append(parts, fmt.Sprintf("%s %d %s", row.sign, t[row.class], words))
	}
	return strings.Join(parts, " · ")
}

func markdownSpace(b *strings.Builder, s *space) {
	b.WriteString("\n#### ")
	if s.Name == "" {
		b.WriteString("No namespace")
	} else {
		b.WriteString("Namespace " + code(s.Name))
	}
	if s.Known != "" {
		b.WriteString("\n\n" + prose(s.Known))
	}
	b.WriteString("\n\n| workload | probe | today | why, or if what | after |\n|---|---|---|---|---|\n")
	notes := s.notes()
	for _, t := range s.Templates {
		for i := range t.Probes {
			v := viewOf(&t.Probes[i])
			sign, _ := v.Class.sign()
			cells := []string{
				code(t.Object.Kind + " " + t.Object.Name),
				v.Probe + " " + code(v.Container),
				code(v.Before) + " " + sign + " " + v.Today,
				prose(noted(v.Why, notes)),
				prose(strings.Replace(v.After, "-> ", "→ ", 1)),
			}
			b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		}
	}
	for i, note := range notes {
		fmt.Fprintf(b, "\n(%d) %s\n", i+1, prose(note))
	}
}

func markdownMessages(b *strings.Builder, messages []Message) {
	if len(messages) == 0 {
		return
	}
	b.WriteString("\n#### What was found\n\n")
	for _, m := range folded(messages, false) {
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
