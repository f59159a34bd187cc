// Package proof writes what a suite saw into the results page docs/proof.md,
// where each suite owns the section between its two markers.
package proof

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const head = `# Proof

What was tried against things that nobody here wrote, how often, and what came out. The sections are written by the
suites that ran: ` + "`make conformance`" + ` and ` + "`make e2e`" + `.
`

// Write replaces the named section of the page, or adds it at the end; a
// page that does not exist is made.
func Write(page, section, body string) error {
	begin, end := "<!-- begin "+section+" -->\n", "<!-- end "+section+" -->\n"
	old, err := os.ReadFile(page)
	if errors.Is(err, fs.ErrNotExist) {
		old, err = []byte(head), os.MkdirAll(filepath.Dir(page), 0o755)
	}
	if err != nil {
		return err
	}
	text := string(old)
	block := begin + strings.TrimSpace(body) + "\n" + end
	before, rest, found := strings.Cut(text, begin)
	_, after, ended := strings.Cut(rest, end)
	switch {
	case found && ended:
		text = before + block + after
	case found:
		return fmt.Errorf("%s: section %q begins and does not end", page, section)
	default:
		text = strings.TrimRight(text, "\n") + "\n\n" + block
	}
	return os.WriteFile(page, []byte(text), 0o644)
}
