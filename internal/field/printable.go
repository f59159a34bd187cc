package field

import (
	"strconv"
	"strings"
)

// Printable returns s with escapes, as in Go, for all that would not be seen as it is:
// line breaks, control characters and bytes that are not UTF-8. Names of objects and
// files come from anyone who can send a change: they must not be able to begin a line, or
// to write to a terminal or to a CI job's log what these take for commands.
func Printable(s string) string {
	if IsPrintableASCII(s) {
		return s
	}
	quoted := strconv.Quote(s)
	return asWritten.Replace(quoted[1 : len(quoted)-1])
}

// asWritten takes back what Quote escapes although it is seen as it is.
var asWritten = strings.NewReplacer(`\\`, `\`, `\"`, `"`)
