package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestEveryYAMLFileOfTheRepositoryParses reads the files that other programs
// read: workflows, forms, examples, the configuration of tools. Helm's
// templates are no YAML yet.
func TestEveryYAMLFileOfTheRepositoryParses(t *testing.T) {
	isYAML := func(name string) bool { return filepath.Ext(name) == ".yaml" || filepath.Ext(name) == ".yml" }
	n := 0
	for _, root := range []string{"../../.github", "../../build", "../../examples", "../../kustomization-example"} {
		for _, path := range filesBelow(t, root, isYAML) {
			if strings.Contains(filepath.ToSlash(path), "/chart/templates/") {
				continue
			}
			n++
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for d := yaml.NewDecoder(f); ; {
				var v any
				if err := d.Decode(&v); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Errorf("%s: %v", path, err)
					break
				}
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d files were found", n)
	}
}

// TestEveryActionIsPinned reads the workflows: a tag of an action can be moved
// by anyone who owns it, a commit cannot.
func TestEveryActionIsPinned(t *testing.T) {
	uses := regexp.MustCompile(`(?m)^\s*(?:- )?uses: (\S+)(.*)$`)
	pinned := regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40}$`)
	n := 0
	for _, path := range filesBelow(t, "../../.github/workflows", func(string) bool { return true }) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range uses.FindAllStringSubmatch(string(text), -1) {
			n++
			if !strings.HasPrefix(m[1], "./") && (!pinned.MatchString(m[1]) || !strings.Contains(m[2], "# v")) {
				t.Errorf("%s: %s must be pinned by its commit, with the version as a comment", path, m[1])
			}
		}
		if !strings.Contains(string(text), "\npermissions:") {
			t.Errorf("%s must say its permissions", path)
		}
	}
	if n < 10 {
		t.Errorf("only %d actions were found", n)
	}
}
