package manifest

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// appendString appends a string in a form that YAML 1.1 and 1.2 both read as
// that string. If it replaces a quoted one, it keeps those quotes; else it is
// plain, or in the quotes that need no escapes.
func appendString(b []byte, s string, old yaml.Style, inFlow bool) []byte {
	asPlain := isPlain(s, inFlow)
	if old == yaml.Plain && !asPlain { // it stays plain if only its spaces and the like speak against that
		asPlain = isPlain(s, false) && !strings.ContainsAny(s, ",?:")
	}
	switch {
	case asPlain && old != yaml.Single && old != yaml.Double:
		return append(b, s...)
	case !isPrintable(s) || old == yaml.Double:
		return strconv.AppendQuoteToGraphic(b, s)
	case old == yaml.Single ||
		strings.IndexByte(s, '"') >= 0 ||
		strings.IndexByte(s, '\\') >= 0:
		return append(append(append(b, '\''), strings.ReplaceAll(s, "'", "''")...), '\'')
	}
	return append(append(append(b, '"'), s...), '"')
}

// isPrintable reports whether the string can be written in single quotes on one
// line.
func isPrintable(s string) bool {
	if field.IsPrintableASCII(s) {
		return true
	}
	for _, r := range s {
		if r < ' ' ||
			r >= 0x7f && (r == utf8.RuneError || !unicode.IsGraphic(r)) {
			return false
		}
	}
	return true
}

// The classes of characters in plain scalars.
const (
	first     = 1 << iota // even as the first
	later                 // but not as the first
	laterText             // likewise, and in block style only
	letter                // one that no number, in any base, holds
)

var plainChar = func() (t [256]byte) {
	set := func(class byte, chars string) {
		for i := range len(chars) {
			t[chars[i]] = class
		}
	}
	set(first|letter, "ghijklmnpqrstuvwyzGHIJKLMNPQRSTUVWYZ")
	set(first, "abcdefoxABCDEFOX0123456789/_$")
	set(later, ".-@+=~")
	set(laterText, " (),%*&!?<>|;^")
	return t
}()

// isPlain reports whether the string can be written without quotes. In doubt it
// reports false.
func isPlain(s string, inFlow bool) bool {
	if s == "" || plainChar[s[0]]&first == 0 {
		return false
	}
	if last := s[len(s)-1]; last == ' ' || last == ':' {
		return false
	}
	allowed := byte(first | later | laterText)
	if inFlow {
		allowed = first | later
	}
	seen := byte(0)
	for i := range len(s) {
		class := plainChar[s[i]]
		if class&allowed == 0 &&
			!(s[i] == ':' && mayFollowColon(s[i+1])) {
			return false
		}
		seen |= class
	}
	if c := s[0]; c >= '0' && c <= '9' {
		return seen&letter != 0
	}
	if _, old := yaml.OldBool(s); old {
		return false
	}
	return yaml.ReadsAsString(s)
}

// mayFollowColon reports whether a colon within a plain string may have the character behind it.
func mayFollowColon(c byte) bool {
	return plainChar[c]&first != 0 || c == '.' || c == '-'
}

// isLiteral reports whether a string has several lines, and can be written as a
// literal block scalar that ends without, or with one, line feed.
func isLiteral(s string) bool {
	body := strings.TrimSuffix(s, "\n")
	if body == "" || !strings.Contains(s, "\n") {
		return false
	}
	if body[0] == ' ' ||
		body[0] == '\n' ||
		strings.HasSuffix(body, "\n") {
		return false
	}
	for line := range strings.SplitSeq(body, "\n") {
		if !isPrintable(line) || line != "" && strings.TrimSpace(line) == "" {
			return false
		}
	}
	return true
}

// literal appends a literal block scalar behind a colon, with its lines in
// column col; the last line is not ended.
func (l *layout) literal(b []byte, s string, col int) []byte {
	body, ended := strings.CutSuffix(s, "\n")
	b = append(b, " |"...)
	if !ended {
		b = append(b, '-')
	}
	return l.lines(b, strings.Split(body, "\n"), col)
}

// lines appends the lines of a block scalar, each behind a line break.
func (l *layout) lines(b []byte, lines []string, col int) []byte {
	for _, line := range lines {
		b = append(b, l.eol...)
		if line != "" {
			b = append(append(b, spaces(col)...), line...)
		}
	}
	return b
}
