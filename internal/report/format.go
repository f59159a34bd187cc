package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// A Format is a way to write a report: a row of [CheckFormats] or [ExplainFormats]. Its function writes
// what the report has. [Format.Write] escapes commands of CI systems in that.
type Format struct {
	Name      string
	IsLog     bool   // it is written to stderr
	Templates bool   // it shows pod templates, so the report must have them
	use       string // for the help; "" if the name is enough
	// escape returns how the format writes a character that would begin a command.
	escape func(sign byte) string
	write  func(r *Report, w io.Writer, by Invocation) error
}

// An Invocation is what a format shows besides the report.
type Invocation struct {
	Screen
	Input   string // what was read, in words
	Version string // of the program
}

// CheckFormats are the formats of check. The first is the default.
var CheckFormats = []Format{
	{Name: "text", IsLog: true, escape: field.EscapedSign, write: (*Report).writeFindings},
	{
		Name: "json", Templates: true, escape: jsonSign,
		write: func(r *Report, w io.Writer, _ Invocation) error { return r.writeJSON(w, r.CheckSummary()) },
	},
	{
		Name: "sarif", escape: jsonSign,
		write: func(r *Report, w io.Writer, by Invocation) error {
			return r.writeSARIF(w, by.Version, reason.All())
		},
	},
	{
		Name: "junit", Templates: true, escape: referenceTo,
		write: func(r *Report, w io.Writer, _ Invocation) error { return r.writeJUnit(w) },
	},
}

// ExplainFormats are the formats of explain. The first is the default.
var ExplainFormats = []Format{
	{
		Name: "text", Templates: true, escape: field.EscapedSign,
		write: func(r *Report, w io.Writer, by Invocation) error { return r.writeText(w, by.Screen) },
	},
	{
		Name: "json", Templates: true, escape: jsonSign,
		write: func(r *Report, w io.Writer, _ Invocation) error { return r.writeJSON(w, r.Summary(false)) },
	},
	{
		Name: "html", Templates: true, use: "a page for a browser", escape: referenceTo,
		write: func(r *Report, w io.Writer, by Invocation) error { return r.writeHTML(w, by.Input, by.Version) },
	},
	{
		Name: "markdown", Templates: true, use: "for a pull request's comment", escape: field.EscapedSign,
		write: func(r *Report, w io.Writer, _ Invocation) error { return r.writeMarkdown(w) },
	},
}

// Write writes a report in the format, without commands of CI systems.
func (f *Format) Write(w io.Writer, r *Report, by Invocation) error {
	out := field.NewCommandEscaper(w, f.escape)
	if err := f.write(r, out, by); err != nil {
		return err
	}
	return out.Flush()
}

// InWords lists formats for the help.
func InWords(formats []Format) string {
	var b strings.Builder
	for i, f := range formats {
		switch {
		case i > 0 && i == len(formats)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(f.Name)
		if f.use != "" {
			b.WriteString(" (" + f.use + ")")
		}
	}
	return b.String()
}

// writeFindings writes what check found for people.
func (r *Report) writeFindings(w io.Writer, by Invocation) error {
	printParts(w, r.Messages, by.Verbose, by.Color)
	_, err := fmt.Fprintln(w, "rewrite-probes check: "+r.CheckSummary())
	return err
}
