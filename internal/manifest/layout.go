package manifest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// A layout describes how new text is written.
type layout struct {
	eol  string
	wide bool // lists are indented under their key
	json bool // keys and strings are in double quotes

	// In flow style:
	colon  string // between key and value: ":" or ": "
	comma  string // between entries on one line: "," or ", "
	pretty bool   // each entry on its own line
	step   int    // by how many columns deeper than the collection
}

// Documents returns a stream of documents that have the values.
func Documents(values ...field.Map) []byte {
	l := layout{eol: "\n", wide: true}
	var b []byte
	for i, v := range values {
		if i > 0 {
			b = append(b, "---\n"...)
		}
		b = append(l.block(b, v, 0), '\n')
	}
	return b
}

// Inline returns a value as YAML on one line, in braces or brackets.
func Inline(v field.Value) string {
	l := layout{colon: ": ", comma: ", "}
	return string(l.flow(nil, v, yaml.Absent, 0))
}

func spaces(n int) string {
	return strings.Repeat(" ", max(n, 0))
}

// isInline reports whether a value fits on the line of its key in block style.
func isInline(v field.Value) bool {
	switch v := v.(type) {
	case field.Map:
		return len(v) == 0
	case field.List:
		return len(v) == 0
	}
	return true
}

// block appends a collection in block style with its keys or dashes in column
// col. The first line is not indented and the last one not ended.
func (l *layout) block(b []byte, v field.Value, col int) []byte {
	switch v := v.(type) {
	case field.Map:
		for i, e := range v {
			if i > 0 {
				b = l.newLine(b, col)
			}
			b = l.entry(b, e.Key, e.Value, col)
		}
	case field.List:
		for i, e := range v {
			if i > 0 {
				b = l.newLine(b, col)
			}
			b = l.item(append(b, "- "...), e, col)
		}
	}
	return b
}

func (l *layout) newLine(b []byte, col int) []byte {
	return append(append(b, l.eol...), spaces(col)...)
}

func (l *layout) entry(b []byte, key string, v field.Value, col int) []byte {
	return l.behindKey(append(l.key(b, key, yaml.Absent, false), ':'), v, col)
}

// behindKey appends the value of a key in column col; the colon is there
// already.
func (l *layout) behindKey(b []byte, v field.Value, col int) []byte {
	if text, isString := v.(string); isString && !l.json && isLiteral(text) {
		return l.literal(b, text, col+2)
	}
	if isInline(v) {
		return l.inline(append(b, ' '), v, yaml.Absent)
	}
	if _, isList := v.(field.List); !isList || l.wide {
		col += 2
	}
	return l.block(l.newLine(b, col), v, col)
}

// item appends the value of a list item whose dash is in column col; dash and
// space are there already.
func (l *layout) item(b []byte, v field.Value, col int) []byte {
	if isInline(v) {
		return l.inline(b, v, yaml.Absent)
	}
	return l.block(b, v, col+2)
}

// inline appends what isInline, in the place of a value of the style old.
func (l *layout) inline(b []byte, v field.Value, old yaml.Style) []byte {
	switch v.(type) {
	case field.Map, field.List: // an empty one
		return l.flow(b, v, old, 0)
	}
	return l.scalar(b, v, old, false)
}

// flow appends a value in flow style, in the place of one of the style old. col is the
// indentation of the line with its bracket, for the pretty form.
func (l *layout) flow(b []byte, v field.Value, old yaml.Style, col int) []byte {
	n := 0
	before := func() {
		n++
		switch {
		case n > 1 && l.pretty:
			b = append(b, ',')
		case n > 1:
			b = append(b, l.comma...)
		}
		if l.pretty {
			b = l.newLine(b, col+l.step)
		}
	}
	closing := byte('}')
	switch v := v.(type) {
	case field.Map:
		b = append(b, '{')
		for _, e := range v {
			before()
			b = l.flowEntry(b, e.Key, e.Value, col+l.step)
		}
	case field.List:
		closing = ']'
		b = append(b, '[')
		for _, e := range v {
			before()
			b = l.flow(b, e, yaml.Absent, col+l.step)
		}
	default:
		return l.scalar(b, v, old, true)
	}
	if l.pretty && n > 0 {
		b = l.newLine(b, col)
	}
	return append(b, closing)
}

func (l *layout) flowEntry(b []byte, key string, v field.Value, col int) []byte {
	b = append(l.key(b, key, yaml.Absent, true), l.colon...)
	return l.flow(b, v, yaml.Absent, col)
}

// key appends a key, or another string, that replaces one of the style old.
func (l *layout) key(b []byte, key string, old yaml.Style, inFlow bool) []byte {
	if l.json {
		return field.AppendJSON(b, key)
	}
	return appendString(b, key, old, inFlow)
}

// scalar appends a scalar that replaces one of the style old.
func (l *layout) scalar(b []byte, v field.Value, old yaml.Style, inFlow bool) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case float64:
		text, err := json.Marshal(v)
		if err != nil {
			return strconv.AppendQuoteToGraphic(b, fmt.Sprint(v))
		}
		return append(b, text...)
	case yaml.RawScalar:
		return append(b, v...)
	case string:
		return l.key(b, v, old, inFlow)
	}
	panic(fmt.Sprintf("manifest: an edit must not hold a %T", v))
}
