package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// hasComments reports whether people read only the comments of a file: it is YAML or a script.
func hasComments(path string) bool {
	ext := filepath.Ext(path)
	return ext == ".yaml" || ext == ".yml" || ext == ".sh"
}

// hasTexts reports whether people read only the texts in a file: it is Go, or a page that a program fills in.
func hasTexts(path string) bool {
	ext := filepath.Ext(path)
	return ext == ".go" || ext == ".html"
}

// proseOf returns what people read of a file, as a page.
func proseOf(path, text string) (string, error) {
	switch {
	case hasComments(path):
		return commentsOf(text), nil
	case filepath.Ext(path) == ".go":
		return literalsOf(path, text)
	case isManual(path):
		return manualOf(text), nil
	case hasTexts(path):
		return betweenTags(text), nil
	}
	return text, nil
}

// isManual reports whether a file is a manual page, which has what --help prints.
func isManual(path string) bool { return filepath.Ext(path) == ".1" }

// fonts are the escapes of a manual page that print nothing, and its apostrophe.
var fonts = strings.NewReplacer(`\fB`, "", `\fI`, "", `\fR`, "", `\fP`, "", `\(aq`, "'", `\-`, "-")

// manualOf returns the description and the flags of a manual page as a page: each line of a list and each flag as an
// item. Command lines, which have four spaces, and the other sections are left out.
func manualOf(text string) string {
	var page strings.Builder
	isRead := false
	for line := range strings.Lines(text) {
		rest := strings.TrimLeft(line, " ")
		switch indent := len(line) - len(rest); {
		case strings.HasPrefix(line, ".SH"):
			isRead = strings.Contains(line, "DESCRIPTION") || strings.Contains(line, "OPTIONS")
			page.WriteString("\n")
		case !isRead:
		case strings.HasPrefix(line, "."), strings.HasPrefix(line, `\fB-`), indent == 4:
			page.WriteString("\n")
		case strings.HasPrefix(line, "\t"), indent == 2 && !strings.HasPrefix(rest, "- "):
			page.WriteString("- " + fonts.Replace(strings.TrimSpace(line)) + "\n")
		default:
			page.WriteString(fonts.Replace(strings.TrimSpace(line)) + "\n")
		}
	}
	return page.String()
}

// commentsOf returns the comments of YAML or a script as a page, each block as a paragraph.
func commentsOf(text string) string {
	var page strings.Builder
	for line := range strings.Lines(text) {
		_, comment, _ := strings.Cut(" "+strings.TrimSpace(line), " # ")
		page.WriteString(strings.TrimLeft(comment, "# |") + "\n")
	}
	return page.String()
}

// literalsOf returns the texts in Go code as a page: each string of several words, with what is added to it, as a
// paragraph. Of the tag of a field it has what the tag documents.
func literalsOf(path, code string) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, code, parser.SkipObjectResolution)
	if err != nil {
		return "", fmt.Errorf("reading Go: %w", err)
	}
	var page strings.Builder
	say := func(text string) {
		if strings.Contains(strings.TrimSpace(text), " ") {
			page.WriteString(text + "\n\n")
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if n.Tag != nil {
				tag, _ := strconv.Unquote(n.Tag.Value)
				say(reflect.StructTag(tag).Get("doc"))
				n.Tag = nil
			}
		case *ast.BinaryExpr, *ast.BasicLit:
			text, isText := joined(n.(ast.Expr))
			if isText {
				say(text)
			}
			return !isText
		}
		return true
	})
	return page.String(), nil
}

// joined returns the text of a string, or of a sum of strings and of values.
func joined(e ast.Expr) (text string, isText bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, isLeft := joined(e.X)
		right, isRight := joined(e.Y)
		return left + right, e.Op == token.ADD && (isLeft || isRight)
	}
	return "VALUE", false
}

var notRead = regexp.MustCompile(`(?s)<(?:style|script).*?</(?:style|script)>|<[^>]*>|\{\{.*?\}\}`)

// betweenTags returns what people read of a page of HTML, each text between two tags as a paragraph.
func betweenTags(html string) string { return notRead.ReplaceAllString(html, "\n\n") }
