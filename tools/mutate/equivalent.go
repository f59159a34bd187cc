package main

import (
	_ "embed"
	"fmt"
	"strings"
)

// knownEquivalents lists the mutants that no test can kill, because the program
// behaves the same.
//
//go:embed equivalent.txt
var knownEquivalents string

// parseEquivalents reads a list of mutants and reasons: a line with the name
// that the command prints, then indented lines that say why no test can tell
// the two apart. Lines that begin with # are comments.
func parseEquivalents(list string) (map[string]string, error) {
	reasons := map[string]string{}
	last := ""
	for i, line := range strings.Split(list, "\n") {
		text := strings.TrimSpace(line)
		switch {
		case text == "" || strings.HasPrefix(line, "#"):
		case line[0] != ' ' && line[0] != '\t':
			if last != "" && reasons[last] == "" {
				return nil, fmt.Errorf("equivalent.txt: %s has no reason", last)
			}
			if _, again := reasons[text]; again {
				return nil, fmt.Errorf("equivalent.txt:%d: %s is listed twice", i+1, text)
			}
			last = text
			reasons[last] = ""
		case last == "":
			return nil, fmt.Errorf("equivalent.txt:%d: a reason without a mutant", i+1)
		default:
			reasons[last] = strings.TrimSpace(reasons[last] + " " + text)
		}
	}
	if last != "" && reasons[last] == "" {
		return nil, fmt.Errorf("equivalent.txt: %s has no reason", last)
	}
	return reasons, nil
}
