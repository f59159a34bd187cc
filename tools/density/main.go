// Command density measures how dense Go code is: `make lint` runs it over what is shipped.
//
// A token is what go/scanner returns, without comments and without the semicolons that it adds at
// the end of a line. A code line has at least one token. A tab is one column; string literals and
// comments have no columns, since a message has the length that it needs. A function has a
// cyclomatic number, and lines outside of tables. A type has methods.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	mostTokens     = 35  // of one line
	mostColumns    = 120 // of one line
	mostCyclomatic = 15  // of one function
	mostLines      = 60  // of one function
	mostMethods    = 30  // of one type
)

// A line is one line of a file that has code.
type line struct {
	file            string
	number          int
	tokens, columns int
}

func (l line) String() string {
	return fmt.Sprintf("%s:%d: %d tokens, %d columns", l.file, l.number, l.tokens, l.columns)
}

// A code is what was read.
type code struct {
	lines     []line
	functions []function
	types     []methodSet
	spreads   []spread
}

// A measure has what is over its limit.
type measure struct {
	what string
	over []string
	most int // how many may be
}

func main() {
	fix := flag.Bool("fix", false, "lay calls and literals that fit out in one line")
	dense := flag.Int("dense", 0, "how many lines may have more than 35 tokens")
	wide := flag.Int("wide", 0, "how many lines may have more than 120 columns")
	complex := flag.Int("complex", 0, "how many functions may have a cyclomatic number over 15")
	long := flag.Int("long", 0, "how many functions may have more than 60 lines")
	methods := flag.Int("methods", 0, "how many types may have more than 30 methods")
	spreads := flag.Int("spread", 0, "how many calls and literals over several lines may fit in one")
	flag.Parse()
	c, err := readFolders(flag.Args(), *fix)
	if err != nil {
		fmt.Fprintln(os.Stderr, "density:", err)
		os.Exit(2)
	}
	tokens := 0
	for _, l := range c.lines {
		tokens += l.tokens
	}
	fmt.Printf("density: %d tokens in %d code lines\n", tokens, len(c.lines))
	failed := false
	for _, m := range c.measures(*dense, *wide, *complex, *long, *methods, *spreads) {
		for _, o := range m.over {
			fmt.Println(o)
		}
		if len(m.over) > m.most {
			fmt.Fprintf(os.Stderr, "density: %d %s, and %d may\n", len(m.over), m.what, m.most)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// measures returns what is over each limit.
func (c code) measures(dense, wide, complex, long, methods, spreads int) []measure {
	return []measure{
		{fmt.Sprintf("lines have over %d tokens", mostTokens),
			over(c.lines, func(l line) bool { return l.tokens > mostTokens }), dense},
		{fmt.Sprintf("lines have over %d columns", mostColumns),
			over(c.lines, func(l line) bool { return l.columns > mostColumns }), wide},
		{fmt.Sprintf("functions have a cyclomatic number over %d", mostCyclomatic),
			over(c.functions, func(f function) bool { return f.cyclomatic > mostCyclomatic }), complex},
		{fmt.Sprintf("functions have over %d lines", mostLines),
			over(c.functions, func(f function) bool { return f.lines > mostLines }), long},
		{fmt.Sprintf("types have over %d methods", mostMethods),
			over(c.types, func(m methodSet) bool { return len(m.methods) > mostMethods }), methods},
		{fmt.Sprintf("calls and literals fit in one line of %d columns", fitColumns),
			over(c.spreads, func(spread) bool { return true }), spreads},
	}
}

func over[T fmt.Stringer](all []T, is func(T) bool) (texts []string) {
	for _, t := range all {
		if is(t) {
			texts = append(texts, t.String())
		}
	}
	return texts
}

// readFolders reads the Go files below the folders, except for tests and what they share.
// If fix, it rewrites those with calls and literals that fit in one line.
func readFolders(folders []string, fix bool) (c code, err error) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && slices.Contains([]string{"testdata", "testutil"}, d.Name()):
				return filepath.SkipDir
			case d.IsDir(), !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"):
				return nil
			}
			source, err := os.ReadFile(path)
			if err == nil && fix {
				source, err = fixed(path, source)
			}
			if err != nil {
				return err
			}
			file, err := parser.ParseFile(fset, path, source, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			files = append(files, file)
			c.lines = append(c.lines, linesOf(path, source)...)
			c.functions = append(c.functions, functionsOf(fset, file)...)
			c.spreads = append(c.spreads, spreadOf(fset, file, string(source))...)
			return nil
		})
		if err != nil {
			return code{}, err
		}
	}
	c.types = methodsOf(fset, files)
	return c, nil
}

// fixed writes a file without spreads, and returns it.
func fixed(path string, source []byte) ([]byte, error) {
	joined, err := joinAll(path, string(source))
	if err != nil || joined == string(source) {
		return source, err
	}
	return []byte(joined), os.WriteFile(path, []byte(joined), 0o644)
}

// linesOf returns the lines of a file that have code.
func linesOf(path string, source []byte) []line {
	texts := strings.Split(string(source), "\n")
	all := make([]line, len(texts))
	for i, text := range texts {
		all[i] = line{file: path, number: i + 1, columns: utf8.RuneCountInString(text)}
	}
	fset := token.NewFileSet()
	file := fset.AddFile(path, -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			break
		}
		first := &all[file.Line(pos)-1]
		if tok != token.COMMENT && !(tok == token.SEMICOLON && literal == "\n") {
			first.tokens++
		}
		if tok == token.COMMENT || tok == token.STRING {
			takeColumns(all[file.Line(pos)-1:], literal)
		}
	}
	return slices.DeleteFunc(all, func(l line) bool { return l.tokens == 0 })
}

// takeColumns takes the columns of a literal, which may have several lines, from its lines.
func takeColumns(lines []line, literal string) {
	for i, part := range strings.Split(literal, "\n") {
		lines[i].columns -= utf8.RuneCountInString(part)
	}
}
