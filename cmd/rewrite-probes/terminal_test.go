package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
)

// terminal opens a terminal that nobody types at.
func terminal(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil || !isTerminal(f) {
		t.Skip("there are no terminals here")
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// Without a path a command reads stdin, and would wait for ever at a terminal.
func TestACommandWithoutAPathSaysSoOnATerminal(t *testing.T) {
	in := terminal(t)
	for _, args := range [][]string{nil, {"check"}, {"explain"}, {"restore"}, {"-d"}} {
		var out, errs bytes.Buffer
		code := run(args, in, &out, &errs)
		command := "rewrite-probes"
		if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
			command += " " + args[0]
		}
		want := "error: stdin is a terminal: give a PATH, or pipe manifests in; see \"" + command + " --help\"\n"
		if code != exitUsage || out.Len() > 0 || errs.String() != want {
			t.Errorf("%q: exit %d, stderr %q, stdout %q", args, code, &errs, &out)
		}
	}
}

func TestColourIsForTerminalsThatWantIt(t *testing.T) {
	tty := terminal(t)
	var pipe bytes.Buffer
	for _, c := range []struct {
		out           io.Writer
		noColor, term string
		flag          string
		want          bool
	}{
		{tty, "", "xterm", "auto", true},
		{tty, "1", "xterm", "auto", false},
		{tty, "", "dumb", "auto", false},
		{tty, "", "xterm", "never", false},
		{tty, "1", "dumb", "always", true},
		{&pipe, "", "xterm", "auto", false},
		{&pipe, "", "xterm", "always", true},
	} {
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.term)
		if got := bool((&tool{color: choice{value: c.flag}}).colorOf(c.out)); got != c.want {
			t.Errorf("%+v: colour %t", c, got)
		}
	}
}
