// Command density measures how dense Go code is: `make lint` runs it over what is shipped.
//
// A token is what go/scanner returns, without comments and without the semicolons that it adds at
// the end of a line. A code line has at least one token. A tab is one column; string literals and
// comments have no columns, since a message has the length that it needs.
package main

import (
	"flag"
	"fmt"
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
	mostTokens  = 35  // of one line
	mostColumns = 120 // of one line
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

func main() {
	var most limits
	flag.IntVar(&most.dense, "dense", 0, "how many lines may have more than 35 tokens")
	flag.IntVar(&most.wide, "wide", 0, "how many lines may have more than 120 columns")
	list := flag.Bool("list", false, "list the lines with too many tokens or columns")
	flag.Parse()
	lines, err := measureFolders(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "density:", err)
		os.Exit(2)
	}
	sum := sumOf(lines)
	fmt.Printf("density: %d tokens in %d code lines; %d lines have over %d tokens, %d over %d columns\n",
		sum.tokens, sum.lines, len(sum.dense), mostTokens, len(sum.wide), mostColumns)
	if *list {
		printLines(sum.dense)
		printLines(sum.wide)
	}
	if problems := sum.problems(most); len(problems) > 0 {
		fmt.Fprintln(os.Stderr, "density: "+strings.Join(problems, "; ")+" (-list names the lines)")
		os.Exit(1)
	}
}

func printLines(lines []line) {
	for _, l := range lines {
		fmt.Println(l)
	}
}

// limits are the most that a sum may have.
type limits struct {
	dense, wide int
}

// A sum is what all lines come to.
type sum struct {
	tokens, lines int
	dense, wide   []line
}

func sumOf(lines []line) sum {
	s := sum{lines: len(lines)}
	for _, l := range lines {
		s.tokens += l.tokens
		if l.tokens > mostTokens {
			s.dense = append(s.dense, l)
		}
		if l.columns > mostColumns {
			s.wide = append(s.wide, l)
		}
	}
	return s
}

// problems returns what is over its limit.
func (s sum) problems(most limits) (problems []string) {
	if n := len(s.dense); n > most.dense {
		problems = append(problems, fmt.Sprintf("%d lines have over %d tokens, and %d may", n, mostTokens, most.dense))
	}
	if n := len(s.wide); n > most.wide {
		problems = append(problems, fmt.Sprintf("%d lines have over %d columns, and %d may", n, mostColumns, most.wide))
	}
	return problems
}

// measureFolders measures the Go files below the folders, except for tests and what they share.
func measureFolders(folders []string) (lines []line, err error) {
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
			if err == nil {
				lines = append(lines, measure(path, source)...)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// measure returns the lines of a file that have code.
func measure(path string, source []byte) []line {
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
