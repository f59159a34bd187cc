package main

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/scanner"
	"go/token"
	"strings"
	"unicode/utf8"
)

const fitColumns = 100 // in which what is laid out over several lines would fit

// A spread is a call or a literal over several lines that fits in one.
type spread struct {
	file   string
	number int
	joined string // the whole file, with it in one line
}

func (s spread) String() string { return fmt.Sprintf("%s:%d: fits in one line", s.file, s.number) }

// spreadOf returns the outermost ones of a file.
func spreadOf(fset *token.FileSet, file *ast.File, source string) (all []spread) {
	ast.Inspect(file, func(node ast.Node) bool {
		if !isJoinable(fset, file, node) {
			return true
		}
		from, to := fset.Position(node.Pos()), fset.Position(node.End())
		start := strings.LastIndex(source[:from.Offset], "\n") + 1
		end := to.Offset + strings.Index(source[to.Offset:]+"\n", "\n")
		line := source[start:from.Offset] + join(source[from.Offset:to.Offset]) + source[to.Offset:end]
		if utf8.RuneCountInString(line) > fitColumns || countTokens(line) > mostTokens {
			return true
		}
		all = append(all, spread{from.Filename, from.Line, source[:start] + line + source[end:]})
		return false
	})
	return all
}

// isJoinable reports whether a node is a call or a literal over several lines, and no table of rows,
// and whether nothing in it needs lines of its own: a comment, a function, a text.
func isJoinable(fset *token.FileSet, file *ast.File, node ast.Node) bool {
	several := func(n ast.Node) bool { return fset.Position(n.Pos()).Line != fset.Position(n.End()).Line }
	switch x := node.(type) {
	case *ast.CallExpr:
	case *ast.CompositeLit:
		if hasRows(x) {
			return false
		}
	default:
		return false
	}
	if !several(node) {
		return false
	}
	for _, c := range file.Comments {
		if c.Pos() >= node.Pos() && c.End() <= node.End() {
			return false
		}
	}
	joinable := true
	ast.Inspect(node, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.FuncLit, *ast.BasicLit:
			joinable = joinable && !several(n)
		}
		return joinable
	})
	return joinable
}

// hasRows reports whether a literal has several elements, and one of them is a literal.
func hasRows(literal *ast.CompositeLit) bool {
	if len(literal.Elts) < 2 {
		return false
	}
	for _, e := range literal.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			e = pair.Value
		}
		if _, ok := e.(*ast.CompositeLit); ok {
			return true
		}
	}
	return false
}

// join returns the lines of an expression as one.
func join(source string) string {
	lines := strings.Split(source, "\n")
	joined := strings.TrimRight(lines[0], " \t")
	for _, l := range lines[1:] {
		l = strings.TrimSpace(l)
		switch {
		case l == "":
		case strings.ContainsAny(joined[len(joined)-1:], "({[."), l[0] == '.':
			joined += l
		case strings.ContainsAny(l[:1], ")}]"):
			joined = strings.TrimSuffix(joined, ",") + l
		default:
			joined += " " + l
		}
	}
	return joined
}

func countTokens(source string) (n int) {
	fset := token.NewFileSet()
	var s scanner.Scanner
	s.Init(fset.AddFile("", -1, len(source)), []byte(source), func(token.Position, string) {}, 0)
	for {
		_, tok, literal := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok != token.SEMICOLON || literal != "\n" {
			n++
		}
	}
}

// joinAll returns a file without spreads.
func joinAll(path, source string) (string, error) {
	for {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, source, parser.ParseComments)
		if err != nil {
			return "", err
		}
		found := spreadOf(fset, file, source)
		if len(found) == 0 {
			return source, nil
		}
		formatted, err := format.Source([]byte(found[0].joined))
		if err != nil {
			return "", fmt.Errorf("%s: %w", found[0], err)
		}
		source = string(formatted)
	}
}
