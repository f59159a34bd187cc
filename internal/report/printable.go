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
	for at := strings.IndexFunc(s, mustEscape); at >= 0; at = strings.IndexFunc(s, mustEscape) {
		_, n := utf8.DecodeRuneInString(s[at:])
		quoted := strconv.Quote(s[at : at+n])
		b.WriteString(s[:at] + quoted[1:len(quoted)-1])
		s = s[at+n:]
	}
	return b.String() + s
}

// mustEscape is also true for the replacement character, which stands for bytes that are
// not UTF-8: as itself it is left as it is.
func mustEscape(r rune) bool { return r == utf8.RuneError || !strconv.IsPrint(r) }
