package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// page holds its own style and script, so that it can be attached to a pull request or opened
// from a folder. Without scripts it is a plain table.
//
//go:embed page.html
var page string

// A pageView is what the page shows.
type pageView struct {
	*view
	Input, Version, Config string
	Tally                  tally
	Errors                 int
}

// mostOnPage is how many pod templates with probes the page shows, and as many without, and notes. A browser
// needs seconds for more, and nobody reads them.
const mostOnPage = 5000

// shorten leaves so many pod templates on the page, of the largest namespaces first. Those that fail are before
// all others in any case.
func (v *pageView) shorten(most int) {
	all := 0
	for _, g := range slices.Concat(v.Bad.Groups, v.Rest.Groups) {
		all += len(g.Workloads)
	}
	if all <= most {
		return
	}
	for _, s := range []*section{&v.Bad, &v.Rest} {
		slices.SortStableFunc(s.Groups, func(a, b *group) int {
			worse := a.Workloads[0].rank - b.Workloads[0].rank
			return cmp.Or(worse, len(b.Workloads)-len(a.Workloads))
		})
		for _, g := range s.Groups {
			shown := min(most, len(g.Workloads))
			g.Left = len(g.Workloads) - shown
			g.Workloads = g.Workloads[:shown]
			most -= shown
		}
	}
}

// writeHTML writes the report as one page: the verdict, what fails or may with the change as a diff, and the rest
// folded, with controls to filter it. input names what was read.
func (r *Report) writeHTML(w io.Writer, input, version string) error {
	funcs := template.FuncMap{"diff": new(pageDiffs).of}
	t, err := template.New("page").Funcs(pageFuncs).Funcs(funcs).Parse(page)
	if err != nil {
		return err
	}
	v := pageView{view: viewOf(r, true), Input: input, Version: version, Config: r.Config, Tally: make(tally)}
	v.Errors = Count(r.Messages, transformer.Error)
	for _, s := range []*section{&v.Bad, &v.Rest} {
		for c, n := range s.Tally {
			v.Tally[c] += n
		}
	}
	v.shorten(mostOnPage)
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return err
	}
	_, err = b.WriteTo(w)
	return err
}

// pageFuncs are what the template calls. Text of manifests gets more than the escapes of html/template: control characters
// and commands of CI systems do nothing.
var pageFuncs = template.FuncMap{
	"text": escaped,
	"rich": rich,
	"link": link,
	"anchor": func(o *ObjectRef) template.HTML {
		return escaped(o.Kind + "/" + o.Namespace + "/" + o.Name)
	},
	"classes": classNames,
	"bare":    func(all []*PlannedTemplate) []*PlannedTemplate { return all[:min(len(all), mostOnPage)] },
	"infos":   func(all []Message) []Message { return all[:min(len(all), mostOnPage)] },
	"left":    func(all int) int { return max(0, all-mostOnPage) },
	"most":    func() int { return mostOnPage },
	"id": func(words any) string {
		return strings.ReplaceAll(fmt.Sprint(words), " ", "-")
	},
	"after": func(s string) template.HTML { return rich(strings.Replace(s, "-> ", "→ ", 1)) },
	"fix":   func(m Message) string { return m.Fix() },
	"head":  func(m Message) template.HTML { return rich(m.headline()) },
	"place": func(m Message) template.HTML {
		return link(m.about().File, m.Line)
	},
}

func classNames() []class {
	var names []class
	for _, row := range classes {
		names = append(names, row.class)
	}
	return names
}

func escaped(s string) template.HTML {
	return template.HTML(field.WithoutCommands(template.HTMLEscapeString(field.Printable(s)), referenceTo))
}

// rich returns a text escaped, with what is in back-quotes in code style.
func rich(s string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(string(escaped(s)), "`") {
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String())
}

// link returns a place in a file, escaped, which leads there if the page lies in the folder that
// the run was in. An absolute path leads nowhere for those who get the page.
func link(file string, line int) template.HTML {
	words := escaped(place(file, line))
	if file == "" || strings.HasPrefix(file, "<") || filepath.IsAbs(file) {
		return words
	}
	at := fileURI(file)
	if line > 0 {
		at += "#L" + strconv.Itoa(line)
	}
	return `<a href="` + escaped(at) + `">` + words + `</a>`
}
