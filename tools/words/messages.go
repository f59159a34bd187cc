package main

import (
	"regexp"
	"strings"
)

// mostWords is how many words a message may have in all its parts: what, why and fix.
const mostWords = 45

var (
	fieldPath = regexp.MustCompile("^`[^`]*`: ")
	quoted    = regexp.MustCompile(`"[^"]*"`)
)

// measureMessages returns the sentences of a file that the tests of a package write, with a message
// in each line (KEY: TEXT), and the messages that are too long. The path of a field at the
// beginning does not count. Code and quoted values are one word of a sentence, as in a page.
func measureMessages(file string) (sentences []sentence, tooLong []string) {
	for line := range strings.Lines(file) {
		_, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		text = fieldPath.ReplaceAllString(text, "")
		if len(strings.Fields(text)) > mostWords {
			tooLong = append(tooLong, text)
		}
		sentences = append(sentences, split(quoted.ReplaceAllString(text, "CODE"), leastWords)...)
	}
	return sentences, tooLong
}
