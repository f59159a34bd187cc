package transformer

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// phases are the beginnings of the names of files, from what needs nothing to what needs all.
var phases = [][]string{
	{"plan", "finding", "options", "record", "portlist", "rewriter_off", "doc", "mesh_data", "diff", "restricted"},
	{"read"},
	{"mesh", "service_mesh"},
	{"know"},
	{"decide", "rule", "rules"},
	{"judge"},
	{"write"},
	{"planner", "policy", "depends"},
}

// made are the types that a phase makes, and that no later one changes.
var made = map[string]int{"template": 1, "site": 1, "holder": 1, "view": 2, "inspection": 2, "knowledge": 3, "answering": 4, "decision": 4, "ruling": 4, "draft": 6}

const mostMethods = 30

func phaseOf(file string) int {
	stem := strings.TrimSuffix(file, ".go")
	for i, names := range phases {
		if slices.Contains(names, stem) {
			return i
		}
	}
	prefix, _, _ := strings.Cut(stem, "_")
	return slices.IndexFunc(phases, func(names []string) bool { return slices.Contains(names, prefix) })
}

// A phase refers only to itself and to earlier ones, what it makes is not changed afterwards,
// and no type has so many methods that it is several.
func TestPhases(t *testing.T) {
	list := exec.Command("go", "list", "-pgo=off", "-export", "-deps", "-json=ImportPath,Export,GoFiles", ".")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var pkg struct {
		ImportPath, Export string
		GoFiles            []string
	}
	exports := make(map[string]string)
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		pkg.GoFiles = nil
		if err := d.Decode(&pkg); err != nil {
			t.Fatal(err)
		}
		exports[pkg.ImportPath] = pkg.Export
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range pkg.GoFiles {
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if phaseOf(name) < 0 {
			t.Errorf("%s belongs to no phase", name)
		}
		files = append(files, f)
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object), Types: make(map[ast.Expr]types.TypeAndValue)}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", open)}
	checked, err := conf.Check(pkg.ImportPath, fset, files, info)
	if err != nil {
		t.Fatal(err)
	}
	fileOf := func(p token.Pos) string { return filepath.Base(fset.Position(p).Filename) }
	for id, o := range info.Uses {
		isLocal := o.Parent() != nil && o.Parent() != checked.Scope()
		if o.Pkg() == checked && !isLocal && phaseOf(fileOf(o.Pos())) > phaseOf(fileOf(id.Pos())) {
			t.Errorf("%s refers to %s in %s, which is of a later phase", fset.Position(id.Pos()), o.Name(), fileOf(o.Pos()))
		}
	}
	owner := make(map[types.Object]string) // of fields
	for name := range made {
		fields := checked.Scope().Lookup(name).Type().Underlying().(*types.Struct)
		for i := range fields.NumFields() {
			owner[fields.Field(i)] = name
		}
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			assign, ok := n.(*ast.AssignStmt)
			if !ok {
				return true
			}
			for _, l := range assign.Lhs {
				s := changed(l)
				if s == nil {
					continue
				}
				if name := owner[info.Uses[s.Sel]]; name != "" && made[name] != phaseOf(fileOf(l.Pos())) {
					t.Errorf("%s changes a %s, which another phase has made", fset.Position(l.Pos()), name)
				}
			}
			return true
		})
	}
	for _, name := range checked.Scope().Names() {
		o, isType := checked.Scope().Lookup(name).(*types.TypeName)
		if !isType || o.IsAlias() {
			continue
		}
		if n := o.Type().(*types.Named).NumMethods(); n > mostMethods {
			t.Errorf("%s has %d methods, and %d are the most", name, n, mostMethods)
		}
	}
}

// changed returns the selector of the field that an assignment changes; nil if it changes none.
func changed(e ast.Expr) *ast.SelectorExpr {
	for {
		switch x := e.(type) {
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			return x
		default:
			return nil
		}
	}
}
