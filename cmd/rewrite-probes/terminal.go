package main

import (
	"io"
	"os"
	"strconv"

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
	_, ok := terminalOf(stream)
	return ok
}

// terminalOf returns the file descriptor of a stream that is a terminal.
func terminalOf(stream any) (fd int, ok bool) {
	if l, ok := stream.(logged); ok {
		stream = l.Writer
	}
	f, ok := stream.(interface{ Fd() uintptr })
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	return int(f.Fd()), true
}

// widthOf returns how many columns a stream has: those of a terminal, or what COLUMNS says; 0 if neither is
// known, and lines may be of any length.
func widthOf(stream any) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if fd, ok := terminalOf(stream); ok {
		if width, _, err := term.GetSize(fd); err == nil {
			return width
		}
	}
	return 0
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
