package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
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
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := testutil.Documents(text); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d files were found", n)
	}
}
