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

// typed is a terminal at which a text is typed.
type typed struct {
	tty *os.File
	io.Reader
}

func (t typed) Fd() uintptr { return t.tty.Fd() }

// Of - it is meant, but nothing would say that the program waits.
func TestADashOnATerminalSaysThatItWaits(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"
	for _, c := range []struct {
		in   io.Reader
		want bool
	}{{typed{terminal(t), strings.NewReader(pod)}, true}, {strings.NewReader(pod), false}} {
		var out, errs bytes.Buffer
		code := run([]string{"-"}, c.in, &out, &errs)
		if got := strings.HasPrefix(errs.String(), "rewrite-probes: reading manifests from the terminal; Ctrl-D ends them\n"); code != exitOK || out.String() != pod || got != c.want {
			t.Errorf("exit %d, stderr %q, stdout %q", code, &errs, &out)
		}
	}
}

// screen is a terminal that shows what is written.
type screen struct {
	tty *os.File
	io.Writer
}

func (s screen) Fd() uintptr { return s.tty.Fd() }

// A program opens the names that -l prints, so it gets them as they are; a terminal must not.
func TestNamesAreListedWithEscapesOnATerminal(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, readinessProbe: {httpGet: {port: 80}}}]}\n"
	t.Chdir(t.TempDir())
	const name = "\x1b]0;title\a\u202eé.yaml"
	if err := os.WriteFile(name, []byte(pod), 0o600); err != nil {
		t.Skip(err) // not every file system has such names
	}
	var piped, shown, errs bytes.Buffer
	if code := run([]string{"-l", "."}, nil, &piped, &errs); code != exitOK || piped.String() != name+"\n" {
		t.Errorf("exit %d, piped %q, stderr %q", code, &piped, &errs)
	}
	code := run([]string{"-l", "."}, nil, screen{terminal(t), &shown}, &errs)
	if want := `\x1b]0;title\a\u202eé.yaml` + "\n"; code != exitOK || shown.String() != want {
		t.Errorf("exit %d, shown %q, want %q", code, &shown, want)
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
