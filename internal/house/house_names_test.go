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

// A reader of a file need not tell two types of one name apart: it uses that of one package alone. The package for callers, fn,
// has the names of what it wraps.
func TestNoFileUsesTwoTypesOfAName(t *testing.T) {
	packages := shippedFiles(t)
	types := make(map[string][]string) // of packages
	for pkg, files := range packages {
		for _, file := range files {
			types[pkg] = append(types[pkg], exportedTypes(file)...)
		}
	}
	delete(packages, "fn")
	for pkg, files := range packages {
		for _, file := range files {
			of := make(map[string]string) // the package of a type's name
			for _, used := range usedNames(pkg, file) {
				if before := of[used.name]; slices.Contains(types[used.pkg], used.name) && before != "" && before != used.pkg {
					t.Errorf("%s, package %s: it uses %s of %s and of %s", pkg, file.Name, used.name, before, used.pkg)
				} else if slices.Contains(types[used.pkg], used.name) {
					of[used.name] = used.pkg
				}
			}
		}
	}
}

// A usedName is a name that a file uses, with the package that may declare it.
type usedName struct{ pkg, name string }

// usedNames returns the names that a file of a package uses, but those of fields.
func usedNames(pkg string, file *ast.File) (all []usedName) {
	const module = "github.com/rewrite-probes/rewrite-probes/"
	imports := make(map[string]string) // by the names in the file
	for _, i := range file.Imports {
		path, isOurs := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module)
		switch {
		case !isOurs:
		case i.Name != nil:
			imports[i.Name.Name] = path
		default:
			imports[filepath.Base(path)] = path
		}
	}
	nobody := ast.NewIdent("_") // in the place of a field or a method
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, isName := n.X.(*ast.Ident); isName {
				all = append(all, usedName{imports[x.Name], n.Sel.Name})
				return false
			}
			n.Sel = nobody
		case *ast.CompositeLit:
			for _, e := range n.Elts {
				if field, isField := e.(*ast.KeyValueExpr); isField {
					if _, isName := field.Key.(*ast.Ident); isName {
						field.Key = nobody
					}
				}
			}
		case *ast.Field:
			n.Names = nil
		case *ast.FuncDecl:
			n.Name = nobody
		case *ast.Ident:
			all = append(all, usedName{pkg, n.Name})
		}
		return true
	})
	return all
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
