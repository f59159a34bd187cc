package yaml

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A Tree is a parsed text. Node 1 is the root, a mapping; 0 is no node. Values
// are read from the text on demand.
type Tree struct {
	Text     []byte // as [Checked] has it
	In       []byte // the same as in the input, where line breaks may be others
	Col      int    // the column in which the text starts
	Nodes    []Node
	ReadOnly Refusal    // why the text cannot be edited; its reason is "" if it can
	Uses     []AliasUse // the aliases of the text

	Special bool              // there are aliases, tags, merge keys or explicit keys:
	Source  map[int32]int32   // the nodes whose values aliases have
	Aliases []int32           // in order
	Merges  map[int32][]int32 // the nodes with anchors that the merge keys of a mapping refer to
	keys    map[int32]string  // those of nodes with a special key
	reached cursor
}

// A cursor is the item of a sequence that was last looked for: one after the other, they are found in one
// walk. It is valid while the tree has as many nodes.
type cursor struct {
	sequence, item, index int32
	nodes                 int
}

// KeyOf returns a key without its quotes.
func (t *Tree) KeyOf(n int32) string {
	v := &t.Nodes[n]
	b := t.Text[v.Key:v.KeyEnd]
	if v.Marks&specialKey != 0 {
		if t.keys != nil {
			return t.keys[n]
		}
		b = b[ContentStart(b):]
	}
	if len(b) < 2 || b[0] != '"' && b[0] != '\'' {
		return View(b)
	}
	return unquote(b, StyleOf(View(b)))
}

// View returns b as a string without copying it. It is safe because the texts
// of trees never change while values refer to them.
func View(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Get returns the entry of a mapping with the key, or 0.
func (t *Tree) Get(n int32, key string) int32 {
	for c := t.Nodes[n].Child; c != 0; c = t.Nodes[c].Next {
		if t.KeyOf(c) == key {
			return c
		}
	}
	return 0
}

// second returns the second entry of a mapping with the key, or 0.
func (t *Tree) second(n int32, key string) int32 {
	c := t.Nodes[t.Get(n, key)].Next
	for c != 0 && t.KeyOf(c) != key {
		c = t.Nodes[c].Next
	}
	return c
}

// Child returns the entry or item of a collection to which the step leads, or 0.
func (t *Tree) Child(n int32, step field.Step) int32 {
	switch {
	case !step.IsIndex && t.Nodes[n].Kind == Mapping:
		return t.Get(n, step.Key)
	case !step.IsIndex || t.Nodes[n].Kind != Sequence:
		return 0
	}
	at := cursor{sequence: n, item: t.Nodes[n].Child, nodes: len(t.Nodes)}
	if r := t.reached; r.sequence == n && r.nodes == at.nodes && r.index <= step.Index {
		at = r
	}
	for ; at.index < step.Index && at.item != 0; at.index++ {
		at.item = t.Nodes[at.item].Next
	}
	t.reached = at
	return at.item
}

// At returns the deepest node on the way along a path, and whether the path ends there.
func (t *Tree) At(path field.Path) (n int32, found bool) {
	n = 1
	for _, step := range path {
		c := t.Child(n, step)
		if c == 0 {
			return n, false
		}
		n = c
	}
	return n, true
}

// Path returns the steps from the root to a node.
func (t *Tree) Path(n int32) field.Path {
	path, _ := t.appendPath(nil, 1, n)
	return path
}

// appendPath appends the steps from one node to another below it; ok is false if that is not there.
func (t *Tree) appendPath(path field.Path, from, to int32) (_ field.Path, ok bool) {
	i := 0
	for c := t.Nodes[from].Child; c != 0 && from != to; c = t.Nodes[c].Next {
		step := field.Step{Key: t.KeyOf(c)}
		if t.Nodes[from].Kind == Sequence {
			step = field.Step{Index: int32(i), IsIndex: true}
		}
		if found, ok := t.appendPath(append(path, step), c, to); ok {
			return found, true
		}
		i++
	}
	return path, from == to
}

// IsNull reports whether the value is null or absent.
func (t *Tree) IsNull(n int32) bool {
	style := t.Nodes[n].Style
	return style == Absent || style == Plain && isNullText(t.Str(n))
}

func isNullText(s string) bool {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return true
	}
	return false
}

// Str returns the text of a scalar of any type.
func (t *Tree) Str(n int32) string {
	v := &t.Nodes[n]
	if v.Marks&IsAlias != 0 {
		v = &t.Nodes[t.Source[n]]
	}
	return ScalarOf(t, v)
}

// ScalarOf returns the text of a scalar of any type and style, which is written at a node.
func ScalarOf(t *Tree, v *Node) string {
	b := t.Text[v.Start:v.End]
	b = b[ContentStart(b):]
	style := StyleOf(View(b))
	switch {
	case style == Literal || style == Folded:
		b = t.textOf(v)
		return blockText(b[ContentStart(b):], int(v.Col))
	case bytes.IndexByte(b, '\n') >= 0:
		b = foldLines(b, style)
	}
	if style == Single || style == Double {
		return unquote(b, style)
	}
	return View(b)
}

// unquote returns the value of a quoted scalar on one line.
func unquote(b []byte, quotes Style) string {
	b = b[1 : len(b)-1]
	if quotes == Single {
		return strings.ReplaceAll(View(b), "''", "'")
	}
	if bytes.IndexByte(b, '\\') < 0 {
		return View(b)
	}
	return unescape(b)
}

// escapes has what the escapes of one character mean, and hexDigits how many digits follow the others.
var escapes = [256]string{
	'0': "\x00", 'a': "\a", 'b': "\b", 't': "\t", '\t': "\t", 'n': "\n", 'v': "\v", 'f': "\f",
	'r': "\r", 'e': "\x1b", ' ': " ", '"': "\"", '\'': "'", '/': "/", '\\': "\\",
	'N': "\u0085", '_': "\u00a0", 'L': "\u2028", 'P': "\u2029",
}

var hexDigits = [256]int{'x': 2, 'u': 4, 'U': 8}

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
		r, _ := hexRune(b[i+1 : i+n])
		if pair, ok := surrogatePair(r, b[i+n:]); ok {
			r = pair
			n += len(`\udc00`)
		}
		out = utf8.AppendRune(out, r)
		i += n - 1
	}
	return string(out)
}

// surrogatePair returns the character that two escapes stand for, as JSON writes those beyond 16 bits: first is
// the code of one, and rest begins with the other. ok is false if they are no pair.
func surrogatePair(first rune, rest []byte) (r rune, ok bool) {
	if first < 0xd800 ||
		first >= 0xdc00 ||
		!bytes.HasPrefix(rest, []byte(`\u`)) ||
		escapeLen(rest, 1) != 5 {
		return 0, false
	}
	low, _ := hexRune(rest[2:6])
	if low < 0xdc00 || low >= 0xe000 {
		return 0, false
	}
	return (first-0xd800)<<10 + (low - 0xdc00) + 0x10000, true
}

// hexRune returns the character with a code in hexadecimal digits; ok is false if they are none.
func hexRune(digits []byte) (r rune, ok bool) {
	code, err := strconv.ParseUint(View(digits), 16, 32)
	return rune(code), err == nil
}

// foldLines returns a plain scalar of several lines, or a quoted one with its quotes, on one. A line separator is not
// folded: it stays, as all line breaks behind it do.
func foldLines(b []byte, style Style) []byte {
	lines := bytes.Split(b, []byte("\n"))
	var out []byte
	var breaks []byte // that wait
	joined := true    // no space comes before the next line
	for i, line := range lines {
		if i > 0 {
			line = bytes.TrimLeft(line, " \t")
		}
		whole, end := cutBreak(line)
		escaped := false
		if line = bytes.TrimRight(whole, " \t"); style == Double && endsWithEscape(line) {
			if len(whole) > len(line) { // what is escaped is a blank
				line = whole[:len(line)+1]
			} else {
				line, escaped = line[:len(line)-1], true
			}
		}
		switch {
		case i == 0:
		case len(line) == 0 &&
			i < len(lines)-1 &&
			!escaped:
			breaks = append(breaks, end...)
			continue
		case len(breaks) > 0:
			out = append(out, breaks...)
		case !joined:
			out = append(out, ' ')
		}
		out = append(out, line...)
		breaks = breaks[:0]
		if joined = escaped; !escaped && end != "\n" {
			breaks = append(breaks, end...)
		}
	}
	return out
}

// endsWithEscape reports whether a line of a quoted scalar ends with a backslash that is not
// escaped itself.
func endsWithEscape(line []byte) bool {
	return (len(line)-len(bytes.TrimRight(line, "\\")))%2 == 1
}

// blockText returns the value of a literal or folded block scalar, whose lines are in a column.
func blockText(b []byte, col int) string {
	head, rest, hasLines := bytes.Cut(b, []byte("\n"))
	if !hasLines {
		return ""
	}
	indicators, _, _ := bytes.Cut(head[1:], []byte("#"))
	strip := bytes.IndexByte(indicators, '-') >= 0
	keep := bytes.IndexByte(indicators, '+') >= 0
	if col < 0 { // all lines are blank
		col = len(b)
	}
	var out strings.Builder
	out.Grow(len(b))
	last, more := "", false // the line break of the last line with a text, which was indented by more
	var blank []byte        // those of the blank lines since
	for line := range bytes.SplitSeq(rest, []byte("\n")) {
		line, end := cutBreak(line)
		if line = line[min(col, len(line)):]; len(line) == 0 {
			blank = append(blank, end...)
			continue
		}
		isMore := line[0] == ' ' || line[0] == '\t'
		if b[0] == '>' && last == "\n" && !more && !isMore {
			if last = ""; len(blank) == 0 {
				out.WriteByte(' ')
			}
		}
		out.WriteString(last)
		out.Write(blank)
		out.Write(line)
		last = end
		blank = blank[:0]
		more = isMore
	}
	switch {
	case keep:
		out.WriteString(last)
		out.Write(blank)
	case !strip:
		out.WriteString(last)
	}
	return out.String()
}

// Value returns a scalar by its type: nil, bool, int, float64 or string.
func (t *Tree) Value(n int32) any {
	style := t.Nodes[n].Style
	if style == Absent {
		return nil
	}
	s := t.Str(n)
	if style == Plain {
		if v, ok := typed(s); ok {
			return v
		}
	}
	return s
}

// typed returns the value of a plain scalar that is not a string: nil, bool,
// int or float64; ok is false for a string. Where YAML 1.1 and 1.2 differ
// (yes, no, on, off, y, n), it is a string.
func typed(s string) (v any, ok bool) {
	if s != "" && strings.IndexByte("~nNtTfF+-.0123456789", s[0]) < 0 {
		return nil, false
	}
	switch s {
	case "true", "True", "TRUE":
		return true, true
	case "false", "False", "FALSE":
		return false, true
	}
	switch {
	case isNullText(s):
		return nil, true
	case s[0] > '9': // a word
		return nil, false
	}
	if digits := strings.TrimPrefix(s, "-"); digits != "" && len(digits) <= 9 && digits[0] > '0' {
		if i, err := strconv.Atoi(s); err == nil { // what most numbers are
			return i, true
		}
	}
	if v, ok := notFinite[s]; ok {
		return v, true
	}
	if s[0] != '.' { // where the full parser takes none away
		s = strings.ReplaceAll(s, "_", "")
	}
	return number(s)
}

// notFinite has the numbers that are words.
var notFinite = map[string]float64{
	".inf": math.Inf(1), ".Inf": math.Inf(1), ".INF": math.Inf(1),
	"+.inf": math.Inf(1), "+.Inf": math.Inf(1), "+.INF": math.Inf(1),
	"-.inf": math.Inf(-1), "-.Inf": math.Inf(-1), "-.INF": math.Inf(-1),
	".nan": math.NaN(), ".NaN": math.NaN(), ".NAN": math.NaN(),
}

// number parses a number in one of its less usual forms.
func number(s string) (v any, ok bool) {
	// Most are quantities (100m) and flags (-v). To strconv alone, inf and nan are numbers.
	if strings.Trim(s, "0123456789abcdefABCDEFoOpPxX_.+-") != "" {
		return nil, false
	}
	if i, err := strconv.ParseInt(s, 0, 64); err == nil {
		return whole(i), true
	}
	sign := ""
	digits := s
	if s[0] == '-' {
		sign = s[:1]
		digits = s[1:]
	}
	for prefix, base := range map[string]int{"0b": 2, "0o": 8} {
		if rest, ok := strings.CutPrefix(digits, prefix); ok { // a second sign, as in 0o+7, counts
			i, err := strconv.ParseInt(sign+rest, base, 64)
			return whole(i), err == nil
		}
	}
	if strings.ContainsAny(s, "xXpP") {
		return nil, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// whole returns a whole number; one for which an int is too small, where it has 32 bits, as
// a float64.
func whole(i int64) any {
	if n := int(i); int64(n) == i {
		return n
	}
	return float64(i)
}

// ReadsAsString reports whether the plain scalar is a string.
func ReadsAsString(s string) bool {
	_, other := typed(s)
	return !other
}

// OldBool returns the boolean that YAML 1.1, and so kubectl, reads from a
// scalar that is a string in YAML 1.2.
func OldBool(s string) (value, ok bool) {
	switch s {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON":
		return true, true
	case "n", "N", "no", "No", "NO", "off", "Off", "OFF":
		return false, true
	}
	return false, false
}

// Any returns a node as a [field.Value].
func (t *Tree) Any(n int32) field.Value {
	if t.Nodes[n].Kind == Scalar {
		return t.Value(n)
	}
	return t.collection(n, t.Any)
}

// collection returns a mapping or a list with the values that its entries or items are given.
func (t *Tree) collection(n int32, value func(int32) field.Value) field.Value {
	if t.Nodes[n].Kind == Mapping {
		m := make(field.Map, 0, t.Length(n))
		for c := t.Nodes[n].Child; c != 0; c = t.Nodes[c].Next {
			m = append(m, field.Entry{Key: t.KeyOf(c), Value: value(c)})
		}
		return m
	}
	l := make(field.List, 0, t.Length(n))
	for c := t.Nodes[n].Child; c != 0; c = t.Nodes[c].Next {
		l = append(l, value(c))
	}
	return l
}

// Length returns how many entries or items a collection has.
func (t *Tree) Length(n int32) int {
	count := 0
	for c := t.Nodes[n].Child; c != 0; c = t.Nodes[c].Next {
		count++
	}
	return count
}

// FirstOwn returns an entry or item or, if a merge key brings it, the first one after it that is
// written there; 0 if there is none.
func (t *Tree) FirstOwn(n int32) int32 {
	for n != 0 && t.Nodes[n].Marks&IsMerged != 0 {
		n = t.Nodes[n].Next
	}
	return n
}

// Written returns a node as it is written: an alias is a plain scalar.
func (t *Tree) Written(n int32) Node {
	v := t.Nodes[n]
	if v.Marks&IsAlias != 0 {
		v.Kind = Scalar
		v.Style = Plain
		v.Child = 0
	}
	return v
}

// BehindColon returns the offset behind the colon of a key.
func (t *Tree) BehindColon(v *Node) int {
	return SkipBlanks(t.Text, int(v.KeyEnd)) + 1
}

// EndBefore returns the end of the entry before one in a block mapping, or of the key
// of that mapping.
func (t *Tree) EndBefore(parent, n int32) int {
	end := int(t.Nodes[parent].KeyEnd)
	for c := t.Nodes[parent].Child; c != n; c = t.Nodes[c].Next {
		if t.Nodes[c].Marks&IsMerged == 0 {
			end = max(int(t.Nodes[c].End), int(t.Nodes[c].KeyEnd))
		}
	}
	return end
}
