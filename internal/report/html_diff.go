package report

import (
	"bytes"
	"fmt"
	"html/template"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// pageDiffs writes the diffs of a page. Every workload gets the same container, so of many added lines that
// an earlier diff has, only the first are written again.
type pageDiffs struct {
	shown  []addition
	places map[string][]shownLine // of each line in the additions, in their order
}

// An addition is lines that a diff adds one below the other.
type addition struct {
	by    string // the object
	lines []string
}

// A shownLine is a place of a line: the index of the addition, and of the line in it.
type shownLine struct{ addition, line int }

const (
	mostAdditions = 50 // that are noted: what is common comes early
	leastCommon   = 6  // lines that are worth a reference
	shownAgain    = 2  // lines of those, which say what they are
)

// of returns what the plan changes in the text of the object, escaped: old lines, new lines, and a few around
// them; "" if it changes nothing.
func (d *pageDiffs) of(t *PlannedTemplate) template.HTML {
	if t.Text == nil {
		return ""
	}
	before, after, err := t.Text()
	if err != nil {
		return escaped(err.Error())
	}
	_, hunks, _ := bytes.Cut(diff.Diff("", before, "", after), []byte("\n@@"))
	var b strings.Builder
	var run []string // of lines with the same sign
	for line := range strings.Lines(string(hunks)) {
		line = strings.TrimRight(line, "\r\n")
		if b.Len()+len(run) == 0 && strings.HasSuffix(line, " @@") { // the head of the first hunk
			continue
		}
		if len(run) > 0 && run[0][:1] != line[:1] {
			d.write(&b, run, t.Object)
			run = nil
		}
		run = append(run, line)
	}
	d.write(&b, run, t.Object)
	return template.HTML(b.String())
}

// write writes lines of a diff that have the same sign.
func (d *pageDiffs) write(b *strings.Builder, run []string, of *ObjectRef) {
	if len(run) == 0 {
		return
	}
	tag := ""
	switch run[0][0] {
	case '+':
		tag = "ins"
		all := run
		run = d.shortened(run)
		if len(d.shown) < mostAdditions && len(all) >= leastCommon {
			d.show(addition{of.Kind + " " + of.Name, all})
		}
	case '-':
		tag = "del"
	case '@':
		run = []string{"⋮"}
	}
	lines := make([]string, len(run))
	for i, line := range run {
		lines[i] = inText.Replace(field.Printable(line))
	}
	text := field.WithoutCommands(strings.Join(lines, "\n"), referenceTo)
	if tag != "" {
		text = "<" + tag + ">" + text + "</" + tag + ">"
	}
	b.WriteString(text + "\n")
}

// inText escapes what stands between tags, where quotes may stay.
var inText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// shortened returns added lines without most of those that an earlier diff has below each other.
func (d *pageDiffs) shortened(run []string) (short []string) {
	for len(run) > 0 {
		n, by := d.common(run)
		if n < leastCommon {
			short, run = append(short, run[0]), run[1:]
			continue
		}
		short = append(short, run[:shownAgain]...)
		short = append(short, fmt.Sprintf("+ … %d lines as in %s", n-shownAgain, by))
		run = run[n:]
	}
	return short
}

// show notes lines that the page has.
func (d *pageDiffs) show(a addition) {
	if d.places == nil {
		d.places = make(map[string][]shownLine)
	}
	for i, line := range a.lines {
		d.places[line] = append(d.places[line], shownLine{len(d.shown), i})
	}
	d.shown = append(d.shown, a)
}

// common returns how many lines at the beginning an earlier diff has too, and whose it is: the first of several.
func (d *pageDiffs) common(run []string) (most int, by string) {
	for _, p := range d.places[run[0]] {
		a := &d.shown[p.addition]
		rest := a.lines[p.line:]
		n := 0
		for n < min(len(run), len(rest)) && run[n] == rest[n] {
			n++
		}
		if n > most {
			most, by = n, a.by
		}
	}
	return most, by
}
