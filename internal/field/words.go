package field

import "strings"

// Enumerate lists words as a sentence has them: "a, b and c".
func Enumerate(words []string, conjunction string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}
