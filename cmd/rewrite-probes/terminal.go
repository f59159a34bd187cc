package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

func isTerminal(stream any) bool {
	f, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// screenOf returns how to write to a stream: to a terminal within its width, and in
// colour unless the environment (NO_COLOR, TERM=dumb) or --color says otherwise.
func (t *tool) screenOf(out io.Writer) report.Screen {
	var s report.Screen
	if isTerminal(out) {
		s.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		s.Width, _, _ = term.GetSize(int(out.(*os.File).Fd()))
	}
	switch t.color.value {
	case "always":
		s.Color = true
	case "never":
		s.Color = false
	}
	return s
}

// print prints messages to stderr.
func (t *tool) print(messages []report.Message) {
	report.Print(t.err, messages, t.verbose, t.screenOf(t.err))
}
