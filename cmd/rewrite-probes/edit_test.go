package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/report"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// TestNothingIsWrittenThatDoesNotReadBackAsPlanned has a comment of the second of three
// files become what no reader takes, after it was read. Stdout gets
// nothing then; that file is passed over, and the others are written.
func TestNothingIsWrittenThatDoesNotReadBackAsPlanned(t *testing.T) {
	for _, f := range []editFlags{{}, {write: true}, {diff: true}, {list: true}, {write: true, diff: true, list: true}} {
		dir := t.TempDir()
		p, before := &pkg{}, make(map[string]string)
		for _, name := range []string{"a", "b", "c"} {
			path := filepath.Join(dir, name+".yaml")
			text := []byte("apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\n# end\n---\nkind: N\n")
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			p.add(file{path: path}, text)
			edit := field.Edit{Op: field.Set, Path: field.NewPath("metadata", "namespace"), Value: "n"}
			if err := p.streams[len(p.streams)-1].Objects()[0].Apply([]field.Edit{edit}); err != nil {
				t.Fatal(err)
			}
			before[path] = string(text)
			if name == "b" {
				text[bytes.IndexByte(text, '#')] = '}'
			}
		}
		var out, errs bytes.Buffer
		err := f.emit(streams{nil, &out, &errs}, p, &report.Report{})
		shown := f.diff || f.list
		if !errors.Is(err, manifest.ErrUnplanned) || !shown && out.Len() > 0 || strings.Contains(out.String(), "b.yaml") ||
			strings.Contains(out.String(), "a.yaml") != shown || strings.Contains(out.String(), "c.yaml") != shown {
			t.Errorf("%+v: %q; error: %v", f, &out, err)
		}
		if code := exitCode("rewrite-probes", err, &errs); code != exitFindings || !strings.Contains(errs.String(), "please report this with the input\n") {
			t.Errorf("%+v: exit code %d, %s", f, code, &errs)
		}
		for _, s := range p.streams {
			isWritten := f.write && filepath.Base(s.Name()) != "b.yaml"
			if text, err := os.ReadFile(s.Name()); err != nil || (string(text) == before[s.Name()]) == isWritten {
				t.Errorf("%+v: %s is %q now, %v", f, s.Name(), text, err)
			}
		}
	}
}

// TestAFailureOfTheWholeRunWithholdsEveryFile has messages about one file, about the whole run, and
// of all severities.
func TestAFailureOfTheWholeRunWithholdsEveryFile(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n"
	about := func(source string, s transformer.Severity) *report.Report {
		m := report.Message{Severity: s}
		if source != "" {
			m.Object = &report.ObjectRef{Source: source}
		}
		return &report.Report{Messages: []report.Message{m}}
	}
	strict := about("", transformer.Warning)
	strict.Strict = true
	for _, c := range []struct {
		name            string
		r               *report.Report
		files, toStdout string
	}{
		{"nothing", &report.Report{}, "a b", "a b same"},
		{"a warning of the run", about("", transformer.Warning), "a b", "a b same"},
		{"a warning of a strict run", strict, "", ""},
		{"an error of the run", about("", transformer.Error), "", ""},
		{"an error of a file", about("a", transformer.Error), "b", ""},
		{"an error of an unread file", about("c", transformer.Error), "a b", ""},
	} {
		for toStdout, want := range map[bool]string{false: c.files, true: c.toStdout} {
			p := &pkg{}
			for _, name := range []string{"a", "b", "same"} {
				p.add(file{path: name}, []byte(pod))
			}
			for _, s := range p.streams[:2] {
				edit := field.Edit{Op: field.Set, Path: field.NewPath("metadata", "namespace"), Value: "n"}
				if err := s.Objects()[0].Apply([]field.Edit{edit}); err != nil {
					t.Fatal(err)
				}
			}
			var names []string
			for _, s := range choose(p, c.r, toStdout) {
				names = append(names, s.Name())
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("%s, to stdout %t: %q, want %q", c.name, toStdout, got, want)
			}
		}
	}
}

func TestFilesArePrintedAsOneStreamWhateverTheirEnds(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n    readinessProbe: {httpGet: {port: 80}}"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml": "kind: ConfigMap\napiVersion: v1\ndata:\n  k: v",
		"b.yaml": "\ufeff" + pod,
		"c.yaml": "%YAML 1.1\n---\nkind: ConfigMap\napiVersion: v1\ndata: {k: w}",
		"d.json": `{"kind": "ConfigMap", "apiVersion": "v1"}`,
		"e.yaml": "---\nkind: ConfigMap\napiVersion: v1",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := output(t, "", dir)
	start, _, found := strings.Cut(got, "spec:\n")
	_, end, _ := strings.Cut(got, "port: 15099}}\n")
	const wantStart = "kind: ConfigMap\napiVersion: v1\ndata:\n  k: v\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: web"
	const wantEnd = "...\n%YAML 1.1\n---\nkind: ConfigMap\napiVersion: v1\ndata: {k: w}\n---\n{\"kind\": \"ConfigMap\", \"apiVersion\": \"v1\"}\n---\nkind: ConfigMap\napiVersion: v1"
	if !found || !strings.HasPrefix(start, wantStart) || !strings.HasPrefix(end, wantEnd) {
		t.Errorf("got:\n%s", got)
	}
}
