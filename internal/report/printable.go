package report

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// Printable returns s with escapes, as in Go, for all that would not be seen as it is:
// line breaks, control characters and bytes that are not UTF-8. Names of objects and
// files come from anyone who can send a change: they must not be able to begin a line, or
// to write to a terminal or to a CI job's log what these take for commands.
func Printable(s string) string {
	if field.IsPrintableASCII(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r != utf8.RuneError && strconv.IsPrint(r) {
			b.WriteString(s[:n])
		} else { // Quote leaves a replacement character as it is that stands for nothing else
			quoted := strconv.Quote(s[:n])
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[n:]
	}
	return b.String()
}
