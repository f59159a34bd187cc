package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// A mutant is one small change to one file.
type mutant struct {
	file       string // relative to the module's root
	line       int
	function   string // the enclosing function; "-" outside functions
	operator   string
	start, end int    // the bytes of the file that change
	text       string // what replaces it
	before     string // the smallest readable piece of code around the change, on one line
	after      string
	again      int // 0 for the first of the mutants of a function that read alike
}

// id names the mutant by what it changes, not by its line, so that the name
// outlives edits elsewhere in the file.
func (m mutant) id() string {
	id := fmt.Sprintf("%s %s %s: `%s` -> `%s`", m.file, m.function, m.operator, m.before, m.after)
	if m.again > 0 {
		id += fmt.Sprintf(" (%d)", m.again+1)
	}
	return id
}

// apply returns the text of the file with the change.
func (m mutant) apply(source []byte) []byte {
	out := append([]byte{}, source[:m.start]...)
	out = append(out, m.text...)
	return append(out, source[m.end:]...)
}

// mutants returns every mutant of a file, in the order of the text.
func mutants(file string, source []byte) ([]mutant, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &finder{file: file, source: source, set: set, function: "-", seen: map[string]int{}}
	for _, decl := range tree.Decls {
		f.declaration(decl)
	}
	return f.found, nil
}

// A finder collects the mutants of one file.
type finder struct {
	file     string
	source   []byte
	set      *token.FileSet
	function string
	found    []mutant
	seen     map[string]int
}

func (f *finder) declaration(decl ast.Decl) {
	f.function = "-"
	switch d := decl.(type) {
	case *ast.GenDecl:
		if d.Tok == token.IMPORT {
			return
		}
	case *ast.FuncDecl:
		f.function = d.Name.Name
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			// A tag is a string, but no value. A field's type holds nothing to change
			// but the lengths of arrays, which rarely compile.
			return false
		case ast.Stmt:
			f.statement(n)
		case ast.Expr:
			f.expression(n)
		}
		return true
	})
}

func (f *finder) statement(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.IfStmt:
		f.negate(s.Cond)
		if s.Else == nil {
			f.drop("dropif", s)
		}
	case *ast.ForStmt:
		if s.Cond != nil {
			f.negate(s.Cond)
		}
	case *ast.CaseClause, *ast.CommClause:
		f.drop("delcase", s)
	case *ast.ExprStmt:
		f.drop("dropcall", s)
	case *ast.DeferStmt:
		f.drop("dropdefer", s)
	case *ast.IncDecStmt:
		f.drop("dropassign", s)
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE {
			f.drop("dropassign", s)
		}
	case *ast.BranchStmt:
		other := map[token.Token]string{token.CONTINUE: "break", token.BREAK: "continue"}[s.Tok]
		if other != "" {
			f.replace("branch", s, s.Pos(), s.Pos()+token.Pos(len(s.Tok.String())), other)
		}
	}
}

// swaps are the operators that take each other's place.
var swaps = map[token.Token]struct{ mutation, other string }{
	token.LSS: {"rel", "<="}, token.LEQ: {"rel", "<"}, token.GTR: {"rel", ">="}, token.GEQ: {"rel", ">"},
	token.EQL: {"rel", "!="}, token.NEQ: {"rel", "=="},
	token.LAND: {"logic", "||"}, token.LOR: {"logic", "&&"},
	token.ADD: {"arith", "-"}, token.SUB: {"arith", "+"}, token.MUL: {"arith", "/"}, token.QUO: {"arith", "*"},
}

func (f *finder) expression(e ast.Expr) {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		if swap, ok := swaps[e.Op]; ok {
			f.replace(swap.mutation, e, e.OpPos, e.OpPos+token.Pos(len(e.Op.String())), swap.other)
			if swap.mutation == "logic" {
				f.replace("operand", e, e.X.Pos(), e.Y.Pos(), "")
				f.replace("operand", e, e.X.End(), e.Y.End(), "")
			}
		}
	case *ast.Ident:
		other := map[string]string{"true": "false", "false": "true"}[e.Name]
		if other != "" {
			f.replace("bool", e, e.Pos(), e.End(), other)
		}
	case *ast.BasicLit:
		switch e.Kind {
		case token.INT:
			f.replace("const", e, e.Pos(), e.End(), "("+e.Value+"+1)")
		case token.STRING:
			f.replace("conststr", e, e.End()-1, e.End()-1, "Q")
		}
	}
}

func (f *finder) negate(cond ast.Expr) {
	f.replace("negate", cond, cond.Pos(), cond.End(), "!("+f.text(cond.Pos(), cond.End())+")")
}

func (f *finder) drop(operator string, n ast.Node) {
	f.replace(operator, n, n.Pos(), n.End(), "")
}

// replace notes the mutant that writes text from start to end; context is what
// the reader is shown.
func (f *finder) replace(operator string, context ast.Node, start, end token.Pos, text string) {
	m := mutant{
		file: f.file, line: f.set.Position(start).Line, function: f.function, operator: operator,
		start: f.offset(start), end: f.offset(end), text: text,
		before: oneLine(f.text(context.Pos(), context.End())),
		after:  oneLine(f.text(context.Pos(), start) + text + f.text(end, context.End())),
	}
	if m.after == "" {
		m.after = "nothing"
	}
	id := m.id()
	m.again = f.seen[id]
	f.seen[id]++
	f.found = append(f.found, m)
}

func (f *finder) offset(p token.Pos) int { return f.set.Position(p).Offset }
func (f *finder) text(start, end token.Pos) string {
	return string(f.source[f.offset(start):f.offset(end)])
}

// oneLine returns code without line ends, cut where it gets long.
func oneLine(code string) string {
	const limit = 120
	r := []rune(strings.Join(strings.Fields(code), " "))
	if len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return string(r)
}
