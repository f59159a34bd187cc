package manifest

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"go.yaml.in/yaml/v3"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A tree is a parsed text. Node 1 is the root, a mapping; 0 is no node. Values
// are read from the text on demand.
type tree struct {
	text  []byte
	col   int // the column in which the text starts
	nodes []node
	stack []frame
	why   string // why parse failed
	wide  bool   // some list is indented under its key
}

// largeText is more than the text of most objects.
const largeText = 64 << 10

// parse parses a text that starts in column col and reports whether the scanner
// accepts it. It uses the tree's memory again.
func (t *tree) parse(text []byte, col int) bool {
	t.text, t.col = text, col
	if cap(t.nodes) == 0 {
		t.nodes, t.stack = make([]node, 0, 512), make([]frame, 0, 64)
	}
	if len(text) > largeText {
		// The results of many objects: most lines are a node, and to grow by
		// appending would take the memory several times.
		t.nodes = slices.Grow(t.nodes[:0], bytes.Count(text, []byte("\n"))*9/8)
	}
	s := scanner{in: text, build: true, nodes: append(t.nodes[:0], node{}), stack: t.stack}
	var end int
	var ok bool
	if len(text) > 0 && text[0] == '{' {
		s.nodes = append(s.nodes, node{})
		if end, ok = s.flow(0, 0, 1, nil); ok {
			end, ok = endOfFlow(text, end)
		}
	} else {
		end, ok = s.scan(0, col)
	}
	t.nodes, t.why, t.wide = s.nodes, s.why, s.wide
	return ok && end == len(text)
}

// keyBytes returns the text of a key without its quotes.
func (t *tree) keyBytes(n int32) []byte {
	v := &t.nodes[n]
	b := t.text[v.key:v.keyEnd]
	if len(b) < 2 || b[0] != '"' && b[0] != '\'' {
		return b
	}
	if b[0] == '"' && bytes.IndexByte(b, '\\') < 0 || b[0] == '\'' && bytes.IndexByte(b[1:len(b)-1], '\'') < 0 {
		return b[1 : len(b)-1]
	}
	return []byte(unquote(b, t.keyStyle(v)))
}

// keyStyle returns the style in which the key of a node is written.
func (t *tree) keyStyle(n *node) style {
	switch t.text[n.key] {
	case '"':
		return double
	case '\'':
		return single
	}
	return plain
}

// view returns b as a string without copying it. It is safe because the texts
// of trees never change while values refer to them.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// keyOf returns a key as a string.
func (t *tree) keyOf(n int32) string { return view(t.keyBytes(n)) }

// get returns the entry of a mapping with the key, or 0.
func (t *tree) get(n int32, key string) int32 {
	for c := t.nodes[n].child; c != 0; c = t.nodes[c].next {
		if string(t.keyBytes(c)) == key {
			return c
		}
	}
	return 0
}

// item returns the item of a list with the index, or 0.
func (t *tree) item(n int32, i int) int32 {
	for c := t.nodes[n].child; c != 0; c = t.nodes[c].next {
		if i == 0 {
			return c
		}
		i--
	}
	return 0
}

// child returns the entry or item of a collection to which the step leads, or 0.
func (t *tree) child(n int32, step field.Step) int32 {
	switch {
	case step.IsIndex && t.nodes[n].kind == sequence:
		return t.item(n, int(step.Index))
	case !step.IsIndex && t.nodes[n].kind == mapping:
		return t.get(n, step.Key)
	}
	return 0
}

// isNull reports whether the value is null or absent.
func (t *tree) isNull(n int32) bool {
	v := &t.nodes[n]
	if v.kind != scalar {
		return false
	}
	return v.style == absent || v.style == plain && v.end-v.start <= 4 && isNullText(view(t.text[v.start:v.end]))
}

func isNullText(s string) bool {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return true
	}
	return false
}

// str returns the text of a scalar of any type.
func (t *tree) str(n int32) string {
	v := &t.nodes[n]
	b := t.text[v.start:v.end]
	switch v.style {
	case plain:
		if bytes.IndexByte(b, '\n') < 0 {
			return view(b)
		}
		return foldLines(b)
	case single, double:
		if bytes.IndexByte(b, '\n') < 0 {
			return unquote(b, v.style)
		}
	case literal:
		if s, ok := t.literal(v); ok {
			return s
		}
	case absent:
		return ""
	}
	return t.delegate(v)
}

// foldLines returns the value of a plain scalar of several lines.
func foldLines(b []byte) string {
	var out strings.Builder
	breaks := 0
	for i, line := range bytes.Split(b, []byte("\n")) {
		line = bytes.Trim(line, " \t\r")
		if len(line) == 0 {
			breaks++
			continue
		}
		switch {
		case i == 0:
		case breaks == 0:
			out.WriteByte(' ')
		default:
			out.WriteString(strings.Repeat("\n", breaks))
		}
		breaks = 0
		out.Write(line)
	}
	return out.String()
}

// unquote returns the value of a quoted scalar on one line.
func unquote(b []byte, quotes style) string {
	b = b[1 : len(b)-1]
	if quotes == single {
		if bytes.IndexByte(b, '\'') < 0 {
			return view(b)
		}
		return strings.ReplaceAll(string(b), "''", "'")
	}
	if bytes.IndexByte(b, '\\') < 0 {
		return view(b)
	}
	return unescape(b)
}

var escapes = map[byte]string{
	'0': "\x00", 'a': "\a", 'b': "\b", 't': "\t", '\t': "\t", 'n': "\n", 'v': "\v", 'f': "\f", 'r': "\r", 'e': "\x1b",
	' ': " ", '"': "\"", '/': "/", '\\': "\\", 'N': "\u0085", '_': "\u00a0", 'L': "\u2028", 'P': "\u2029",
}

func unescape(b []byte) string {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			out = append(out, b[i])
			continue
		}
		i++
		n := escapeLen(b, i)
		if n <= 1 {
			if n == 1 {
				out = append(out, escapes[b[i]]...)
			}
			continue
		}
		r := hexRune(b[i+1 : i+n])
		// JSON writes characters beyond 16 bits as two escapes.
		if r >= 0xd800 && r < 0xdc00 && i+n+5 < len(b) && b[i+n] == '\\' && b[i+n+1] == 'u' && escapeLen(b, i+n+1) == 5 {
			if low := hexRune(b[i+n+2 : i+n+6]); low >= 0xdc00 && low < 0xe000 {
				r = (r-0xd800)<<10 + (low - 0xdc00) + 0x10000
				n += 6
			}
		}
		out = utf8.AppendRune(out, r)
		i += n - 1
	}
	return string(out)
}

func hexRune(b []byte) rune {
	var r rune
	for _, c := range b {
		r = r<<4 | rune(hexDigit(c))
	}
	return r
}

// literal returns the value of a literal block scalar; ok is false if the full
// parser must read it.
func (t *tree) literal(v *node) (string, bool) {
	b := t.text[v.start:v.end]
	eol := bytes.IndexByte(b, '\n')
	if eol < 0 || v.col < 0 {
		return "", false
	}
	strip, keep := false, false
	for _, c := range b[1:eol] {
		if c == '#' || c == ' ' {
			break
		}
		strip = strip || c == '-'
		keep = keep || c == '+'
	}
	if keep {
		return "", false
	}
	var out strings.Builder
	out.Grow(len(b))
	for rest := b[eol+1:]; ; {
		line, more, found := bytes.Cut(rest, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) > int(v.col) {
			out.Write(line[v.col:])
		}
		if !found {
			break
		}
		out.WriteByte('\n')
		rest = more
	}
	if !strip {
		out.WriteByte('\n')
	}
	return out.String(), true
}

// delegate returns what the full parser reads from a scalar, in a mapping of
// its own.
func (t *tree) delegate(v *node) string {
	col := int(v.col)
	if v.style == literal || v.style == folded {
		// The lines keep their column: an indentation indicator counts from the
		// parent's.
		col = t.parentCol(v)
	}
	b := append(appendSpaces(nil, col), "k: "...)
	b = append(b, t.text[v.start:v.end]...)
	b = append(b, '\n')
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil || len(doc.Content) == 0 || len(doc.Content[0].Content) != 2 {
		return string(t.text[v.start:v.end])
	}
	return doc.Content[0].Content[1].Value
}

// parentCol returns the column of the collection that holds a block scalar.
func (t *tree) parentCol(v *node) int {
	for i := range t.nodes {
		p := &t.nodes[i]
		if p.kind == scalar || p.style != block {
			continue
		}
		for c := p.child; c != 0; c = t.nodes[c].next {
			if &t.nodes[c] == v {
				return int(p.col)
			}
		}
	}
	return 0
}

// value returns a scalar by its type: nil, bool, int, float64 or string.
func (t *tree) value(n int32) any {
	v := &t.nodes[n]
	switch v.style {
	case absent:
		return nil
	case plain:
		return resolve(t.str(n))
	}
	return t.str(n)
}

// isText is a fast check for most strings; it reports false also for some
// scalars that resolve leaves strings.
func isText(s string) bool {
	return s != "" && (s[0] == '/' || s[0] >= 'A' && s[0] <= 'z') && (len(s) > 5 || strings.IndexByte("nNtTfF", s[0]) < 0)
}

// resolve returns the value of a plain scalar. Where YAML 1.1 and 1.2 differ
// (yes, no, on, off, y, n), it is a string.
func resolve(s string) any {
	if v, ok := typed(s); ok {
		return v
	}
	return s
}

// typed returns the value of a plain scalar that is not a string: nil, bool,
// int or float64; ok is false for a string.
func typed(s string) (v any, ok bool) {
	if s == "" {
		return nil, true
	}
	switch c := s[0]; {
	case c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.':
	case strings.IndexByte("~nNtTfF", c) >= 0 && len(s) <= 5:
		switch s {
		case "~", "null", "Null", "NULL":
			return nil, true
		case "true", "True", "TRUE":
			return true, true
		case "false", "False", "FALSE":
			return false, true
		}
		return nil, false
	default:
		return nil, false
	}
	if i, ok := decimal(s); ok {
		return i, true
	}
	if mayBeNumber(s) {
		var v any
		if err := (&yaml.Node{Kind: yaml.ScalarNode, Value: s}).Decode(&v); err == nil {
			switch v := v.(type) {
			case int, float64:
				return v, true
			case int64:
				return int(v), true
			case uint64:
				return float64(v), true
			}
		}
	}
	return nil, false
}

// decimal parses a whole number in its usual form.
func decimal(s string) (int, bool) {
	digits := strings.TrimPrefix(s, "-")
	if len(digits) == 0 || len(digits) > 17 || digits[0] == '0' && s != "0" {
		return 0, false
	}
	n := 0
	for i := range len(digits) {
		c := digits[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = 10*n + int(c)
	}
	if len(digits) < len(s) {
		n = -n
	}
	return n, true
}

// mayBeNumber reports whether only the full parser can tell if a plain scalar
// is a number: hexadecimal, with an exponent, with underscores, infinite.
func mayBeNumber(s string) bool {
	points := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		case strings.IndexByte("+-_xXoOiInN", c) >= 0:
		case c == '.':
			points++
		default:
			return false
		}
	}
	return points < 2
}

// readsAsString reports whether resolve leaves the plain scalar a string.
func readsAsString(s string) bool {
	if isText(s) {
		return true
	}
	_, other := typed(s)
	return !other
}

// oldBool returns the boolean that YAML 1.1, and so kubectl, reads from a
// scalar that is a string in YAML 1.2.
func oldBool(s string) (value, ok bool) {
	switch s {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON":
		return true, true
	case "n", "N", "no", "No", "NO", "off", "Off", "OFF":
		return false, true
	}
	return false, false
}

// any returns a node as a [field.Value].
func (t *tree) any(n int32) field.Value {
	v := &t.nodes[n]
	switch v.kind {
	case mapping:
		m := make(field.Map, 0, t.length(n))
		for c := v.child; c != 0; c = t.nodes[c].next {
			m = append(m, field.Entry{Key: t.keyOf(c), Value: t.any(c)})
		}
		return m
	case sequence:
		l := make(field.List, 0, t.length(n))
		for c := v.child; c != 0; c = t.nodes[c].next {
			l = append(l, t.any(c))
		}
		return l
	}
	return t.value(n)
}
