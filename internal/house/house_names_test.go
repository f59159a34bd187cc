package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
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
	for pkg, files := range shippedFiles(t) {
		for _, file := range files {
			for _, name := range exportedTypes(file) {
				if in := packages[name]; !slices.Contains(in, pkg) { // it may be there once for each platform
					packages[name] = append(in, pkg)
				}
			}
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

// Every run pays for what is made before it begins, of which most runs need nothing.
func TestNoExpressionIsCompiledBeforeItIsNeeded(t *testing.T) {
	for pkg, files := range shippedFiles(t) {
		for _, file := range files {
			for _, name := range compiledAtStart(file) {
				t.Errorf("%s: %s compiles its expression whenever the program starts: make it a sync.OnceValue", pkg, name)
			}
		}
	}
}

// compiledAtStart returns the variables of a file whose values regexp compiles.
func compiledAtStart(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			for i, value := range v.Values {
				if call, isCall := value.(*ast.CallExpr); isCall && types.ExprString(call.Fun) == "regexp.MustCompile" {
					names = append(names, v.Names[i].Name)
				}
			}
		}
	}
	return names
}

// shippedFiles returns the files of each package that are no tests.
func shippedFiles(t *testing.T) map[string][]*ast.File {
	packages := make(map[string][]*ast.File)
	for pkg, names := range goFiles(t) {
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, pkg, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			packages[pkg] = append(packages[pkg], file)
		}
	}
	return packages
}
