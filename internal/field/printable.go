package field

import (
	"fmt"
	"strconv"
	"strings"
)

// Printable returns s with escapes, as in Go, for all that would not be seen as it is:
// line breaks, control characters and bytes that are not UTF-8. Names of objects and
// files come from anyone who can send a change: they must not be able to begin a line, or
// to write to a terminal what it takes for commands. [WithoutCommands] does it for logs of CI systems.
func Printable(s string) string {
	if IsPrintableASCII(s) {
		return s
	}
	quoted := strconv.Quote(s)
	return asWritten.Replace(quoted[1 : len(quoted)-1])
}

// asWritten takes back what Quote escapes although it is seen as it is.
var asWritten = strings.NewReplacer(`\\`, `\`, `\"`, `"`)

// WithoutCommands returns s with another text for a sign of each of the commands that CI systems take from
// a log: from any place of a line (##vso[ and ##[ of Azure Pipelines, which GitHub's runner has too,
// ##teamcity[ of TeamCity), and from its start (::error:: of GitHub's runner).
func WithoutCommands(s string, escape func(sign byte) string) string {
	var b strings.Builder
	done := 0
	for i := range len(s) {
		if isCommand(s, i) {
			b.WriteString(s[done:i])
			b.WriteString(escape(s[i]))
			done = i + 1
		}
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// isCommand reports whether the sign at i makes a command of what is around it: it is the last # of
// ##name[, or the first colon of ::name at the start of a line.
func isCommand(s string, i int) bool {
	switch s[i] {
	case '#':
		name := strings.TrimLeft(s[i+1:], commandLetters)
		return i > 0 && s[i-1] == '#' && strings.HasPrefix(name, "[")
	case ':':
		rest, found := strings.CutPrefix(s[i:], "::")
		line := strings.TrimRight(s[:i], " \t")
		isFirst := line == "" || line[len(line)-1] == '\n'
		return found && isFirst && strings.TrimLeft(rest, commandLetters) != rest
	}
	return false
}

const commandLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// EscapedSign is how [WithoutCommands] writes a sign for people: as [Printable] escapes characters.
func EscapedSign(sign byte) string { return fmt.Sprintf(`\x%02x`, sign) }
