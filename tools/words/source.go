package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// textOf returns what people read of a file, as a page: the comments of YAML and scripts, and the texts of Go.
func textOf(path, text string) (string, error) {
	switch filepath.Ext(path) {
	case ".yaml", ".yml", ".sh":
		return commentsOf(text), nil
	case ".go":
		return literalsOf(path, text)
	}
	return text, nil
}

// commentsOf returns the comments, each block as a paragraph.
func commentsOf(text string) string {
	var page strings.Builder
	for line := range strings.Lines(text) {
		_, comment, isComment := strings.Cut(" "+strings.TrimSpace(line), " # ")
		if isComment {
			page.WriteString(strings.TrimLeft(comment, "# |") + "\n")
		} else {
			page.WriteString("\n")
		}
	}
	return page.String()
}

// verb is where a text of Go has a value.
var verb = regexp.MustCompile(`%[-+# 0]*(?:\[\d+\])?[0-9.]*[a-zA-Z]`)

// literalsOf returns the strings in Go source, each as a paragraph, with CODE for the values.
func literalsOf(path, source string) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	var page strings.Builder
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			isMarkup := strings.ContainsAny(text, "<{")
			if n.Kind == token.STRING && err == nil && !isMarkup {
				page.WriteString(verb.ReplaceAllString(text, "CODE") + "\n\n")
			}
		}
		return true
	})
	return page.String(), nil
}
