// Command words measures how hard the documentation and the messages are to read: words a
// sentence, sentences over 30 words, and words to avoid. It prints the worst sentences, and fails
// if a page has over 15 words a sentence, a sentence over 30, or a word to avoid. It also fails if
// a message has over 45 words, or the messages of a file have over 20 on average.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// A measure is what one page has.
type measure struct {
	page      string
	sentences int
	words     int
	long      int      // sentences over 30 words
	avoided   []string // words to avoid
	tooLong   []string // messages over 45 words
	message   float64  // words a message on average; 0 for a page
}

const (
	longSentence = 30
	goal         = 15 // words a sentence
)

func (m measure) average() float64 { return float64(m.words) / float64(max(1, m.sentences)) }

// problems says what is wrong with a page; "" if nothing is.
func (m measure) problems() string {
	var all []string
	if m.average() > goal+0.05 && !hasComments(m.page) && !hasTexts(m.page) { // which may have one alone
		all = append(all, fmt.Sprintf("%.1f words a sentence (%d allowed)", m.average(), goal))
	}
	if m.long > 0 {
		all = append(all, fmt.Sprintf("%d sentences over %d words", m.long, longSentence))
	}
	if n := len(m.avoided); n > 0 {
		all = append(all, fmt.Sprintf("%d words to avoid (%s)", n, strings.Join(m.avoided, ", ")))
	}
	if n := len(m.tooLong); n > 0 {
		all = append(all, fmt.Sprintf("%d messages over %d words, such as %q", n, mostWords, m.tooLong[0]))
	}
	if m.message > messageGoal+0.05 {
		all = append(all, fmt.Sprintf("%.1f words a message (%d allowed)", m.message, messageGoal))
	}
	return strings.Join(all, ", ")
}

func main() {
	messages := flag.String("messages", "", "`FILES` with a message in each line (KEY: TEXT), joined by commas")
	worst := flag.Int("worst", 10, "how many of the worst sentences to print")
	flag.Parse()
	files := strings.FieldsFunc(*messages, func(r rune) bool { return r == ',' })
	rc, err := run(os.Stdout, flag.Args(), files, *worst)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error: "+err.Error())
		os.Exit(2)
	}
	os.Exit(rc)
}

func run(out io.Writer, pages, messageFiles []string, worst int) (rc int, err error) {
	type placed struct {
		sentence
		page string
	}
	var all []placed
	var measures []measure
	for _, page := range slices.Concat(pages, messageFiles) {
		text, err := os.ReadFile(page)
		if err != nil {
			return 0, err
		}
		prose, err := proseOf(page, string(text))
		if err != nil {
			return 0, err
		}
		sentences, tooLong, average := sentencesOf(prose), []string(nil), 0.0
		if slices.Contains(messageFiles, page) {
			sentences, tooLong, average = measureMessages(string(text))
		}
		m := measureOf(page, sentences)
		m.tooLong, m.message = tooLong, average
		measures = append(measures, m)
		for _, s := range sentences {
			all = append(all, placed{s, page})
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(b.words, a.words) })
	for _, s := range all[:min(worst, len(all))] {
		fmt.Fprintf(out, "%4d words  %s: %s\n", s.words, s.page, s.text)
	}
	for _, m := range measures {
		fmt.Fprintf(out, "%-40s %5d sentences  %4.1f words  %3d over %d  %3d to avoid\n",
			m.page, m.sentences, m.average(), m.long, longSentence, len(m.avoided))
		if why := m.problems(); why != "" {
			fmt.Fprintf(out, "error: %s: %s. Write shorter, plainer sentences.\n", m.page, why)
			rc = 1
		}
	}
	return rc, nil
}

func measureOf(page string, sentences []sentence) measure {
	m := measure{page: page, sentences: len(sentences)}
	for _, s := range sentences {
		m.words += s.words
		m.avoided = append(m.avoided, avoidedIn(s.text)...)
		if s.words > longSentence {
			m.long++
		}
	}
	return m
}
