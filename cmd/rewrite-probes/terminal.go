package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

// The values of --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

var colors = []string{colorAuto, colorAlways, colorNever}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// screenOf returns how to write to a stream: to a terminal within its width, and in
// colour unless the environment (NO_COLOR, TERM=dumb) or --color says otherwise.
func screenOf(out io.Writer, color string) report.Screen {
	var s report.Screen
	if isTerminal(out) {
		s.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		s.Width, _, _ = term.GetSize(int(out.(*os.File).Fd()))
	}
	switch color {
	case colorAlways:
		s.Color = true
	case colorNever:
		s.Color = false
	}
	return s
}

func validateColor(when string) error {
	if !slices.Contains(colors, when) {
		return fmt.Errorf("--color %q must be one of %s", when, strings.Join(colors, ", "))
	}
	return nil
}
