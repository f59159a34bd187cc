// Command words measures how hard the documentation is to read: words a sentence, sentences over
// 30 words, and words to avoid. It prints the worst sentences, and fails if a page is worse than
// limits.txt allows. A page that is not named there has at most 15 words a sentence, no
// sentence over 30, and no word to avoid.
package main

import (
	"bufio"
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
}

const (
	longSentence = 30
	goal         = 15 // words a sentence
)

func (m measure) average() float64 { return float64(m.words) / float64(max(1, m.sentences)) }

// A limit is the worst that a page may have.
type limit struct {
	average       float64
	long, avoided int
}

// worse says in what way a page is worse than its limit; "" if it is not.
func (m measure) worse(l limit) string {
	var all []string
	if m.average() > l.average+0.05 {
		all = append(all, fmt.Sprintf("%.1f words a sentence (%.1f allowed)", m.average(), l.average))
	}
	if m.long > l.long {
		all = append(all, fmt.Sprintf("%d sentences over %d words (%d allowed)", m.long, longSentence, l.long))
	}
	if n := len(m.avoided); n > l.avoided {
		all = append(all, fmt.Sprintf("%d words to avoid (%d allowed: %s)", n, l.avoided, strings.Join(m.avoided, ", ")))
	}
	return strings.Join(all, ", ")
}

func main() {
	limits := flag.String("limits", "", "`FILE` with a limit for each page that is not plain yet: PAGE AVERAGE LONG AVOIDED")
	update := flag.Bool("update", false, "write the limits down as they are now")
	worst := flag.Int("worst", 10, "how many of the worst sentences to print")
	flag.Parse()
	rc, err := run(os.Stdout, flag.Args(), *limits, *update, *worst)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error: "+err.Error())
		os.Exit(2)
	}
	os.Exit(rc)
}

func run(out io.Writer, pages []string, limitsFile string, update bool, worst int) (rc int, err error) {
	limits, err := readLimits(limitsFile)
	if err != nil {
		return 0, err
	}
	type placed struct {
		sentence
		page string
	}
	var all []placed
	var measures []measure
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return 0, err
		}
		sentences := sentencesOf(string(text))
		measures = append(measures, measureOf(page, sentences))
		for _, s := range sentences {
			all = append(all, placed{s, page})
		}
	}
	if update {
		return 0, writeLimits(limitsFile, measures)
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(b.words, a.words) })
	for _, s := range all[:min(worst, len(all))] {
		fmt.Fprintf(out, "%4d words  %s: %s\n", s.words, s.page, s.text)
	}
	for _, m := range measures {
		fmt.Fprintf(out, "%-40s %5d sentences  %4.1f words  %3d over %d  %3d to avoid\n",
			m.page, m.sentences, m.average(), m.long, longSentence, len(m.avoided))
		l, found := limits[m.page]
		if !found {
			l = limit{average: goal}
		}
		if why := m.worse(l); why != "" {
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

func readLimits(name string) (map[string]limit, error) {
	limits := make(map[string]limit)
	if name == "" {
		return limits, nil
	}
	f, err := os.Open(name)
	if os.IsNotExist(err) {
		return limits, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if line := s.Text(); line != "" && !strings.HasPrefix(line, "#") {
			var page string
			var l limit
			if _, err := fmt.Sscan(line, &page, &l.average, &l.long, &l.avoided); err != nil {
				return nil, fmt.Errorf("%s: %q must be PAGE AVERAGE LONG AVOIDED", name, line)
			}
			limits[page] = l
		}
	}
	return limits, nil
}

func writeLimits(name string, measures []measure) error {
	var b strings.Builder
	b.WriteString("# What the pages that are not plain yet have: words a sentence, sentences over 30 words, words to avoid.\n")
	b.WriteString("# A number may only fall. `make words` compares.\n")
	for _, m := range measures {
		if m.worse(limit{average: goal}) != "" {
			fmt.Fprintf(&b, "%s %.1f %d %d\n", m.page, max(goal, m.average()), m.long, len(m.avoided))
		}
	}
	return os.WriteFile(name, []byte(b.String()), 0o644)
}
