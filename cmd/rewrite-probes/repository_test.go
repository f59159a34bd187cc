package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
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
