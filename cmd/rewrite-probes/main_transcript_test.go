package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

// TestTranscripts runs the command lines in testdata/transcripts/*.txtar, each with the files
// below it, and compares all that they print with the file transcript. `<FILE` is stdin; lines
// of stderr begin with `! `.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "transcripts", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			file, err = filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			given := a.Files[:0:0]
			for _, f := range a.Files {
				if f.Name != "transcript" {
					given = append(given, f)
				}
			}
			t.Chdir(t.TempDir())
			if err := txtar.Write(&txtar.Archive{Files: given}, "."); err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			for line := range strings.Lines(string(a.Comment)) {
				if command, ok := strings.CutPrefix(line, "$ "); ok {
					transcribe(&got, strings.TrimSpace(command))
				}
			}
			golden.Compare(t, file, txtar.Format(&txtar.Archive{Comment: a.Comment, Files: append(given, txtar.File{Name: "transcript", Data: got.Bytes()})}))
		})
	}
}

// transcribe runs one command line and writes what it prints, and its exit code.
func transcribe(to *bytes.Buffer, command string) {
	line, file, _ := strings.Cut(" "+command, " <")
	stdin, _ := os.ReadFile(file)
	var out, errs bytes.Buffer
	code := run(strings.Fields(line), bytes.NewReader(stdin), &out, &errs)
	fmt.Fprintf(to, "$ %s\n%s", command, &out)
	for line := range strings.Lines(errs.String()) {
		to.WriteString("! " + line)
	}
	if code != exitOK {
		fmt.Fprintf(to, "exit %d\n", code)
	}
}
