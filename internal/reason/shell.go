package reason

import "strings"

// ShellWord returns a word as a POSIX shell must be given it: in quotes unless every character of it
// stands for itself. What a manifest has must not become a command of whoever follows a fix.
func ShellWord(word string) string {
	if word != "" && !strings.ContainsFunc(word, isSpecial) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// isSpecial reports whether a character may mean something to a shell.
func isSpecial(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z',
		r >= 'A' && r <= 'Z',
		r >= '0' && r <= '9':
		return false
	}
	return !strings.ContainsRune("@%_+=:,./-", r)
}
