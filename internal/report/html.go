package report

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"strings"
)

// The page holds its own style and script, so that it can be attached to a pull
// request or opened from a folder.
var (
	//go:embed page_head.html
	pageHead string
	//go:embed page_foot.html
	pageFoot string
)

// HTML writes the report as one page: the pod templates, their probes before and
// after with the reasons, and a box to filter them.
func (r *Report) HTML(w io.Writer) error {
	var b strings.Builder
	b.WriteString(pageHead)
	fmt.Fprintf(&b, "<p>%s</p>\n", html.EscapeString(r.Summary(false)))
	if r.Config != "" {
		fmt.Fprintf(&b, "<p>functionConfig: %s</p>\n", escaped(r.Config))
	}
	for i := range r.Templates {
		writeSection(&b, &r.Templates[i])
	}
	for _, m := range r.Messages {
		if !r.isBelowTemplate(&m) {
			fmt.Fprintf(&b, "<section><p class=%q>%s</p></section>\n", string(m.Severity), html.EscapeString(m.String()))
		}
	}
	b.WriteString(pageFoot)
	_, err := io.WriteString(w, b.String())
	return err
}

func writeSection(b *strings.Builder, t *Template) {
	fmt.Fprintf(b, "<section>\n<h2>%s <small>%s</small></h2>\n", html.EscapeString(t.Object.String()), html.EscapeString(place(t.Object.File, t.Object.Line)))
	for _, note := range t.notes() {
		fmt.Fprintf(b, "<p>%s</p>\n", html.EscapeString(note))
	}
	if len(t.Probes) > 0 {
		b.WriteString("<table>\n<tr><th>container<th>probe<th>before<th>after</tr>\n")
		for _, p := range t.Probes {
			fmt.Fprintf(b, "<tr class=%q><td>%s<td>%s<td><code>%s</code><td>%s</tr>\n", strings.ReplaceAll(string(p.State), " ", "-"),
				escaped(p.Container), p.ProbeType.Name(), escaped(p.Before), escaped(explainAfter(p)))
		}
		b.WriteString("</table>\n")
	}
	for _, f := range t.Findings {
		fmt.Fprintf(b, "<p class=%q>%s: %s [%s]</p>\n", string(f.Severity), f.Severity, escaped(f.Message), f.Reason)
	}
	b.WriteString("</section>\n")
}

// escaped returns a text of others in one line, for a page.
func escaped(s string) string { return html.EscapeString(Printable(s)) }
