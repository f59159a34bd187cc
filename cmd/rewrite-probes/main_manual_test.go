package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

const manual = "../../docs/man"

// commands returns every command that a user can run.
func commands() []*cobra.Command {
	root := newCommand(streams{strings.NewReader(""), io.Discard, io.Discard})
	root.InitDefaultHelpCmd()
	all := []*cobra.Command{root}
	for _, c := range root.Commands() {
		if c.Name() != "help" { // nor is completion there before a command line is run: it is cobra's own too
			all = append(all, c)
		}
	}
	return all
}

// flagsOf returns the names of the flags that a command takes, as they are typed.
func flagsOf(c *cobra.Command) []string {
	var names []string
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	for _, flags := range []*pflag.FlagSet{c.LocalFlags(), c.InheritedFlags()} {
		flags.VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	}
	return names
}

// TestTheManualKnowsEveryCommandAndFlag generates docs/man from the commands
// (-update writes it).
func TestTheManualKnowsEveryCommandAndFlag(t *testing.T) {
	pages := make(map[string]string)
	for _, c := range commands() {
		flags := flagsOf(c)
		page := manualPage(t, c)
		pages[strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"] = page
		plain := strings.ReplaceAll(page, `\-`, "-")
		for _, f := range flags {
			if !strings.Contains(plain, f+`\fP`) {
				t.Errorf("the page of %q must have the flag %s", c.CommandPath(), f)
			}
		}
		if strings.Contains(plain, "=false") {
			t.Errorf("the page of %q gives a switch a value", c.CommandPath())
		}
		if !strings.Contains(plain, c.Short) {
			t.Errorf("the page of %q must say %q", c.CommandPath(), c.Short)
		}
	}
	if *golden.Update {
		if err := os.RemoveAll(manual); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(manual, 0o777); err != nil {
			t.Fatal(err)
		}
		for name, page := range pages {
			if err := os.WriteFile(filepath.Join(manual, name), []byte(page), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, err := os.ReadDir(manual)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(manual, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != pages[f.Name()] {
			t.Errorf("docs/man/%s is not what the commands say: go test ./cmd/rewrite-probes -update", f.Name())
		}
		delete(pages, f.Name())
	}
	for name := range pages {
		t.Errorf("docs/man/%s is not there: go test ./cmd/rewrite-probes -update", name)
	}
}

// manualPage returns the page of a command, without a date: the same commands
// have the same page on every day.
func manualPage(t *testing.T, c *cobra.Command) string {
	t.Helper()
	day := time.Unix(0, 0).UTC()
	c.DisableAutoGenTag = true
	var b bytes.Buffer
	if err := doc.GenMan(c, &doc.GenManHeader{Section: "1", Source: "rewrite-probes", Manual: "rewrite-probes", Date: &day}, &b); err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(b.String(), `"Jan 1970"`)
	if !ok {
		t.Fatalf("the head of the page of %q has no date", c.CommandPath())
	}
	rest = strings.ReplaceAll(rest, `\fP[=false]`, `\fP`) // of every switch, where it reads like a value
	return head + `""` + rest
}

// TestCompletionKnowsEveryCommandAndFlag asks as the scripts of all shells do.
func TestCompletionKnowsEveryCommandAndFlag(t *testing.T) {
	for _, c := range commands() {
		path := strings.Fields(c.CommandPath())[1:]
		offered := complete(t, append(path, "--")...)
		for _, f := range flagsOf(c) {
			if !offered[f] {
				t.Errorf("after %q the flag %s must be offered", c.CommandPath(), f)
			}
		}
		if len(path) > 0 && !complete(t, "")[path[0]] {
			t.Errorf("the command %q must be offered", path[0])
		}
	}
}

func TestValuesAreCompleted(t *testing.T) {
	for _, c := range []struct {
		line []string
		want string
	}{
		{[]string{"--color", ""}, "always"},
		{[]string{"check", "--mesh", ""}, "linkerd"},
		{[]string{"--answered-by", ""}, "probe-proxy"},
		{[]string{"check", "--output", "s"}, "sarif"},
		{[]string{"explain", "-o", ""}, "html"},
		{[]string{"reasons", "port"}, "port-unresolved"},
		{[]string{"completion", ""}, "fish"},
	} {
		if !complete(t, c.line...)[c.want] {
			t.Errorf("%q must be completed to %q", c.line, c.want)
		}
	}
}

// complete returns what is offered for the last word of a command line.
func complete(t *testing.T, line ...string) map[string]bool {
	t.Helper()
	var out bytes.Buffer
	if code := run(append([]string{cobra.ShellCompRequestCmd}, line...), strings.NewReader(""), &out, io.Discard); code != exitOK {
		t.Fatalf("completing %q: exit %d", line, code)
	}
	offered := make(map[string]bool)
	for l := range strings.Lines(out.String()) {
		word, description, _ := strings.Cut(strings.TrimSuffix(l, "\n"), "\t")
		if strings.Contains(description, "`") {
			t.Errorf("%q is described with back-quotes: %s", word, description)
		}
		offered[word] = true
	}
	return offered
}
