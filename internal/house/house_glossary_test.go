package house

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// retired are words that only this project had, with what says the same.
var retired = map[string]string{
	"dialect": "mesh",
	"adopter": "findOriginal",
	"outline": "tree",
	"shed":    "free",
}

var wordInName = regexp.MustCompile(`[A-Z]?[a-z]+`)

// The glossary of docs/design.md has at most 15 terms, each of which the code
// has in its names, and no name has a word that is retired.
func TestTheGlossaryHasTheWordsOfTheCode(t *testing.T) {
	used := make(map[string]bool)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		for name := range namesIn(t, path) {
			for _, word := range wordInName.FindAllString(name, -1) {
				word = strings.ToLower(word)
				if better, ok := retired[word]; ok {
					t.Errorf("%s: %s has the word %q: say %s", path, name, word, better)
				}
				used[word] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	design, err := os.ReadFile("../../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	_, glossary, _ := strings.Cut(string(design), "\n## Glossary\n")
	glossary, _, _ = strings.Cut(glossary, "\n## ")
	terms := regexp.MustCompile(`(?m)^\| \*\*(\w+)\*\* \|`).FindAllStringSubmatch(glossary, -1)
	if len(terms) == 0 || len(terms) > 15 {
		t.Errorf("the glossary has %d terms, and may have 15", len(terms))
	}
	for _, term := range terms {
		if !used[term[1]] {
			t.Errorf("no name in the code has the term %q of the glossary", term[1])
		}
	}
}

// namesIn returns the identifiers in a file of Go.
func namesIn(t *testing.T, path string) map[string]bool {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile(path, -1, len(text)), text, nil, 0)
	names := make(map[string]bool)
	for {
		switch _, kind, name := s.Scan(); kind {
		case token.EOF:
			return names
		case token.IDENT:
			names[name] = true
		}
	}
}
