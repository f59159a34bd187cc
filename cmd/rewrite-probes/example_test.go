package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/reason/example"
)

// withoutExample are the errors and warnings that no manifest brings by itself.
var withoutExample = []string{"cluster-unread", "internal-error", "unreadable", "unreleased-image"}

// Every example brings its message before the fix, and after it no error and nothing of its key.
func TestExamples(t *testing.T) {
	for _, d := range reason.All() {
		files := example.Of(d.Name)
		mayLack := d.Severity == reason.Info || slices.Contains(withoutExample, d.Name)
		if len(files) == 0 && !mayLack {
			t.Errorf("%s has no example", d.Name)
		}
		if len(files) == 0 {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			before := keysOf(t, d.Name, func(f example.File) string { return f.Before })
			after := keysOf(t, d.Name, func(f example.File) string { return f.After })
			if !slices.Contains(before.keys, d.Name) {
				t.Errorf("before the fix the keys are %q\n%s", before.keys, before.output)
			}
			if slices.Contains(after.keys, d.Name) || slices.ContainsFunc(after.keys, isError) {
				t.Errorf("after the fix the keys are %q\n%s", after.keys, after.output)
			}
		})
	}
}

// isError reports whether a key is of an error that is still there after the fix of another. A run
// of rewrite-probes fixes the others.
func isError(text string) bool {
	key, _ := reason.Parse(text)
	return key.Severity() == reason.Error && !strings.HasPrefix(key.Doc().Fix, "Run rewrite-probes")
}

type shown struct {
	keys   []string
	output string
}

var keyAtEnd = regexp.MustCompile(`(?m)\[([a-z-]+)\]$`)

// keysOf writes the files and returns the keys of the messages of a check, a run and patches.
func keysOf(t *testing.T, key string, text func(example.File) string) (s shown) {
	t.Helper()
	dir := t.TempDir()
	var stream []string
	for _, f := range example.Of(key) {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text(f)), 0o600); err != nil {
			t.Fatal(err)
		}
		stream = append(stream, text(f))
	}
	commands := [][]string{{"check", dir}, {"-l", dir}}
	if key == reason.NotPatchable.String() {
		commands = append(commands, []string{"patches", "--resource", "../base", "-"})
	}
	for _, args := range commands {
		var out, errs bytes.Buffer
		if code := run(args, strings.NewReader(strings.Join(stream, "---\n")), &out, &errs); code > exitFindings {
			t.Fatalf("%q: %s", args, errs.String())
		}
		s.output += errs.String()
	}
	for _, m := range keyAtEnd.FindAllStringSubmatch(s.output, -1) {
		s.keys = append(s.keys, m[1])
	}
	return s
}
