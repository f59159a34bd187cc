package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// oneMeaning are names of types of which the code once had four or more, with the one package that keeps each: the text
// of a message, and the API's pod template.
var oneMeaning = map[string]string{"Text": "internal/reason", "Template": "internal/pod"}

// A name of an exported type with many meanings has one: it stands in one package.
func TestATypeNameHasOneMeaning(t *testing.T) {
	packages := make(map[string][]string) // by the names of types
	for _, folder := range []string{"cmd", "fn", "internal", "transformer"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && slices.Contains([]string{"testdata", "testutil"}, d.Name()) {
				return filepath.SkipDir
			}
			if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			pkg, err := filepath.Rel(root, filepath.Dir(path))
			for _, name := range exportedTypes(file) {
				if in := packages[name]; !slices.Contains(in, filepath.ToSlash(pkg)) { // it may be there once for each platform
					packages[name] = append(in, filepath.ToSlash(pkg))
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, only := range oneMeaning {
		if in := packages[name]; !slices.Equal(in, []string{only}) {
			t.Errorf("%s is a type of %s, and may be one of %s alone", name, strings.Join(in, " and "), only)
		}
	}
}

// exportedTypes returns the names of the types that a file declares and exports. An alias has the meaning of its type.
func exportedTypes(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, s := range g.Specs {
			if s := s.(*ast.TypeSpec); s.Name.IsExported() && !s.Assign.IsValid() {
				names = append(names, s.Name.Name)
			}
		}
	}
	return names
}
