// Package agent tells errors that are new from those that are in the log already.
// It knows nothing of where they come from.
package agent

import (
	"slices"
	"strings"
)

// A LastError is the last error that was logged. The zero value is none.
type LastError struct{ last string }

// Another reports whether a text is another than the last one, which it then is.
// Times and addresses do not count: each attempt has its own.
func (t *LastError) Another(text string) bool {
	hasColon := func(word string) bool {
		return strings.Contains(strings.TrimRight(word, ":,;"), ":")
	}
	text = strings.Join(slices.DeleteFunc(strings.Fields(text), hasColon), " ")
	if text == t.last {
		return false
	}
	t.last = text
	return true
}
