package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// page holds its own style and script, so that it can be attached to a pull request or opened
// from a folder. Without scripts it is a plain table.
//
//go:embed page.html
var page string

// A pageView is what the page shows.
type pageView struct {
	Input, Version, Config, Known string
	Summary                       string
	Tally                         tally
	Errors                        int
	Run                           []Message // about the whole run, or no pod template
	NotSeen                       []Message // charts, releases, links and templates that were not looked at
	Spaces                        []*space
	Bare                          []*Template // pod templates without probes
}

// HTML writes the report as one page: the pod templates by namespace, their probes with what
// they do today, why, and what they become, and controls to filter them. input names what was
// read. html/template, which escapes by itself, makes every run start 0.1 ms later.
func (r *Report) HTML(w io.Writer, input, version string) error {
	t, err := template.New("page").Funcs(pageFuncs).Parse(page)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, r.pageView(input, version)); err != nil {
		return err
	}
	_, err = b.WriteTo(w)
	return err
}

func (r *Report) pageView(input, version string) pageView {
	v := pageView{Input: input, Version: version, Config: r.Config, Summary: r.Summary(false)}
	v.Spaces, v.Bare = r.spaces()
	v.Known, v.Tally = v.knownOnce(), total(v.Spaces)
	v.Errors = Count(r.Messages, transformer.Error)
	for _, m := range r.elsewhere() {
		if isNotSeen(m.Reason) {
			v.NotSeen = append(v.NotSeen, m)
		} else {
			v.Run = append(v.Run, m)
		}
	}
	Sort(v.Run)
	return v
}

// knownOnce returns what is known of the mesh if that is the same in all namespaces, which then
// do not say it; "" if it is not.
func (v *pageView) knownOnce() string {
	if len(v.Spaces) == 0 {
		return ""
	}
	known := v.Spaces[0].Known
	differs := func(s *space) bool { // of one in which it differs, nothing is known
		return s.Known != known
	}
	if slices.ContainsFunc(v.Spaces, differs) {
		return ""
	}
	for _, s := range v.Spaces {
		s.Known = ""
	}
	return known
}

// isNotSeen reports whether a reason is about what nobody looked at.
func isNotSeen(key reason.Key) bool {
	isGateOf := func(d reason.Doc) bool {
		return key != reason.None && d.Gate == key
	}
	return key.Doc().Gate != reason.None ||
		slices.ContainsFunc(reason.All(), isGateOf)
}

// pageFuncs are what the template calls. Each that returns text returns it escaped.
var pageFuncs = template.FuncMap{
	"text": escaped,
	"rich": rich,
	"link": link,
	"anchor": func(o *Object) string {
		return escaped(o.Kind + "/" + o.Namespace + "/" + o.Name)
	},
	"probes":  probeRows,
	"classes": classNames,
	"sign": func(c class) string {
		sign, _ := c.sign()
		return sign
	},
	"id": func(words any) string {
		return strings.ReplaceAll(fmt.Sprint(words), " ", "-")
	},
	"message": messageOf,
	"answers": (*Template).answers,
	"notes":   (*space).notes,
	"count":   func(i int) int { return i + 1 },
	"fix":     func(m Message) string { return m.Fix() },
	"head":    func(m Message) string { return rich(m.headline()) },
	"place": func(m Message) string {
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

func escaped(s string) string {
	return field.WithoutCommands(template.HTMLEscapeString(field.Printable(s)), referenceTo)
}

// rich returns a text escaped, with what is in back-quotes in code style.
func rich(s string) string {
	var b strings.Builder
	for i, part := range strings.Split(escaped(s), "`") {
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return b.String()
}

// link returns a place in a file, escaped, which leads there if the page lies in the folder that
// the run was in.
func link(file string, line int) string {
	words := escaped(place(file, line))
	if file == "" || strings.HasPrefix(file, "<") {
		return words
	}
	at := fileURI(file)
	if line > 0 {
		at += "#L" + strconv.Itoa(line)
	}
	return `<a href="` + escaped(at) + `">` + words + `</a>`
}

// A probeRow is a row of the table of a pod template.
type probeRow struct {
	probeView
	Changes []string // the edits of the probe, a line each
}

func probeRows(t *Template, notes []string) []probeRow {
	rows := make([]probeRow, len(t.Probes))
	rowOf := make(map[string]*probeRow, len(t.Probes))
	for i := range t.Probes {
		v := &t.Probes[i]
		rows[i].probeView = viewOf(v)
		rows[i].Why = noted(rows[i].Why, notes)
		rowOf[v.Field.Pointer()] = &rows[i]
	}
	for _, e := range t.Edits {
		for n := range e.Path {
			if row := rowOf[e.Path[:n+1].Pointer()]; row != nil {
				row.Changes = appendChange(row.Changes, e, e.Path[n+1:])
			}
		}
	}
	return rows
}

// appendChange appends a line for each value that an edit writes or removes. at is its path from a probe.
func appendChange(lines []string, e field.Edit, at field.Path) []string {
	if e.Op == field.Delete || e.Op == field.Rename {
		lines = append(lines, "- "+at.String())
	}
	if e.Op == field.Rename {
		at = at[:len(at)-1].Key(e.NewKey)
	}
	if e.Op != field.Delete {
		lines = appendLeaves(lines, at, e.Value)
	}
	return lines
}

// appendLeaves appends a line for each scalar of a value.
func appendLeaves(lines []string, at field.Path, v field.Value) []string {
	m, isMap := v.(field.Map)
	if !isMap {
		return append(lines, fmt.Sprintf("+ %s: %v", at, v))
	}
	for _, e := range m {
		lines = appendLeaves(lines, at.Key(e.Key), e.Value)
	}
	return lines
}
