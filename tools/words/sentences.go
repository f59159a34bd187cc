package main

import (
	"regexp"
	"strings"
)

// A sentence is one of a page, or a list item or table cell without a full stop.
type sentence struct {
	words int
	text  string
}

// The least words of what counts: a shorter item or cell is a label.
const (
	leastWords     = 4
	leastCellWords = 8
)

var (
	comment   = regexp.MustCompile(`(?s)<!--.*?-->`)
	code      = regexp.MustCompile("(?ms)^[ \t\n\r\f\v]*```.*?^[ \t\n\r\f\v]*```[ \t\n\r\f\v]*$")
	front     = regexp.MustCompile(`(?s)\A---\n.*?\n---\n`)
	rule      = regexp.MustCompile(`^\|[-| :]+\|$`)
	item      = regexp.MustCompile(`^([-*+]|\d+\.)\s+`)
	span      = regexp.MustCompile("`[^`]*`")
	link      = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	emphasis  = regexp.MustCompile(`[*_]{1,2}([^*_]+)[*_]{1,2}`)
	fullStop  = regexp.MustCompile(`[.!?][)"]?\s+`)
	wordStart = regexp.MustCompile(`[A-Za-z0-9]`)
)

// sentencesOf returns the sentences of a Markdown page, without code blocks, headings and what
// benchmarks write. Code in a sentence is one word.
func sentencesOf(page string) []sentence {
	page = withoutGenerated(page)
	page = front.ReplaceAllString(page, "")
	page = comment.ReplaceAllString(page, "")
	page = code.ReplaceAllString(page, "")
	var all []sentence
	var lines []string
	flush := func() {
		all = append(all, split(strings.Join(lines, " "), leastWords)...)
		lines = nil
	}
	for line := range strings.SplitSeq(page, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "", strings.HasPrefix(line, "#"), rule.MatchString(line), strings.HasPrefix(line, "!["), strings.HasPrefix(line, "{{"):
			flush()
		case strings.HasPrefix(line, "|"):
			flush()
			for _, cell := range cells(line) {
				all = append(all, split(cell, leastCellWords)...)
			}
		case item.MatchString(line):
			flush()
			lines = append(lines, item.ReplaceAllString(line, ""))
		default:
			lines = append(lines, line)
		}
	}
	flush()
	return all
}

// withoutGenerated removes the tables that benchmarks write, which are between two comments. The
// reference of the functionConfig is for people.
func withoutGenerated(page string) string {
	var kept strings.Builder
	for {
		before, after, found := strings.Cut(page, "<!-- begin ")
		kept.WriteString(before)
		if !found {
			return kept.String()
		}
		_, rest, ends := strings.Cut(after, "<!-- end ")
		if strings.HasPrefix(after, "reference") || !ends {
			kept.WriteString("<!-- begin ")
			page = after
			continue
		}
		_, page, _ = strings.Cut(rest, "-->")
	}
}

// cells returns the cells of a row of a table.
func cells(row string) []string {
	const escaped = "\x00"
	row = strings.ReplaceAll(strings.Trim(row, "|"), `\|`, escaped)
	list := strings.Split(row, "|")
	for i, c := range list {
		list[i] = strings.TrimSpace(strings.ReplaceAll(c, escaped, `\|`))
	}
	return list
}

// split returns the sentences of a paragraph, an item or a cell that have at least so many words.
func split(block string, least int) (all []sentence) {
	block = span.ReplaceAllString(block, "CODE")
	block = link.ReplaceAllString(block, "$1")
	block = emphasis.ReplaceAllString(block, "$1")
	for block != "" {
		text, rest := block, ""
		if at := fullStop.FindStringIndex(block); at != nil {
			text, rest = block[:at[0]+1], block[at[1]:]
		}
		block = rest
		words := 0
		for _, w := range strings.Fields(text) {
			if wordStart.MatchString(w) {
				words++
			}
		}
		if words >= least {
			all = append(all, sentence{words, text})
		}
	}
	return all
}
