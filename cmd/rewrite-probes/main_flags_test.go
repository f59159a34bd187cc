package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/pflag"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

// flagsOfOthers are passed to kubectl and Helm: the scripts cluster.txtar, why.txtar, learn.txtar and render.txtar have them.
var flagsOfOthers = []string{"api-versions", "chart", "kube-version", "as", "cluster", "context", "kubeconfig", "namespace", "request-timeout", "from"}

// TestEveryFlagMakesADifference runs each line of testdata/flags.txtar with and without the flag in brackets, and demands
// a line for each flag of each command. A flag that a command takes and that changes nothing would mislead.
func TestEveryFlagMakesADifference(t *testing.T) {
	file, err := filepath.Abs("../../testdata/flags.txtar")
	if err != nil {
		t.Fatal(err)
	}
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == "transcript" })
	var got bytes.Buffer
	tried := make(map[string]bool)
	for line := range strings.Lines(string(a.Comment)) {
		command, isCommand := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		if !isCommand {
			continue
		}
		before, flag, after := bracketed(command)
		without, with := outcome(t, a.Files, before+after), outcome(t, a.Files, before+flag+after)
		if without == with {
			t.Errorf("%s: the same with and without the flag:\n%s", command, head(with))
		}
		name, _, _ := strings.Cut(flag, "=")
		tried[before+name] = true
		fmt.Fprintf(&got, "$ %s\n%s", command, firstChange(without, with))
	}
	for _, cmd := range commands() {
		path := strings.TrimPrefix(cmd.CommandPath()+" ", "rewrite-probes ")
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if line := path + "--" + f.Name; f.Name != "help" && !slices.Contains(flagsOfOthers, f.Name) && !tried[line] {
				t.Errorf("testdata/flags.txtar has no line \"$ %s[--%s] ...\"; add one, and run this test with -update", path, f.Name)
			}
		})
	}
	if len(tried) < 80 {
		t.Errorf("only %d flags were tried", len(tried))
	}
	golden.Compare(t, file, txtar.Format(&txtar.Archive{Comment: a.Comment, Files: append(a.Files, txtar.File{Name: "transcript", Data: got.Bytes()})}))
}

// bracketed returns the flag in brackets in a command line, and what is before and after it.
func bracketed(command string) (before, flag, after string) {
	before, flag, _ = strings.Cut(command, "[")
	flag, after, _ = strings.Cut(flag, "]")
	return before, flag, after
}

// outcome returns what a command line prints among the files, its exit code, and the file that it may write.
func outcome(t *testing.T, files []txtar.File, command string) string {
	t.Chdir(t.TempDir())
	if err := txtar.Write(&txtar.Archive{Files: files}, "."); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	transcribe(&said, command)
	_, text, _ := strings.Cut(said.String(), "\n")
	file, _ := os.ReadFile("web/web.yaml")
	return text + "web/web.yaml is now:\n" + string(file)
}

// firstChange returns the lines at which two texts begin to differ, at most three of each.
func firstChange(before, after string) string {
	old, now := strings.Split(before, "\n"), strings.Split(after, "\n")
	for len(old) > 0 && len(now) > 0 && old[0] == now[0] {
		old, now = old[1:], now[1:]
	}
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	return marked("-", old) + marked("+", now)
}

// marked returns the first three lines behind a sign.
func marked(sign string, lines []string) (text string) {
	for _, line := range lines[:min(len(lines), 3)] {
		text += strings.TrimRight(sign+" "+line, " ") + "\n"
	}
	return text
}
