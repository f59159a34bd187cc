package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/field"
)

// A layout says how new text is written.
type layout struct {
	eol  string
	wide bool // lists are indented under their key
	json bool // keys and strings stand in double quotes

	// In flow style:
	colon  string // between key and value: ":" or ": "
	comma  string // between entries on one line: "," or ", "
	pretty bool   // each entry on its own line
	step   int    // by how many columns deeper than the collection
}

func spaces(n int) string { return strings.Repeat(" ", max(n, 0)) }

// isInline tells whether a value fits behind its key in block style.
func isInline(v field.Value) bool {
	switch v := v.(type) {
	case field.Map:
		return len(v) == 0
	case field.List:
		return len(v) == 0
	}
	return true
}

// block gives a collection in block style, its keys or dashes in column col,
// the first of them without indentation and the last line without its end.
func (l *layout) block(v field.Value, col int) string {
	var b strings.Builder
	switch v := v.(type) {
	case field.Map:
		for i, e := range v {
			if i > 0 {
				b.WriteString(l.eol + spaces(col))
			}
			b.WriteString(l.entry(e.Key, e.Value, col))
		}
	case field.List:
		for i, e := range v {
			if i > 0 {
				b.WriteString(l.eol + spaces(col))
			}
			b.WriteString("- " + l.item(e, col))
		}
	}
	return b.String()
}

// entry gives an entry of a block mapping.
func (l *layout) entry(key string, v field.Value, col int) string {
	return l.key(key, false) + ":" + l.behindKey(v, col)
}

// behindKey gives what stands behind the colon of a key in column col.
func (l *layout) behindKey(v field.Value, col int) string {
	if isInline(v) {
		return " " + l.inline(v)
	}
	if _, isList := v.(field.List); !isList || l.wide {
		col += 2
	}
	return l.eol + spaces(col) + l.block(v, col)
}

// item gives what stands behind a dash and its space.
func (l *layout) item(v field.Value, col int) string {
	if isInline(v) {
		return l.inline(v)
	}
	return l.block(v, col+2)
}

func (l *layout) inline(v field.Value) string {
	switch v.(type) {
	case field.Map:
		return "{}"
	case field.List:
		return "[]"
	}
	return l.scalar(v, absent, false)
}

// flow gives a value in flow style; col is the column of the line on which
// its bracket stands, for the pretty form.
func (l *layout) flow(v field.Value, col int) string {
	var entries []string
	open, closing := "{", "}"
	switch v := v.(type) {
	case field.Map:
		for _, e := range v {
			entries = append(entries, l.key(e.Key, true)+l.colon+l.flow(e.Value, col+l.step))
		}
	case field.List:
		open, closing = "[", "]"
		for _, e := range v {
			entries = append(entries, l.flow(e, col+l.step))
		}
	default:
		return l.scalar(v, absent, true)
	}
	if !l.pretty || len(entries) == 0 {
		return open + strings.Join(entries, l.comma) + closing
	}
	in := l.eol + spaces(col+l.step)
	return open + in + strings.Join(entries, ","+in) + l.eol + spaces(col) + closing
}

func (l *layout) key(key string, inFlow bool) string {
	if l.json {
		return quoteJSON(key)
	}
	if len(key) > maxKey/2 && !isPlain(key, inFlow) {
		return quoteDouble(key)
	}
	return quoteString(key, absent, inFlow)
}

// scalar gives a scalar; old is the style of the one that it replaces.
func (l *layout) scalar(v field.Value, old style, inFlow bool) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		b, err := json.Marshal(v)
		if err != nil {
			return quoteDouble(fmt.Sprint(v))
		}
		return string(b)
	case rawScalar:
		return string(v)
	case string:
		if l.json {
			return quoteJSON(v)
		}
		return quoteString(v, old, inFlow)
	}
	panic(fmt.Sprintf("manifest: an edit must not hold a %T", v))
}

// quoteString writes a string so that every reader of YAML, 1.1 or 1.2, reads
// that string: in the style of the one that it replaces where that was
// quoted, else plain, else in the quotes that need no escapes.
func quoteString(s string, old style, inFlow bool) string {
	if !isPrintable(s) {
		return quoteDouble(s)
	}
	switch {
	case old == single:
		return quoteSingle(s)
	case old == double:
		return quoteDouble(s)
	case isPlain(s, inFlow):
		return s
	case strings.ContainsAny(s, `"\`):
		return quoteSingle(s)
	}
	return quoteDouble(s)
}

func quoteSingle(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// isPrintable tells whether the string can stand in single quotes on a line.
func isPrintable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if r < 0x20 || r == 0x7f || r == 0xfeff || !unicode.IsGraphic(r) {
			return false
		}
	}
	return true
}

func quoteDouble(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x20 || r == 0x7f || r == 0xfeff || !unicode.IsGraphic(r):
			if r > 0xffff {
				fmt.Fprintf(&b, `\U%08x`, r)
			} else {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

// isPlain tells whether the string can stand without quotes. It is careful:
// what only might be something else is quoted.
func isPlain(s string, inFlow bool) bool {
	if s == "" || len(s) > 512 || s[len(s)-1] == ' ' || s[len(s)-1] == ':' {
		return false
	}
	letter := false // one that no number, in any base, holds
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'g' && c <= 'z' && c != 'o' && c != 'x' || c >= 'G' && c <= 'Z' && c != 'O' && c != 'X':
			letter = true
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '/' || c == '_' || c == '$':
		case i == 0:
			return false
		case c == '.' || c == '-' || c == '@' || c == '+' || c == '=' || c == '~':
		case c == ':' && keyChar[s[i+1]]:
		case c == ' ' && !inFlow:
		case !inFlow && strings.IndexByte("(),%*&!?<>|;^", c) >= 0:
		default:
			return false
		}
	}
	if c := s[0]; c >= '0' && c <= '9' {
		return letter && strings.IndexByte(s, ':') < 0
	}
	if _, old := oldBool(s); old {
		return false
	}
	v, isString := resolve(s).(string)
	return isString && v == s
}

// encodePlain writes a node of the full parser in the scanner's own form,
// without its comments.
func encodePlain(n *yaml.Node, col int, isFlow bool, eol string) []byte {
	v := valueOf(n)
	l := &layout{eol: eol, wide: !isCompact(n), colon: ": ", comma: ", ", json: isFlow}
	if isFlow {
		return []byte(l.flow(v, 0) + eol)
	}
	return []byte(l.block(v, col) + eol)
}

// valueOf gives a node of the full parser as a value.
func valueOf(n *yaml.Node) field.Value {
	switch n.Kind {
	case yaml.MappingNode:
		m := field.Map{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			m = append(m, field.Entry{Key: n.Content[i].Value, Value: valueOf(n.Content[i+1])})
		}
		return m
	case yaml.SequenceNode:
		l := field.List{}
		for _, c := range n.Content {
			l = append(l, valueOf(c))
		}
		return l
	}
	if n.Style == 0 {
		if n.Value == "" {
			return nil
		}
		return rawScalar(n.Value)
	}
	return n.Value
}
