package report

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Printable returns s with escapes, as in Go, for all that would not be seen as it is:
// line breaks, control characters and bytes that are not UTF-8. Names of objects and
// files come from anyone who can send a change: they must not be able to begin a line, or
// to write to a terminal or to a CI job's log what these take for commands.
func Printable(s string) string {
	if strings.IndexFunc(s, mustEscape) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if mustEscape(r) {
			quoted := strconv.Quote(s[:n])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// mustEscape is also true for the replacement character, which stands for bytes that are
// not UTF-8: as itself it is left as it is.
func mustEscape(r rune) bool { return r == utf8.RuneError || !strconv.IsPrint(r) }
