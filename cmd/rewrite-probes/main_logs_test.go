package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/report"
)

// commandOfCI is what Azure Pipelines, GitHub's runner and TeamCity take for a command in a job's log.
var commandOfCI = regexp.MustCompile(`(?m)##[A-Za-z.-]*\[|^[ \t]*::[A-Za-z-]+.*::`)

// draw returns a text of pieces of such commands and other text.
func draw(random *rand.Rand) string {
	pieces := []string{
		"##vso[task.setvariable variable=X]", "##[error]", "##[stop-commands]t", "##teamcity[buildStop]", "::error::", "::add-mask::x", "::", "#", "##", "[", "vso[", "a", " ", "é", `\`, `"`, "<", "`", "x]",
	}
	var b strings.Builder
	for range 1 + random.IntN(4) {
		b.WriteString(pieces[random.IntN(len(pieces))])
	}
	return b.String()
}

// Whatever manifests and file names say, no output for people or CI systems has a command, and the texts
// that programs decode are the same.
func TestNoTextIsACommandToACISystem(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 25 {
		dir := t.TempDir()
		path, container, port := "/"+draw(random), draw(random), draw(random)
		name := filepath.Join(dir, strings.ReplaceAll(draw(random), "/", "_")+".yaml")
		quoted := func(s string) string {
			b, _ := json.Marshal(s)
			return string(b)
		}
		pod := fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: %s}\nspec:\n  containers:\n  - name: %s\n    livenessProbe: {httpGet: {path: %s, port: 80}}\n    readinessProbe: {httpGet: {port: %s}}\n",
			quoted(draw(random)), quoted(draw(random)), quoted(container), quoted(path), quoted(port))
		if err := os.WriteFile(name, []byte(pod), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range append(inEveryFormat(), [][]string{
			{"check"}, {"explain"}, {"explain", "-v"},
			{"-w", "-v"}, {"restore", "-v", "-w"}, {"check", name + "##[error]gone"}, {"check", "--ignore", "["},
		}...) {
			args = append(args, "--config", "none", name)
			var out, errs bytes.Buffer
			run(args, strings.NewReader(""), &out, &errs)
			for _, text := range []string{out.String(), errs.String()} {
				if found := commandOfCI.FindString(text); found != "" {
					t.Errorf("%q: %q in\n%s", args, found, text)
				}
			}
			if err := decodes(args, out.Bytes()); err != nil {
				t.Errorf("%q: %v:\n%s", args, err, &out)
			}
			if args[0] == "explain" && args[2] == "json" {
				before := "httpGet :80" + path
				if texts := stringsOf(t, out.Bytes()); !texts[container] || !texts[before] {
					t.Errorf("neither %q nor %q is in\n%s", container, before, &out)
				}
			}
		}
	}
}

// inEveryFormat returns command lines that write a report, one a format.
func inEveryFormat() (all [][]string) {
	for _, f := range report.CheckFormats {
		all = append(all, []string{"check", "-o", f.Name})
	}
	for _, f := range report.ExplainFormats {
		all = append(all, []string{"explain", "-o", f.Name})
	}
	return all
}

// decodes reports what is wrong with an output for programs.
func decodes(args []string, text []byte) error {
	switch args[2] {
	case "json", "sarif":
		if !json.Valid(text) {
			return errors.New("it is not JSON")
		}
	case "junit":
		for d := xml.NewDecoder(bytes.NewReader(text)); ; {
			if _, err := d.Token(); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

// stringsOf returns the strings of a text in JSON.
func stringsOf(t *testing.T, text []byte) map[string]bool {
	t.Helper()
	found := make(map[string]bool)
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := token.(string); ok {
			found[s] = true
		}
	}
}
