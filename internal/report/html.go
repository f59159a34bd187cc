package report

import (
	"bytes"
	_ "embed"
	"io"
	"strings"
	"text/template"

	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// page holds its own style and script, so that it can be attached to a pull request or opened
// from a folder.
//
//go:embed page.html
var page string

// HTML writes the report as one page: the pod templates, their probes before and
// after with the reasons, and a box to filter them. html/template, which escapes by itself, makes
// every run start 0.1 ms later.
func (r *Report) HTML(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"after": explainAfter, "elsewhere": r.elsewhere, "notes": (*Template).notes, "place": place,
		"line":  func(f transformer.Finding) string { return messageOf(f).String() },
		"class": func(s transformer.State) string { return strings.ReplaceAll(string(s), " ", "-") },
		"text":  func(s string) string { return template.HTMLEscapeString(Printable(s)) },
	}).Parse(page)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, r); err != nil {
		return err
	}
	_, err = b.WriteTo(w)
	return err
}
