package fn_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

// What other programs compile against is in testdata/api.txt: a line that goes
// or changes there breaks them, and belongs into the changelog.
func TestTheExportedAPIIsTheOneThatIsWrittenDown(t *testing.T) {
	var all []byte
	for _, dir := range []string{".", "findings", "krm", "kyaml"} {
		all = fmt.Appendf(all, "// Package %s.\n\n%s\n", path.Join("fn", dir), exportedAPI(t, dir))
	}
	golden.Compare(t, "testdata/api.txt", bytes.TrimSuffix(all, []byte("\n")))
}

// exportedAPI returns the exported declarations of the package in a folder, in
// order, without comments and bodies.
func exportedAPI(t *testing.T, dir string) []byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var decls []string
	set := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.FileExports(f)
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				d.Body = nil
			case *ast.GenDecl:
				if d.Tok == token.IMPORT {
					continue
				}
			}
			var b bytes.Buffer
			if err := format.Node(&b, set, d); err != nil {
				t.Fatal(err)
			}
			decls = append(decls, b.String())
		}
	}
	slices.Sort(decls)
	if len(decls) == 0 {
		t.Fatal("the package must export something")
	}
	return []byte(strings.Join(decls, "\n\n") + "\n")
}
