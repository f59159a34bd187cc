package main

import (
	"regexp"
	"strings"
)

// mostWords is how many words a message may have in all its parts: what, why and fix. messageGoal is how many the
// messages of a file may have on average, where code and quoted values are one word each.
const (
	mostWords   = 45
	messageGoal = 20
)

var (
	fieldPath = regexp.MustCompile("^`[^`]*`: ")
	quoted    = regexp.MustCompile(`"[^"]*"`)
)

// measureMessages returns the sentences of a file that the tests of a package write, with a message
// in each line (KEY: TEXT), and the messages that are too long. The path of a field at the
// beginning does not count. Code and quoted values are one word of a sentence, as in a page. It also returns the words of
// a message on average.
func measureMessages(file string) (sentences []sentence, tooLong []string, average float64) {
	messages, words := 0, 0
	for line := range strings.Lines(file) {
		_, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		text = fieldPath.ReplaceAllString(text, "")
		if len(strings.Fields(text)) > mostWords {
			tooLong = append(tooLong, text)
		}
		text = span.ReplaceAllString(quoted.ReplaceAllString(text, "CODE"), "CODE")
		messages++
		words += len(strings.Fields(text))
		sentences = append(sentences, split(text, leastWords)...)
	}
	return sentences, tooLong, float64(words) / float64(max(1, messages))
}
