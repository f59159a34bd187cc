package manifest

import (
	"bytes"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// isLiteral reports whether a string has several lines, and can be written as a
// literal block scalar that ends without, or with one, line feed.
func isLiteral(s string) bool {
	body := strings.TrimSuffix(s, "\n")
	if body == "" || body[0] == ' ' || body[0] == '\n' || strings.HasSuffix(body, "\n") || strings.IndexByte(s, '\n') < 0 {
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

// keepsLines reports whether a value can be written into a literal block scalar, and
// what that has now.
func keepsLines(t *yaml.Tree, v *yaml.Node, val field.Value) (have string, ok bool) {
	want, isString := val.(string)
	if v.Style != yaml.Literal || v.Marks != 0 || v.Col < 0 || bytes.IndexByte(t.Text[v.Start:min(v.Start+3, v.End)], '+') > 0 || !isString || !isLiteral(strings.TrimSuffix(want, "\n")+"\n") {
		return have, false
	}
	have = yaml.ScalarText(t.Text[v.Start:v.End], int(v.Col))
	return have, strings.HasSuffix(have, "\n") == strings.HasSuffix(want, "\n")
}

// replaceLines replaces the lines of a literal block scalar, below its header. It returns
// false if the scalar must be written anew.
func (s *splicer) replaceLines(v *yaml.Node, val field.Value) bool {
	_, ok := keepsLines(s.t, v, val)
	if ok {
		s.put(s.eol(int(v.Start)), s.eol(int(v.End)), s.linesOf(v, val.(string)))
	}
	return ok
}

// linesOf returns a string as the lines below the header of a literal block scalar.
func (s *splicer) linesOf(v *yaml.Node, text string) string {
	return string(s.l.lines(nil, strings.Split(strings.TrimSuffix(text, "\n"), "\n"), int(v.Col)))
}
