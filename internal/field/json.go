package field

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// AppendJSON appends a value in JSON; mappings keep their order. Characters that JSON
// allows and YAML does not are escaped.
func AppendJSON(b []byte, v Value) []byte {
	switch v := v.(type) {
	case Map:
		b = append(b, '{')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(AppendJSON(b, e.Key), ':')
			b = AppendJSON(b, e.Value)
		}
		return append(b, '}')
	case List:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = AppendJSON(b, item)
		}
		return append(b, ']')
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case string:
		if isPlain(v) {
			return append(append(append(b, '"'), v...), '"')
		}
	}
	out := bytes.NewBuffer(b)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false) // people read it
	if err := e.Encode(v); err != nil {
		panic(err) // strings, numbers, booleans and null always encode
	}
	return escapeOdd(bytes.TrimSuffix(out.Bytes(), []byte("\n")), len(b))
}

// isPlain reports whether JSON has a string as it is.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// escapeOdd escapes what YAML does not take as text in b[start:], as in section 5.1 of YAML
// 1.2, and the byte order mark, which parsers skip.
func escapeOdd(b []byte, start int) []byte {
	odd := func(r rune) bool {
		return r >= 0x7f && r < 0xa0 ||
			r >= 0xfffe && r <= 0xffff ||
			r == 0xfeff
	}
	if bytes.IndexFunc(b[start:], odd) < 0 {
		return b
	}
	text := string(b[start:])
	b = b[:start]
	for _, r := range text {
		if odd(r) {
			b = fmt.Appendf(b, `\u%04x`, r)
		} else {
			b = utf8.AppendRune(b, r)
		}
	}
	return b
}

// WithWholeNumbers returns a mapping in which each number without a fraction, such as 8080.0 or 1e3, is the
// integer that it is to the API server. [DecodeJSON] knows no other numbers.
func WithWholeNumbers(m Map) Map {
	out := slices.Clone(m)
	for i, e := range m {
		switch v := e.Value.(type) {
		case float64:
			if v == math.Trunc(v) {
				out[i].Value = int(v)
			}
		case Map:
			out[i].Value = WithWholeNumbers(v)
		}
	}
	return out
}

// DecodeJSON reads a mapping that [AppendJSON] wrote. Its numbers are integers.
func DecodeJSON(text string) (Map, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	v, err := decodeValue(d)
	if err != nil {
		return nil, err
	}
	m, isMap := v.(Map)
	if _, err := d.Token(); !isMap || err != io.EOF {
		return nil, errors.New("must be one JSON object")
	}
	return m, nil
}

func decodeValue(d *json.Decoder) (Value, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Number:
		n, err := token.Int64()
		return int(n), err
	case json.Delim:
		list := List{} // in a mapping, of a key, its value, the next key
		for d.More() {
			v, err := decodeValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		if _, err := d.Token(); err != nil || token == '[' {
			return list, err
		}
		m := make(Map, len(list)/2)
		for i := range m {
			m[i] = Entry{Key: list[2*i].(string), Value: list[2*i+1]}
		}
		return m, nil
	}
	return token, nil
}

// MarshalJSON returns the number, or the string in quotes.
func (v IntOrString) MarshalJSON() ([]byte, error) {
	return AppendJSON(nil, v.Value()), nil
}

// UnmarshalJSON reads a number or a string.
func (v *IntOrString) UnmarshalJSON(b []byte) error {
	*v = IntOrString{IsString: b[0] == '"'}
	if v.IsString {
		return json.Unmarshal(b, &v.Str)
	}
	n, err := strconv.Atoi(string(b))
	if err != nil { // for the words of encoding/json
		return json.Unmarshal(b, &v.Int)
	}
	v.Int = int64(n)
	return nil
}
