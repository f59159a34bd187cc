package main

import (
	"path/filepath"
	"strings"
)

// hasComments reports whether people read only the comments of a file: it is YAML or a script.
func hasComments(path string) bool {
	ext := filepath.Ext(path)
	return ext == ".yaml" || ext == ".yml" || ext == ".sh"
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
