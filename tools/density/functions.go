package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
)

// A function is a function or a method as its reader meets it.
type function struct {
	file              string
	number            int
	name              string
	cyclomatic, lines int
}

func (f function) String() string {
	return fmt.Sprintf("%s:%d: %s: cyclomatic %d, %d lines", f.file, f.number, f.name, f.cyclomatic, f.lines)
}

// functionsOf returns the functions that a file declares.
func functionsOf(fset *token.FileSet, file *ast.File) (functions []function) {
	for _, d := range file.Decls {
		declared, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := declared.Name.Name
		if receiver := receiverOf(declared); receiver != "" {
			name = receiver + "." + name
		}
		at := fset.Position(declared.Pos())
		functions = append(functions, function{at.Filename, at.Line, name, cyclomatic(declared), height(fset, declared)})
	}
	return functions
}

// receiverOf returns the name of a method's type, "" of a function.
func receiverOf(declared *ast.FuncDecl) string {
	if declared.Recv == nil || len(declared.Recv.List) == 0 {
		return ""
	}
	e := declared.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// cyclomatic returns how many ways lead through a function: one, and one more for each condition.
// The function literals in it count as its own.
func cyclomatic(node ast.Node) int {
	n := 1
	ast.Inspect(node, func(node ast.Node) bool {
		switch x := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if x.List != nil {
				n++
			}
		case *ast.CommClause:
			if x.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if x.Op == token.LAND || x.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

// height returns the lines of a node without those of its tables. A table is a literal of a list or
// a map; a function in it is no part of it.
func height(fset *token.FileSet, node ast.Node) int {
	lines := func(n ast.Node) int { return fset.Position(n.End()).Line - fset.Position(n.Pos()).Line }
	sum := lines(node) + 1
	ast.Inspect(node, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok || !isTable(literal) {
			return true
		}
		sum -= lines(literal)
		ast.Inspect(literal, func(n ast.Node) bool {
			f, ok := n.(*ast.FuncLit)
			if ok {
				sum += height(fset, f)
			}
			return !ok
		})
		return false
	})
	return sum
}

func isTable(literal *ast.CompositeLit) bool {
	switch literal.Type.(type) {
	case *ast.ArrayType, *ast.MapType:
		return true
	}
	return false
}

// A methodSet counts the methods of a type.
type methodSet struct {
	folder, name string
	methods      map[string]bool // a method may be written once for each platform
}

func (m methodSet) String() string {
	return fmt.Sprintf("%s: %s has %d methods", m.folder, m.name, len(m.methods))
}

// methodsOf returns the types of all files that have methods, in their order.
func methodsOf(fset *token.FileSet, files []*ast.File) (sets []methodSet) {
	type key struct{ folder, name string }
	seen := map[key]int{}
	for _, file := range files {
		folder := filepath.Dir(fset.Position(file.Pos()).Filename)
		for _, d := range file.Decls {
			declared, ok := d.(*ast.FuncDecl)
			if !ok || receiverOf(declared) == "" {
				continue
			}
			k := key{folder, receiverOf(declared)}
			if _, ok := seen[k]; !ok {
				seen[k] = len(sets)
				sets = append(sets, methodSet{folder, k.name, map[string]bool{}})
			}
			sets[seen[k]].methods[declared.Name.Name] = true
		}
	}
	return sets
}
