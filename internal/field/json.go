package field

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// AppendJSON appends a value in JSON; mappings keep their order.
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
	}
	out := bytes.NewBuffer(b)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false) // people read it
	if err := e.Encode(v); err != nil {
		panic(err) // strings, numbers, booleans and null always encode
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
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
		if token == '[' {
			list := List{}
			for d.More() {
				v, err := decodeValue(d)
				if err != nil {
					return nil, err
				}
				list = append(list, v)
			}
			_, err = d.Token()
			return list, err
		}
		m := Map{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := decodeValue(d)
			if err != nil {
				return nil, err
			}
			m = append(m, Entry{Key: key.(string), Value: v})
		}
		_, err = d.Token()
		return m, err
	}
	return token, nil
}

// MarshalJSON returns the number, or the string in quotes.
func (v IntOrString) MarshalJSON() ([]byte, error) { return AppendJSON(nil, v.Value()), nil }

// UnmarshalJSON reads a number or a string.
func (v *IntOrString) UnmarshalJSON(b []byte) error {
	*v = IntOrString{IsString: b[0] == '"'}
	if v.IsString {
		return json.Unmarshal(b, &v.Str)
	}
	return json.Unmarshal(b, &v.Int)
}
