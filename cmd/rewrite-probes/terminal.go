package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

// A logged stream may be the log of a CI job, which takes commands from it. Each write has whole lines.
type logged struct{ io.Writer }

func (l logged) Write(text []byte) (int, error) {
	if _, err := io.WriteString(l.Writer, field.WithoutCommands(string(text), field.EscapedSign)); err != nil {
		return 0, err
	}
	return len(text), nil
}

func isTerminal(stream any) bool {
	if l, ok := stream.(logged); ok {
		stream = l.Writer
	}
	f, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// colorOf returns whether to write to a stream in colour: to a terminal, unless the environment
// (NO_COLOR, TERM=dumb) or --color says otherwise.
func (t *tool) colorOf(out io.Writer) report.Color {
	switch t.color.value {
	case "always":
		return true
	case "never":
		return false
	}
	return report.Color(isTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

// print prints messages to stderr.
func (t *tool) print(messages []report.Message) {
	report.Print(t.err, messages, t.verbose, t.colorOf(t.err))
}
